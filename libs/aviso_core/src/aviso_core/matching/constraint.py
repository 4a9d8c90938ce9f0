"""Constraint objects of a filter, `{"severity": {"gte": 5}}` (contract section 5), and what they accept.

Which operators a field takes and how one operand is read is the field's own; what an operator means is here, once for
all fields.
"""

from __future__ import annotations

from functools import cached_property
from typing import Final, NoReturn, TypeAlias

import msgspec

from aviso_core.errors import InvalidConstraint
from aviso_core.fields import AnyField, ComparableField
from aviso_core.fields.base import Comparable, unsupported_constraint

Number: TypeAlias = int | float


# With a `__dict__`, so that the members are gathered once: a request may list tens of thousands.
class Constraint(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """One operator on one field, its operands checked. `in` has any number of operands, `between` has two."""

    field: str
    operator: str
    operands: tuple[Comparable, ...]

    @cached_property
    def members(self) -> frozenset[Comparable]:
        """Return the operands as a set."""
        return frozenset(self.operands)

    def accepts(self, value: Comparable | None) -> bool:
        """Tell whether a stored value satisfies the constraint; a value that is no such thing never does."""
        if value is None:
            return False
        if self.operator in SET_OPERATORS:
            return value in self.members
        assert not isinstance(value, str), "only numbers have ranges"
        limits = self.limits()
        return (
            (limits.low is None or value >= limits.low)
            and (limits.high is None or value <= limits.high)
            and value != limits.excluded
        )

    def limits(self) -> Limits:
        """Return what a range reaches from and to."""
        first, *rest = (operand for operand in self.operands if not isinstance(operand, str))
        match self.operator:
            case "gt":
                return Limits(low=first, excluded=first)
            case "gte":
                return Limits(low=first)
            case "lt":
                return Limits(high=first, excluded=first)
            case "lte":
                return Limits(high=first)
            case "between":
                return Limits(low=first, high=rest[0])
            case operator:
                raise AssertionError(f"'{operator}' is no range")


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The ends of a range, each inclusive, None for open; `excluded` is the end that does not belong to it."""

    low: Number | None = None
    high: Number | None = None
    excluded: Number | None = None


# These name values; all others name a range.
SET_OPERATORS: Final = ("eq", "in")


def read_constraint(field: AnyField, value: dict[str, object]) -> Constraint:
    """Return the constraint of a field, or refuse it with the contract's text."""
    if not isinstance(field, ComparableField):
        raise unsupported_constraint(field.name)
    if len(value) != 1:
        raise InvalidConstraint(
            f"Field '{field.name}' constraint must contain exactly one operator", field=field.name
        )
    ((operator, operand),) = value.items()
    if operator not in field.operators:
        for_whom = " for enum constraints" if field.kind == "Enum" else ""
        raise InvalidConstraint(
            f"Field '{field.name}' has invalid operator '{operator}'. "
            f"Allowed{for_whom}: {','.join(field.operators)}",
            field=field.name,
        )
    return Constraint(field=field.name, operator=operator, operands=_read_operands(field, operator, operand))


def _read_operands(field: ComparableField, operator: str, operand: object) -> tuple[Comparable, ...]:
    match operator:
        case "in":
            return _read_members(field, operand)
        case "between":
            return _read_limits(field, operand)
        case _:
            return (field.operand(operator, operand),)


def _read_members(field: ComparableField, operand: object) -> tuple[Comparable, ...]:
    if not isinstance(operand, list):
        _refuse(field, "in", f"expects array of {field.operand_words[1]}")
    if not operand:
        _refuse(field, "in", "must contain at least one value")
    return tuple(field.operand("in", item) for item in operand)


def _read_limits(field: ComparableField, operand: object) -> tuple[Comparable, ...]:
    if not isinstance(operand, list):
        _refuse(field, "between", "expects [min,max]")
    if len(operand) != 2:
        _refuse(field, "between", "expects exactly two values [min,max]")
    low, high = (field.operand("between", item) for item in operand)
    assert not isinstance(low, str)
    assert not isinstance(high, str)
    if low > high:
        _refuse(field, "between", "expects min <= max")
    return low, high


def _refuse(field: ComparableField, operator: str, text: str) -> NoReturn:
    raise InvalidConstraint(f"Field '{field.name}' operator '{operator}' {text}", field=field.name)
