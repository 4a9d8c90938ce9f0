"""What the schema service says becomes rules, and a mapping that does not fit is refused before Spark works."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest
import shapely

from aviso_spark.common.problems import NotUnderstood
from aviso_spark.event_schema import EventSchema, FieldRules, event_schema
from aviso_spark.expressions import Expressions
from aviso_spark.footprints import footprint
from aviso_spark.mapping import plan_mapping

SCHEMA: Final = EventSchema(
    event_type="storms",
    fields=(
        FieldRules(name="basin", is_required=True),
        FieldRules(name="category", is_required=True),
        FieldRules(name="note"),
        FieldRules(name="polygon", is_geometry=True),
    ),
    is_payload_required=True,
)


def documents() -> dict[str, Any]:
    """Return both documents about an event type, as the service sends them."""
    number = {"anyOf": [{"type": "integer"}, {"type": "string", "pattern": "^[+-]?[0-9]+$"}]}
    text = {"anyOf": [{"type": "string", "maxLength": 8}, {"type": ["number", "boolean"]}]}
    ring = {"anyOf": [{"type": "string"}, {"type": "array"}]}
    return {
        "answer": {
            "schema": {
                "identifier": {
                    "basin": {"type": "EnumHandler", "values": ["Atlantic", "pacific"], "required": True},
                    "category": {"type": "IntHandler", "range": [0, 5], "required": True},
                    "name": {"type": "StringHandler", "max_length": 8, "required": True},
                    "polygon": {"type": "PolygonHandler", "required": False},
                }
            }
        },
        "notification": {
            "properties": {
                "identifier": {
                    "properties": {"basin": text, "category": number, "name": text, "polygon": ring},
                    "required": ["basin"],
                },
                "payload": {
                    "allOf": [{"not": {"type": "null"}}, {"type": "object", "required": ["headline"]}]
                },
            },
            "required": ["event_type", "identifier", "payload"],
        },
    }


@pytest.mark.parametrize(
    ("pattern", "known"), [("^[a-z]+$", "^[a-z]+$"), ("^(?P<a>x)(?P=a)$", None), ("(?a)x", None)]
)
def test_a_pattern_that_only_python_knows_is_left_to_the_service(pattern: str, known: str | None) -> None:
    """Java would call it a mistake, in the middle of the job."""
    both = documents()
    both["notification"]["properties"]["identifier"]["properties"]["basin"] = {
        "type": "string",
        "pattern": pattern,
    }
    schema = event_schema("storms", **both)
    assert next(field.pattern for field in schema.fields if field.name == "basin") == known


def test_the_rules_of_an_event_type_are_those_of_its_documents() -> None:
    """Values in any case, numbers in their range, texts as long as they may be, members a payload must have."""
    schema = event_schema("storms", **documents())
    basin, category, name, polygon = schema.fields
    assert basin == FieldRules(name="basin", is_required=True, values=("atlantic", "pacific"), longest=8)
    assert (category.lowest, category.highest, category.pattern) == (0, 5, "^[+-]?[0-9]+$")
    assert (name.longest, name.is_required) == (8, False)
    assert (polygon.is_geometry, schema.geometry_field) == (True, "polygon")
    assert (schema.is_payload_required, schema.payload_keys) == (True, ("headline",))


def test_fields_take_columns_of_their_name_and_what_was_given_goes_before() -> None:
    """A column is found in any case; a name with a backquote in it stays one name."""
    plan = plan_mapping(
        SCHEMA, ["Basin", "category", "payload"], Expressions(fields={"category": "level + 1"})
    )
    assert plan.fields == {"basin": "`Basin`", "category": "level + 1"}
    assert plan.payload == "`payload`"


@pytest.mark.parametrize(
    ("columns", "given", "told"),
    [
        (
            ["basin", "payload"],
            Expressions(),
            "needs category.*--map category=EXPRESSION; there are basin, payload",
        ),
        (["basin", "category"], Expressions(), "needs a payload: give it with --payload"),
        (["basin"], Expressions(fields={"categry": "1"}), "no field 'categry': did you mean 'category'"),
        (["basin"], Expressions(fields={"zzz": "1"}), "no field 'zzz': there are basin, category"),
    ],
)
def test_a_mapping_that_does_not_fit_is_refused_with_what_to_write(
    columns: list[str], given: Expressions, told: str
) -> None:
    """Nothing has to be read for that."""
    with pytest.raises(NotUnderstood, match=told):
        plan_mapping(SCHEMA, columns, given)


SQUARE: Final = shapely.box(1, 2, 3, 4)


@pytest.mark.parametrize(
    "value",
    [
        shapely.to_geojson(SQUARE),
        f" {shapely.to_wkt(SQUARE)} ",
        shapely.to_wkb(SQUARE),
        "[1,2,3,4]",
        "[1,2,0,3,4,9]",
    ],
    ids=["geojson", "wkt", "wkb", "box", "box with heights"],
)
def test_a_footprint_is_taken_in_every_spelling(value: str | bytes) -> None:
    """They all mean the same square, longitude first."""
    assert shapely.from_geojson(footprint(value)).equals(SQUARE)


def test_a_box_across_the_antimeridian_is_two_parts() -> None:
    """Its west lies east of its east."""
    made = json.loads(footprint("[170, -10, -175, 10]"))
    assert made["type"] == "MultiPolygon"
    assert sorted(shapely.from_geojson(json.dumps(made)).bounds) == [-180, -10, 10, 180]


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("POINT (1 2)", "is a Point, not a polygon"),
        ("POLYGON EMPTY", "is empty"),
        ("[1,2,3]", "neither four nor six"),
        ("[1,2,3,1e999]", "is neither GeoJSON|neither four nor six"),
        ("[NaN,0,1,1]", "is neither GeoJSON"),
        ("[0,null,1,1]", "is neither GeoJSON"),
        ("[[1,2],[3,4],[5,6],[1,2]]", "is neither GeoJSON"),
        ("[" * 3000, "is neither GeoJSON"),
        ("[1,2,3,", "is neither GeoJSON"),
        ('{"type":"Polygon"}', "is neither GeoJSON"),
        ("nonsense", "is neither GeoJSON"),
        (b"\x01\x02", "is neither GeoJSON"),
        ('["a","b","c","d"]', "is neither GeoJSON"),
        ("[0,0,200,10]", "longitude comes first"),
    ],
)
def test_what_is_no_footprint_is_told(value: str | bytes, told: str) -> None:
    """The words are those of the row's receipt."""
    with pytest.raises(ValueError, match=told):
        footprint(value)
