"""A dict that gives back the room of what was removed from it.

Python's own keeps room for as many as it ever held, and going through it visits all of that room. Filters and
subscribers come and go in waves, and nothing may be left of a wave.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_NOT_WORTH_IT: Final = 16


class ShrinkingDict(dict[K, V]):
    """A dict whose room is never more than a small multiple of what is in it."""

    __slots__ = ("_removed",)

    def __init__(self) -> None:
        super().__init__()
        self._removed = 0

    def remove(self, key: K) -> V:
        """Remove a key that is there, and return its value. Removing in any other way leaves the room as it is."""
        value = super().pop(key)
        self._removed += 1
        if self._removed > len(self) + _NOT_WORTH_IT or not self:
            self._removed = 0
            remaining = list(self.items())
            self.clear()
            self.update(remaining)
        return value
