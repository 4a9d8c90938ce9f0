"""Footprints as people keep them → GeoJSON, longitude first, as notifications are written from.

What is taken: GeoJSON, WKT, WKB, and a bounding box `[west, south, east, north]`. A box whose west lies east of its
east crosses the antimeridian, and becomes the two parts on both sides of it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from shapely.geometry.base import BaseGeometry

_AREAS: Final = ("Polygon", "MultiPolygon")
_BOX_SIZES: Final = (4, 6)
_NOT_UNDERSTOOD: Final = "is neither GeoJSON, WKT, WKB nor a box [west, south, east, north]"
_decode_box: Final = msgspec.json.Decoder(list[float]).decode


def footprint(value: str | bytes) -> str:
    """Return the GeoJSON of a footprint, or raise a ValueError that says what is wrong with it."""
    import shapely

    shape = _shape(value)
    if shape is None:
        raise ValueError(_NOT_UNDERSTOOD)
    if shape.geom_type not in _AREAS:
        raise ValueError(f"is a {shape.geom_type}, not a polygon")
    if shape.is_empty:
        raise ValueError("is empty")
    west, south, east, north = shape.bounds
    if min(west + 180, 180 - east, south + 90, 90 - north) < 0:
        raise ValueError("leaves longitudes -180 to 180 or latitudes -90 to 90: longitude comes first")
    return str(shapely.to_geojson(shape))


def _shape(value: str | bytes) -> BaseGeometry | None:
    import shapely

    try:
        if isinstance(value, bytes):
            return shapely.from_wkb(value)
        text = value.strip()
        if text.startswith("{"):
            return shapely.from_geojson(text)
        return _box(text) if text.startswith("[") else shapely.from_wkt(text)
    except (shapely.errors.ShapelyError, msgspec.DecodeError, TypeError) as error:
        raise ValueError(_NOT_UNDERSTOOD) from error


def _box(text: str) -> BaseGeometry:
    import shapely

    numbers = _decode_box(text)
    if len(numbers) not in _BOX_SIZES or not all(map(math.isfinite, numbers)):
        raise ValueError("is a box of neither four nor six numbers")
    half = len(numbers) // 2
    (west, south), (east, north) = numbers[:2], numbers[half : half + 2]
    if west <= east:
        return _rectangle(west, south, east, north)
    return shapely.union_all([_rectangle(west, south, 180, north), _rectangle(-180, south, east, north)])


def _rectangle(west: float, south: float, east: float, north: float) -> BaseGeometry:
    import shapely

    made: BaseGeometry = shapely.box(west, south, east, north)
    return made
