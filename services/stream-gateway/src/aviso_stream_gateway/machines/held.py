"""Whether all of a range that has an explicit end is held still, from its beginning.

Reading such a range twice gives the same, or says that it cannot. What an administrator removes from its middle is gone
on purpose and leaves no trace; what retention removes, it removes from the beginning, and that can be seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aviso_core.errors import AvisoError
from aviso_core.event import FromInstant, FromSequence, Now

if TYPE_CHECKING:
    from aviso_core.eventlog.base import Bounds
    from aviso_stream_gateway.request import Asked
    from aviso_stream_gateway.setup import SetUp


class RangeRemoved(AvisoError):
    """The beginning of what was asked for is not held any more."""

    code = "RANGE_REMOVED"

    def __init__(self, first_held: int) -> None:
        self.message = (
            f"The beginning of this range is held no more; what is held begins with sequence {first_held}"
        )
        self.first_held = first_held
        super().__init__(self.message)


class RemovedMeanwhile(AvisoError):
    """Some of a range was removed before its reader got there."""

    code = "RANGE_REMOVED"


def check_held(asked: Asked, setup: SetUp) -> None:
    """Refuse a range with an end whose beginning was removed, or may have been.

    Of a date that lies before everything that is held nobody can tell whether something of later was removed.
    """
    bounds = setup.bounds
    if asked.end is not None and bounds.first > 1 and _may_have_begun_before(asked, setup):
        raise RangeRemoved(bounds.first)


def _may_have_begun_before(asked: Asked, setup: SetUp) -> bool:
    bounds, last = setup.bounds, setup.range.last
    match asked.start:
        case FromSequence(sequence):
            # 0 is whatever there is; 1 is the first that there ever was.
            return 0 < sequence < bounds.first and sequence <= last
        case FromInstant(instant):
            is_behind_all = bounds.last_instant is not None and bounds.last_instant < instant
            return setup.range.first <= bounds.first and last > 0 and not is_behind_all
        case Now():
            return False


class Overtaken:
    """Sees whether removing overtakes somebody who reads a range with an end."""

    def __init__(self, asked: Asked, setup: SetUp) -> None:
        self.is_watched = asked.end is not None
        self._epoch = setup.bounds.epoch
        self._next = max(setup.range.first, setup.bounds.first)

    def check(self, through: int, bounds: Bounds) -> None:
        """Take note that everything was read up to a sequence, by a moment in which the log held this."""
        if bounds.epoch != self._epoch or bounds.first > self._next:
            raise RemovedMeanwhile(
                f"what is held begins with {bounds.first}, and {self._next} was to be read"
            )
        self._next = through + 1
