"""Text that came from files and arguments, made fit for a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    """Return the text with what would move a terminal's cursor, or colour it, written as an escape."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )
