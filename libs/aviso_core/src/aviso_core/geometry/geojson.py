"""Shapes as GeoJSON geometries (RFC 7946): `Polygon` with holes, `MultiPolygon`, `Point`. Longitude first.

An object counts as GeoJSON when it has both `type` and `coordinates`; anything else that is an object stays what the
contract makes of it, a constraint.
"""

from __future__ import annotations

from typing import TypeGuard

from aviso_core.geometry.pairs import read_number
from aviso_core.geometry.shapes import (
    NotAShape,
    Pair,
    Point,
    Polygon,
    Ring,
    check_latitude,
    check_longitude,
    check_ring,
)


def is_geojson(value: object) -> TypeGuard[dict[str, object]]:
    """Tell whether a JSON value presents itself as a GeoJSON geometry."""
    return isinstance(value, dict) and "type" in value and "coordinates" in value


def read_polygon(value: dict[str, object]) -> Polygon:
    """Return the area of a GeoJSON `Polygon` or `MultiPolygon`."""
    coordinates = value["coordinates"]
    match value["type"]:
        case "Polygon":
            return Polygon((_read_part(coordinates, "coordinates"),))
        case "MultiPolygon":
            parts = _items(coordinates, "coordinates", "polygons")
            return Polygon(
                tuple(_read_part(part, f"coordinates[{place}]") for place, part in enumerate(parts))
            )
        case other:
            raise NotAShape(f"GeoJSON type must be Polygon or MultiPolygon, got {_spell(other)}")


def read_point(value: dict[str, object]) -> Point:
    """Return the place of a GeoJSON `Point`."""
    if value["type"] != "Point":
        raise NotAShape(f"GeoJSON type must be Point, got {_spell(value['type'])}")
    latitude, longitude = _read_position(value["coordinates"], "coordinates")
    return Point(latitude, longitude)


def _read_part(value: object, path: str) -> tuple[Ring, ...]:
    rings = _items(value, path, "rings")
    return tuple(_read_ring(ring, f"{path}[{place}]") for place, ring in enumerate(rings))


def _read_ring(value: object, path: str) -> Ring:
    positions = _items(value, path, "positions")
    pairs = tuple(_read_position(position, f"{path}[{place}]") for place, position in enumerate(positions))
    try:
        return check_ring(pairs)
    except NotAShape as reason:
        raise NotAShape(f"GeoJSON {path}: {reason}") from reason


def _read_position(value: object, path: str) -> Pair:
    # A third number is the height, which nothing here looks at.
    if not isinstance(value, list | tuple) or len(value) not in (2, 3):
        raise NotAShape(f"GeoJSON {path} must be a position [longitude, latitude]")
    try:
        longitude = read_number(value[0], "longitude")
        latitude = read_number(value[1], "latitude")
        return check_latitude(latitude), check_longitude(longitude)
    except NotAShape as reason:
        raise NotAShape(f"GeoJSON {path}: {reason} (GeoJSON is longitude first)") from reason


def _items(value: object, path: str, of: str) -> list[object]:
    if not isinstance(value, list) or not value:
        raise NotAShape(f"GeoJSON {path} must be a non-empty array of {of}")
    return value


def _spell(value: object) -> str:
    return f"'{value}'" if isinstance(value, str) else "a value that is no string"
