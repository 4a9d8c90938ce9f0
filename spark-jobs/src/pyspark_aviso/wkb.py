"""Shapes of events in lines → the well-known binary form in which Arrow answers have them: longitude first."""

from __future__ import annotations

from itertools import chain
from struct import pack
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

# Numbers of the form, behind the mark for the smaller byte first.
_POINT, _POLYGON, _MULTI_POINT, _MULTI_POLYGON = (b"\x01" + pack("<I", kind) for kind in (1, 3, 4, 6))
# The members of an identifier that are shapes.
RING, PLACES = "polygon", "point_cloud"


def shape_of(identifier: Mapping[str, Any], geometry: Mapping[str, Any] | None) -> bytes | None:
    """Return the shape of an event: its GeoJSON if there is some, else the ring or the places of its identifier."""
    if geometry is not None:
        return _of_geojson(geometry)
    ring, places = identifier.get(RING), identifier.get(PLACES)
    if isinstance(ring, list):
        return _polygon([_turned(ring)])
    if isinstance(places, list):
        return b"".join([_MULTI_POINT, _count(places), *(_POINT + _pairs([one]) for one in _turned(places))])
    return None


def _of_geojson(geometry: Mapping[str, Any]) -> bytes:
    rings = geometry["coordinates"]
    if geometry["type"] == "Polygon":
        return _polygon(rings)
    if geometry["type"] != "MultiPolygon":
        raise ValueError(f"a shape of the type {geometry['type']!r} is not known")
    return b"".join([_MULTI_POLYGON, _count(rings), *map(_polygon, rings)])


def _polygon(rings: Sequence[Sequence[Sequence[float]]]) -> bytes:
    return b"".join([_POLYGON, _count(rings), *(_count(ring) + _pairs(ring) for ring in rings)])


def _turned(pairs: Iterable[Sequence[float]]) -> list[tuple[float, float]]:
    """Return pairs with the latitude first as pairs with the longitude first."""
    return [(longitude, latitude) for latitude, longitude in pairs]


def _count(items: Sequence[object]) -> bytes:
    return pack("<I", len(items))


def _pairs(pairs: Sequence[Sequence[float]]) -> bytes:
    return pack(f"<{2 * len(pairs)}d", *chain.from_iterable(pairs))
