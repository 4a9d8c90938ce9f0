"""Spatial filters at work: whether a geometry lies where a filter asks (contract section 6.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import shapely

from aviso_core.geometry import plane
from aviso_core.geometry.shapes import Polygon
from aviso_core.matching.filter import Area, Place, SpatialFilter

if TYPE_CHECKING:
    from aviso_core.geometry.plane import Figure
    from aviso_core.matching.candidate import Candidate


def figure_of(spatial: SpatialFilter) -> Figure:
    """Return the figure that an event's figure is compared with."""
    match spatial:
        case Area(polygon=polygon, edges=edges):
            return plane.reach(polygon, edges)
        case Place(point=point):
            return shapely.Point(point.longitude, point.latitude)


def lies_in_area(figure: Figure, candidate: Candidate) -> bool:
    """Tell whether an event's geometry shares a point with the figure of an area."""
    event_figure = candidate.figure()
    return event_figure is not None and bool(shapely.intersects(figure, event_figure))


def has_inside(figure: Figure, candidate: Candidate) -> bool:
    """Tell whether an event's polygon has the figure of a place strictly inside. A point cloud has no inside."""
    if not isinstance(candidate.geometry, Polygon):
        return False
    return bool(shapely.contains(candidate.seamless_figure(), figure))


def accepts(spatial: SpatialFilter, figure: Figure, candidate: Candidate) -> bool:
    """Tell whether an event lies where a spatial filter asks; `figure` is the filter's own."""
    if isinstance(spatial, Area):
        return lies_in_area(figure, candidate)
    return has_inside(figure, candidate)
