"""One field's values as JSON Schema: sent with a notification, asked for by a filter, and delivered.

How the values of a field type look is the field's own (`json_schema`). Here it is completed: by what the schema says
about the field, and by what readers may send in its place. Everything that the field accepts fits what is said here;
not everything that fits is accepted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aviso_core.fields import ComparableField, SpatialField
from aviso_core.fields.polygon import AREA_JSON_SCHEMA
from aviso_core.fields.text import TextField
from aviso_schema.describe.pattern import portable

if TYPE_CHECKING:
    from aviso_core.fields import AnyField, ScalarField
    from aviso_core.fields.base import JsonSchema

_COORDINATES: Final[JsonSchema] = {
    "type": "array",
    "minItems": 2,
    "maxItems": 2,
    "items": {"type": "number"},
}
_POSITION: Final[JsonSchema] = _COORDINATES | {"maxItems": 3}

# Any spelling of a place, as readers send it.
POINT_JSON_SCHEMA: Final[JsonSchema] = {
    "description": "Selects events whose polygon has this place strictly inside.",
    "anyOf": [
        {"type": "string", "minLength": 1, "description": "lat,lon, parentheses optional"},
        _COORDINATES | {"description": "[lat,lon]"},
        {
            "type": "object",
            "required": ["type", "coordinates"],
            "properties": {"type": {"const": "Point"}, "coordinates": _POSITION},
            "description": "GeoJSON, longitude first",
        },
    ],
}
AREA_FILTER_JSON_SCHEMA: Final[JsonSchema] = AREA_JSON_SCHEMA | {
    "description": "Selects events whose shape shares any place with this area."
}
_PAIRS: Final[JsonSchema] = {"type": "array", "items": _COORDINATES}


def sent_value(field: AnyField) -> JsonSchema:
    """Return what a producer may send for a field."""
    schema = _described(field) | field.json_schema()
    if isinstance(field, TextField) and field.pattern is not None:
        schema |= _with_portable_pattern(field, field.pattern)
    return schema if field.default is None else schema | {"default": field.default}


def _described(field: AnyField) -> JsonSchema:
    return {"description": field.description} if field.description else {}


def _with_portable_pattern(field: TextField, pattern: str) -> JsonSchema:
    text, *others = field.json_schema()["anyOf"]
    made = portable(pattern)
    if made is not None:
        return {"anyOf": [text | {"pattern": made.pattern}, *others]}
    without = {keyword: value for keyword, value in text.items() if keyword != "pattern"}
    return {"anyOf": [without, *others], "$comment": f"The text matches, in RE2 syntax: {pattern}"}


def asked_value(field: ScalarField) -> JsonSchema:
    """Return what a reader may send for a field: a value, or an operator with its operands."""
    value = sent_value(field)
    value.pop("default", None)
    if not isinstance(field, ComparableField):
        return value
    return value | {"anyOf": [*value["anyOf"], _constraint(field)]}


def _constraint(field: ComparableField) -> JsonSchema:
    return {
        "type": "object",
        "description": "A constraint: exactly one operator.",
        "minProperties": 1,
        "maxProperties": 1,
        "additionalProperties": False,
        "properties": {operator: _operands(field, operator) for operator in field.operators},
    }


def _operands(field: ComparableField, operator: str) -> JsonSchema:
    # The first of a comparable field's spellings is the one in its own JSON type, which operands must have.
    operand = field.json_schema()["anyOf"][0]
    match operator:
        case "in":
            return {"type": "array", "minItems": 1, "items": operand}
        case "between":
            return {"type": "array", "minItems": 2, "maxItems": 2, "items": operand}
        case _:
            return dict(operand)


def delivered_value(field: AnyField) -> JsonSchema:
    """Return what a reader gets for a field: canonical text, or pairs of coordinates."""
    if isinstance(field, SpatialField):
        return _described(field) | _PAIRS
    return _described(field) | {"type": "string"}
