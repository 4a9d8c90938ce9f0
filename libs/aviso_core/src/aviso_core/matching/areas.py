"""Figures of filters, arranged so that an event's figure finds those that it meets.

The tree is shapely's, built in one go and searched in C with the exact predicate; it cannot be changed. So there is a
tree of the figures that have been here for a while and a list of newcomers, which are compared one by one. Everything
goes into a new tree once the newcomers have become an eighth of it, or once comparing them has cost as much as building
one. What was removed leaves a gap in the tree at once, and the tree is built anew when half of it is gaps.

So changes without questions between them cost a constant share of a tree each. With a question after every change, a
tree of n figures is built after a number of them that grows with the root of n, and so does what each of them pays:
20 µs where there are 10 000 figures. The numbers below were measured: building costs a third of a microsecond a figure.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Final, Generic, Literal, TypeAlias, TypeVar

import numpy as np
import shapely

if TYPE_CHECKING:
    from aviso_core.geometry.plane import Figure

T = TypeVar("T", bound=Hashable)

# How the event's figure must stand to a filter's: share a point with it, or have it strictly inside.
Predicate: TypeAlias = Literal["intersects", "contains"]

_A_HANDFUL: Final = 16
_SHARE: Final = 8
# What comparing newcomers costs, counted in figures built: so many to begin with, and one for so many compared.
_BEGINNING: Final = 12
_COMPARED_FOR_ONE_BUILT: Final = 6


class AreaSet(Generic[T]):
    """Items by the figure that they belong to."""

    __slots__ = ("_gaps", "_newcomers", "_places", "_predicate", "_settled", "_spent", "_tree")

    def __init__(self, predicate: Predicate) -> None:
        self._predicate: Predicate = predicate
        self._newcomers: dict[T, Figure] = {}
        self._tree: shapely.STRtree | None = None
        self._settled: list[tuple[T, Figure] | None] = []
        self._places: dict[T, int] = {}
        self._gaps = 0
        self._spent = 0

    def __len__(self) -> int:
        """Return how many items there are."""
        return len(self._newcomers) + len(self._places)

    def add(self, figure: Figure, item: T) -> None:
        """Add an item that is not there yet."""
        assert item not in self._newcomers
        assert item not in self._places
        self._newcomers[item] = figure
        if len(self._newcomers) > max(_A_HANDFUL, len(self._places) // _SHARE):
            self._settle()

    def remove(self, item: T) -> None:
        """Remove an item that is there."""
        if self._newcomers.pop(item, None) is not None:
            return
        self._settled[self._places.pop(item)] = None
        self._gaps += 1
        if self._gaps * 2 > len(self._settled):
            self._settle()

    def _settle(self) -> None:
        remaining = [*filter(None, self._settled), *self._newcomers.items()]
        self._newcomers = {}
        self._settled = list(remaining)
        self._places = {item: place for place, (item, _) in enumerate(remaining)}
        self._gaps = 0
        self._spent = 0
        self._tree = shapely.STRtree([figure for _, figure in remaining]) if remaining else None

    def meeting(self, figure: Figure) -> list[T]:
        """Return the items whose figure the event's figure meets."""
        if self._newcomers:
            self._spent += _BEGINNING + len(self._newcomers) // _COMPARED_FOR_ONE_BUILT
            if self._spent > max(_A_HANDFUL, len(self)):
                self._settle()
        met = self._meeting_newcomers(figure) if self._newcomers else []
        if self._tree is not None:
            # One figure in an array is asked three times as fast as one by itself.
            asked = np.fromiter((figure,), dtype=object, count=1)
            for place in self._tree.query(asked, self._predicate)[1].tolist():
                settled = self._settled[place]
                if settled is not None:
                    met.append(settled[0])
        return met

    def _meeting_newcomers(self, figure: Figure) -> list[T]:
        compare = shapely.intersects if self._predicate == "intersects" else shapely.contains
        shapely.prepare(figure)
        newcomers = np.fromiter(self._newcomers.values(), dtype=object, count=len(self._newcomers))
        items = list(self._newcomers)
        return [items[place] for place in compare(figure, newcomers).nonzero()[0].tolist()]
