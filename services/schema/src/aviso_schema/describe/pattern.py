r"""A field's pattern, which is RE2's, said for others: as a JSON Schema pattern, and by a text that it matches.

JSON Schema takes the regular expressions of ECMA-262. Most of what people write means the same in both; what does not
is rewritten here (`.`, `\s`, escaped punctuation), and what cannot be is not passed on at all: a description may
promise less than the field checks, never more. The example comes out of the same reading.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple, NoReturn


class Portable(NamedTuple):
    """A pattern for JSON Schema, and a text that it should match; the field itself has the last word on that."""

    pattern: str
    example: str


class _UnportableError(ValueError):
    pass


def portable(pattern: str) -> Portable | None:
    """Return the pattern for others, or None where it uses what only RE2 knows."""
    reader = _Reader(pattern)
    try:
        made = reader.alternatives()
        if reader.rest():
            _give_up()
    except _UnportableError:
        return None
    return made


def _give_up() -> NoReturn:
    raise _UnportableError


# What ECMA-262 lets be escaped outside of a class; everything else stands for itself.
_SYNTAX: Final = frozenset(r"^$\.*+?()[]{}|/")
_CONTROLS: Final = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v"}
# RE2's own meaning of these, spelled as the inside of a class.
_SETS: Final = {"d": "0-9", "w": "0-9A-Za-z_", "s": r"\t\n\f\r "}
_SET_RANGES: Final = {
    "d": (("0", "9"),),
    "w": (("a", "z"), ("A", "Z"), ("0", "9"), ("_", "_")),
    "s": ((" ", " "), ("\t", "\n"), ("\f", "\r")),
}
_SET_EXAMPLES: Final = {"d": "0", "w": "a", "s": " ", "D": "a", "W": "-", "S": "a"}
_QUANTIFIER: Final = re.compile(r"(?:([*+?])|\{([0-9]{1,4})(?:(,)([0-9]{1,4})?)?\})(\??)")
_GROUP: Final = re.compile(r"\((?:\?:|\?P?<[A-Za-z_][A-Za-z0-9_]*>)?(?!\?)")
_DEEPEST: Final = 50
# Tried for a class that says what it does not hold.
_ANYTHING: Final = "a0A- _.x9Z#é"


class _Reader:
    """Reads a pattern from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._place = 0
        self._depth = 0

    def rest(self) -> str:
        return self._text[self._place :]

    def alternatives(self) -> Portable:
        self._depth += 1
        if self._depth > _DEEPEST:
            _give_up()
        sequences = [self._sequence()]
        while self._skip("|"):
            sequences.append(self._sequence())
        self._depth -= 1
        return Portable("|".join(one.pattern for one in sequences), sequences[0].example)

    def _skip(self, text: str) -> bool:
        found = self._text.startswith(text, self._place)
        self._place += len(text) if found else 0
        return found

    def _take(self) -> str:
        if self._place >= len(self._text):
            _give_up()
        self._place += 1
        return self._text[self._place - 1]

    def _sequence(self) -> Portable:
        pieces = []
        while (rest := self.rest()) and rest[0] not in "|)":
            pieces.append(self._repeated(self._piece()))
        return Portable("".join(one.pattern for one in pieces), "".join(one.example for one in pieces))

    def _repeated(self, piece: Portable) -> Portable:
        match = _QUANTIFIER.match(self._text, self._place)
        if match is None:
            return piece
        if piece.pattern in ("^", "$"):
            _give_up()
        self._place = match.end()
        sign, least, *_ = match.groups()
        times = {"*": 1, "+": 1, "?": 0}[sign] if sign else int(least)
        if _QUANTIFIER.match(self._text, self._place):
            _give_up()
        return Portable(piece.pattern + match[0], piece.example * times)

    def _piece(self) -> Portable:
        group = _GROUP.match(self._text, self._place)
        if group is not None:
            return self._group(group)
        match self._take():
            case "^" | "$" as anchor:
                return Portable(anchor, "")
            case ".":
                return Portable(r"[^\n]", "a")
            case "[":
                return self._class()
            case "\\":
                return self._escaped()
            case char if char in _SYNTAX - {"/"}:
                _give_up()
            case char:
                return _literal(char)

    def _group(self, opening: re.Match[str]) -> Portable:
        self._place = opening.end()
        inner = self.alternatives()
        if not self._skip(")"):
            _give_up()
        return Portable(f"(?:{inner.pattern})", inner.example)

    def _escaped(self) -> Portable:
        char = self._take()
        if char in _SETS:
            return Portable(f"[{_SETS[char]}]", _SET_EXAMPLES[char])
        if char.lower() in _SETS:
            return Portable(f"[^{_SETS[char.lower()]}]", _SET_EXAMPLES[char])
        return _literal(self._escaped_character(char))

    def _escaped_character(self, char: str) -> str:
        if char in _CONTROLS:
            return _CONTROLS[char]
        if not char.isascii() or char.isalnum() or char == "_":
            _give_up()
        return char

    # --- classes -----------------------------------------------------------------------------------------

    def _class(self) -> Portable:
        is_negated = self._skip("^")
        members: list[_Member] = []
        while not members or not self._skip("]"):
            members.append(self._class_member())
        inside = "".join(member.pattern for member in members)
        if not is_negated:
            return Portable(f"[{inside}]", members[0].ranges[0][0])
        held = [pair for member in members for pair in member.ranges]
        outside = (char for char in _ANYTHING if not any(low <= char <= high for low, high in held))
        return Portable(f"[^{inside}]", next(outside, ""))

    def _class_member(self) -> _Member:
        if (
            self._text.startswith("\\", self._place)
            and self._text[self._place + 1 : self._place + 2] in _SETS
        ):
            self._place += 2
            name = self._text[self._place - 1]
            return _Member(_SETS[name], _SET_RANGES[name])
        first = self._class_character()
        if not self._text.startswith("-", self._place) or self._text.startswith("-]", self._place):
            return _Member(_in_class(first), ((first, first),))
        self._place += 1
        last = self._class_character()
        if last < first:
            _give_up()
        return _Member(f"{_in_class(first)}-{_in_class(last)}", ((first, last),))

    def _class_character(self) -> str:
        if self._text.startswith("[:", self._place):
            _give_up()
        char = self._take()
        return self._escaped_character(self._take()) if char == "\\" else char


class _Member(NamedTuple):
    """A part of a class: how it is written, and from which character to which it reaches."""

    pattern: str
    ranges: tuple[tuple[str, str], ...]


def _literal(char: str) -> Portable:
    return Portable(f"\\{char}" if char in _SYNTAX else char, char)


def _in_class(char: str) -> str:
    return f"\\{char}" if char in r"\]^-[" else char
