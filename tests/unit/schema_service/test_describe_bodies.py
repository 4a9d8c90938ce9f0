"""JSON Schemas of bodies: what the service accepts fits them, and what they can say, they say."""

from __future__ import annotations

import json
from typing import Any, Final

import jsonschema_rs
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aviso_core.envelope import Envelope
from aviso_core.errors import Refusal
from aviso_core.event import Event
from aviso_core.fields import FIELD_TYPES, AnyField, ComparableField, SpatialField
from aviso_core.fields.choice import ChoiceField
from aviso_core.fields.integer import IntegerField
from aviso_core.fields.point_cloud import PointCloudField
from aviso_core.fields.polygon import PolygonField
from aviso_core.fields.text import TextField
from aviso_core.schema.catalog import build_catalog
from aviso_core.schema.model import PayloadRules, Schema, Topic
from aviso_schema.describe import bodies
from support import json_strategies
from support.catalogs import BUOYS, RUNS, STORMS
from support.endpoints import Endpoint, Notified, ask

SCALARS: Final = [
    msgspec.structs.replace(field, name=f"f{place}")
    for place, field in enumerate(
        field
        for field_type in FIELD_TYPES
        for field, _ in field_type.samples()
        if not isinstance(field, SpatialField)
    )
]
EVERY_FIELD: Final = Schema(
    event_type="every",
    topic=Topic(base="every", key_order=tuple(field.name for field in SCALARS)),
    fields=tuple(SCALARS),
)
MOVING: Final = Schema(
    event_type="moving",
    description="A storm and where it is.",
    topic=Topic(base="moving", key_order=("basin",)),
    fields=(
        TextField(name="basin", required=True, pattern=r"^\w+$", description="Where it is."),
        ChoiceField(name="grade", values=("1", "2"), default="1"),
        TextField(name="note", pattern="(?i)^x"),
        PolygonField(name="polygon", required=True),
    ),
    payload=PayloadRules(
        required=True,
        json_schema={
            "type": "object",
            "properties": {"wind": {"$ref": "#/$defs/speed"}, "const": {"$ref": "#/$defs/speed"}},
            "required": ["wind"],
            "$defs": {"speed": {"type": "number", "minimum": 0}},
        },
    ),
)
LOOSE: Final = Schema(
    event_type="loose",
    fields=(IntegerField(name="step"),),
    payload=PayloadRules(
        json_schema={"type": "array", "items": {"$ref": "#/$defs/one"}, "$defs": {"one": {"enum": [1]}}}
    ),
)
SCHEMAS: Final = (STORMS, RUNS, BUOYS, EVERY_FIELD, MOVING, LOOSE)
CATALOG: Final = build_catalog(SCHEMAS)

NOTIFICATIONS: Final = {
    schema.event_type: jsonschema_rs.validator_for(bodies.with_dialect(bodies.notification(schema)))
    for schema in SCHEMAS
}
FILTERS: Final = {
    schema.event_type: jsonschema_rs.validator_for(bodies.with_dialect(bodies.filter_body(schema)))
    for schema in SCHEMAS
}


def _fits(endpoint: Endpoint, body: dict[str, Any]) -> bool:
    validators = NOTIFICATIONS if endpoint == "notification" else FILTERS
    return validators[body["event_type"]].is_valid(body)


def _is_accepted(endpoint: Endpoint, body: dict[str, Any]) -> bool:
    return not isinstance(ask(CATALOG, endpoint, json.dumps(body).encode()), Refusal)


# --- what is accepted fits -------------------------------------------------------------------------------

_RING: Final = [[0, 0], [0, 1], [1, 1], [0, 0]]
_SQUARE: Final = {"type": "Polygon", "coordinates": [_RING]}
_AREAS: Final = [_RING, json.dumps(_RING), "(0,0,0,1,1,1,0,0)", _SQUARE]
_POINTS: Final = [[1, 2], "1,2", "(1,2)", "[1,2]", {"type": "Point", "coordinates": [1, 2, 3]}]
_SPANS: Final[list[dict[str, Any]]] = [
    {}, {"from_id": "1"}, {"from_id": "+007", "to_id": "8"}, {"from_date": "1740509903", "to_id": None},
    {"from_id": None, "from_date": " 2025-01-15 10:00:00 ", "to_date": "2999-01-15T10:00:00Z"},
    {"from_id": "0", "from_date": "0"},
]  # fmt: skip
_PAYLOADS: Final[dict[str, Any]] = {"moving": {"wind": 5}, "loose": [1], "runs": 5}


