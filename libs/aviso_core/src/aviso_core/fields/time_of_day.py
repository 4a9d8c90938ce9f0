"""`Time`: hours and minutes."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, Self

from aviso_core.errors import InvalidIdentifier
from aviso_core.fields.base import Field, JsonSchema, Samples

if TYPE_CHECKING:
    from collections.abc import Iterator

_JSON_SCHEMA_PATTERN: Final = "^([0-9]|[01][0-9]|2[0-3])(:[0-5][0-9])?$|^([01][0-9]|2[0-3])[0-5][0-9]$"


def _are_digits(text: str) -> bool:
    return text.isascii() and text.isdigit()


class TimeField(Field, frozen=True, kw_only=True, tag="Time"):
    """A time of day to the minute; canonical is `HHMM`."""

    kind: ClassVar[str] = "Time"

    def canonical(self, text: str) -> str:
        """Return `HHMM`."""
        if len(text) == 4 and _are_digits(text):
            hours, minutes = text[:2], text[2:]
            return text if hours < "24" and minutes < "60" else self._checked(int(hours), int(minutes))
        if ":" in text:
            return self._with_colon(text)
        if len(text) in (1, 2) and _are_digits(text):
            return self._checked(int(text), 0)
        if len(text) == 4:
            raise self._refusal(
                f"HHMM format '{text}'. Expected format: HHMM with exactly 4 digits (e.g., 1430, 0905)"
            )
        raise self._refusal(f"time format '{text}'. Expected: H, HH, HH:MM, or HHMM")

    def _with_colon(self, text: str) -> str:
        hours, _, minutes = text.partition(":")
        if not (len(hours) in (1, 2) and len(minutes) == 2 and _are_digits(hours + minutes)):
            raise self._refusal(f"HH:MM format '{text}'. Expected format: HH:MM (e.g., 14:30, 9:05)")
        return self._checked(int(hours), int(minutes))

    def _checked(self, hours: int, minutes: int) -> str:
        if hours > 23:
            raise self._refusal(f"hours: {hours}. Hours must be 0-23 in 24-hour format")
        if minutes > 59:
            raise self._refusal(f"minutes: {minutes}. Minutes must be 0-59")
        return f"{hours:02}{minutes:02}"

    def _refusal(self, what: str) -> InvalidIdentifier:
        return InvalidIdentifier(f"Field '{self.name}' has invalid {what}", field=self.name)

    def comparable(self, token: str) -> str | None:
        """Return the token."""
        return token

    def options(self) -> dict[str, object]:
        """Return nothing: there is nothing to set."""
        return {}

    def json_schema(self) -> JsonSchema:
        """Describe the five forms, of which those without a leading zero are also numbers."""
        return {
            "anyOf": [
                {"type": "string", "pattern": _JSON_SCHEMA_PATTERN},
                {"type": "integer", "minimum": 0, "maximum": 2359},
            ]
        }

    def narrowings(self, older: Self) -> Iterator[str]:
        """Yield nothing: all fields of this type take the same."""
        del older
        yield from ()

    @classmethod
    def samples(cls) -> Iterator[tuple[TimeField, Samples]]:
        """Yield the one field there is."""
        no_form = "Field 'x' has invalid time format '{}'. Expected: H, HH, HH:MM, or HHMM"
        no_colon_form = "Field 'x' has invalid HH:MM format '{}'. Expected format: HH:MM (e.g., 14:30, 9:05)"
        no_digits = (
            "Field 'x' has invalid HHMM format '{}'. "
            "Expected format: HHMM with exactly 4 digits (e.g., 1430, 0905)"  # one text of the contract
        )
        yield (
            cls(name="x"),
            Samples(
                accepted=(
                    ("1", "0100"), ("12", "1200"), (12, "1200"), ("00:00", "0000"), ("9:05", "0905"),
                    ("14:30", "1430"), ("1430", "1430"), ("2359", "2359"), (1430, "1430"),
                ),
                refused=(
                    *((text, no_form.format(text)) for text in ("", "123", "*", "+1", "1 ", "x", "12345")),
                    *((text, no_colon_form.format(text)) for text in ("12:5", "12:00:00", ":30", "100:00", "1 :30")),
                    *((text, no_digits.format(text)) for text in ("noon", " 123", "12.5", "+123")),
                    ("24", "Field 'x' has invalid hours: 24. Hours must be 0-23 in 24-hour format"),
                    ("2460", "Field 'x' has invalid hours: 24. Hours must be 0-23 in 24-hour format"),
                    ("2360", "Field 'x' has invalid minutes: 60. Minutes must be 0-59"),
                    ("12:60", "Field 'x' has invalid minutes: 60. Minutes must be 0-59"),
                ),
            ),
        )  # fmt: skip
