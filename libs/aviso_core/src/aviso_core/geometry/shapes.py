"""The shapes that events and filters carry: values, without a geometry engine.

A pair is latitude first, always; only GeoJSON text says longitude first, and it is turned around where it is read.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final, TypeAlias

import msgspec

from aviso_core.json_text import plain_number

Pair: TypeAlias = tuple[float, float]
Ring: TypeAlias = tuple[Pair, ...]

FEWEST_RING_PAIRS: Final = 4

_encode: Final = msgspec.json.Encoder().encode


class NotAShape(ValueError):
    """The value is not the shape asked for; the message is the reason, without the name of the field."""


class Point(msgspec.Struct, frozen=True, tag="Point"):
    """One place."""

    latitude: float
    longitude: float

    def geojson(self) -> dict[str, object]:
        """Return the place as a GeoJSON geometry, longitude first."""
        return {"type": "Point", "coordinates": (self.longitude, self.latitude)}


class Polygon(msgspec.Struct, frozen=True, tag="Polygon"):
    """An area of one or more parts; a part is its outer ring and the rings of its holes."""

    parts: tuple[tuple[Ring, ...], ...]

    @property
    def is_plain(self) -> bool:
        """Whether one ring says it all, as the contract's arrays do."""
        return len(self.parts) == 1 and len(self.parts[0]) == 1

    def main_ring(self) -> Ring:
        """Return the outer ring of the largest part: what the contract's array form shows of a richer shape."""
        if len(self.parts) == 1:
            return self.parts[0][0]
        return max((part[0] for part in self.parts), key=_area)

    def canonical(self) -> str:
        """Return the compact JSON text of the main ring."""
        return _encode(self.main_ring()).decode()

    def geojson(self) -> dict[str, object]:
        """Return the shape as a GeoJSON geometry, longitude first."""
        parts = [[[(lon, lat) for lat, lon in ring] for ring in part] for part in self.parts]
        if len(parts) == 1:
            return {"type": "Polygon", "coordinates": parts[0]}
        return {"type": "MultiPolygon", "coordinates": parts}


class PointCloud(msgspec.Struct, frozen=True, tag="PointCloud"):
    """Many places, in the producer's order, duplicates kept."""

    points: tuple[Pair, ...]

    def canonical(self) -> str:
        """Return the compact JSON text of the points."""
        return _encode(self.points).decode()

    def geojson(self) -> dict[str, object]:
        """Return the places as a GeoJSON geometry, longitude first."""
        return {"type": "MultiPoint", "coordinates": [(lon, lat) for lat, lon in self.points]}


Geometry: TypeAlias = Polygon | PointCloud


class Bounds(msgspec.Struct, frozen=True):
    """The smallest box of latitudes and longitudes around a shape."""

    south: float
    west: float
    north: float
    east: float

    def text(self) -> str:
        """Return the four numbers as the log's header spells them."""
        return ",".join(map(plain_number, (self.south, self.west, self.north, self.east)))


def bounds(geometry: Geometry) -> Bounds:
    """Return the box around all pairs of a geometry."""
    match geometry:
        case Polygon(parts):
            pairs = [pair for part in parts for pair in part[0]]
        case PointCloud(points):
            pairs = list(points)
    latitudes = [pair[0] for pair in pairs]
    longitudes = [pair[1] for pair in pairs]
    return Bounds(min(latitudes), min(longitudes), max(latitudes), max(longitudes))


def _area(ring: Ring) -> float:
    double = sum(a[1] * b[0] - b[1] * a[0] for a, b in pairwise(ring))
    return abs(double) / 2


def check_latitude(value: float) -> float:
    """Return a latitude that lies on the globe."""
    if not -90.0 <= value <= 90.0:
        raise NotAShape(f"latitude {plain_number(value)} is outside the valid range [-90, 90]")
    return value


def check_longitude(value: float) -> float:
    """Return a longitude of the one range that the contract knows."""
    if not -180.0 <= value <= 180.0:
        raise NotAShape(f"longitude {plain_number(value)} is outside the valid range [-180, 180]")
    return value


def check_ring(ring: Ring) -> Ring:
    """Return a ring that is long enough and ends where it began. Nothing else is asked of it."""
    if len(ring) < FEWEST_RING_PAIRS:
        raise NotAShape(
            "polygon must have at least 4 coordinate pairs "
            "(3 unique vertices plus a closing repeat of the first vertex)"
        )
    if ring[0] != ring[-1]:
        raise NotAShape("polygon must be closed (first and last coordinates must be identical)")
    return ring
