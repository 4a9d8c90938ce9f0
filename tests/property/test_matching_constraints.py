"""Constraints against plain Python, and the keys by which the index orders numbers against the numbers themselves."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aviso_core.fields.base import LARGEST_INTEGER, NUMBER_OPERATORS, SMALLEST_INTEGER
from aviso_core.fields.choice import ChoiceField
from aviso_core.fields.integer import IntegerField
from aviso_core.fields.real import RealField
from aviso_core.matching.constraint import Constraint, read_constraint
from aviso_core.matching.ranges import integer_key, key_of, keys_of, real_key

if TYPE_CHECKING:
    from collections.abc import Callable

    from aviso_core.fields import ComparableField
    from aviso_core.matching.constraint import Number

_INTEGER: Final = IntegerField(name="x")
_REAL: Final = RealField(name="x")
_RANGES: Final = ("gt", "gte", "lt", "lte", "between")

_ENDS: Final = (SMALLEST_INTEGER, SMALLEST_INTEGER + 1, -1, 0, 1, LARGEST_INTEGER - 1, LARGEST_INTEGER)
_LANDMARKS: Final = (0.0, -0.0, 5e-324, -5e-324, 0.1, 0.30000000000000004, 1.7976931348623157e308)

integers: Final = st.one_of(
    st.sampled_from(_ENDS), st.integers(-3, 3), st.integers(SMALLEST_INTEGER, LARGEST_INTEGER)
)
_plain_reals: Final = st.one_of(st.sampled_from(_LANDMARKS), st.floats(allow_nan=False, allow_infinity=False))
# Often the very next double, where a range that leaves out its end differs from one that does not.
reals: Final = st.one_of(
    _plain_reals,
    st.builds(math.nextafter, _plain_reals, st.sampled_from((-1e308, 1e308))),
)


@st.composite
def _questions(draw: st.DrawFn) -> tuple[ComparableField, str, list[Number], Number]:
    """Draw a field, an operator, its operands and a value that is often one of them."""
    numbers: st.SearchStrategy[Number]
    is_integer = draw(st.booleans())
    field, numbers = (_INTEGER, integers) if is_integer else (_REAL, reals)
    how = draw(st.sampled_from(NUMBER_OPERATORS))
    operands: list[Number] = draw(st.lists(numbers, min_size=2, max_size=4))
    if how == "between":
        operands = sorted(operands[:2])
    value = draw(st.one_of(st.sampled_from(operands), numbers))
    return field, how, operands, value


def _read(field: ComparableField, how: str, operands: list[Number]) -> Constraint:
    return read_constraint(field, {how: operands if how in ("in", "between") else operands[0]})


_PLAIN: Final[dict[str, Callable[[Number, list[Number]], bool]]] = {
    "eq": lambda value, operands: value == operands[0],
    "in": lambda value, operands: any(value == one for one in operands),
    "gt": lambda value, operands: value > operands[0],
    "gte": lambda value, operands: value >= operands[0],
    "lt": lambda value, operands: value < operands[0],
    "lte": lambda value, operands: value <= operands[0],
    "between": lambda value, operands: operands[0] <= value <= operands[1],
}


@given(_questions())
def test_operators_mean_what_python_means(
    question: tuple[ComparableField, str, list[Number], Number],
) -> None:
    """The comparison of the same numbers, with neither tolerance nor rounding."""
    field, how, operands, value = question
    assert _read(field, how, operands).accepts(value) == _PLAIN[how](value, operands)


@given(_questions())
def test_a_value_that_is_none_satisfies_nothing(
    question: tuple[ComparableField, str, list[Number], Number],
) -> None:
    """Not even a range without an end."""
    field, how, operands, _ = question
    assert not _read(field, how, operands).accepts(None)


@given(_questions())
def test_the_keys_of_a_range_hold_the_keys_of_its_numbers_and_no_others(
    question: tuple[ComparableField, str, list[Number], Number],
) -> None:
    """This is what lets the index look ranges up instead of asking them."""
    field, how, operands, value = question
    if how not in _RANGES:
        return
    constraint = _read(field, how, operands)
    keys = keys_of(constraint.limits())
    held = keys is not None and keys[0] <= key_of(value) <= keys[1]
    assert held == constraint.accepts(value)


@given(_questions(), st.sampled_from((("gt", "lte"), ("lt", "gte"))))
def test_every_number_is_on_one_side(
    question: tuple[ComparableField, str, list[Number], Number], sides: tuple[str, str]
) -> None:
    """A range and its opposite share no number and leave none out."""
    field, _, operands, value = question
    one, other = (_read(field, side, operands) for side in sides)
    assert one.accepts(value) != other.accepts(value)


@given(integers, integers)
def test_keys_of_integers_are_ordered_as_they_are(one: int, other: int) -> None:
    """The keys are 64 bits without a sign."""
    assert (one < other) == (integer_key(one) < integer_key(other))
    assert 0 <= integer_key(one) < 2**64


@given(reals, reals)
def test_keys_of_reals_are_ordered_as_they_are(one: float, other: float) -> None:
    """The two zeros are one number and so one key."""
    for compare in (operator.lt, operator.eq):
        assert compare(one, other) == compare(real_key(one), real_key(other))
    assert 0 <= real_key(one) < 2**64


@given(st.text(max_size=3), st.lists(st.sampled_from(("North", "south", "*", "7")), min_size=1))
def test_a_list_of_choices_is_met_by_its_members(token: str, members: list[str]) -> None:
    """Operands are lower-cased as stored values are; values are compared as they stand."""
    field = ChoiceField(name="x", values=("North", "SOUTH", "*", "7"))
    asked = read_constraint(field, {"in": members})
    for value in (token, *members):
        assert asked.accepts(value) == (value in {member.lower() for member in members})
    assert read_constraint(field, {"eq": members[0]}).accepts(members[0].lower())


@pytest.mark.parametrize(
    ("how", "end"),
    [("gt", LARGEST_INTEGER), ("lt", SMALLEST_INTEGER)],
)
def test_a_range_beyond_the_last_integer_has_no_keys(how: str, end: int) -> None:
    """Nothing can lie in it, and the index never looks."""
    assert keys_of(_read(_INTEGER, how, [end]).limits()) is None
