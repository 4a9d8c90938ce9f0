"""What every field type promises, asked of all of them: the types come from the union, the values from their samples.

A new field type is tested by being in the union. What one type alone does is in `tests/unit/fields/`.
"""

from __future__ import annotations

import contextlib
import json
import time
from typing import Any, Final, NamedTuple

import jsonschema_rs
import msgspec
import pytest

from aviso_core.errors import InvalidConstraint, InvalidRequest
from aviso_core.event import Event
from aviso_core.fields import FIELD_TYPES, AnyField, ComparableField, SpatialField
from aviso_core.fields.base import Samples, scalar_text
from aviso_core.matching.candidate import CandidateMaker
from aviso_core.matching.constraint import read_constraint
from aviso_core.matching.filter import read_selection
from aviso_core.matching.matcher import Matcher
from aviso_core.schema.check import check_schema
from aviso_core.schema.event_type import EventType
from aviso_core.schema.model import Schema, Topic, decode_schema, encode_schema


class Case(NamedTuple):
    """One of a type's sample fields, with a value and what is to become of it."""

    field: AnyField
    value: Any
    expected: str

    def __repr__(self) -> str:
        value = json.dumps(self.value, ensure_ascii=False)
        return f"{self.field.kind} {value if len(value) < 40 else value[:40] + '…'}"


SAMPLED: Final[list[tuple[AnyField, Samples]]] = [
    pair for field_type in FIELD_TYPES for pair in field_type.samples()
]
FIELDS: Final = [field for field, _ in SAMPLED]
ACCEPTED: Final = [Case(field, *pair) for field, samples in SAMPLED for pair in samples.accepted]
REFUSED: Final = [Case(field, *pair) for field, samples in SAMPLED for pair in samples.refused]

every_type = pytest.mark.parametrize("field_type", FIELD_TYPES, ids=lambda field_type: field_type.kind)
every_field = pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.kind)
every_accepted = pytest.mark.parametrize("case", ACCEPTED, ids=repr)
every_refused = pytest.mark.parametrize("case", REFUSED, ids=repr)


def _canonical(field: AnyField, value: Any) -> str:
    if isinstance(field, SpatialField):
        return field.read(value).canonical()
    return field.canonical(scalar_text(field.name, value))


def _schema(field: AnyField) -> Schema:
    """Return a schema that a field of any type can be part of."""
    anchor = next(field for field in FIELDS if field.kind == "String")
    assert not isinstance(anchor, SpatialField)
    beside = msgspec.structs.replace(anchor, name="anchor")
    key_order = ("anchor",) if isinstance(field, SpatialField) else ("anchor", field.name)
    return Schema(
        event_type="sample", topic=Topic(base="sample", key_order=key_order), fields=(beside, field)
    )


# --- values ----------------------------------------------------------------------------------------------


@every_accepted
def test_an_accepted_value_becomes_its_canonical_text(case: Case) -> None:
    """What a producer may send, and what is stored of it."""
    assert _canonical(case.field, case.value) == case.expected


@every_refused
def test_a_refused_value_is_told_why(case: Case) -> None:
    """The message is the contract's, and it names the field at fault."""
    with pytest.raises(InvalidRequest) as caught:
        _canonical(case.field, case.value)
    assert caught.value.message == case.expected
    assert caught.value.field == case.field.name
    assert caught.value.details


@every_accepted
def test_a_canonical_text_is_its_own_canonical_text(case: Case) -> None:
    """Reading back what was stored, and sending it again, changes nothing."""
    field, canonical = case.field, case.expected
    sent_again = json.loads(canonical) if isinstance(field, SpatialField) else canonical
    assert _canonical(field, sent_again) == canonical


@every_accepted
def test_the_json_schema_takes_every_accepted_value(case: Case) -> None:
    """It may take more than the field does, never less."""
    assert jsonschema_rs.validator_for(case.field.json_schema()).is_valid(case.value)


@every_accepted
def test_a_reader_selects_by_the_value_that_a_producer_sent(case: Case) -> None:
    """Producer and reader may spell one value in two ways, and still mean the same."""
    event_type = EventType(_schema(case.field))
    announced = event_type.announce({"anchor": "a", case.field.name: case.value})
    name = "polygon" if isinstance(case.field, SpatialField) else case.field.name
    asked = "(-90,-180,-90,180,90,180,90,-180,-90,-180)" if name == "polygon" else case.value
    selection = read_selection(event_type, {"anchor": "a", name: asked}, operation="watch", point=None)
    event = Event(
        event_type="sample",
        sequence=1,
        instant=0,
        subject=announced.subject,
        identifier=announced.identifier,
        geometry=announced.geometry,
    )
    assert Matcher(selection.filter).selects(CandidateMaker(event_type.schema).of(event))


