"""`String`: any text that is not empty."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Self

import re2

from aviso_core.errors import InvalidIdentifier
from aviso_core.fields.base import Field, JsonSchema, Samples, not_empty

if TYPE_CHECKING:
    from collections.abc import Iterator


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> Any:
    """Return a pattern ready to use, looked up by its text: a field is a value and holds none."""
    options = re2.Options()
    # What is wrong with it is raised; the library would write it to standard error as well.
    options.log_errors = False
    return re2.compile(pattern, options)


class PatternRefused(ValueError):
    """The pattern does not compile, or would need backtracking."""


def check_pattern(pattern: str) -> None:
    """Refuse a pattern that cannot be matched in linear time (back references, look-around) or is no pattern."""
    try:
        _compiled(pattern)
    except re2.error as reason:
        raise PatternRefused(_reason(reason)) from reason


def _reason(error: Exception) -> str:
    text = error.args[0] if error.args else ""
    return text.decode() if isinstance(text, bytes) else str(text)


class TextField(Field, frozen=True, kw_only=True, tag="String"):
    """Text, unchanged. The largest length counts UTF-8 bytes; the pattern is RE2's and may match anywhere."""

    kind: ClassVar[str] = "String"

    max_length: int | None = None
    pattern: str | None = None

    def canonical(self, text: str) -> str:
        """Return the text itself."""
        not_empty(self.name, text)
        if self.max_length is not None:
            self._check_length(text)
        if self.pattern is not None and not _compiled(self.pattern).search(text):
            raise InvalidIdentifier(
                f"Field '{self.name}' does not match the pattern '{self.pattern}', got: '{text}'",
                field=self.name,
            )
        return text

    def _check_length(self, text: str) -> None:
        length = len(text) if text.isascii() else len(text.encode())
        if self.max_length is not None and length > self.max_length:
            raise InvalidIdentifier(
                f"Field '{self.name}' exceeds maximum length of {self.max_length} characters, got: {length}",
                field=self.name,
            )

    def comparable(self, token: str) -> str | None:
        """Return the token."""
        return token

    def options(self) -> dict[str, object]:
        """Return `max_length`, and `pattern` where there is one."""
        options: dict[str, object] = {"max_length": self.max_length}
        return options if self.pattern is None else options | {"pattern": self.pattern}

    def json_schema(self) -> JsonSchema:
        """Describe text, or a number or boolean that stands for its own text."""
        text: JsonSchema = {"type": "string", "minLength": 1}
        if self.max_length is not None:
            text["maxLength"] = self.max_length
        if self.pattern is not None:
            text["pattern"] = self.pattern
        return {"anyOf": [text, {"type": ["number", "boolean"]}]}

    def faults(self) -> Iterator[tuple[str, str]]:
        """Yield a length that no text has, and a pattern that cannot be used."""
        if self.max_length is not None and self.max_length < 1:
            yield f"has max_length {self.max_length}", "set at least 1: no value could be sent"
        if self.pattern is None:
            return
        try:
            check_pattern(self.pattern)
        except PatternRefused as reason:
            yield (
                f"has a pattern that cannot be used: {reason}",
                "write it without look-around and back references (RE2 syntax)",
            )

    def narrowings(self, older: Self) -> Iterator[str]:
        """Yield a lower limit or another pattern."""
        if self.max_length is not None and (older.max_length is None or self.max_length < older.max_length):
            yield f"maxLength {self.max_length} is lower than {older.max_length or 'none'}"
        if self.pattern is not None and self.pattern != older.pattern:
            yield f"pattern '{self.pattern}' may refuse what was accepted before"

    @classmethod
    def samples(cls) -> Iterator[tuple[TextField, Samples]]:
        """Yield an unlimited field, a short one, and two with a pattern."""
        yield (
            cls(name="x"),
            Samples(
                accepted=((" a b ", " a b "), (4, "4"), (4.0, "4.0"), (True, "true"), ("ü.*>%", "ü.*>%")),
                refused=(
                    ("", "Field 'x' cannot be empty"),
                    (None, "Field 'x' cannot be null"),
                    ([1], "Field 'x' must be a scalar value or constraint object, got array"),
                    ({"eq": 1}, "Field 'x' constraint object is not supported for notify operation"),
                ),
            ),
        )
        yield (
            cls(name="x", max_length=2),
            Samples(
                accepted=(("od", "od"), ("ü", "ü")),
                refused=(
                    ("odd", "Field 'x' exceeds maximum length of 2 characters, got: 3"),
                    ("üü", "Field 'x' exceeds maximum length of 2 characters, got: 4"),
                ),
            ),
        )
        yield (
            cls(name="x", pattern="^[a-z]+$"),
            Samples(
                accepted=(("abc", "abc"),),
                refused=(("a1", "Field 'x' does not match the pattern '^[a-z]+$', got: 'a1'"),),
            ),
        )
        yield (
            cls(name="x", pattern="^[0-9]{2}$"),
            Samples(
                accepted=(("07", "07"), (42, "42")),
                refused=((7, "Field 'x' does not match the pattern '^[0-9]{2}$', got: '7'"),),
            ),
        )
