"""`Polygon`: an area, under the reserved key `polygon`."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, Self

from aviso_core.errors import InvalidGeometry, InvalidIdentifier
from aviso_core.fields.base import Field, JsonSchema, Samples
from aviso_core.geometry import geojson
from aviso_core.geometry.read import read_polygon
from aviso_core.geometry.shapes import NotAShape, Polygon

if TYPE_CHECKING:
    from collections.abc import Iterator

POLYGON_KEY: Final = "polygon"

_PAIR: Final = {"type": "array", "minItems": 2, "maxItems": 2, "items": {"type": "number"}}
_POSITION: Final = {"type": "array", "minItems": 2, "maxItems": 3, "items": {"type": "number"}}
_RING: Final = {"type": "array", "minItems": 4, "items": _POSITION}
_RINGS: Final = {"type": "array", "minItems": 1, "items": _RING}

# Any spelling of an area, in a notification as in a filter.
AREA_JSON_SCHEMA: Final[JsonSchema] = {
    "anyOf": [
        {"type": "string", "minLength": 1, "description": "lat,lon,lat,lon,…, closed, parentheses optional"},
        {"type": "array", "minItems": 4, "items": _PAIR, "description": "[[lat,lon],…], closed"},
        {
            "type": "object",
            "required": ["type", "coordinates"],
            "properties": {"type": {"const": "Polygon"}, "coordinates": _RINGS},
            "description": "GeoJSON, longitude first",
        },
        {
            "type": "object",
            "required": ["type", "coordinates"],
            "properties": {
                "type": {"const": "MultiPolygon"},
                "coordinates": {"type": "array", "minItems": 1, "items": _RINGS},
            },
            "description": "GeoJSON, longitude first",
        },
    ]
}


def read_area(value: object) -> Polygon:
    """Return the area of a request's `polygon`, refused under that name."""
    try:
        return read_polygon(value)
    except NotAShape as reason:
        raise InvalidGeometry(
            f"field '{POLYGON_KEY}' must be a valid polygon: {reason}", field=POLYGON_KEY
        ) from reason


class PolygonField(Field, frozen=True, kw_only=True, tag="Polygon"):
    """An area that an event covers; as a filter, an area that it must touch."""

    kind: ClassVar[str] = "Polygon"

    def read(self, value: object) -> Polygon:
        """Return the area of a notification's value."""
        if isinstance(value, dict) and not geojson.is_geojson(value):
            raise InvalidIdentifier(
                f"Field '{self.name}' constraint object is not supported for notify operation",
                field=self.name,
            )
        return read_area(value)

    def options(self) -> dict[str, object]:
        """Return nothing: there is nothing to set."""
        return {}

    def json_schema(self) -> JsonSchema:
        """Describe every spelling of an area."""
        return AREA_JSON_SCHEMA

    def narrowings(self, older: Self) -> Iterator[str]:
        """Yield nothing: all fields of this type take the same."""
        del older
        yield from ()

    @classmethod
    def samples(cls) -> Iterator[tuple[PolygonField, Samples]]:
        """Yield the one field there is, with a case for every reason of the contract."""
        square = "[[0.0,0.0],[0.0,1.0],[1.0,1.0],[0.0,0.0]]"
        ring = [[0, 0], [0, 1], [1, 1], [0, 0]]
        turned = [[lon, lat] for lat, lon in ring]
        hole = [[0.2, 0.4], [0.2, 0.6], [0.3, 0.6], [0.2, 0.4]]
        no_shape = "polygon must be an array of [lat,lon] points or a compatible string"
        too_short = (
            "polygon must have at least 4 coordinate pairs "
            "(3 unique vertices plus a closing repeat of the first vertex)"  # one text of the contract
        )
        reasons: tuple[tuple[object, str], ...] = (
            ("", "polygon coordinate string is empty"),
            ("  ", "polygon coordinate string is empty"),
            ("()", "polygon coordinate string is empty between parentheses"),
            ("(0,0", "polygon coordinate string has opening '(' but is missing the closing ')'"),
            ("0,0)", "polygon coordinate string has closing ')' but is missing the opening '('"),
            (
                "((0,0))",
                "polygon coordinate string must have at most one outer pair of parentheses; "
                "nested '(' or ')' are not allowed",
            ),
            ("(0,0,1)", "polygon coordinates must be in lat,lon pairs (got an odd number of values)"),
            ("(a,0,0,1,1,1,a,0)", "could not parse latitude 'a' as a number"),
            ("(0,b,0,1,1,1,0,b)", "could not parse longitude 'b' as a number"),
            ("(91,0,0,1,1,1,91,0)", "latitude 91 is outside the valid range [-90, 90]"),
            ("(nan,0,0,1,1,1,nan,0)", "latitude NaN is outside the valid range [-90, 90]"),
            ("(0,-inf,0,1,1,1,0,0)", "longitude -inf is outside the valid range [-180, 180]"),
            ("(0,180.5,0,1,1,1,0,180.5)", "longitude 180.5 is outside the valid range [-180, 180]"),
            ("(0,0,0,1,0,0)", too_short),
            ("(0,0,0,1,1,1,1,0)", "polygon must be closed (first and last coordinates must be identical)"),
            ([], too_short),
            ([[0, 0], [0, 1], [1]], "polygon point 2 is invalid: coordinate must be a two-element array [lat,lon]"),
            ([[0, 0], ["0", 1]], "polygon point 1 is invalid: latitude must be a number"),
            ([[0, 0], [0, True]], "polygon point 1 is invalid: longitude must be a number"),
            ([[0, 0], [91, 0]], "polygon point 1 is invalid: latitude 91 is outside the valid range [-90, 90]"),
            ([0, 0, 0, 1], "polygon point 0 is invalid: coordinate must be a two-element array [lat,lon]"),
            ("[[0,0],[0,1],[1,1],[0,0]", "invalid polygon JSON array: Input data was truncated"),
            (None, no_shape),
            (5, no_shape),
            (True, no_shape),
        )  # fmt: skip
        yield (
            cls(name=POLYGON_KEY),
            Samples(
                accepted=(
                    ("(0,0,0,1,1,1,0,0)", square),
                    (" ( 0 , 0 ,0,1e0, 1. ,+1,0,-0.0) ", square.replace("[0.0,0.0]]", "[0.0,-0.0]]")),
                    ("0,0,0,1,1,1,0,0", square),
                    ("[[0,0],[0,1],[1,1],[0,0]]", square),
                    (ring, square),
                    ({"type": "Polygon", "coordinates": [turned]}, square),
                    ({"type": "MultiPolygon", "coordinates": [[hole], [turned, hole]]}, square),
                ),
                refused=(
                    *((value, f"field 'polygon' must be a valid polygon: {reason}") for value, reason in reasons),
                    ({"in": []}, "Field 'polygon' constraint object is not supported for notify operation"),
                    (
                        {"type": "LineString", "coordinates": ring},
                        "field 'polygon' must be a valid polygon: "
                        "GeoJSON type must be Polygon or MultiPolygon, got 'LineString'",
                    ),
                ),
            ),
        )  # fmt: skip
