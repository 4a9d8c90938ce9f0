"""Shapes as figures of the plane, for the geometry engine: x is longitude, y is latitude.

What an edge means is the schema's choice. With *planar* edges the plane ends at 180°, as in the reference: a polygon
from 179 to -179 is the wide one. With *wrapped* edges each edge goes the shorter way round and 180° is no wall; how
such a figure is laid out flat is `wrapped`'s affair, and what a figure is made of is `assembly`'s.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import shapely

from aviso_core.geometry import assembly, wrapped
from aviso_core.geometry.shapes import Geometry, PointCloud, Polygon, Ring

Edges: TypeAlias = Literal["planar", "wrapped"]
Figure: TypeAlias = assembly.Figure


def figure(geometry: Geometry, edges: Edges) -> Figure:
    """Return the figure of an event's geometry."""
    match geometry:
        case PointCloud(points):
            return shapely.multipoints([(longitude, latitude) for latitude, longitude in points])
        case Polygon() if edges == "wrapped":
            return wrapped.lay_flat(geometry)
        case Polygon(parts):
            return assembly.gather([_lay_part(part) for part in parts])


def reach(area: Polygon, edges: Edges) -> Figure:
    """Return the figure of a filter's area, everywhere that an event's figure may lie.

    With wrapped edges the same place has several longitudes; the figure is repeated so that a single comparison
    with one event's figure settles the question.
    """
    return wrapped.reach(area) if edges == "wrapped" else figure(area, edges)


def seamless(geometry: Geometry, edges: Edges) -> Figure:
    """Return an event's figure without seams, for asking what lies strictly inside it."""
    if edges == "wrapped" and isinstance(geometry, Polygon):
        return wrapped.interior(geometry)
    return figure(geometry, edges)


def _lay_part(part: tuple[Ring, ...]) -> Figure:
    outline, *holes = (
        [coordinate for latitude, longitude in ring for coordinate in (longitude, latitude)] for ring in part
    )
    return assembly.polygon(outline, holes)