def _is_taken(field: AnyField, value: Any) -> bool:
    one = build_catalog(
        [
            Schema(
                event_type="one",
                topic=Topic(base="one", key_order=("a",)),
                fields=(TextField(name="a"), field),
            )
        ]
    )
    data = json.dumps({"event_type": "one", "identifier": {"a": "a", field.name: value}}).encode()
    return not isinstance(ask(one, "notification", data), Refusal)


def _good_values(field: AnyField) -> list[Any]:
    sampled = [value for _, samples in type(field).samples() for value, _ in samples.accepted]
    named = [*getattr(field, "values", ()), "abc", "xy", 42, True, 2.5]
    return [value for value in [*sampled, *named] if _is_taken(field, value)]


_GOOD: Final[dict[str, dict[str, list[Any]]]] = {
    schema.event_type: {field.name: _good_values(field) for field in schema.fields} for schema in SCHEMAS
}


@st.composite
def _constraints(draw: st.DrawFn, field: ComparableField) -> dict[str, Any]:
    numbers = [value for value in (0, 1, 5, 2.5) if _is_taken(field, value)]
    operands = list(field.values) if isinstance(field, ChoiceField) else numbers
    operator = draw(st.sampled_from(field.operators))
    if operator in ("in", "between"):
        count = 2 if operator == "between" else 1
        some = draw(st.lists(st.sampled_from(operands), min_size=count, max_size=count))
        return {operator: sorted(some)}
    return {operator: draw(st.sampled_from(operands))}


@st.composite
def _identifiers(draw: st.DrawFn, schema: Schema, *, is_filter: bool) -> dict[str, Any]:
    """Return an identifier that is mostly good."""
    identifier: dict[str, Any] = {}
    for field in schema.fields:
        if is_filter and not field.required and draw(st.booleans()):
            continue
        good = st.sampled_from(_GOOD[schema.event_type][field.name])
        if is_filter and isinstance(field, ComparableField):
            identifier[field.name] = draw(st.one_of(good, _constraints(field)))
        elif is_filter and isinstance(field, SpatialField):
            name = (
                "polygon"
                if isinstance(field, PointCloudField)
                else draw(st.sampled_from(("polygon", "point")))
            )
            identifier[name] = draw(st.sampled_from(_AREAS if name == "polygon" else _POINTS))
        else:
            identifier[field.name] = draw(good)
    if identifier and draw(st.integers(0, 3)) == 0:
        odd = st.one_of(json_strategies.values, st.sampled_from([*_AREAS, *_POINTS]))
        identifier[draw(st.sampled_from([*identifier, "point", "other"]))] = draw(odd)
    return identifier


@st.composite
def _bodies(draw: st.DrawFn, endpoint: Endpoint) -> dict[str, Any]:
    schema = draw(st.sampled_from(SCHEMAS))
    is_filter = endpoint != "notification"
    span = draw(st.sampled_from(_SPANS)) if is_filter else {"from_id": draw(st.none() | st.text(max_size=3))}
    payload = draw(st.one_of(st.just(_PAYLOADS.get(schema.event_type)), json_strategies.values))
    identifier = draw(_identifiers(schema, is_filter=is_filter))
    return {"event_type": schema.event_type, "identifier": identifier, "payload": payload, **span}


@pytest.mark.parametrize("endpoint", ["notification", "watch", "replay"])
@given(data=st.data())
def test_what_is_accepted_fits(endpoint: Endpoint, data: st.DataObject) -> None:
    """Whoever checks a body against our description before sending it refuses nothing that would have been taken."""
    body = data.draw(_bodies(endpoint))
    if _is_accepted(endpoint, body):
        assert _fits(endpoint, body)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (schema, value)
        for place, schema in enumerate(SCALARS)
        for _, samples in type(schema).samples()
        for value, _ in samples.accepted
    ],
)
def test_each_accepted_value_fits_where_its_field_takes_it(schema: Any, value: Any) -> None:
    """For every field type: as a notification's value and as a filter's."""
    one = Schema(event_type="one", fields=(schema,))
    catalog = build_catalog([one])
    body = {"event_type": "one", "identifier": {schema.name: value}}
    data = json.dumps(body).encode()
    if not isinstance(ask(catalog, "notification", data), Refusal):
        assert jsonschema_rs.validator_for(bodies.notification(one)).is_valid(body)
        assert jsonschema_rs.validator_for(bodies.filter_body(one)).is_valid(body)


