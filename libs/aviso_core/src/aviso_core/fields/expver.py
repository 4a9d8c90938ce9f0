"""`Expver`: an experiment's version, four digits or a lower-case word."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, Self

from aviso_core.fields.base import Field, JsonSchema, Samples, not_empty

if TYPE_CHECKING:
    from collections.abc import Iterator

_LARGEST: Final = 2**32 - 1
_MOST_DIGITS: Final = 10


def _normal(text: str) -> str:
    if text.isascii() and text.isdigit():
        digits = text.lstrip("0") or "0"
        if len(digits) <= _MOST_DIGITS and int(digits) <= _LARGEST:
            return digits.zfill(4)
    return text.lower()


class ExpverField(Field, frozen=True, kw_only=True, tag="Expver"):
    """A version: numbers are padded to four digits, words go to lower case.

    `empty_default` is what an explicitly empty text stands for. (The field's `default` is for one that is left out.)
    """

    kind: ClassVar[str] = "Expver"

    empty_default: str | None = None

    def canonical(self, text: str) -> str:
        """Return four digits or more, or lower case."""
        if not text and self.empty_default:
            return _normal(self.empty_default)
        return _normal(not_empty(self.name, text))

    def comparable(self, token: str) -> str | None:
        """Return the token."""
        return token

    def options(self) -> dict[str, object]:
        """Return `default`."""
        return {"default": self.empty_default}

    def json_schema(self) -> JsonSchema:
        """Describe text, or a number or boolean that stands for its own text."""
        text: JsonSchema = {"type": "string"} if self.empty_default else {"type": "string", "minLength": 1}
        return {"anyOf": [text, {"type": ["number", "boolean"]}]}

    def narrowings(self, older: Self) -> Iterator[str]:
        """Yield another meaning of the empty text."""
        if older.empty_default and self.empty_default != older.empty_default:
            yield f"an empty text meant '{older.empty_default}'"

    @classmethod
    def samples(cls) -> Iterator[tuple[ExpverField, Samples]]:
        """Yield a field without a default and one with."""
        yield (
            cls(name="x"),
            Samples(
                accepted=(
                    ("1", "0001"), (1, "0001"), ("0001", "0001"), ("12345", "12345"), ("012345", "12345"),
                    ("4294967295", "4294967295"), ("4294967296", "4294967296"), ("aB", "ab"), ("1.2", "1.2"),
                    ("Test", "test"), ("0" * 5000, "0000"), (True, "true"), ("*", "*"),
                ),
                refused=(("", "Field 'x' cannot be empty"), (None, "Field 'x' cannot be null")),
            ),
        )  # fmt: skip
        yield (
            cls(name="x", empty_default="1"),
            Samples(accepted=(("", "0001"), ("2", "0002")), refused=((None, "Field 'x' cannot be null"),)),
        )
