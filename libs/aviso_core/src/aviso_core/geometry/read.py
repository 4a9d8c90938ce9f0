"""Any accepted spelling of a shape → the shape: text, arrays, arrays inside text, GeoJSON."""

from __future__ import annotations

from aviso_core.geometry import geojson, pairs, text
from aviso_core.geometry.shapes import NotAShape, Point, Polygon


def read_polygon(value: object) -> Polygon:
    """Return the area that a JSON value of a request describes."""
    if isinstance(value, str):
        return Polygon(((_read_ring_text(value),),))
    if isinstance(value, list | tuple):
        return Polygon(((pairs.read_ring(value),),))
    if geojson.is_geojson(value):
        return geojson.read_polygon(value)
    raise NotAShape("polygon must be an array of [lat,lon] points or a compatible string")


def _read_ring_text(value: str) -> tuple[tuple[float, float], ...]:
    if value.lstrip().startswith("["):
        return pairs.read_ring(pairs.read_array_text(value, of="polygon"))
    return text.read_polygon_ring(value)


def read_point(value: object) -> Point:
    """Return the place that a JSON value of a request describes."""
    if isinstance(value, str):
        if value.lstrip().startswith("["):
            return Point(*pairs.read_pair(pairs.read_array_text(value, of="point")))
        return text.read_point(value)
    if isinstance(value, list | tuple):
        return Point(*pairs.read_pair(value))
    if geojson.is_geojson(value):
        return geojson.read_point(value)
    raise NotAShape("point must be a two-element array [lat,lon] or a compatible string")