# --- what can be said is said ----------------------------------------------------------------------------

_STORM: Final = {"basin": "atlantic", "season": "2025", "category": 3, "wind": 20.5, "polygon": _RING}
_MOVING: Final = {"basin": "a", "note": "x", "polygon": _RING}


@pytest.mark.parametrize(
    "body",
    [
        {"event_type": "storms", "identifier": _STORM},
        {"event_type": "storms", "identifier": _STORM, "payload": None, "from_id": "any", "to_id": None},
        {"event_type": "moving", "identifier": _MOVING, "payload": {"wind": 5}},
        {"event_type": "loose", "identifier": {"step": 1}, "payload": [1, 1]},
        {"event_type": "loose", "identifier": {"step": 1}},
    ],
)
def test_a_good_notification_fits(body: dict[str, Any]) -> None:
    """And the service takes it."""
    assert _fits("notification", body)
    assert _is_accepted("notification", body)


@pytest.mark.parametrize(
    "body",
    [
        {"event_type": "storms"},
        {"event_type": "other", "identifier": _STORM},
        {"event_type": "storms", "identifier": {}},
        {"event_type": "storms", "identifier": _STORM | {"point": [1, 2]}},
        {"event_type": "storms", "identifier": _STORM | {"category": 6}},
        {"event_type": "storms", "identifier": _STORM | {"category": {"eq": 1}}},
        {"event_type": "storms", "identifier": _STORM | {"season": "2025-26"}},
        {"event_type": "storms", "identifier": _STORM | {"polygon": [[0, 0]]}},
        {"event_type": "storms", "identifier": _STORM, "to_id": "1"},
        {"event_type": "storms", "identifier": _STORM, "id": "1"},
        {"event_type": "moving", "identifier": _MOVING},
        {"event_type": "moving", "identifier": _MOVING, "payload": None},
        {"event_type": "moving", "identifier": _MOVING, "payload": {}},
        {"event_type": "moving", "identifier": _MOVING, "payload": {"wind": -1}},
        {"event_type": "moving", "identifier": _MOVING, "payload": {"wind": 1, "const": -1}},
        {"event_type": "moving", "identifier": _MOVING | {"basin": "a b"}, "payload": {"wind": 1}},
        {"event_type": "loose", "identifier": {"step": 1}, "payload": [2]},
    ],
)
def test_a_bad_notification_does_not_fit(body: dict[str, Any]) -> None:
    """And the service refuses it."""
    validator = NOTIFICATIONS.get(body["event_type"], NOTIFICATIONS["storms"])
    assert not validator.is_valid(body)
    assert not _is_accepted("notification", body)


_FILTERS: Final[list[tuple[Endpoint, dict[str, Any], bool]]] = [
    ("watch", {"identifier": {"basin": "atlantic"}}, True),
    ("watch", {"identifier": {"basin": {"in": ["atlantic", "indian"]}, "wind": {"between": [1, 2.5]}}}, True),
    ("watch", {"identifier": {"basin": "atlantic", "point": [1, 2]}, "from_id": "5"}, True),
    ("watch", {"identifier": {"basin": "atlantic", "season": "*"}, "from_id": None, "from_date": "0"}, True),
    ("replay", {"identifier": {"basin": "atlantic"}, "from_id": "1", "to_date": "2999-01-15T10:00:00Z"}, True),
    ("watch", {"identifier": {}}, False),
    ("watch", {"identifier": {"basin": {"gt": "a"}}}, False),
    ("watch", {"identifier": {"basin": {}}}, False),
    ("watch", {"identifier": {"basin": "atlantic", "category": {"gt": 1, "lt": 3}}}, False),
    ("watch", {"identifier": {"basin": "atlantic", "category": {"gt": 9}}}, False),
    ("watch", {"identifier": {"basin": "atlantic", "category": {"in": []}}}, False),
    ("watch", {"identifier": {"basin": "atlantic", "category": {"between": [1]}}}, False),
    ("watch", {"identifier": {"basin": "atlantic", "season": {"eq": "a"}}}, False),
    ("watch", {"identifier": {"basin": "atlantic", "point": [1, 2], "polygon": _RING}}, False),
    ("watch", {"identifier": {"basin": "atlantic", "other": 1}}, False),
    ("watch", {"identifier": {"basin": "atlantic"}, "from_id": "1", "from_date": "0"}, False),
    ("watch", {"identifier": {"basin": "atlantic"}, "to_id": "1"}, False),
    ("replay", {"identifier": {"basin": "atlantic"}, "from_id": "1", "to_id": "1", "to_date": "0"}, False),
]  # fmt: skip


