"""Polygons whose edges go the shorter way round the globe, laid out flat.

A ring is walked edge by edge and its longitudes are counted on instead of jumping at ±180°. Three things can happen:

- It comes back to the longitude where it began: an ordinary figure, perhaps reaching beyond ±180.
- It ends a full turn further: the ring goes around a pole. It is closed over the nearer one, since most producers
  do not care in which direction they list a ring; only where the mean latitude is 0 does the direction decide, with
  the interior on the left as in GeoJSON.
- An edge of exactly 360° is the whole parallel, as in the box around the whole globe; one of exactly 180° is
  ambiguous and stays as written.

The same place then has several longitudes, 360° apart, so one side of every comparison is repeated a turn to the west
and a turn to the east; laid-out figures begin within [-180, 180) and are at most a turn wide, so that is enough.
Latitudes ±90 are one point each: a figure that touches a pole is given the whole pole line.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final, TypeAlias

import shapely
from shapely.affinity import translate
from shapely.geometry.base import BaseGeometry

if TYPE_CHECKING:
    from aviso_core.geometry.shapes import Polygon, Ring

Figure: TypeAlias = BaseGeometry
_Vertices: TypeAlias = list[tuple[float, float]]

_TURN: Final = 360.0
# Beyond the pole, so that the pole itself is inside a figure that holds it and not on its edge.
_OVER_THE_POLE: Final = 91.0


def lay_flat(area: Polygon) -> Figure:
    """Return the figure of an area with wrapped edges, in x = longitude and y = latitude."""
    parts = [_lay_part(part) for part in area.parts]
    flat = parts[0] if len(parts) == 1 else shapely.union_all(parts)
    poles = _touched_poles(area)
    return shapely.union_all([flat, *poles]) if poles else flat


def repeat(flat: Figure) -> Figure:
    """Return a laid-out figure together with itself a turn to the west and to the east, without seams."""
    return shapely.union_all([flat, translate(flat, xoff=-_TURN), translate(flat, xoff=_TURN)])


def _lay_part(part: tuple[Ring, ...]) -> Figure:
    outer = _figure_of(_unwrap(part[0]))
    if len(part) == 1:
        return outer
    # Holes are unwrapped on their own and may have come to lie a turn away from their part.
    holes = shapely.union_all([repeat(_figure_of(_unwrap(hole))) for hole in part[1:]])
    return shapely.difference(outer, holes)


def _unwrap(ring: Ring) -> _Vertices:
    vertices = [ring[0][::-1]]
    shift = 0.0
    for (_, before), (latitude, after) in pairwise(ring):
        shift += _turns_taken(after - before)
        vertices.append((after + shift, latitude))
    return vertices


def _turns_taken(step: float) -> float:
    """Return the whole turn that is to be added when an edge, taken the shorter way, crosses ±180."""
    if -180.0 <= step <= 180.0 or abs(step) == _TURN:
        return 0.0
    return -_TURN if step > 0 else _TURN


def _figure_of(vertices: _Vertices) -> Figure:
    turn = vertices[-1][0] - vertices[0][0]
    if abs(turn) > 180.0:
        vertices = _close_over_pole(vertices, turn)
    shape = shapely.Polygon(_begin_west(vertices))
    return shape if shape.is_valid else shapely.make_valid(shape)


def _close_over_pole(vertices: _Vertices, turn: float) -> _Vertices:
    latitudes = [latitude for _, latitude in vertices[:-1]]
    mean = sum(latitudes) / len(latitudes)
    northern = mean > 0 if mean else turn > 0
    pole = _OVER_THE_POLE if northern else -_OVER_THE_POLE
    return [*vertices, (vertices[-1][0], pole), (vertices[0][0], pole), vertices[0]]


def _begin_west(vertices: _Vertices) -> _Vertices:
    """Move a figure by whole turns so that its western end lies within [-180, 180)."""
    west = min(longitude for longitude, _ in vertices)
    shift = -_TURN * ((west + 180.0) // _TURN)
    return [(longitude + shift, latitude) for longitude, latitude in vertices] if shift else vertices


def _touched_poles(area: Polygon) -> list[Figure]:
    latitudes = {latitude for part in area.parts for latitude, _ in part[0]}
    return [
        shapely.LineString([(-180.0, pole), (180.0, pole)]) for pole in (90.0, -90.0) if pole in latitudes
    ]
