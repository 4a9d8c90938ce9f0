"""`Float`: a finite double."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, ClassVar, Final, Self

from aviso_core.errors import InvalidConstraint, InvalidIdentifier
from aviso_core.fields.base import NUMBER_OPERATORS, Field, JsonSchema, Samples
from aviso_core.json_text import plain_number

if TYPE_CHECKING:
    from collections.abc import Iterator

_DECIMAL: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)
_SURELY_FINITE: Final = 300
_NO_NUMBER: Final = re.compile(r"[+-]?(?:inf|infinity|nan)", re.ASCII | re.IGNORECASE)


class RealField(Field, frozen=True, kw_only=True, tag="Float"):
    """A number, inclusive limits optional; canonical is its shortest digits, never an exponent."""

    kind: ClassVar[str] = "Float"
    operators: ClassVar[tuple[str, ...]] = NUMBER_OPERATORS
    operand_words: ClassVar[tuple[str, str]] = ("numeric value", "numbers")

    minimum: float | None = None
    maximum: float | None = None

    def canonical(self, text: str) -> str:
        """Return the shortest digits that read back as the same number."""
        value = self._read(text)
        if not self._is_inside(value):
            raise InvalidIdentifier(
                f"Field '{self.name}' value {plain_number(value)} is outside allowed range {self._range_text()}",
                field=self.name,
            )
        return plain_number(value)

    def _read(self, text: str) -> float:
        # The usual spelling, without sign and exponent and short enough for a double, needs no second look.
        if len(text) < _SURELY_FINITE and text.isascii() and text.replace(".", "", 1).isdigit():
            return float(text)
        if _DECIMAL.fullmatch(text):
            value = float(text)
            if value - value == 0:  # neither of the infinities
                return value
        elif not _NO_NUMBER.fullmatch(text):
            raise InvalidIdentifier(
                f"Field '{self.name}' must be a valid number, got: '{text}'",
                details="invalid float literal" if text else "cannot parse float from empty string",
                field=self.name,
            )
        raise InvalidIdentifier(
            f"Field '{self.name}' must be a finite number, got: '{text}'", field=self.name
        )

    def _is_inside(self, value: float) -> bool:
        return (self.minimum is None or value >= self.minimum) and (
            self.maximum is None or value <= self.maximum
        )

    def _range_text(self) -> str:
        low = "-inf" if self.minimum is None else plain_number(self.minimum)
        high = "inf" if self.maximum is None else plain_number(self.maximum)
        return f"[{low}, {high}]"

    def comparable(self, token: str) -> float | None:
        """Return the finite number that a stored token spells, or None."""
        if not _DECIMAL.fullmatch(token):
            return None
        value = float(token)
        return value if math.isfinite(value) else None

    def operand(self, operator: str, value: object) -> float:
        """Return a finite number within the limits."""
        number = _finite(value)
        if number is None:
            raise InvalidConstraint(
                f"Field '{self.name}' operator '{operator}' expects numeric value", field=self.name
            )
        if not self._is_inside(number):
            raise InvalidConstraint(
                f"Field '{self.name}' constraint value {plain_number(number)} "
                f"is outside allowed range {self._range_text()}",
                field=self.name,
            )
        return number

    def options(self) -> dict[str, object]:
        """Return `range`; a side without a limit is None."""
        if self.minimum is None and self.maximum is None:
            return {"range": None}
        return {"range": [self.minimum, self.maximum]}

    def json_schema(self) -> JsonSchema:
        """Describe a number within the limits, or its digits as text."""
        number: JsonSchema = {"type": "number"}
        if self.minimum is not None:
            number["minimum"] = self.minimum
        if self.maximum is not None:
            number["maximum"] = self.maximum
        text = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$"
        return {"anyOf": [number, {"type": "string", "pattern": text}]}

    def faults(self) -> Iterator[tuple[str, str]]:
        """Yield limits that nothing lies between."""
        if self.minimum is not None and self.maximum is not None and self.minimum > self.maximum:
            yield (
                f"has a range whose minimum {plain_number(self.minimum)} "
                f"exceeds its maximum {plain_number(self.maximum)}",
                "swap the two: no value could be sent",
            )

    def narrowings(self, older: Self) -> Iterator[str]:
        """Yield limits that moved inwards."""
        if self.minimum is not None and (older.minimum is None or self.minimum > older.minimum):
            yield f"min {plain_number(self.minimum)} is higher than {_limit(older.minimum)}"
        if self.maximum is not None and (older.maximum is None or self.maximum < older.maximum):
            yield f"max {plain_number(self.maximum)} is lower than {_limit(older.maximum)}"

    @classmethod
    def samples(cls) -> Iterator[tuple[RealField, Samples]]:
        """Yield a field without limits and one with."""
        no_number = "Field 'x' must be a valid number, got: '{}'"
        not_finite = "Field 'x' must be a finite number, got: '{}'"
        yield (
            cls(name="x"),
            Samples(
                accepted=(
                    (4, "4"), (4.0, "4"), ("4.0", "4"), ("3.14", "3.14"), (".5", "0.5"), ("5.", "5"), ("1e3", "1000"),
                    ("+1", "1"), ("1e-7", "0.0000001"), ("-0", "-0"), ("-0.0", "-0"), (-0.0, "-0"), ("007.50", "7.5"),
                    ("1e22", "10000000000000000000000"), (1e22, "10000000000000000000000"),
                ),
                refused=(
                    *((text, no_number.format(text)) for text in ("", "x", "0x1", " 1", "1 ", "1_0", "e5", ".", "*")),
                    *((text, not_finite.format(text)) for text in ("NaN", "inf", "-Infinity", "1e400")),
                    (True, no_number.format("true")),
                ),
            ),
        )  # fmt: skip
        yield (
            cls(name="x", minimum=0.0, maximum=150.0),
            Samples(
                accepted=((0, "0"), ("150", "150")),
                refused=(
                    ("151", "Field 'x' value 151 is outside allowed range [0, 150]"),
                    (-0.5, "Field 'x' value -0.5 is outside allowed range [0, 150]"),
                ),
            ),
        )


def _finite(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _limit(value: float | None) -> str:
    return "none" if value is None else plain_number(value)
