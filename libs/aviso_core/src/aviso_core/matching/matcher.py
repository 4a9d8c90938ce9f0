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
        return (
            self._has_places(candidate)
            and self._has_values(candidate)
            and all(one.accepts(candidate.comparable(one.field)) for one in self.filter.constraints)
            and self._lies_right(candidate)
        )

    def _has_places(self, candidate: Candidate) -> bool:
        return self.filter.places is None or self.filter.places == len(candidate.identifier)

    def _has_values(self, candidate: Candidate) -> bool:
        values = candidate.identifier
        return all(values.get(name) == text for name, text in self.filter.equals)

    def _lies_right(self, candidate: Candidate) -> bool:
        spatial, figure = self.filter.spatial, self._figure
        return spatial is None or figure is None or accepts(spatial, figure, candidate)
