"""Cells of the globe on a flat map: outlines that do not jump at 180°, and the part of the map that holds them.

Longitudes of an outline go on behind 180 rather than starting again at -180. A map draws each outline as often as its
window meets it, a turn of the globe apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

TURN: Final = 360.0
_HALF: Final = 180.0
_POLE: Final = 90.0
_LEAST_DEGREES: Final = 8.0
_MARGIN: Final = 0.12
# From here on a part of the world helps less than the whole.
_WIDE: Final = 200.0

Point = tuple[float, float]


class Window(NamedTuple):
    """A part of the map; `east` is greater than `west`, and greater than 180 where it crosses the antimeridian."""

    west: float
    south: float
    east: float
    north: float


WORLD: Final = Window(-_HALF, -_POLE, _HALF, _POLE)


def outline(cell: str) -> list[Point]:
    """Return the corners of an H3 cell, longitude first."""
    import h3  # type: ignore[import-untyped]  # it brings no types

    return unrolled([(longitude, latitude) for latitude, longitude in h3.cell_to_boundary(cell)])


def unrolled(ring: Sequence[Point]) -> list[Point]:
    """Return a ring whose longitudes have no jumps; one around a pole is closed along that pole."""
    points = [ring[0]]
    for longitude, latitude in [*ring[1:], ring[0]]:
        before = points[-1][0]
        points.append((before + _turned(longitude - before), latitude))
    if abs(points[-1][0] - points[0][0]) < _HALF:
        return points[:-1]
    pole = _POLE if sum(latitude for _, latitude in ring) > 0 else -_POLE
    return [*points, (points[-1][0], pole), (points[0][0], pole)]


def _turned(degrees: float) -> float:
    """Return the same direction between -180 and 180."""
    return (degrees + _HALF) % TURN - _HALF


def copies(points: Sequence[Point], window: Window) -> Iterable[list[Point]]:
    """Yield an outline wherever the window meets it."""
    west, east = min(x for x, _ in points), max(x for x, _ in points)
    for turns in (-2, -1, 0, 1, 2):
        shift = turns * TURN
        if west + shift < window.east and east + shift > window.west:
            yield [(x + shift, y) for x, y in points]


def window_of(outlines: Sequence[Sequence[Point]]) -> Window:
    """Return the smallest part of the map with all of these, and some room around them."""
    if not outlines:
        return WORLD
    west, east = _longitudes([(min(x for x, _ in one), max(x for x, _ in one)) for one in outlines])
    latitudes = [y for one in outlines for _, y in one]
    if east - west > _WIDE:
        return WORLD
    across = max(east - west, _LEAST_DEGREES) * (1 + 2 * _MARGIN)
    up = max(max(latitudes) - min(latitudes), _LEAST_DEGREES) * (1 + 2 * _MARGIN)
    # A window much flatter or steeper than a screen would show its cells as lines.
    across, up = max(across, up), max(up, across / 2.2)
    middle, height = (west + east) / 2, (max(latitudes) + min(latitudes)) / 2
    south = max(-_POLE, min(height - up / 2, _POLE - up))
    return Window(middle - across / 2, south, middle + across / 2, min(_POLE, south + up))


def _longitudes(spans: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the shortest way around the globe that passes all spans: it begins behind the widest gap."""
    ordered = sorted((west % TURN, west % TURN + east - west) for west, east in spans)
    reached, widest = ordered[-1][1] - TURN, (0.0, ordered[0][0])
    reached = max(reached, max(east for _, east in ordered) - TURN)
    for west, east in ordered:
        widest = max(widest, (west - reached, west))
        reached = max(reached, east)
    gap, begin = widest
    end = begin + TURN - gap
    return (begin - TURN, end - TURN) if begin > _HALF else (begin, end)
