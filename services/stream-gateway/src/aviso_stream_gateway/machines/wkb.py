"""Shapes in the well-known binary form, as GeoJSON has them: longitude first, and every ring as it was sent.

The geometry engine is not asked: what it makes of a shape to compare it is not what the producer wrote.
"""

from __future__ import annotations

from itertools import chain
from struct import pack
from typing import TYPE_CHECKING

from aviso_core.geometry.shapes import PointCloud, Polygon

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aviso_core.geometry.shapes import Geometry, Pair, Ring

# Numbers of the form, behind the mark for the smaller byte first.
_POINT, _POLYGON, _MULTI_POINT, _MULTI_POLYGON = (b"\x01" + pack("<I", kind) for kind in (1, 3, 4, 6))


def to_wkb(geometry: Geometry) -> bytes:
    """Return a shape in binary."""
    match geometry:
        case PointCloud(points):
            return b"".join([_MULTI_POINT, pack("<I", len(points)), *(_POINT + _pairs([p]) for p in points)])
        case Polygon((part,)):
            return _polygon(part)
        case Polygon(parts):
            return b"".join([_MULTI_POLYGON, pack("<I", len(parts)), *map(_polygon, parts)])


def _polygon(rings: Sequence[Ring]) -> bytes:
    return b"".join([_POLYGON, pack("<I", len(rings)), *(pack("<I", len(r)) + _pairs(r) for r in rings)])


def _pairs(pairs: Sequence[Pair]) -> bytes:
    return pack(f"<{2 * len(pairs)}d", *chain.from_iterable((lon, lat) for lat, lon in pairs))
