"""Requests that work: an event type's notification, filters and replays, to be copied, changed and sent.

Every value was asked of the field that has to take it, and every body of the event type; what has no such value (a
pattern that nothing is found for, a payload schema out of the ordinary) is named under `missing`, and the requests that
would need it are not there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from aviso_core.errors import InvalidRequest
from aviso_core.fields import AnyField, ComparableField, SpatialField
from aviso_core.fields.base import scalar_text
from aviso_core.fields.calendar_date import DateField
from aviso_core.fields.choice import ChoiceField
from aviso_core.fields.expver import ExpverField
from aviso_core.fields.integer import IntegerField
from aviso_core.fields.point_cloud import PointCloudField
from aviso_core.fields.polygon import POLYGON_KEY, PolygonField
from aviso_core.fields.real import RealField
from aviso_core.fields.text import TextField
from aviso_core.fields.time_of_day import TimeField
from aviso_core.schema.check import POINT_KEY
from aviso_schema.describe.pattern import portable
from aviso_schema.describe.payload import likely_payloads

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aviso_core.schema.event_type import EventType

NOTIFY: Final = "/api/v1/notification"
WATCH: Final = "/api/v1/watch"
REPLAY: Final = "/api/v1/replay"


class Example(msgspec.Struct, frozen=True, kw_only=True):
    """One request: what it is for, where it goes, and its body."""

    name: str
    title: str
    path: str
    body: dict[str, Any]
    method: str = "POST"


class Examples(msgspec.Struct, frozen=True, kw_only=True):
    """The requests of one event type, and the fields (or `payload`) that no example was found for."""

    event_type: str
    examples: tuple[Example, ...]
    missing: tuple[str, ...]


def examples(event_type: EventType) -> Examples:
    """Return the example requests of an event type."""
    values = {
        field.name: value for field in event_type.schema.fields if (value := field_value(field)) is not None
    }
    payload = _payload(event_type)
    missing = [field.name for field in event_type.schema.fields if field.name not in values]
    missing += [] if payload else ["payload"]
    return Examples(
        event_type=event_type.name,
        examples=tuple(_requests(event_type, values, payload)),
        missing=tuple(missing),
    )


def _payload(event_type: EventType) -> list[object]:
    """Return a payload that the event type takes, or nothing."""
    for value in likely_payloads(event_type.schema.payload):
        try:
            event_type.payload.check(msgspec.json.encode(value))
        except InvalidRequest:
            continue
        if value is not None:
            return [value]
    return []


# --- values ----------------------------------------------------------------------------------------------


def field_value(field: AnyField) -> object:
    """Return a value that a notification may have for a field, or None where none is found."""
    return next((value for value in _likely_values(field) if _takes(field, value)), None)


def _takes(field: AnyField, value: object) -> bool:
    try:
        if isinstance(field, SpatialField):
            field.read(value)
        else:
            field.canonical(scalar_text(field.name, value))
    except InvalidRequest:
        return False
    return True


def _likely_values(field: AnyField) -> Iterator[object]:
    match field:
        case TextField():
            yield from _likely_texts(field)
        case ChoiceField():
            yield from field.values
        case IntegerField() | RealField():
            yield from (limit for limit in (field.minimum, field.maximum) if limit is not None)
        case DateField():
            yield "2025-07-06"
        case TimeField():
            yield "12:00"
        case ExpverField():
            yield field.empty_default or "0001"
        case PolygonField():
            yield [[50.0, 10.0], [50.0, 20.0], [55.0, 20.0], [55.0, 10.0], [50.0, 10.0]]
        case PointCloudField():
            yield [[52.5, 13.4], [51.0, 11.0]][: field.max_points]
    for _, samples in type(field).samples():
        yield from (value for value, _ in samples.accepted)


def _likely_texts(field: TextField) -> Iterator[str]:
    if field.pattern is None:
        yield field.name.encode()[: field.max_length].decode(errors="ignore")
        return
    made = portable(field.pattern)
    if made is not None:
        yield made.example
        yield made.example + field.name


# --- requests --------------------------------------------------------------------------------------------


def _requests(event_type: EventType, values: dict[str, object], payload: list[object]) -> Iterator[Example]:
    fields, rules = event_type.schema.fields, event_type.schema.payload
    has_all_values = all(field.name in values or field.default is not None for field in fields)
    if has_all_values and (payload or not (rules and rules.required)):
        yield _example(event_type, "notify", "Publish a notification", NOTIFY, values, payload=payload[:1])
    needed = _needed(event_type, values)
    if needed is None:
        return
    yield _example(event_type, "watch", "Watch, live", WATCH, needed)
    yield from _narrower_watches(event_type, needed, values)
    yield _example(event_type, "replay", "Replay from the beginning", REPLAY, needed, from_id="1")
    yield _example(
        event_type, "replay-window", "Replay what was stored on one day", REPLAY, needed,
        from_date="2025-07-06T00:00:00Z", to_date="2025-07-07T00:00:00Z",
    )  # fmt: skip
    yield _example(
        event_type, "watch-from", "Catch up from a sequence, then stay live", WATCH, needed, from_id="1"
    )


def _needed(event_type: EventType, values: dict[str, object]) -> dict[str, object] | None:
    """Return the least that a filter must hold, or None where a value for it is missing."""
    needed: dict[str, object] = {}
    for field in event_type.schema.fields:
        if not field.required:
            continue
        if isinstance(field, SpatialField):
            needed[POLYGON_KEY] = _AREA
        elif field.name in values:
            needed[field.name] = values[field.name]
        else:
            return None
    return needed


_AREA: Final = [[45.0, 5.0], [45.0, 25.0], [60.0, 25.0], [60.0, 5.0], [45.0, 5.0]]
_PLACE: Final = [52.5, 13.4]


def _narrower_watches(
    event_type: EventType, needed: dict[str, object], values: dict[str, object]
) -> Iterator[Example]:
    constraints = {
        field.name: _constraint(field, values[field.name])
        for field in event_type.schema.fields
        if isinstance(field, ComparableField) and field.name in values
    }
    if constraints:
        title = "Watch what lies within limits"
        yield _example(event_type, "watch-constraints", title, WATCH, needed | constraints)
    geometry = event_type.geometry_field
    if geometry is not None:
        title = "Watch what touches an area"
        yield _example(event_type, "watch-area", title, WATCH, needed | {POLYGON_KEY: _AREA})
    if isinstance(geometry, PolygonField):
        beside = {name: value for name, value in needed.items() if name != POLYGON_KEY}
        title = "Watch what covers a place"
        yield _example(event_type, "watch-point", title, WATCH, beside | {POINT_KEY: _PLACE})


def _constraint(field: ComparableField, value: object) -> dict[str, object]:
    if isinstance(field, ChoiceField):
        return {"in": list(field.values[:2])}
    number = field.comparable(field.canonical(scalar_text(field.name, value)))
    return {"gte": number}


def _example(
    event_type: EventType,
    name: str,
    title: str,
    path: str,
    identifier: dict[str, object],
    *,
    payload: list[object] | None = None,
    **span: str,
) -> Example:
    body: dict[str, Any] = {"event_type": event_type.name, "identifier": identifier, **span}
    return Example(
        name=name, title=title, path=path, body=body | {"payload": payload[0]} if payload else body
    )
