"""What a stream needs to know of the time: the text that frames carry, and seconds that never go back."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from aviso_core.instant import to_seconds_text

if TYPE_CHECKING:
    from aviso_core.clock import Clock

_SECOND = 1_000_000_000


class Moment(NamedTuple):
    """One moment. `seconds` compare with those of other moments and mean nothing else."""

    text: str
    seconds: float


class Timekeeper:
    """Tells moments. The text is the same for a whole second, so it is made once."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._second = -1
        self._text = ""

    def now(self) -> Moment:
        """Return this moment."""
        second = self._clock.now_ns() // _SECOND
        if second != self._second:
            self._second = second
            self._text = to_seconds_text(second * _SECOND)
        return Moment(self._text, self._clock.monotonic())

    def unix_seconds(self) -> float:
        """Return the seconds of the wall clock, for what somebody else has dated."""
        return self._clock.now_ns() / _SECOND
