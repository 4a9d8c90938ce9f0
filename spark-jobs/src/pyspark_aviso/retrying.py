"""When something is tried again, and after how long: full jitter below a bound that doubles, never past a deadline."""

from __future__ import annotations

import email.utils
import random
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

FIRST_PAUSE_SECONDS: Final = 0.1
LONGEST_PAUSE_SECONDS: Final = 10.0
# What the service wants us to wait is believed up to here.
LONGEST_RETRY_AFTER_SECONDS: Final = 300.0


def is_worth_repeating(status: int) -> bool:
    """Tell whether a request that was answered like this may succeed when it is made again."""
    return status in (408, 425, 429) or status >= 500


def retry_after_seconds(value: str | None, *, now: float) -> float:
    """Return what the header asks for, in seconds or as a date; nothing where it says nothing that can be read."""
    if value is None:
        return 0.0
    text = value.strip()
    if text.isascii() and text.isdigit():
        return min(float(text), LONGEST_RETRY_AFTER_SECONDS)
    try:
        parsed = email.utils.parsedate_tz(text)
        seconds = 0.0 if parsed is None else email.utils.mktime_tz(parsed) - now
    except (ValueError, OverflowError):
        # It looks like a date and is none, or one of the year 10000.
        return 0.0
    return min(max(seconds, 0.0), LONGEST_RETRY_AFTER_SECONDS)


class Attempts:
    """The attempts of one piece of work, and how long there is for all of them together."""

    def __init__(
        self,
        deadline_seconds: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._clock = clock
        self._wait = wait
        self._jitter = jitter
        self._until = clock() + deadline_seconds
        self.made = 1

    @property
    def seconds_left(self) -> float:
        """How long there is still time."""
        return self._until - self._clock()

    def pause(self, at_least_seconds: float = 0.0) -> bool:
        """Wait before the next attempt; or return False at once where there would be no time left for it.

        What the service asks for is a lower bound, to which the jitter is added: all who were sent away together must
        not come back together.
        """
        bound = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2.0 ** min(self.made - 1, 30))
        seconds = at_least_seconds + bound * self._jitter()
        if seconds >= self.seconds_left:
            return False
        self._wait(seconds)
        self.made += 1
        return True
