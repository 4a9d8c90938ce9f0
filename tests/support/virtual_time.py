"""Time that passes only where everybody waits for it: an hour of a program's life takes as long as its work does.

The loop is asyncio's own. Where it would wait for a socket until its next timer is due, it jumps there instead, so what
runs in it runs in the same order every time. There is no world outside: no socket is looked at and no thread is heard.
"""

from __future__ import annotations

import asyncio
import selectors
from typing import Final

_BEGIN_NANOSECONDS: Final = 1_767_225_600 * 1_000_000_000


class NothingWillHappen(Exception):
    """Everything waits for something that cannot come any more."""


class VirtualTime:
    """The clock of a virtual loop; it begins at the first instant of 2026."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now_ns(self) -> int:
        """Return the instant of the wall clock."""
        return _BEGIN_NANOSECONDS + round(self.seconds * 1_000_000_000)

    def monotonic(self) -> float:
        """Return the seconds that have passed."""
        return self.seconds


class Ahead:
    """A clock that is ahead of another by some nanoseconds."""

    def __init__(self, clock: VirtualTime, nanoseconds: int) -> None:
        self._clock = clock
        self._nanoseconds = nanoseconds

    def now_ns(self) -> int:
        """Return the instant of the wall clock."""
        return self._clock.now_ns() + self._nanoseconds

    def monotonic(self) -> float:
        """Return the seconds that have passed."""
        return self._clock.monotonic()


class _Jumping(selectors.SelectSelector):
    """Waits by moving the clock."""

    def __init__(self, clock: VirtualTime) -> None:
        super().__init__()
        self._clock = clock

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return at once, at the time up to which there was nothing to do."""
        if timeout is None:
            raise NothingWillHappen
        if timeout > 0:
            self._clock.seconds += timeout
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop in virtual time. `asyncio.Runner(loop_factory=VirtualLoop)` runs things in it."""

    def __init__(self) -> None:
        self.clock = VirtualTime()
        super().__init__(_Jumping(self.clock))

    def time(self) -> float:
        """Return the seconds that have passed."""
        return self.clock.seconds


def virtual_clock() -> VirtualTime:
    """Return the clock of the running loop, which must be a virtual one."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop), "this runs in virtual time only"
    return loop.clock
