"""Constraint objects, row by row as in contract section 5: what is taken, what is refused, what satisfies."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pytest

from aviso_core.errors import Refusal
from aviso_core.event import Event
from aviso_core.fields import FIELD_TYPES, ComparableField, ScalarField
from aviso_core.fields.choice import ChoiceField
from aviso_core.fields.integer import IntegerField
from aviso_core.fields.real import RealField
from aviso_core.json_text import decode
from aviso_core.matching.candidate import CandidateMaker
from aviso_core.matching.constraint import Constraint, read_constraint
from aviso_core.matching.filter import read_selection
from aviso_core.matching.matcher import Matcher
from aviso_core.schema.event_type import EventType
from aviso_core.schema.model import Schema, Topic
from support.catalogs import NOTHING_DECLARED, OPEN
from support.endpoints import ask

if TYPE_CHECKING:
    from aviso_core.fields.base import Comparable

INT: Final = IntegerField(name="x", minimum=1, maximum=7)
FREE_INT: Final = IntegerField(name="x")
FLOAT: Final = RealField(name="x", minimum=0.0, maximum=150.0)
FREE_FLOAT: Final = RealField(name="x")
ENUM: Final = ChoiceField(name="x", values=("North", "SOUTH"))

# --- which types take which operators --------------------------------------------------------------------

OPERATORS: Final = {
    "Int": ("eq", "in", "gt", "gte", "lt", "lte", "between"),
    "Float": ("eq", "in", "gt", "gte", "lt", "lte", "between"),
    "Enum": ("eq", "in"),
}


@pytest.mark.parametrize("field_type", FIELD_TYPES, ids=lambda field_type: field_type.kind)
def test_operators_are_those_of_the_type(field_type: type[ScalarField]) -> None:
    assert field_type.operators == OPERATORS.get(field_type.kind, ())


# --- what is taken ---------------------------------------------------------------------------------------

TAKEN: Final[list[tuple[ComparableField, str, tuple[Comparable, ...]]]] = [
    (INT, '{"eq":4}', (4,)),
    (INT, '{"in":[7,1,1]}', (7, 1, 1)),
    (INT, '{"gt":1}', (1,)),
    (INT, '{"gte":1}', (1,)),
    (INT, '{"lt":7}', (7,)),
    (INT, '{"lte":7}', (7,)),
    (INT, '{"between":[1,7]}', (1, 7)),
    (INT, '{"between":[3,3]}', (3, 3)),
    (FREE_INT, '{"eq":-0}', (0,)),
    (FREE_INT, '{"eq":9223372036854775807}', (2**63 - 1,)),
    (FREE_INT, '{"eq":-9223372036854775808}', (-(2**63),)),
    (FLOAT, '{"eq":4}', (4.0,)),
    (FLOAT, '{"in":[0.5,1e2]}', (0.5, 100.0)),
    (FLOAT, '{"gt":0}', (0.0,)),
    (FLOAT, '{"gte":0}', (0.0,)),
    (FLOAT, '{"lt":150}', (150.0,)),
    (FLOAT, '{"lte":150.0}', (150.0,)),
    (FLOAT, '{"between":[0,150]}', (0.0, 150.0)),
    (FREE_FLOAT, '{"eq":100000000000000000000}', (1e20,)),
    (ENUM, '{"eq":"north"}', ("north",)),
    (ENUM, '{"eq":"SoUtH"}', ("south",)),
    (ENUM, '{"in":["SOUTH","north"]}', ("south", "north")),
]  # fmt: skip


def _read(field: Any, sent: str) -> Constraint | Refusal:
    value = decode(sent.encode())
    assert isinstance(value, dict)
    try:
        return read_constraint(field, value)
    except Refusal as refusal:
        return refusal


@pytest.mark.parametrize(("field", "sent", "operands"), TAKEN, ids=repr)
def test_a_constraint_is_read(field: ComparableField, sent: str, operands: tuple[Comparable, ...]) -> None:
    value = decode(sent.encode())
    assert isinstance(value, dict)
    (operator,) = value
    assert _read(field, sent) == Constraint(field="x", operator=operator, operands=operands)


# --- what is refused -------------------------------------------------------------------------------------

ONE: Final = "Field 'x' constraint must contain exactly one operator"
NUMBER_OPERATORS: Final = "Allowed: eq,in,gt,gte,lt,lte,between"
ENUM_OPERATORS: Final = "Allowed for enum constraints: eq,in"

REFUSED: Final[list[tuple[ComparableField, str, str]]] = [
    *((field, sent, ONE) for field in (INT, FLOAT) for sent in ("{}", '{"gt":2,"lt":5}', '{"ge":2,"x":5}')),
    *((ENUM, sent, ONE) for sent in ("{}", '{"eq":"north","in":["south"]}')),
    *(
        (field, f'{{"{operator}":1}}', f"Field 'x' has invalid operator '{operator}'. {NUMBER_OPERATORS}")
        for field in (INT, FLOAT)
        for operator in ("ge", "EQ", "", "ne", "=", "not")
    ),
    *(
        (ENUM, f'{{"{operator}":"north"}}', f"Field 'x' has invalid operator '{operator}'. {ENUM_OPERATORS}")
        for operator in ("gt", "gte", "lt", "lte", "between", "ge", "")
    ),
    # wrong operand type
    *(
        (INT, f'{{"{operator}":{operand}}}', f"Field 'x' operator '{operator}' expects integer value")
        for operator in ("eq", "gt", "gte", "lt", "lte")
        for operand in ("4.0", '"4"', "true", "null", "[4]", "{}", str(2**63), str(-(2**63) - 1), "1" + "0" * 5000)
    ),
    *(
        (FLOAT, f'{{"{operator}":{operand}}}', f"Field 'x' operator '{operator}' expects numeric value")
        for operator in ("eq", "gt", "gte", "lt", "lte")
        for operand in ('"4"', "true", "null", "[4]", "{}", "1" + "0" * 400, "1" + "0" * 5000)
    ),
    *(
        (ENUM, f'{{"eq":{operand}}}', "Field 'x' operator 'eq' expects string value")
        for operand in ("4", "true", "null", '["north"]', "{}")
    ),
    (INT, '{"in":[1,2.5]}', "Field 'x' operator 'in' expects integer value"),
    (INT, '{"between":[1,"2"]}', "Field 'x' operator 'between' expects integer value"),
    (FLOAT, '{"in":[1,"2"]}', "Field 'x' operator 'in' expects numeric value"),
    (FLOAT, '{"between":[null,2]}', "Field 'x' operator 'between' expects numeric value"),
    (ENUM, '{"in":["north",7]}', "Field 'x' operator 'in' expects string value"),
    # `in` not an array, and empty
    *(
        (field, f'{{"in":{operand}}}', f"Field 'x' operator 'in' expects array of {what}")
        for field, what in ((INT, "integers"), (FLOAT, "numbers"), (ENUM, "strings"))
        for operand in ("4", '"4"', '"north"', "null", "{}", "true")
    ),
    *((field, '{"in":[]}', "Field 'x' operator 'in' must contain at least one value") for field in (INT, FLOAT, ENUM)),
    # `between`
    *(
        (field, f'{{"between":{operand}}}', f"Field 'x' operator 'between' {text}")
        for field in (INT, FLOAT)
        for operand, text in (
            ("4", "expects [min,max]"),
            ('"1,2"', "expects [min,max]"),
            ("null", "expects [min,max]"),
            ("{}", "expects [min,max]"),
            ("[]", "expects exactly two values [min,max]"),
            ("[1]", "expects exactly two values [min,max]"),
            ("[1,2,3]", "expects exactly two values [min,max]"),
            ("[3,1]", "expects min <= max"),
        )
    ),
    # every operand lies inside the configured range
    (INT, '{"eq":9}', "Field 'x' constraint value 9 is outside allowed range [1, 7]"),
    (INT, '{"eq":0}', "Field 'x' constraint value 0 is outside allowed range [1, 7]"),
    (INT, '{"gte":-1}', "Field 'x' constraint value -1 is outside allowed range [1, 7]"),
    (INT, '{"in":[1,8,9]}', "Field 'x' constraint value 8 is outside allowed range [1, 7]"),
    (INT, '{"between":[1,9]}', "Field 'x' constraint value 9 is outside allowed range [1, 7]"),
    (INT, '{"between":[9,0]}', "Field 'x' constraint value 9 is outside allowed range [1, 7]"),
    (FLOAT, '{"eq":150.5}', "Field 'x' constraint value 150.5 is outside allowed range [0, 150]"),
    (FLOAT, '{"lt":-1}', "Field 'x' constraint value -1 is outside allowed range [0, 150]"),
    (FLOAT, '{"in":[1,1e21]}', "Field 'x' constraint value 1000000000000000000000 is outside allowed range [0, 150]"),
    (FLOAT, '{"between":[0,151]}', "Field 'x' constraint value 151 is outside allowed range [0, 150]"),
    # every operand is a member
    (ENUM, '{"eq":"v"}', "Field 'x' has invalid enum value 'v'. Allowed: [north, south]"),
    (ENUM, '{"eq":""}', "Field 'x' has invalid enum value ''. Allowed: [north, south]"),
    (ENUM, '{"eq":"*"}', "Field 'x' has invalid enum value '*'. Allowed: [north, south]"),
    (ENUM, '{"in":["North","West"]}', "Field 'x' has invalid enum value 'West'. Allowed: [north, south]"),
]  # fmt: skip


@pytest.mark.parametrize(("field", "sent", "message"), REFUSED, ids=lambda part: repr(part)[:60])
def test_a_constraint_is_refused_with_this_text(field: ComparableField, sent: str, message: str) -> None:
    refusal = _read(field, sent)
    assert isinstance(refusal, Refusal), refusal
    assert (refusal.message, refusal.details, refusal.field) == (message, message, "x")


NO_SHAPE: Final = "polygon must be an array of [lat,lon] points or a compatible string"
NO_POINT: Final = "point must be a two-element array [lat,lon] or a compatible string"
SCALAR_ONLY: Final = "Field '{}' does not support constraint filters; expected scalar value"

# Body's event type and identifier → message.
ELSEWHERE: Final = [
    ("storms", {"season": {"eq": "1"}, "basin": "indian"}, SCALAR_ONLY.format("season")),
    ("storms", {"basin": "indian", "polygon": {"in": []}}, SCALAR_ONLY.format("polygon")),
    ("storms", {"basin": "indian", "polygon": {}}, SCALAR_ONLY.format("polygon")),
    ("runs", {"class": {"eq": "od"}}, SCALAR_ONLY.format("class")),
    ("runs", {"class": "od", "expver": {"eq": "1"}}, SCALAR_ONLY.format("expver")),
    ("runs", {"class": "od", "date": {"gt": "20250101"}}, SCALAR_ONLY.format("date")),
    ("runs", {"class": "od", "time": {"in": ["12"]}}, SCALAR_ONLY.format("time")),
    ("buoys", {"net": "n", "polygon": {"in": []}}, f"field 'polygon' must be a valid polygon: {NO_SHAPE}"),
    ("buoys", {"net": "n", "point_cloud": {}}, "identifier.point_cloud is only supported for notify operations"),
    (
        "storms",
        {"basin": "indian", "point": {"eq": 1}},
        f"identifier.point must be a valid [lat,lon] coordinate pair or compatible string: {NO_POINT}",
    ),
    ("undeclared", {"a": {"eq": 1}}, "Field 'a' constraint object is not supported without schema"),
    ("undeclared", {"a": {}}, "Field 'a' constraint object is not supported without schema"),
    ("undeclared", {"polygon": {"in": []}}, "Field 'polygon' constraint object is not supported without schema"),
]  # fmt: skip


@pytest.mark.parametrize(("event_type", "identifier", "message"), ELSEWHERE, ids=repr)
def test_a_constraint_is_refused_where_there_is_nothing_to_compare(
    event_type: str, identifier: dict[str, Any], message: str
) -> None:
    catalog = NOTHING_DECLARED if event_type == "undeclared" else OPEN
    answer = ask(catalog, "watch", msgspec.json.encode({"event_type": event_type, "identifier": identifier}))
    assert isinstance(answer, Refusal), answer
    assert answer.message == message


# --- what satisfies --------------------------------------------------------------------------------------

SATISFIED: Final[list[tuple[ComparableField, str, str, bool]]] = [
    # field, constraint, stored text, selected
    (FREE_INT, '{"eq":4}', "4", True),
    (FREE_INT, '{"eq":4}', "5", False),
    (FREE_INT, '{"eq":4}', "004", True),  # whoever stored it that way
    (FREE_INT, '{"in":[4,6]}', "6", True),
    (FREE_INT, '{"in":[4,6]}', "5", False),
    (FREE_INT, '{"gt":4}', "4", False),
    (FREE_INT, '{"gt":4}', "5", True),
    (FREE_INT, '{"gte":4}', "4", True),
    (FREE_INT, '{"gte":4}', "3", False),
    (FREE_INT, '{"lt":4}', "4", False),
    (FREE_INT, '{"lt":4}', "-5", True),
    (FREE_INT, '{"lte":4}', "4", True),
    (FREE_INT, '{"lte":4}', "5", False),
    (FREE_INT, '{"between":[4,6]}', "4", True),
    (FREE_INT, '{"between":[4,6]}', "6", True),
    (FREE_INT, '{"between":[4,6]}', "7", False),
    (FREE_INT, '{"between":[4,6]}', "3", False),
    (FREE_INT, '{"gte":9007199254740993}', "9007199254740992", False),  # no double in between
    *((FREE_INT, '{"gte":-9223372036854775808}', text, False) for text in ("", "*", "x", "4.0", "1e3", str(2**63))),
    (FREE_FLOAT, '{"eq":0.3}', "0.3", True),
    (FREE_FLOAT, '{"eq":0.3}', "0.30000000000000004", False),
    (FREE_FLOAT, '{"eq":4}', "4", True),
    (FREE_FLOAT, '{"eq":4}', "4.0", True),
    (FREE_FLOAT, '{"eq":0}', "-0", True),
    (FREE_FLOAT, '{"in":[0.1,0.3]}', "0.3", True),
    (FREE_FLOAT, '{"in":[0.1,0.3]}', "0.2", False),
    (FREE_FLOAT, '{"gt":55}', "55", False),
    (FREE_FLOAT, '{"gt":55}', "55.5", True),
    (FREE_FLOAT, '{"gte":55.5}', "55.5", True),
    (FREE_FLOAT, '{"lt":55.5}', "55.5", False),
    (FREE_FLOAT, '{"lte":55.5}', "55.5", True),
    (FREE_FLOAT, '{"between":[0.1,0.3]}', "0.1", True),
    (FREE_FLOAT, '{"between":[0.1,0.3]}', "0.30000000000000004", False),
    *((FREE_FLOAT, '{"gte":-1e308}', text, False) for text in ("", "*", "x", "NaN", "inf", "1e400", "-inf")),
    (ENUM, '{"eq":"NORTH"}', "north", True),
    (ENUM, '{"eq":"NORTH"}', "south", False),
    (ENUM, '{"in":["north","south"]}', "south", True),
    *((ENUM, '{"in":["north","south"]}', text, False) for text in ("", "*", "west")),
]  # fmt: skip


def _event(identifier: dict[str, str]) -> Event:
    return Event(event_type="a", sequence=1, instant=0, subject="a", identifier=identifier)


@pytest.mark.parametrize(("field", "sent", "stored", "selected"), SATISFIED, ids=repr)
def test_a_stored_text_satisfies_a_constraint(
    field: ComparableField, sent: str, stored: str, selected: bool
) -> None:
    event_type = EventType(Schema(event_type="a", topic=Topic(base="a", key_order=("x",)), fields=(field,)))
    selection = read_selection(event_type, {"x": decode(sent.encode())}, operation="watch", point=None)
    assert selection.topic == "a.*"
    candidate = CandidateMaker(event_type.schema).of(_event({"x": stored}))
    assert Matcher(selection.filter).selects(candidate) is selected


@pytest.mark.parametrize("field", [FREE_INT, FREE_FLOAT, ENUM], ids=lambda field: field.kind)
def test_a_missing_value_satisfies_nothing(field: ComparableField) -> None:
    """An event may be older than the field."""
    schema = Schema(event_type="a", fields=(field,))
    operand: Comparable = "north" if field.kind == "Enum" else 0
    selection = read_selection(EventType(schema), {"x": {"eq": operand}}, operation="watch", point=None)
    assert not Matcher(selection.filter).selects(CandidateMaker(schema).of(_event({})))


def test_a_scalar_and_the_equality_constraint_select_the_same() -> None:
    """`{"sev":"4"}` goes by the topic, `{"sev":{"eq":4}}` does not; nobody can tell from the outcome."""
    event_type = EventType(Schema(event_type="a", fields=(FREE_INT,)))
    makers = CandidateMaker(event_type.schema)
    matchers = [
        Matcher(read_selection(event_type, {"x": wanted}, operation="watch", point=None).filter)
        for wanted in ("4", 4, "+04", {"eq": 4}, {"in": [4]}, {"between": [4, 4]})
    ]
    for stored in ("3", "4", "5"):
        assert {matcher.selects(makers.of(_event({"x": stored}))) for matcher in matchers} == {stored == "4"}


def test_a_long_list_is_asked_as_quickly_as_a_short_one() -> None:
    """A body holds tens of thousands of members, and every event asks."""
    constraint = read_constraint(FREE_INT, {"in": list(range(0, 80_000, 2))})
    begun = time.process_time()
    assert not any(constraint.accepts(value) for value in range(1, 20_000, 2))
    assert all(constraint.accepts(value) for value in range(0, 20_000, 2))
    assert time.process_time() - begun < 1.0
