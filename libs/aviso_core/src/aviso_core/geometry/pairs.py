"""Shapes as JSON arrays of `[lat, lon]` pairs: polygons, points and point clouds of contract section 16.2."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aviso_core import json_text
from aviso_core.geometry.shapes import NotAShape, Pair, Ring, check_latitude, check_longitude, check_ring

if TYPE_CHECKING:
    from collections.abc import Sequence


def read_ring(value: Sequence[object]) -> Ring:
    """Return the closed ring of an array of pairs."""
    return check_ring(read_pairs(value, of="polygon"))


def read_pairs(value: Sequence[object], *, of: str) -> tuple[Pair, ...]:
    """Return the pairs of an array; the first bad one is named by its place, counted from 0."""
    pairs = []
    for place, item in enumerate(value):
        try:
            pairs.append(read_pair(item))
        except NotAShape as reason:
            raise NotAShape(f"{of} point {place} is invalid: {reason}") from reason
    return tuple(pairs)


def read_pair(value: object) -> Pair:
    """Return one pair of numbers on the globe."""
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise NotAShape("coordinate must be a two-element array [lat,lon]")
    latitude = read_number(value[0], "latitude")
    longitude = read_number(value[1], "longitude")
    return check_latitude(latitude), check_longitude(longitude)


def read_number(value: object, what: str) -> float:
    """Return a JSON number as a double; an integer too large for one is as good as infinite."""
    if isinstance(value, json_text.LongInteger):
        return float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise NotAShape(f"{what} must be a number")
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def read_array_text(text: str, *, of: str) -> Sequence[object]:
    """Return the array that a string holds as JSON text."""
    try:
        value = json_text.decode(text.encode())
    except json_text.NotJson as reason:
        raise NotAShape(f"invalid {of} JSON array: {reason}") from reason
    assert isinstance(value, list), "text that begins with a bracket and is JSON is an array"
    return value
