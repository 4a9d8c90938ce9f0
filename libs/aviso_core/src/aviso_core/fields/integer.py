"""`Int`: a whole number of 64 bits."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar, Final, Self

from aviso_core.errors import InvalidConstraint, InvalidIdentifier
from aviso_core.fields.base import (
    LARGEST_INTEGER,
    NUMBER_OPERATORS,
    SMALLEST_INTEGER,
    Field,
    JsonSchema,
    Samples,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

_DECIMAL: Final = re.compile(r"([+-]?)([0-9]+)", re.ASCII)
_MOST_DIGITS: Final = 19


def _number(match: re.Match[str]) -> int | None:
    """Return the number of a decimal, or None where 64 bits do not hold it."""
    sign, digits = match.groups()
    significant = digits.lstrip("0") or "0"
    if len(significant) > _MOST_DIGITS:
        return None
    value = -int(significant) if sign == "-" else int(significant)
    return value if SMALLEST_INTEGER <= value <= LARGEST_INTEGER else None


class IntegerField(Field, frozen=True, kw_only=True, tag="Int"):
    """A signed whole number, inclusive limits optional; canonical is plain decimal."""

    kind: ClassVar[str] = "Int"
    operators: ClassVar[tuple[str, ...]] = NUMBER_OPERATORS
    operand_words: ClassVar[tuple[str, str]] = ("integer value", "integers")

    minimum: int | None = None
    maximum: int | None = None

    def canonical(self, text: str) -> str:
        """Return plain decimal: no sign where positive, no leading zeros."""
        value = self._read(text)
        if not self._is_inside(value):
            raise InvalidIdentifier(
                f"Field '{self.name}' value {value} is outside allowed range {self._range_text()}",
                field=self.name,
            )
        return str(value)

    def _read(self, text: str) -> int:
        # The usual spelling, without a sign and short enough to fit, needs no second look.
        if len(text) < _MOST_DIGITS and text.isascii() and text.isdigit():
            return int(text)
        match = _DECIMAL.fullmatch(text)
        if match is None:
            raise self._not_an_integer(
                text, "invalid digit found in string" if text else "cannot parse integer from empty string"
            )
        value = _number(match)
        if value is None:
            raise self._not_an_integer(
                text, f"number too {'small' if match[1] == '-' else 'large'} to fit in target type"
            )
        return value

    def _not_an_integer(self, text: str, details: str) -> InvalidIdentifier:
        return InvalidIdentifier(
            f"Field '{self.name}' must be a valid integer, got: '{text}'", details=details, field=self.name
        )

    def _is_inside(self, value: int) -> bool:
        return (self.minimum is None or value >= self.minimum) and (
            self.maximum is None or value <= self.maximum
        )

    def _range_text(self) -> str:
        low = SMALLEST_INTEGER if self.minimum is None else self.minimum
        high = LARGEST_INTEGER if self.maximum is None else self.maximum
        return f"[{low}, {high}]"

    def comparable(self, token: str) -> int | None:
        """Return the number that a stored token spells, or None."""
        match = _DECIMAL.fullmatch(token)
        return None if match is None else _number(match)

    def operand(self, operator: str, value: object) -> int:
        """Return a whole number of 64 bits within the limits."""
        if (
            isinstance(value, bool)
            or not isinstance(value, int)
            or not SMALLEST_INTEGER <= value <= LARGEST_INTEGER
        ):
            raise InvalidConstraint(
                f"Field '{self.name}' operator '{operator}' expects integer value", field=self.name
            )
        if not self._is_inside(value):
            raise InvalidConstraint(
                f"Field '{self.name}' constraint value {value} is outside allowed range {self._range_text()}",
                field=self.name,
            )
        return value

    def options(self) -> dict[str, object]:
        """Return `range`; a side without a limit shows what 64 bits hold."""
        if self.minimum is None and self.maximum is None:
            return {"range": None}
        low = SMALLEST_INTEGER if self.minimum is None else self.minimum
        high = LARGEST_INTEGER if self.maximum is None else self.maximum
        return {"range": [low, high]}

    def json_schema(self) -> JsonSchema:
        """Describe a number within the limits, or its digits as text."""
        low = SMALLEST_INTEGER if self.minimum is None else self.minimum
        high = LARGEST_INTEGER if self.maximum is None else self.maximum
        return {
            "anyOf": [
                {"type": "integer", "minimum": low, "maximum": high},
                {"type": "string", "pattern": "^[+-]?[0-9]+$"},
            ]
        }

    def faults(self) -> Iterator[tuple[str, str]]:
        """Yield limits that nothing lies between."""
        if self.minimum is not None and self.maximum is not None and self.minimum > self.maximum:
            yield (
                f"has a range whose minimum {self.minimum} exceeds its maximum {self.maximum}",
                "swap the two: no value could be sent",
            )

    def narrowings(self, older: Self) -> Iterator[str]:
        """Yield limits that moved inwards."""
        if self.minimum is not None and (older.minimum is None or self.minimum > older.minimum):
            yield f"min {self.minimum} is higher than {'none' if older.minimum is None else older.minimum}"
        if self.maximum is not None and (older.maximum is None or self.maximum < older.maximum):
            yield f"max {self.maximum} is lower than {'none' if older.maximum is None else older.maximum}"

    @classmethod
    def samples(cls) -> Iterator[tuple[IntegerField, Samples]]:
        """Yield a field without limits and one with."""
        no_integer = "Field 'x' must be a valid integer, got: '{}'"
        yield (
            cls(name="x"),
            Samples(
                accepted=(
                    ("4", "4"), (4, "4"), ("007", "7"), ("+5", "5"), ("-0", "0"), ("-12", "-12"), ("+0", "0"),
                    ("9223372036854775807", "9223372036854775807"), (-(2**63), "-9223372036854775808"),
                    ("0" * 5000 + "1", "1"),
                ),
                refused=tuple(
                    (value, no_integer.format(text))
                    for value, text in (
                        ("", ""), ("x", "x"), (" 4", " 4"), ("4.0", "4.0"), (4.0, "4.0"), ("+", "+"), ("-", "-"),
                        ("1_0", "1_0"), ("٤", "٤"), ("*", "*"), (True, "true"), ("--1", "--1"),
                        ("9223372036854775808", "9223372036854775808"), (-(2**63) - 1, "-9223372036854775809"),
                    )
                ),
            ),
        )  # fmt: skip
        yield (
            cls(name="x", minimum=0, maximum=5),
            Samples(
                accepted=((0, "0"), ("5", "5")),
                refused=(
                    ("6", "Field 'x' value 6 is outside allowed range [0, 5]"),
                    (-1, "Field 'x' value -1 is outside allowed range [0, 5]"),
                ),
            ),
        )
