"""What a reader asks for: the identifier of a watch or replay request → a `Filter`.

A filter is a value: equal requests give equal filters, and subscribers with equal filters share one entry of the
index. It says nothing about where reading begins or who reads.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from aviso_core.errors import InvalidGeometry, InvalidRequest
from aviso_core.fields import AnyField, SpatialField
from aviso_core.fields.base import scalar_text, unsupported_constraint
from aviso_core.fields.point_cloud import POINT_CLOUD_KEY, PointCloudField
from aviso_core.fields.polygon import POLYGON_KEY, PolygonField, read_area
from aviso_core.geometry import geojson
from aviso_core.geometry.plane import Edges
from aviso_core.geometry.read import read_point
from aviso_core.geometry.shapes import NotAShape, Point, Polygon
from aviso_core.matching.constraint import Constraint, read_constraint
from aviso_core.schema.check import POINT_KEY
from aviso_core.schema.event_type import EventType, missing_field, unknown_field
from aviso_core.schema.undeclared import undeclared_text
from aviso_core.topic.base import check_base
from aviso_core.topic.pattern import coarse_pattern, display_pattern

ReadOperation: TypeAlias = Literal["watch", "replay"]

# A scalar of this text selects any value, because a topic shows it that way.
WILDCARD = "*"


class Area(msgspec.Struct, frozen=True, kw_only=True, tag="area"):
    """Selects events whose geometry shares a point with this polygon; an edge or a corner is enough."""

    polygon: Polygon
    edges: Edges = "planar"


class Place(msgspec.Struct, frozen=True, kw_only=True, tag="place"):
    """Selects events whose polygon has this point strictly inside."""

    point: Point
    edges: Edges = "planar"


SpatialFilter: TypeAlias = Area | Place


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that an event must satisfy to be selected.

    `equals` holds canonical texts by field. Values of an undeclared event type have no names in the log, so its
    filters name them by their place in the topic, and `places` is how many there must be.
    """

    event_type: str
    equals: tuple[tuple[str, str], ...] = ()
    constraints: tuple[Constraint, ...] = ()
    spatial: SpatialFilter | None = None
    places: int | None = None


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """A filter with the topic that it shows to people and the pattern that narrows reading from the log."""

    filter: Filter
    topic: str
    pattern: str


def read_point_filter(identifier: dict[str, Any]) -> Point | None:
    """Return the request's `point`; refuse it beside a polygon, whatever the two hold."""
    if POINT_KEY not in identifier:
        return None
    if POLYGON_KEY in identifier:
        raise InvalidRequest(
            "Cannot specify both identifier.polygon and identifier.point. Provide only one spatial filter.",
            field=POINT_KEY,
        )
    try:
        return read_point(identifier[POINT_KEY])
    except NotAShape as reason:
        raise InvalidGeometry(
            f"identifier.point must be a valid [lat,lon] coordinate pair or compatible string: {reason}",
            field=POINT_KEY,
        ) from reason


def read_selection(
    event_type: EventType, identifier: dict[str, Any], *, operation: ReadOperation, point: Point | None
) -> Selection:
    """Return what a request of a declared event type selects. `point` was read before: it is refused earlier."""
    _check_names(event_type, identifier, operation)
    equals: dict[str, str] = {}
    constraints: list[Constraint] = []
    edges = event_type.schema.edges
    spatial: SpatialFilter | None = None if point is None else Place(point=point, edges=edges)
    for field in event_type.schema.fields:
        if field.name not in identifier:
            _check_left_out(field, identifier, operation)
            continue
        value = identifier[field.name]
        if isinstance(field, SpatialField):
            spatial = Area(polygon=_read_polygon(field, value), edges=edges)
        elif isinstance(value, dict):
            constraints.append(read_constraint(field, value))
        elif (text := field.canonical(scalar_text(field.name, value))) != WILDCARD:
            equals[field.name] = text
    if isinstance(event_type.geometry_field, PointCloudField) and POLYGON_KEY in identifier:
        spatial = Area(polygon=read_area(identifier[POLYGON_KEY]), edges=edges)
    selects = Filter(
        event_type=event_type.name,
        equals=tuple(sorted(equals.items())),
        constraints=tuple(sorted(constraints, key=lambda constraint: constraint.field)),
        spatial=spatial,
    )
    values = [equals.get(name) for name in event_type.routed]
    return Selection(
        filter=selects,
        topic=display_pattern(event_type.base, values),
        pattern=coarse_pattern(event_type.base, values),
    )


def _check_names(event_type: EventType, identifier: dict[str, Any], operation: ReadOperation) -> None:
    geometry = event_type.geometry_field
    if POINT_CLOUD_KEY in identifier:
        raise InvalidRequest(
            "identifier.point_cloud is only supported for notify operations", field=POINT_CLOUD_KEY
        )
    if POINT_KEY in identifier and isinstance(geometry, PointCloudField):
        raise InvalidRequest(
            "identifier.point is not supported for point-cloud schemas; use identifier.polygon",
            field=POINT_KEY,
        )
    known = {field.name for field in event_type.schema.fields}
    if isinstance(geometry, PolygonField):
        known.add(POINT_KEY)
    elif isinstance(geometry, PointCloudField):
        known.add(POLYGON_KEY)
    unknown = min((name for name in identifier if name not in known), default=None)
    if unknown is not None:
        raise unknown_field(unknown, operation)


def _check_left_out(field: AnyField, identifier: dict[str, Any], operation: ReadOperation) -> None:
    if not field.required:
        return
    stand_in = {PolygonField: POINT_KEY, PointCloudField: POLYGON_KEY}.get(type(field))
    if stand_in not in identifier:
        raise missing_field(field.name, operation)


def _read_polygon(field: SpatialField, value: object) -> Polygon:
    if _is_constraint(value):
        raise unsupported_constraint(field.name)
    return read_area(value)


def _is_constraint(value: object) -> bool:
    """Tell whether a value sent for a shape is a constraint object instead of GeoJSON."""
    return isinstance(value, dict) and not geojson.is_geojson(value)


def read_undeclared_selection(
    event_type: str, identifier: dict[str, Any], *, operation: ReadOperation, point: Point | None
) -> Selection:
    """Return what a request of an event type without a schema selects.

    Such events carry no geometry, so a spatial filter selects none of them; it is read all the same.
    """
    base = check_base(event_type)
    spatial: SpatialFilter | None = None if point is None else Place(point=point)
    values: list[str | None] = []
    for name in sorted(identifier):
        if name == POINT_KEY:
            continue
        value = identifier[name]
        if name == POLYGON_KEY and not _is_constraint(value):
            spatial = Area(polygon=read_area(value))
            values.append(None)
            continue
        text = undeclared_text(name, value, operation)
        values.append(None if text == WILDCARD else text)
    equals = tuple((place_name(place), text) for place, text in enumerate(values) if text is not None)
    return Selection(
        filter=Filter(
            event_type=event_type, equals=tuple(sorted(equals)), spatial=spatial, places=len(values)
        ),
        topic=display_pattern(base, values),
        pattern=coarse_pattern(base, values),
    )


def place_name(place: int) -> str:
    """Return how the value at a place of an undeclared event type's topic is called."""
    return f"#{place}"