@pytest.mark.parametrize(("endpoint", "members", "is_good"), _FILTERS)
def test_a_filter_fits_where_it_is_taken(endpoint: Endpoint, members: dict[str, Any], is_good: bool) -> None:
    """One schema for both endpoints: a replay without a start is a watch."""
    body = {"event_type": "storms", **members}
    assert _fits(endpoint, body) == is_good
    assert _is_accepted(endpoint, body) == is_good


@pytest.mark.parametrize(
    ("event_type", "identifier", "is_good"),
    [
        ("buoys", {"net": "a", "polygon": _RING}, True),
        ("buoys", {"net": "a"}, False),
        ("buoys", {"net": "a", "point_cloud": [[1, 2]]}, False),
        ("buoys", {"net": "a", "polygon": _RING, "point": [1, 2]}, False),
        ("moving", {"basin": "a", "point": "1,2"}, True),
        ("moving", {"basin": "a", "polygon": "(0,0,0,1,1,1,0,0)"}, True),
        ("moving", {"basin": "a"}, False),
    ],
)
def test_a_shape_in_a_filter_stands_for_the_field(
    event_type: str, identifier: dict[str, Any], is_good: bool
) -> None:
    """A cloud is asked for with an area, and a needed polygon also with a place."""
    body = {"event_type": event_type, "identifier": identifier}
    assert _fits("watch", body) == is_good
    assert _is_accepted("watch", body) == is_good


def test_a_schema_says_what_its_event_type_says() -> None:
    """Descriptions, defaults, and a pattern that cannot be said otherwise as a comment."""
    made = bodies.notification(MOVING)
    fields = made["properties"]["identifier"]["properties"]
    assert made["description"] == "A storm and where it is."
    assert fields["basin"]["description"] == "Where it is."
    assert fields["grade"]["default"] == "1"
    assert fields["note"]["$comment"] == "The text matches, in RE2 syntax: (?i)^x"
    assert "pattern" not in fields["note"]["anyOf"][0]
    assert made["properties"]["identifier"]["required"] == ["basin", "note", "polygon"]


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda schema: schema.event_type)
def test_a_described_schema_is_one(schema: Schema) -> None:
    """All three are valid JSON Schema 2020-12."""
    for make in (bodies.notification, bodies.filter_body, bodies.event):
        jsonschema_rs.meta.validate(bodies.with_dialect(make(schema)))


def test_a_payload_schema_of_another_dialect_is_left_to_itself() -> None:
    """Its words would mean something else in ours, so the description allows any payload and says where to look."""
    older = {"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "number"}]}
    schema = Schema(event_type="older", fields=(), payload=PayloadRules(json_schema=older))
    made = bodies.notification(schema)["properties"]["payload"]["anyOf"][0]
    assert list(made) == ["$comment"]
    assert "draft-07" in made["$comment"]


# --- what is delivered -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        {"event_type": "storms", "identifier": _STORM | {"season": "*"}, "payload": 5},
        {"event_type": "moving", "identifier": _MOVING, "payload": {"wind": 5}},
        {"event_type": "buoys", "identifier": {"net": "a", "point_cloud": [[1, 2]]}},
        {
            "event_type": "storms",
            "identifier": _STORM | {"polygon": {"type": "MultiPolygon", "coordinates": [[_RING], [_RING]]}},
        },
    ],
)
@pytest.mark.parametrize("operation", ["", "delete"])
def test_a_delivered_event_fits(body: dict[str, Any], operation: Any) -> None:
    """What the envelope renders is what readers were told to expect."""
    name = body["event_type"]
    notified = ask(CATALOG, "notification", json.dumps(body).encode())
    assert isinstance(notified, Notified)
    event = Event(
        event_type=name, sequence=7, instant=5, subject=notified.announced.subject,
        identifier=notified.announced.identifier, geometry=notified.announced.geometry, payload=notified.payload,
        operation=operation, actor="someone", traceparent="00-1-2-3",
    )  # fmt: skip
    rendered = Envelope(event_type=name, base_url="http://localhost").render(event, show_actor=True)
    declared = next(schema for schema in SCHEMAS if schema.event_type == name)
    validator = jsonschema_rs.validator_for(bodies.with_dialect(bodies.event(declared)))
    assert validator.is_valid(json.loads(rendered))
    assert not validator.is_valid({})
