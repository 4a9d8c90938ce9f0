"""Example requests are what they say: requests that work."""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec
import pytest

from aviso_core.errors import Refusal
from aviso_core.fields import FIELD_TYPES, AnyField, SpatialField
from aviso_core.fields.choice import ChoiceField
from aviso_core.fields.point_cloud import PointCloudField
from aviso_core.fields.polygon import PolygonField
from aviso_core.fields.text import TextField
from aviso_core.schema.catalog import build_catalog
from aviso_core.schema.model import PayloadRules, Schema, Topic
from aviso_schema.describe.examples import Examples, examples
from support.catalogs import BUOYS, RUNS, STORMS
from support.endpoints import ask

_ANCHOR: Final = TextField(name="anchor", required=True)
FIELDS: Final = [
    msgspec.structs.replace(field, required=is_required)
    for field_type in FIELD_TYPES
    for field, _ in field_type.samples()
    for is_required in (False, True)
]


def _of(schema: Schema) -> Examples:
    return examples(build_catalog([schema]).event_types[schema.event_type])


def _with(*fields: AnyField, payload: PayloadRules | None = None) -> Schema:
    routed = tuple(field.name for field in fields if not isinstance(field, SpatialField))
    return Schema(
        event_type="one",
        topic=Topic(base="one", key_order=("anchor", *routed)),
        fields=(_ANCHOR, *fields),
        payload=payload,
    )


def _all_work(schema: Schema) -> set[str]:
    """Return the names of the examples, all of which the service takes."""
    catalog = build_catalog([schema])
    made = _of(schema)
    for example in made.examples:
        endpoint: Any = example.path.removeprefix("/api/v1/")
        answer = ask(catalog, endpoint, json.dumps(example.body).encode())
        assert not isinstance(answer, Refusal), (example.name, answer)
    return {example.name for example in made.examples}


_ALWAYS: Final = {"notify", "watch", "watch-from", "replay", "replay-window"}


@pytest.mark.parametrize(
    ("schema", "more"),
    [
        (STORMS, {"watch-constraints", "watch-area", "watch-point"}),
        (RUNS, {"watch-constraints"}),
        (BUOYS, {"watch-area"}),
        (Schema(event_type="bare", fields=()), set()),
    ],
    ids=lambda value: value.event_type if isinstance(value, Schema) else "",
)
def test_all_examples_work(schema: Schema, more: set[str]) -> None:
    """For each event type there is one of each kind that it has."""
    assert _all_work(schema) == _ALWAYS | more
    assert _of(schema).missing == ()


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: f"{field.kind}")
def test_every_type_of_field_has_an_example(field: AnyField) -> None:
    """Needed in filters or not, with whatever settings its samples have."""
    assert _all_work(_with(field)) >= _ALWAYS


@pytest.mark.parametrize(
    "field",
    [
        TextField(name="x", max_length=1),
        TextField(name="ü" * 9, max_length=3),
        TextField(name="x", pattern=r"^[A-Z]{4}-\d{8}$", required=True),
        TextField(name="x", pattern="^(oper|enfo)$", max_length=4),
        TextField(name="x", pattern="[0-9]{3}"),
        TextField(name="x", default="left out"),
        ChoiceField(name="x", values=("North",), required=True),
        PolygonField(name="polygon", required=True),
        PointCloudField(name="point_cloud", max_points=1),
    ],
    ids=repr,
)
def test_settings_of_a_field_are_kept(field: AnyField) -> None:
    """Lengths, patterns, members, numbers of points."""
    assert _all_work(_with(field)) >= _ALWAYS


@pytest.mark.parametrize(
    ("json_schema", "expected"),
    [
        ({"const": 5}, 5),
        ({"examples": [{"a": 1}]}, {"a": 1}),
        ({"examples": ["wrong", 2], "type": "integer"}, 2),
        ({"default": "d", "minLength": 1}, "d"),
        ({"enum": ["x", "y"]}, "x"),
        (
            {
                "type": "object",
                "required": ["id", "when", "to", "n"],
                "properties": {
                    "id": {"type": "string", "minLength": 40},
                    "when": {"type": "string", "format": "date-time"},
                    "to": {"type": "array", "minItems": 2, "items": {"$ref": "#/$defs/place"}},
                    "n": {"type": "integer", "exclusiveMinimum": 3},
                    "flag": {"type": ["boolean", "null"]},
                },
                "$defs": {"place": {"type": "number", "minimum": -90, "maximum": 90}},
            },
            {
                "id": "text".ljust(40, "x"),
                "when": "2025-07-06T12:00:00Z",
                "to": [-90, -90],
                "n": 4,
                "flag": True,
            },
        ),
        ({"oneOf": [{"type": "integer", "multipleOf": 7}, {"type": "boolean"}]}, 7),
        (
            {
                "allOf": [
                    {"properties": {"a": {"const": 1}}, "required": ["a"]},
                    {"properties": {"b": {"const": 2}}},
                ]
            },
            {"a": 1, "b": 2},
        ),
        ({"type": "array", "prefixItems": [{"const": 1}, {"const": 2}], "items": False}, [1, 2]),
    ],
)
def test_a_payload_is_found_that_fits(json_schema: dict[str, Any], expected: object) -> None:
    """Given in the schema, or made from its common words."""
    schema = _with(payload=PayloadRules(required=True, json_schema=json_schema))
    assert _all_work(schema) >= _ALWAYS
    assert _of(schema).examples[0].body["payload"] == expected


def test_a_payload_schema_that_asks_for_much_is_not_followed_to_the_end() -> None:
    """Arrays of arrays of arrays could fill the memory."""
    deep: dict[str, Any] = {"type": "integer"}
    for _ in range(8):
        deep = {"type": "array", "minItems": 100, "items": deep}
    made = _of(_with(payload=PayloadRules(required=True, json_schema=deep)))
    assert made.missing == ("payload",)


def test_what_has_no_example_is_named() -> None:
    """And the requests that would need it are not there."""
    odd = TextField(name="odd", pattern=r"\A\pL{7}\z", required=True)
    assert _of(_with(odd)) == Examples(event_type="one", examples=(), missing=("odd",))
    optional = msgspec.structs.replace(odd, required=False)
    assert _all_work(_with(optional)) == _ALWAYS - {"notify"}
    never = PayloadRules(required=True, json_schema={"not": {}})
    assert _all_work(_with(payload=never)) == _ALWAYS - {"notify"}
    assert _of(_with(payload=never)).missing == ("payload",)
    maybe = PayloadRules(json_schema={"not": {}})
    assert _all_work(_with(payload=maybe)) == _ALWAYS
