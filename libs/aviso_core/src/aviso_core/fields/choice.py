"""`Enum`: one of the listed values, in any case."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Self

from aviso_core.errors import InvalidConstraint, InvalidIdentifier
from aviso_core.fields.base import Field, JsonSchema, Samples

if TYPE_CHECKING:
    from collections.abc import Iterator


# With a `__dict__`, so that the members are computed once.
class ChoiceField(Field, frozen=True, kw_only=True, dict=True, tag="Enum"):
    """A member of a list; canonical is the lower case of what was sent."""

    kind: ClassVar[str] = "Enum"
    operators: ClassVar[tuple[str, ...]] = ("eq", "in")
    operand_words: ClassVar[tuple[str, str]] = ("string value", "strings")

    values: tuple[str, ...]

    @cached_property
    def members(self) -> frozenset[str]:
        """Return the values in lower case."""
        return frozenset(value.lower() for value in self.values)

    def canonical(self, text: str) -> str:
        """Return the lower case of a member."""
        lower = text.lower()
        if lower not in self.members:
            raise InvalidIdentifier(
                f"Field '{self.name}' has invalid value '{text}'. Allowed: [{', '.join(self.values)}]",
                field=self.name,
            )
        return lower

    def comparable(self, token: str) -> str | None:
        """Return the token."""
        return token

    def operand(self, operator: str, value: object) -> str:
        """Return the lower case of a member."""
        if not isinstance(value, str):
            raise InvalidConstraint(
                f"Field '{self.name}' operator '{operator}' expects string value", field=self.name
            )
        lower = value.lower()
        if lower not in self.members:
            allowed = ", ".join(member.lower() for member in self.values)
            raise InvalidConstraint(
                f"Field '{self.name}' has invalid enum value '{value}'. Allowed: [{allowed}]", field=self.name
            )
        return lower

    def options(self) -> dict[str, object]:
        """Return `values`."""
        return {"values": list(self.values)}

    def json_schema(self) -> JsonSchema:
        """Describe the members, which only letters have other spellings of; or what stands for its own text."""
        text: JsonSchema = {"type": "string", "examples": list(self.values)}
        if self._is_caseless:
            text["enum"] = sorted(self.members)
        return {"anyOf": [text, {"type": ["number", "boolean"]}]}

    def faults(self) -> Iterator[tuple[str, str]]:
        """Yield a list that nothing can be chosen from."""
        if not self.values or "" in self.values:
            yield "must list values, none of them empty", "list the values that a publisher may send"

    @property
    def _is_caseless(self) -> bool:
        return all(value.upper() == value.lower() for value in self.values)

    def narrowings(self, older: Self) -> Iterator[str]:
        """Yield the members that are gone."""
        for value in older.values:
            if value.lower() not in self.members:
                yield f"value '{value}' was removed"

    @classmethod
    def samples(cls) -> Iterator[tuple[ChoiceField, Samples]]:
        """Yield a field of words and a number, and one of numbers only."""
        yield (
            cls(name="x", values=("North", "south", "7")),
            Samples(
                accepted=(("north", "north"), ("SOUTH", "south"), (7, "7")),
                refused=(
                    ("", "Field 'x' has invalid value ''. Allowed: [North, south, 7]"),
                    (" north", "Field 'x' has invalid value ' north'. Allowed: [North, south, 7]"),
                    ("*", "Field 'x' has invalid value '*'. Allowed: [North, south, 7]"),
                    (True, "Field 'x' has invalid value 'true'. Allowed: [North, south, 7]"),
                ),
            ),
        )
        yield (
            cls(name="x", values=("1", "2.5")),
            Samples(
                accepted=(("1", "1"), (1, "1"), (2.5, "2.5")),
                refused=(("2", "Field 'x' has invalid value '2'. Allowed: [1, 2.5]"),),
            ),
        )
