"""Ranges of numbers, arranged so that a number finds those that hold it and never visits another.

The idea is an interval tree whose shape is fixed once for all: the binary tree over all 64-bit numbers. A range
belongs to the highest point of that tree which it contains, and that point is where its two ends first differ in
binary. Of all points at that height only one can lie on the way to a given number, so looking a number up costs one
look per height in use. At a point, a number on its left is held by exactly the ranges that begin at or before it, and
a number on its right by those that end at or after it: with the ranges sorted by either end, those are one slice.

There is nothing to rebalance or rebuild. Adding and removing is a binary search in two lists, and a point that holds
no range any more is dropped.
"""

from __future__ import annotations

import struct
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from aviso_core.fields.base import LARGEST_INTEGER, SMALLEST_INTEGER
from aviso_core.matching.shrinking import ShrinkingDict

if TYPE_CHECKING:
    from aviso_core.matching.constraint import Limits, Number

T = TypeVar("T", bound=Hashable)

_HIGHEST: Final = 2**64 - 1
_SIGN: Final = 2**63
_as_bits: Final = struct.Struct(">Q").unpack
_from_double: Final = struct.Struct(">d").pack


def integer_key(value: int) -> int:
    """Return a number from 0 to 2^64 - 1 that orders as 64-bit integers do."""
    return value - SMALLEST_INTEGER


def real_key(value: float) -> int:
    """Return a number from 0 to 2^64 - 1 that orders as doubles do, the two zeros being one."""
    bits: int = _as_bits(_from_double(value + 0.0))[0]
    return _HIGHEST - bits if bits & _SIGN else bits + _SIGN


def key_of(value: Number) -> int:
    """Return the key of a number of either kind; one field holds numbers of one kind only."""
    return integer_key(value) if isinstance(value, int) else real_key(value)


def keys_of(limits: Limits) -> tuple[int, int] | None:
    """Return the first and the last key of a range, both within it, or None where nothing lies in it."""
    low = 0 if limits.low is None else key_of(limits.low)
    high = _HIGHEST if limits.high is None else key_of(limits.high)
    if limits.excluded is not None:
        low, high = (low + 1, high) if limits.excluded == limits.low else (low, high - 1)
    return (low, high) if low <= high else None


assert integer_key(LARGEST_INTEGER) == _HIGHEST


class _Ends(Generic[T]):
    """The items of a point, sorted by one of their two ends; those of equal ends stand in the order they came in."""

    __slots__ = ("items", "keys")

    def __init__(self) -> None:
        self.keys: list[int] = []
        self.items: list[T] = []

    def add(self, key: int, item: T) -> None:
        place = bisect_right(self.keys, key)
        self.keys.insert(place, key)
        self.items.insert(place, item)

    def remove(self, key: int, number: int, number_of: Callable[[T], int]) -> None:
        first, beyond = bisect_left(self.keys, key), bisect_right(self.keys, key)
        place = bisect_left(self.items, number, first, beyond, key=number_of)
        del self.keys[place]
        del self.items[place]


class _Point(Generic[T]):
    """The ranges that belong to one point of the tree."""

    __slots__ = ("highs", "lows")

    def __init__(self) -> None:
        self.lows: _Ends[T] = _Ends()
        self.highs: _Ends[T] = _Ends()


class RangeSet(Generic[T]):
    """Items by the range of keys that they belong to."""

    __slots__ = ("_heights", "_numbers", "_serial")

    def __init__(self) -> None:
        # Height → the part of a key above that height → the one point there.
        self._heights: dict[int, dict[int, _Point[T]]] = {}
        # Items are numbered as they come, so that one of many with the same end can be found by halving.
        self._numbers: ShrinkingDict[T, int] = ShrinkingDict()
        self._serial = 0

    def __len__(self) -> int:
        """Return how many items there are."""
        return len(self._numbers)

    def add(self, low: int, high: int, item: T) -> None:
        """Add an item that is not there yet."""
        assert item not in self._numbers
        self._serial += 1
        self._numbers[item] = self._serial
        height = (low ^ high).bit_length()
        points = self._heights.setdefault(height, {})
        point = points.get(low >> height)
        if point is None:
            point = points[low >> height] = _Point()
        point.lows.add(low, item)
        point.highs.add(high, item)

    def remove(self, low: int, high: int, item: T) -> None:
        """Remove an item that is there, with the range that it was added with."""
        number_of = self._numbers.__getitem__
        number = number_of(item)
        height = (low ^ high).bit_length()
        points = self._heights[height]
        point = points[low >> height]
        point.lows.remove(low, number, number_of)
        point.highs.remove(high, number, number_of)
        self._numbers.remove(item)
        if not point.lows.keys:
            del points[low >> height]
            if not points:
                del self._heights[height]

    def holding(self, key: int) -> list[T]:
        """Return the items whose range holds the key."""
        found: list[T] = []
        for height, points in self._heights.items():
            point = points.get(key >> height)
            if point is None:
                continue
            # The point is the middle of the keys that share its upper part: the bit below tells the side. Mostly
            # nothing is held there, and one comparison says so.
            if height and key >> (height - 1) & 1:
                ends = point.highs
                if ends.keys[-1] >= key:
                    found += ends.items[bisect_left(ends.keys, key) :]
            else:
                ends = point.lows
                if ends.keys[0] <= key:
                    found += ends.items[: bisect_right(ends.keys, key)]
        return found
