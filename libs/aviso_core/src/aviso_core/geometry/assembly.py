"""Rings → one figure for the geometry engine, without ever mending what a producer drew.

A ring that crosses itself stays as it is, and which areas count is then the even-odd rule's. The two questions that
are asked of a figure, whether it shares a point with another and whether it has a point inside, do without validity.
Mending would not: a ring of 500 random corners takes GEOS a minute, and anybody may send one.

Holes are where validity matters, because the engine has several ways to look for a point and they agree only where
holes lie inside their outline.
"""

from __future__ import annotations

import struct
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Final, TypeAlias

import shapely
from shapely.geometry.base import BaseGeometry

if TYPE_CHECKING:
    from collections.abc import Sequence

Figure: TypeAlias = BaseGeometry
# x and y in turn, closed.
Coordinates: TypeAlias = "Sequence[float]"

# Cutting takes time that grows with the square of the corners; this many take a tenth of a second at worst.
MOST_CORNERS_TO_CUT: Final = 500


def polygon(outline: Coordinates, holes: Sequence[Coordinates] = ()) -> Figure:
    """Return the figure of one part of an area.

    Holes that reach out of their outline or overlap are cut out one by one; where that would take too long, or
    a ring crosses itself, they are left out: rather too many events than too few.
    """
    figure = _from_rings([outline, *holes])
    if not holes or figure.is_valid:
        return figure
    shell, *cuts = (_from_rings([ring]) for ring in (outline, *holes))
    return shapely.difference(shell, shapely.union_all(cuts)) if can_be_cut(shell, *cuts) else shell


def can_be_cut(*figures: Figure) -> bool:
    """Tell whether areas can be cut along each other's edges: all of them valid, and soon done."""
    corners = sum(shapely.get_num_coordinates(figure) for figure in figures)
    return bool(corners <= MOST_CORNERS_TO_CUT) and all(
        figure.geom_type in ("Polygon", "MultiPolygon") and figure.is_valid for figure in figures
    )


def gather(figures: Sequence[Figure]) -> Figure:
    """Return several figures as one that means all of them together.

    A multipolygon is the quickest to ask, but it must be valid: where its parts overlap or share an edge, a
    collection says what is meant, because the edges inside it do not count.
    """
    if len(figures) == 1:
        return figures[0]
    polygons = [figure for figure in figures if isinstance(figure, shapely.Polygon)]
    if len(polygons) == len(figures):
        together = shapely.MultiPolygon(polygons)
        if together.is_valid:
            return together
    return shapely.GeometryCollection([_without_repeats(figure) for figure in figures])


def _without_repeats(figure: Figure) -> Figure:
    """Return a polygon without corners that repeat the one before: in a collection the engine fails over them."""
    if not isinstance(figure, shapely.Polygon) or figure.is_empty:
        return figure
    rings = [list(ring.coords) for ring in (figure.exterior, *figure.interiors)]
    return _from_rings([list(chain.from_iterable(_changes(ring))) for ring in rings])


def _changes(ring: list[tuple[float, ...]]) -> list[tuple[float, ...]]:
    kept = [ring[0], *(corner for before, corner in pairwise(ring) if corner != before)]
    # A ring of one place has nothing but repeats, and the engine bears with it.
    return kept if len(kept) > 1 else ring


def _from_rings(rings: Sequence[Coordinates]) -> Figure:
    """Return a polygon by the engine's own exchange form: a third of the cost of handing it coordinate lists."""
    chunks = [_WKB_HEAD.pack(1, _WKB_POLYGON, len(rings))]
    chunks += [struct.pack(f"<I{len(ring)}d", len(ring) // 2, *ring) for ring in rings]
    return shapely.from_wkb(b"".join(chunks))


_WKB_HEAD: Final = struct.Struct("<BII")
_WKB_POLYGON: Final = 3
