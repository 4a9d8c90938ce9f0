"""Polygons whose edges go the shorter way round the globe, laid out flat.

A ring is walked edge by edge and whole turns are counted instead of jumping at ±180°. Three things can happen:

- It comes back to the longitude where it began: an ordinary figure, perhaps reaching beyond ±180.
- It ends a full turn further: the ring goes around a pole. It is closed over the nearer one, since most producers
  do not care in which direction they list a ring; only where the mean latitude is 0 does the direction decide, with
  the interior on the left as in GeoJSON.
- An edge from -180 to 180 has no length, unless it is the side of a box (the edges beside it run along the
  meridian): then it is the whole parallel, as in the box around the whole globe.

An edge of exactly 180° is ambiguous and stays as written.

The same place then has several longitudes, 360° apart, so one side of every comparison is repeated a turn to the west
and a turn to the east. Laid-out figures begin within [-180, 180), and hardly any is wider than a turn, so that is
enough; one that is wider (a spiral, or a ring around a pole that folds back on itself) is repeated further.
Longitudes are always "as written, plus whole turns", so that a corner of two shapes is the same number in both.
Latitudes ±90 are one point each: a figure that touches a pole is given the whole pole line, and one that runs along
all of it has the pole inside.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final, TypeAlias

import shapely

from aviso_core.geometry.assembly import Figure, gather, polygon

if TYPE_CHECKING:
    from collections.abc import Callable

    from aviso_core.geometry.shapes import Polygon, Ring

# Longitude as written, whole turns to be added to it, latitude.
_Vertex: TypeAlias = tuple[float, int, float]
_Path: TypeAlias = list[_Vertex]

_TURN: Final = 360.0
_POLES: Final = (90.0, -90.0)
# Beyond the pole, so that the pole itself is inside a figure that holds it and not on its edge.
_OVER_THE_POLE: Final = 91.0

# A ring that goes round more often says nothing, and may go round as often as it has corners: comparing it in part
# is enough, repeating it as often would fill the memory.
_MOST_TURNS: Final = 4
_AT_HOME: Final = range(1)
_EVERYWHERE: Final = range(-1, 2)


def lay_flat(area: Polygon) -> Figure:
    """Return the figure of an area with wrapped edges, in x = longitude and y = latitude."""
    return gather([*_figures(area, _turns_at_home), *_touched_poles(area, _AT_HOME)])


def reach(area: Polygon) -> Figure:
    """Return the figure together with itself a turn to the west and a turn to the east."""
    return gather([*_figures(area, _turns_everywhere), *_touched_poles(area, _EVERYWHERE)])


def interior(area: Polygon) -> Figure:
    """Return the repeated figure for asking what lies strictly inside: a pole that is only touched does not."""
    return gather(_figures(area, _turns_everywhere))


def _figures(area: Polygon, turns_of: Callable[[_Path], range]) -> list[Figure]:
    figures = []
    for part in area.parts:
        outline, *holes = map(_unwrap, part)
        figures += [_lay_part(outline, holes, turn) for turn in turns_of(outline)]
    return figures


def _turns_at_home(outline: _Path) -> range:
    """Return the one turn at which a figure stands, or where it is too wide, all that bring some of it home."""
    west, east = _ends(outline)
    return _AT_HOME if east - west <= _TURN else range(-_turns_beyond(east), 1)


def _turns_everywhere(outline: _Path) -> range:
    _, east = _ends(outline)
    return range(-max(1, _turns_beyond(east)), 2)


def _turns_beyond(east: float) -> int:
    return min(int((east + 180.0) // _TURN), _MOST_TURNS)


def _lay_part(outline: _Path, holes: list[_Path], turn: int) -> Figure:
    if not holes:
        return polygon(_coordinates(outline, turn))
    placed = [(hole, _fitting_turn(hole, outline)) for hole in holes]
    fitting = [_coordinates(hole, turn + found) for hole, found in placed if found is not None]
    figure = polygon(_coordinates(outline, turn), fitting)
    for hole, found in placed:
        if found is None:
            figure = _cut_out(figure, hole, outline, turn)
    return figure


# --- one ring --------------------------------------------------------------------------------------------


def _unwrap(ring: Ring) -> _Path:
    """Return the ring with its turns counted, moved so that its western end lies within [-180, 180)."""
    turns = 0
    path = [(ring[0][1], 0, ring[0][0])]
    for place, ((_, before), (latitude, after)) in enumerate(pairwise(ring)):
        step = after - before
        if not -180.0 <= step <= 180.0 and not _is_whole_parallel(ring, place):
            turns += -1 if step > 0 else 1
        path.append((after, turns, latitude))
    if turns:
        path = _begin_nearest_to_pole(path)
    west = min(longitude + _TURN * turns for longitude, turns, _ in path)
    shift = -int((west + 180.0) // _TURN)
    return [(longitude, turns + shift, latitude) for longitude, turns, latitude in path]


def _begin_nearest_to_pole(path: _Path) -> _Path:
    """Move the beginning of a ring around a pole to where nothing stands between it and the pole.

    The figure is closed there, and where the ring folds back on itself a line drawn from elsewhere would cross it.
    """
    latitude_sign = 1 if _holds_north(path) else -1
    around = path[-1][1] - path[0][1]
    corners = path[:-1]
    nearest = max(range(len(corners)), key=lambda place: latitude_sign * corners[place][2])
    again = [(longitude, turns + around, latitude) for longitude, turns, latitude in corners[: nearest + 1]]
    return corners[nearest:] + again


def _is_whole_parallel(ring: Ring, place: int) -> bool:
    """Tell whether the edge at a place leads once around, between two edges along the meridian."""
    begin, end = ring[place], ring[place + 1]
    # The first corner is there twice; it counts once.
    before = ring[place - 1] if place else ring[-2]
    after = ring[place + 2] if place + 2 < len(ring) else ring[1]
    # A ring may also run along ±180° and change from one spelling to the other on its way: then latitude goes on.
    is_parallel = begin[0] == end[0] and abs(begin[1] - end[1]) == _TURN
    return is_parallel and before[1] == begin[1] and end[1] == after[1]


def _goes_around(path: _Path) -> bool:
    return path[0][1] != path[-1][1]


def _holds_north(path: _Path) -> bool:
    balance = sum(latitude for _, _, latitude in path[:-1])
    return balance > 0 if balance else path[-1][1] > path[0][1]


def _coordinates(path: _Path, turn: int) -> list[float]:
    """Return x and y, closed over the pole where the ring goes around it, and beyond it where it runs along it."""
    longitudes = [longitude + _TURN * (turns + turn) for longitude, turns, _ in path]
    latitudes = [latitude for _, _, latitude in path]
    if _goes_around(path):
        pole = _OVER_THE_POLE if _holds_north(path) else -_OVER_THE_POLE
        longitudes += [longitudes[-1], longitudes[0], longitudes[0]]
        latitudes += [pole, pole, latitudes[0]]
    else:
        latitudes = _over_the_poles(longitudes, latitudes)
    return [coordinate for pair in zip(longitudes, latitudes, strict=True) for coordinate in pair]


def _over_the_poles(longitudes: list[float], latitudes: list[float]) -> list[float]:
    for pole in _POLES:
        along = [x for x, y in zip(longitudes, latitudes, strict=True) if y == pole]
        if along and max(along) - min(along) >= _TURN:
            over = _OVER_THE_POLE if pole > 0 else -_OVER_THE_POLE
            latitudes = [over if latitude == pole else latitude for latitude in latitudes]
    return latitudes


def _touched_poles(area: Polygon, turns: range) -> list[Figure]:
    latitudes = {latitude for part in area.parts for latitude, _ in part[0]}
    return [
        shapely.LineString([(_TURN * turn - 180.0, pole), (_TURN * turn + 180.0, pole)])
        for pole in _POLES
        if pole in latitudes
        for turn in turns
    ]


# --- holes -----------------------------------------------------------------------------------------------


def _fitting_turn(hole: _Path, outline: _Path) -> int | None:
    """Return by which turn a hole comes to lie between the ends of its outline, or None where by none.

    An outline of less than a turn has one place for a hole, even for one that reaches out of it.
    """
    if _goes_around(hole):
        return None
    west, east = _ends(outline)
    hole_west, hole_east = _ends(hole)
    for turn in (0, 1):
        shift = _TURN * turn
        if west <= hole_west + shift and hole_east + shift <= east:
            return turn
    for turn in (0, 1, -1):
        shift = _TURN * turn
        if east - west < _TURN and west < hole_east + shift and hole_west + shift < east:
            return turn
    return None


def _ends(path: _Path) -> tuple[float, float]:
    longitudes = [longitude + _TURN * turns for longitude, turns, _ in path]
    return min(longitudes), max(longitudes)


def _cut_out(figure: Figure, hole: _Path, outline: _Path, turn: int) -> Figure:
    """Return a figure that goes all the way round without a hole that lies across its ends or goes round as well.

    Only what is a proper hole is cut out: anything else says nothing that can be relied on, and could take very long
    to be worked out.
    """
    copies = [polygon(_coordinates(hole, turn + further)) for further in _EVERYWHERE]
    around = [polygon(_coordinates(outline, turn + further)) for further in _EVERYWHERE]
    is_proper = (
        _is_a_turn_at_most(copies[1])
        and _is_a_turn_at_most(around[1])
        and shapely.covers(shapely.union_all(around), copies[1])
    )
    return shapely.difference(figure, shapely.union_all(copies)) if is_proper else figure


def _is_a_turn_at_most(figure: Figure) -> bool:
    west, _, east, _ = figure.bounds
    return east - west <= _TURN and bool(figure.is_valid)
