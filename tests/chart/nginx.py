"""A configuration of nginx as a tree: as much of its grammar as the edge uses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_TOKENS: Final = re.compile(
    r"""\s+ | \#[^\n]* | "([^"]*)" | '([^']*)' | ([{};]) | ([^\s{};"']+)""", re.VERBOSE
)


class Directive(NamedTuple):
    """A name and what is said of it."""

    name: str
    words: tuple[str, ...]


class Block(NamedTuple):
    """A directive that holds others."""

    name: str
    words: tuple[str, ...]
    inner: tuple[Directive | Block, ...]

    def blocks(self, name: str) -> list[Block]:
        """Return the blocks of that name directly below."""
        return [one for one in self.inner if isinstance(one, Block) and one.name == name]

    def values(self, name: str) -> list[tuple[str, ...]]:
        """Return what is said of a name directly below, as often as it is said."""
        return [one.words for one in self.inner if isinstance(one, Directive) and one.name == name]

    def value(self, name: str) -> tuple[str, ...]:
        """Return what is said once of a name."""
        (words,) = self.values(name)
        return words


def parse(text: str) -> Block:
    """Return the configuration as one block without a name."""
    return Block("", (), tuple(_read(_tokens(text))))


def _tokens(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each word with whether it is one of the signs that end something."""
    at = 0
    while at < len(text):
        match = _TOKENS.match(text, at)
        assert match, f"not understood: {text[at : at + 40]!r}"
        at = match.end()
        double, single, sign, word = match.groups()
        if sign is not None:
            yield sign, True
        elif (quoted := double if double is not None else single) is not None:
            yield quoted, False
        elif word is not None:
            yield word, False


def _read(tokens: Iterator[tuple[str, bool]]) -> Iterator[Directive | Block]:
    words: list[str] = []
    for token, is_sign in tokens:
        if not is_sign:
            words.append(token)
            continue
        if token == "}":
            assert not words, f"no end: {words}"
            return
        name, *rest = words
        words = []
        if token == ";":
            yield Directive(name, tuple(rest))
        else:
            yield Block(name, tuple(rest), tuple(_read(tokens)))
