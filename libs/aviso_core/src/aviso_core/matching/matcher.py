"""The one definition of "this request selects this event".

Live delivery, replay, live sets, aggregates and `explain` all mean this. The index only finds the same events faster,
and is tested against it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import shapely

from aviso_core.matching.spatial import accepts, figure_of

if TYPE_CHECKING:
    from aviso_core.matching.candidate import Candidate
    from aviso_core.matching.filter import Filter


class Matcher:
    """A filter ready to be asked about many events."""

    __slots__ = ("_figure", "filter")

    def __init__(self, filter: Filter) -> None:
        self.filter = filter
        self._figure = None if filter.spatial is None else figure_of(filter.spatial)
        if self._figure is not None:
            shapely.prepare(self._figure)

    def selects(self, candidate: Candidate) -> bool:
        """Tell whether the filter selects the event."""
        chosen, values = self.filter, candidate.identifier
        if chosen.places is not None and chosen.places != len(values):
            return False
        # History asks this of every event: loops, because a generator costs more than what it asks here.
        for name, text in chosen.equals:
            if values.get(name) != text:
                return False
        for one in chosen.constraints:
            if not one.accepts(candidate.comparable(one.field)):
                return False
        spatial, figure = chosen.spatial, self._figure
        return spatial is None or figure is None or accepts(spatial, figure, candidate)
