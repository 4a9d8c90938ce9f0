"""Shapes on whole numbers, and what their predicates must answer, worked out without a geometry engine.

All corners are whole degrees, so that every question has an exact answer in integers: whether two edges meet, whether
a point lies on an edge, and, by counting crossings, whether it lies inside. Nothing is shared with the code under
test, and rings may cross themselves, double back or shrink to a point.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple, TypeAlias

from aviso_core.geometry import shapes

# Latitude first, as everywhere.
Place: TypeAlias = tuple[int, int]
Ring: TypeAlias = tuple[Place, ...]
Edge: TypeAlias = tuple[Place, Place]


class Area(NamedTuple):
    """One or more parts, each an outer ring and the rings of its holes. Rings are closed."""

    parts: tuple[tuple[Ring, ...], ...]


class Cloud(NamedTuple):
    """Places that an event stands for."""

    places: tuple[Place, ...]


Shape: TypeAlias = Area | Cloud


def share_a_point(area: Area, shape: Shape) -> bool:
    """Tell whether an area and another shape have a point in common; an edge or a corner is enough."""
    if isinstance(shape, Cloud):
        return any(_holds(part, place) for part in area.parts for place in shape.places)
    return any(_parts_meet(one, other) for one in area.parts for other in shape.parts)


def is_strictly_inside(place: Place, shape: Shape) -> bool:
    """Tell whether a place lies in the inside of an area, where an edge between two of its parts is no border.

    For that last case the parts must be boxes: the four cells around the place then say what surrounds it.
    """
    if isinstance(shape, Cloud):
        return False
    if any(_is_inside(part, place) for part in shape.parts):
        return True
    if len(shape.parts) == 1:
        return False
    # In doubled coordinates the middle of a cell is a whole number.
    parts = [tuple(tuple((2 * y, 2 * x) for y, x in ring) for ring in part) for part in shape.parts]
    y, x = 2 * place[0], 2 * place[1]
    cells = [(y + north, x + east) for north in (-1, 1) for east in (-1, 1)]
    return all(any(_is_inside(part, cell) for part in parts) for cell in cells)


def _parts_meet(one: tuple[Ring, ...], other: tuple[Ring, ...]) -> bool:
    # Where no edges meet, each ring lies wholly inside or wholly outside, so one of its corners speaks for all.
    return (
        any(_edges_meet(edge, against) for edge in _edges(one) for against in _edges(other))
        or any(_is_inside(one, ring[0]) for ring in other)
        or any(_is_inside(other, ring[0]) for ring in one)
    )


def _edges(part: tuple[Ring, ...]) -> list[Edge]:
    return [edge for ring in part for edge in pairwise(ring)]


def _holds(part: tuple[Ring, ...], place: Place) -> bool:
    return any(_lies_on(place, edge) for edge in _edges(part)) or _is_inside(part, place)


def _is_inside(part: tuple[Ring, ...], place: Place) -> bool:
    if any(_lies_on(place, edge) for edge in _edges(part)):
        return False
    y, x = place
    crossings = 0
    for (y1, x1), (y2, x2) in _edges(part):
        if (y1 > y) != (y2 > y):
            # The edge crosses the line to the east of the place: compared without dividing.
            side = (x1 - x) * (y2 - y1) + (y - y1) * (x2 - x1)
            crossings += side > 0 if y2 > y1 else side < 0
    return crossings % 2 == 1


def _turn(a: Place, b: Place, c: Place) -> int:
    product = (b[1] - a[1]) * (c[0] - a[0]) - (b[0] - a[0]) * (c[1] - a[1])
    return (product > 0) - (product < 0)


def _lies_on(place: Place, edge: Edge) -> bool:
    (y1, x1), (y2, x2) = edge
    return (
        _turn(edge[0], edge[1], place) == 0
        and min(y1, y2) <= place[0] <= max(y1, y2)
        and min(x1, x2) <= place[1] <= max(x1, x2)
    )


def _edges_meet(one: Edge, other: Edge) -> bool:
    crosses = (
        _turn(one[0], one[1], other[0]) * _turn(one[0], one[1], other[1]) < 0
        and _turn(other[0], other[1], one[0]) * _turn(other[0], other[1], one[1]) < 0
    )
    return (
        crosses
        or any(_lies_on(place, one) for place in other)
        or any(_lies_on(place, other) for place in one)
    )


# --- the same shapes as the core has them ----------------------------------------------------------------


class Spelling(NamedTuple):
    """Where on the globe the lattice lies, and how its 180° meridian is written.

    Shifting everything by the same angle changes nothing where 180° is no wall. The meridian has two
    longitudes, and a ring may change from one to the other: two latitudes are written one way, the next two the other.
    """

    shift: int = 0
    first: int = 180
    second: int = 180

    def pair(self, place: Place) -> shapes.Pair:
        """Return the latitude and the longitude of a place of the lattice."""
        y, x = place
        longitude = (x + self.shift + 180) % 360 - 180
        if longitude == -180:
            longitude = self.second if y // 2 % 2 else self.first
        return float(y), float(longitude)


def to_geometry(shape: Shape, spelling: Spelling) -> shapes.Geometry:
    """Return a shape as an event carries it."""
    if isinstance(shape, Cloud):
        return shapes.PointCloud(tuple(map(spelling.pair, shape.places)))
    return to_polygon(shape, spelling)


def to_polygon(area: Area, spelling: Spelling) -> shapes.Polygon:
    """Return an area as a polygon."""
    return shapes.Polygon(
        tuple(tuple(tuple(map(spelling.pair, ring)) for ring in part) for part in area.parts)
    )


def to_point(place: Place, spelling: Spelling) -> shapes.Point:
    """Return a place as a point."""
    return shapes.Point(*spelling.pair(place))


# --- rings on the globe ----------------------------------------------------------------------------------


def is_strictly_inside_cap(ring: Ring, place: Place) -> bool:
    """Tell whether a place lies on the north pole's side of a ring that goes around it.

    Going north from there one must cross the ring an even number of times. The place's longitude must not be that of
    a corner. Longitudes may be any whole number; edges take the shorter way round.
    """
    y, x = place
    crossings = 0
    for (y1, x1), (y2, x2) in pairwise(ring):
        east = (x2 - x1 + 180) % 360 - 180
        away = (x - x1) % 360
        for along in (away, away - 360):
            if min(0, east) < along < max(0, east):
                # How far north of the place the edge runs, times the edge's length so that it stays a whole number.
                north = (y1 - y) * abs(east) + (y2 - y1) * abs(along)
                if north == 0:
                    return False
                crossings += north > 0
    return crossings % 2 == 0
