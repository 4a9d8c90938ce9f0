"""Shapes as text, `(52.5,13.4, …)`: the grammar of contract sections 6.1 and 6.3."""

from __future__ import annotations

import re
from typing import Final

from aviso_core.geometry.shapes import (
    NotAShape,
    Pair,
    Point,
    Ring,
    check_latitude,
    check_longitude,
    check_ring,
)

_NUMBER: Final = re.compile(
    r"[+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf|infinity|nan)",
    re.ASCII | re.IGNORECASE,
)


def read_decimal(text: str) -> float | None:
    """Return the double that a decimal, an exponent form, `nan` or `inf` spells, or None."""
    return float(text) if _NUMBER.fullmatch(text) else None


def read_polygon_ring(text: str) -> Ring:
    """Return the closed ring of `lat,lon,lat,lon,…`, with or without one outer pair of parentheses."""
    inner = _without_parentheses(text.strip())
    pieces = [piece.strip() for piece in inner.split(",")]
    if len(pieces) % 2:
        raise NotAShape("polygon coordinates must be in lat,lon pairs (got an odd number of values)")
    pairs = zip(pieces[::2], pieces[1::2], strict=True)
    return check_ring(tuple(_read_pair(latitude, longitude) for latitude, longitude in pairs))


def _without_parentheses(text: str) -> str:
    if not text:
        raise NotAShape("polygon coordinate string is empty")
    opened, closed = text.startswith("("), text.endswith(")")
    inner = text[1:-1].strip() if opened and closed and len(text) > 1 else text
    if opened and closed and not inner:
        raise NotAShape("polygon coordinate string is empty between parentheses")
    if opened and not closed:
        raise NotAShape("polygon coordinate string has opening '(' but is missing the closing ')'")
    if closed and not opened:
        raise NotAShape("polygon coordinate string has closing ')' but is missing the opening '('")
    if "(" in inner or ")" in inner:
        raise NotAShape(
            "polygon coordinate string must have at most one outer pair of parentheses; "
            "nested '(' or ')' are not allowed"
        )
    return inner


def _read_pair(latitude_text: str, longitude_text: str) -> Pair:
    latitude = read_decimal(latitude_text)
    if latitude is None:
        raise NotAShape(f"could not parse latitude '{latitude_text}' as a number")
    longitude = read_decimal(longitude_text)
    if longitude is None:
        raise NotAShape(f"could not parse longitude '{longitude_text}' as a number")
    return check_latitude(latitude), check_longitude(longitude)


def read_point(text: str) -> Point:
    """Return the point of `lat,lon`, with or without parentheses."""
    inner = text.strip()
    if inner.startswith("(") and inner.endswith(")"):
        inner = inner[1:-1].strip()
    if not inner:
        raise NotAShape("Point coordinate string cannot be empty")
    pieces = [piece.strip() for piece in inner.split(",")]
    if len(pieces) < 2:
        raise NotAShape("Point must be in 'lat,lon' format")
    if len(pieces) > 2:
        raise NotAShape("Point must contain exactly two values: 'lat,lon'")
    latitude = _read_coordinate(pieces[0], "latitude")
    longitude = _read_coordinate(pieces[1], "longitude")
    return Point(check_latitude(latitude), check_longitude(longitude))


def _read_coordinate(text: str, what: str) -> float:
    value = read_decimal(text)
    if value is None:
        raise NotAShape(f"Invalid {what} value: {text}")
    if value - value != 0:  # NaN and the infinities
        raise NotAShape(f"{what} must be finite")
    return value