# --- the type itself -------------------------------------------------------------------------------------


@every_type
def test_a_type_has_samples_of_both_kinds(field_type: type[AnyField]) -> None:
    """Otherwise this suite would prove nothing about it."""
    assert any(samples.accepted for _, samples in field_type.samples())
    assert any(samples.refused for _, samples in field_type.samples())


def test_names_of_types_are_unique() -> None:
    """The kind is the tag in stored schemas; the handler is the name in configuration files."""
    assert len({field_type.kind for field_type in FIELD_TYPES}) == len(FIELD_TYPES)
    for field in FIELDS:
        assert field.handler == f"{field.kind}Handler"
        assert json.loads(msgspec.json.encode(field))["type"] == field.kind


@every_field
def test_a_sample_field_can_be_served(field: AnyField) -> None:
    """Neither the field nor a schema with it has a fault."""
    assert list(field.faults()) == []
    assert check_schema(_schema(field)) == []


@every_field
def test_a_field_survives_the_registry(field: AnyField) -> None:
    """Encoded and decoded it is the same field, and encoding has one form."""
    schema = _schema(msgspec.structs.replace(field, required=True, description="What it is."))
    encoded = encode_schema(schema)
    assert decode_schema(encoded) == schema
    assert encode_schema(decode_schema(encoded)) == encoded


@every_field
def test_a_field_is_no_narrower_than_itself(field: AnyField) -> None:
    """An unchanged field is compatible."""
    assert list(_narrowings(field, field)) == []


def _narrowings(new: Any, old: Any) -> Any:
    # Both are of one type, which the type checker cannot see through the union.
    return new.narrowings(old)


@every_field
def test_options_can_be_shown(field: AnyField) -> None:
    """They are JSON, and stand beside the members that every field shows."""
    options = field.options()
    assert json.loads(msgspec.json.encode(options)) == json.loads(json.dumps(options))
    assert not options.keys() & {"type", "required", "description"}


@every_field
def test_a_json_schema_is_one(field: AnyField) -> None:
    """It keeps the rules of JSON Schema's own schema."""
    jsonschema_rs.meta.validate(field.json_schema())


# --- constraints -----------------------------------------------------------------------------------------


@every_field
def test_operators_stand_where_values_compare(field: AnyField) -> None:
    """A type with operators reads operands; one without refuses a constraint object."""
    assert bool(field.operators) is isinstance(field, ComparableField)
    if not field.operators:
        with pytest.raises(InvalidConstraint) as caught:
            read_constraint(field, {"eq": "1"})
        assert caught.value.message == (
            f"Field '{field.name}' does not support constraint filters; expected scalar value"
        )


COMPARABLE: Final = [case for case in ACCEPTED if isinstance(case.field, ComparableField)]


@pytest.mark.parametrize("case", COMPARABLE, ids=repr)
def test_a_stored_value_satisfies_the_operators_that_it_should(case: Case) -> None:
    """What `comparable` reads off a stored text is what `operand` takes."""
    assert isinstance(case.field, ComparableField)
    value = case.field.comparable(case.expected)
    assert value is not None
    for operator in case.field.operators:
        operand = {"in": [value], "between": [value, value]}.get(operator, value)
        constraint = read_constraint(case.field, {operator: operand})
        assert constraint.accepts(value) is (operator not in ("gt", "lt"))


@pytest.mark.parametrize(
    "field",
    [field for field in FIELDS if isinstance(field, ComparableField) and field.kind != "Enum"],
    ids=lambda field: field.kind,
)
def test_a_stored_text_that_is_no_number_satisfies_nothing(field: ComparableField) -> None:
    """Whatever a log holds, comparing it never fails."""
    for text in ("", "*", "x", "NaN", "inf", "-inf", "0x1", "1_0", "٤", " 1", "9" * 5000, "0" * 5000 + "-"):
        value = field.comparable(text)
        assert value is None or value == float(text), text


# --- what it costs ---------------------------------------------------------------------------------------

# As long as a body may be; what looks like a number at first is the dearest.
HOSTILE: Final = {
    "zeros and a letter": "0" * 260_000 + "x",
    "digits": "9" * 260_000,
    "digits and a letter": "1" * 260_000 + "x",
    "digits after the point": "." + "1" * 260_000 + "x",
    "an exponent": "1e" + "9" * 260_000 + "x",
    "colons": ":" * 260_000,
    "dashes": "2025-" * 52_000,
    "letters beyond ASCII": "é" * 130_000,
}


@every_field
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_text_is_settled_at_once(field: AnyField, text: str) -> None:
    """The time grows with the length and not with its square."""
    begun = time.process_time()
    with contextlib.suppress(InvalidRequest):
        _canonical(field, text)
    if isinstance(field, ComparableField):
        field.comparable(text)
    assert time.process_time() - begun < 1.0
