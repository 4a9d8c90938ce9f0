"""What there is to say about something that was imported, or was not."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

Kind: TypeAlias = Literal["note", "changed", "left out"]


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """A member of the configuration by its path, what became of it, and what to do.

    A note is only good to know: it is written otherwise and means the same, or stays where it is. What was changed
    means something else by now, and what was left out is in no manifest.
    """

    kind: Kind
    path: str
    message: str
    remedy: str = ""


class LeftOut(Exception):
    """No manifest can be made of an event type."""

    def __init__(self, path: str, message: str, remedy: str) -> None:
        super().__init__(message)
        self.note = Note(kind="left out", path=path, message=message, remedy=remedy)


class Notes:
    """The notes on one event type, as they are made."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.made: list[Note] = []

    def know(self, path: str, message: str, remedy: str = "") -> None:
        """Add what is only good to know."""
        self._add("note", path, message, remedy)

    def change(self, path: str, message: str, remedy: str) -> None:
        """Add what means something else by now."""
        self._add("changed", path, message, remedy)

    def leave_out(self, path: str, message: str, remedy: str) -> LeftOut:
        """Return what to raise where no manifest can be made."""
        return LeftOut(f"{self.path}.{path}" if path else self.path, message, remedy)

    def _add(self, kind: Kind, path: str, message: str, remedy: str) -> None:
        whole = f"{self.path}.{path}" if path else self.path
        self.made.append(Note(kind=kind, path=whole, message=message, remedy=remedy))
