"""What all field types have in common: their members, and how a JSON scalar becomes text.

A field is one identifier of an event type. It takes JSON values and gives canonical text, which goes into the topic
and comes back in `data.identifier`. Everything that differs from type to type is a method of that type's struct;
there is no abstract base that lists them, because the closed union in `fields/__init__.py` is type-checked as one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, TypeAlias

import msgspec

from aviso_core import json_text
from aviso_core.errors import InvalidConstraint, InvalidIdentifier

if TYPE_CHECKING:
    from collections.abc import Iterator

Operation: TypeAlias = Literal["notify", "retract", "watch", "replay"]
Comparable: TypeAlias = int | float | str
# JSON Schema is an open vocabulary: a fragment is written out as JSON and never read by our own code.
JsonSchema: TypeAlias = dict[str, Any]

NUMBER_OPERATORS: Final = ("eq", "in", "gt", "gte", "lt", "lte", "between")

SMALLEST_INTEGER: Final = -(2**63)
LARGEST_INTEGER: Final = 2**63 - 1


class Samples(msgspec.Struct, frozen=True, kw_only=True):
    """Values that a field's own contract tests try: accepted → canonical text, refused → message."""

    accepted: tuple[tuple[object, str], ...]
    refused: tuple[tuple[object, str], ...]


class Field(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", omit_defaults=True):
    """The members that every field has.

    `required` speaks of watch and replay alone. On notify every field must be there, unless it has a `default`,
    the canonical text that a left-out field takes.
    """

    kind: ClassVar[str]
    operators: ClassVar[tuple[str, ...]] = ()

    name: str
    required: bool = False
    description: str = ""
    default: str | None = None

    def faults(self) -> Iterator[tuple[str, str]]:
        """Yield what is wrong with the field's settings, and what to do about it."""
        yield from ()

    @property
    def handler(self) -> str:
        """The name of this field type in the contract's schema answers and configuration files."""
        return f"{self.kind}Handler"


def scalar_text(name: str, value: object, operation: Operation = "notify") -> str:
    """Return the text of a JSON scalar as contract section 3.1 has it."""
    if type(value) is int:
        return str(value)
    if type(value) is float:
        return json_text.float_text(value)
    text = json_text.scalar_text(value)
    if text is not None:
        return text
    if value is None:
        raise InvalidIdentifier(f"Field '{name}' cannot be null", field=name)
    if isinstance(value, dict):
        raise InvalidIdentifier(
            f"Field '{name}' constraint object is not supported for {operation} operation", field=name
        )
    raise InvalidIdentifier(
        f"Field '{name}' must be a scalar value or constraint object, got array", field=name
    )


def unsupported_constraint(name: str) -> InvalidConstraint:
    """Return the refusal of a constraint object on a field that takes scalars only."""
    return InvalidConstraint(
        f"Field '{name}' does not support constraint filters; expected scalar value", field=name
    )


def not_empty(name: str, text: str) -> str:
    """Return the text, which must have at least one character."""
    if not text:
        raise InvalidIdentifier(f"Field '{name}' cannot be empty", field=name)
    return text
