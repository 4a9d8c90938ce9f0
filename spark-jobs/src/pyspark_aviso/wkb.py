"""Shapes of events in lines → the well-known binary form in which Arrow answers have them, and that → GeoJSON.

Both have the longitude first.
"""

from __future__ import annotations

import math
from itertools import chain
from struct import error, pack, unpack_from
from typing import TYPE_CHECKING, Any, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

KINDS: Final = ("Point", "Polygon", "MultiPoint", "MultiPolygon")
"""The shapes that events have."""

_NAMES: Final = {
    1: "Point",
    2: "LineString",
    3: "Polygon",
    4: "MultiPoint",
    5: "MultiLineString",
    6: "MultiPolygon",
    7: "GeometryCollection",
}
_NUMBERS: Final = {name: number for number, name in _NAMES.items()}
# Each begins with the mark for the smaller byte first.
_POINT, _POLYGON, _MULTI_POINT, _MULTI_POLYGON = (b"\x01" + pack("<I", _NUMBERS[kind]) for kind in KINDS)
_PAIR_BYTES: Final = 16
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


# --- the other way -----------------------------------------------------------------------------------------------


class _Shape(msgspec.Struct):
    type: str
    coordinates: list[Any]


def geojson_of(wkb: bytes, kinds: Collection[str] = KINDS) -> bytes:
    """Return a shape of one of these kinds as GeoJSON; raises ValueError with what is wrong with its bytes."""
    reader = _Reader(wkb)
    try:
        shape = reader.shape(kinds)
    except (IndexError, error) as problem:
        raise ValueError("its bytes end too early: it is no WKB") from problem
    if reader.place != len(wkb):
        raise ValueError(f"there are {len(wkb) - reader.place} bytes behind its end: it is no WKB")
    return msgspec.json.encode(shape)


class _Reader:
    """Reads one shape from its beginning to its end. Parts of a shape may have another byte order than the whole."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.place = 0

    def shape(self, kinds: Collection[str]) -> _Shape:
        number, order = self._head()
        kind = _NAMES.get(number, f"shape of the type {number}")
        if kind not in kinds:
            raise ValueError(f"it is a {kind}, and not a {' or '.join(kinds)} with two coordinates")
        if kind == "Point":
            return _Shape(kind, self._pairs(1, order)[0])
        if kind == "Polygon":
            return _Shape(kind, [self._pairs(self._count(order), order) for _ in range(self._count(order))])
        of_one = kind.removeprefix("Multi")
        return _Shape(kind, [self.shape((of_one,)).coordinates for _ in range(self._count(order))])

    def _head(self) -> tuple[int, str]:
        mark = self._data[self.place]
        if mark not in (0, 1):
            raise ValueError(f"it begins with the byte {mark}: it is no WKB")
        self.place += 1
        order = "<" if mark else ">"
        return self._count(order), order

    def _count(self, order: str) -> int:
        (count,) = unpack_from(f"{order}I", self._data, self.place)
        self.place += 4
        return int(count)

    def _pairs(self, count: int, order: str) -> list[list[float]]:
        # More than the bytes can hold is not even begun.
        if count * _PAIR_BYTES > len(self._data) - self.place:
            raise IndexError(count)
        numbers = unpack_from(f"{order}{2 * count}d", self._data, self.place)
        self.place += count * _PAIR_BYTES
        if not all(map(math.isfinite, numbers)):
            raise ValueError("a coordinate of it is NaN or infinite, as of an empty shape")
        return [list(pair) for pair in zip(numbers[::2], numbers[1::2], strict=True)]
