"""Time, passed in as a part, so that an hour of heartbeats is tested in milliseconds."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """What a part that needs the time is given."""

    def now_ns(self) -> int:
        """Return the instant of the wall clock, in nanoseconds since 1970 UTC."""
        ...

    def monotonic(self) -> float:
        """Return seconds of a clock that never goes back; only differences mean anything."""
        ...


class SystemClock:
    """The machine's own clocks."""

    def now_ns(self) -> int:
        """Return the wall clock's instant."""
        return time.time_ns()

    def monotonic(self) -> float:
        """Return the monotonic clock's seconds."""
        return time.monotonic()
