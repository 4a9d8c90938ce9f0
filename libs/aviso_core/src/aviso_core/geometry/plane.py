"""Shapes as figures of the plane, for the geometry engine: x is longitude, y is latitude.

What an edge means is the schema's choice. With *planar* edges the plane ends at 180°, as in the reference: a polygon
from 179 to -179 is the wide one. With *wrapped* edges each edge goes the shorter way round and 180° is no wall; how
such a figure is laid out flat is `wrapped`'s affair.

The predicates need figures that are valid, and producers may send rings that cross themselves: those are taken apart
into valid parts first (which areas count is then the even-odd rule's).
"""

from __future__ import annotations

import struct
from typing import Final, Literal, TypeAlias

import shapely
from shapely.geometry.base import BaseGeometry

from aviso_core.geometry import wrapped
from aviso_core.geometry.shapes import Geometry, PointCloud, Polygon, Ring

Edges: TypeAlias = Literal["planar", "wrapped"]
Figure: TypeAlias = BaseGeometry


def figure(geometry: Geometry, edges: Edges) -> Figure:
    """Return the figure of an event's geometry."""
    match geometry:
        case PointCloud(points):
            return shapely.multipoints([(longitude, latitude) for latitude, longitude in points])
        case Polygon() if edges == "wrapped":
            return wrapped.lay_flat(geometry)
        case Polygon(parts):
            return _mend(_assemble(parts))


def reach(area: Polygon, edges: Edges) -> Figure:
    """Return the figure of a filter's area, everywhere that an event's figure may lie.

    With wrapped edges the same place has several longitudes; the figure is repeated so that a single comparison
    with one event's figure settles the question.
    """
    if edges == "wrapped":
        return wrapped.repeat(wrapped.lay_flat(area))
    return figure(area, edges)


def seamless(geometry: Geometry, edges: Edges) -> Figure:
    """Return an event's figure without seams, for asking what lies strictly inside it."""
    if edges == "wrapped" and isinstance(geometry, Polygon):
        return wrapped.repeat(wrapped.lay_flat(geometry))
    return figure(geometry, edges)


def _assemble(parts: tuple[tuple[Ring, ...], ...]) -> Figure:
    polygons = [_well_known_binary(part) for part in parts]
    if len(polygons) == 1:
        return shapely.from_wkb(polygons[0])
    return shapely.from_wkb(_WKB_HEAD.pack(1, _WKB_MULTIPOLYGON, len(polygons)) + b"".join(polygons))


def _well_known_binary(part: tuple[Ring, ...]) -> bytes:
    """Return a polygon in the engine's own exchange form: a third of the cost of handing it coordinate lists."""
    chunks = [_WKB_HEAD.pack(1, _WKB_POLYGON, len(part))]
    for ring in part:
        flat = [coordinate for latitude, longitude in ring for coordinate in (longitude, latitude)]
        chunks.append(struct.pack(f"<I{len(flat)}d", len(ring), *flat))
    return b"".join(chunks)


_WKB_HEAD: Final = struct.Struct("<BII")
_WKB_POLYGON: Final = 3
_WKB_MULTIPOLYGON: Final = 6


def _mend(shape: Figure) -> Figure:
    return shape if shape.is_valid else shapely.make_valid(shape)
