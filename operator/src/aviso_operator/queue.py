"""Which objects are to be looked at, and when: each once, however many reasons there are, and by one worker at a time.

A look that failed comes again after a pause that grows and is never quite the same, so that many failures of one cause
do not come back as one wave.
"""

from __future__ import annotations

import asyncio
import random
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

FIRST_PAUSE_SECONDS: Final = 1.0
LONGEST_PAUSE_SECONDS: Final = 60.0


class WorkQueue:
    """Keys that are due, now or later."""

    def __init__(self, *, chance: random.Random | None = None) -> None:
        self._chance = chance or random.Random()  # noqa: S311 (spreads load, keeps no secret)
        self._due: OrderedDict[str, None] = OrderedDict()
        self._later: dict[str, asyncio.TimerHandle] = {}
        self._busy: set[str] = set()
        self._again: dict[str, float] = {}
        self._failures: dict[str, int] = {}
        self._is_due = asyncio.Event()

    def __len__(self) -> int:
        """Return how many keys are due and not looked at yet."""
        return len(self._due)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is due and nobody is at work; what is due later does not count."""
        return not (self._due or self._busy)

    def add(self, key: str, *, seconds: float = 0.0) -> None:
        """Have a key looked at after so long; an earlier time that was asked for before stands."""
        if key in self._busy:
            self._again[key] = min(seconds, self._again.get(key, seconds))
        elif seconds <= 0:
            self._make_due(key)
        elif key not in self._due:
            self._put_off(key, seconds)

    def failures_of(self, key: str) -> int:
        """Return how often in a row looking at a key has failed."""
        return self._failures.get(key, 0)

    async def work_for_ever(self, look: Callable[[str], Awaitable[bool]]) -> None:
        """Look at one key after the other. A look returns whether it succeeded; one that did not comes again."""
        while True:
            key = await self._take()
            try:
                has_succeeded = await look(key)
            finally:
                self._busy.discard(key)
            self._settle(key, has_succeeded=has_succeeded)

    async def _take(self) -> str:
        while not self._due:
            self._is_due.clear()
            await self._is_due.wait()
        key, _ = self._due.popitem(last=False)
        self._busy.add(key)
        return key

    def _settle(self, key: str, *, has_succeeded: bool) -> None:
        again = self._again.pop(key, None)
        if has_succeeded:
            self._failures.pop(key, None)
        else:
            failures = self._failures[key] = self.failures_of(key) + 1
            pause = self._pause(failures)
            again = pause if again is None else min(again, pause)
        if again is not None:
            self.add(key, seconds=again)

    def _pause(self, failures: int) -> float:
        longest: float = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2.0 ** min(failures - 1, 10))
        return longest * self._chance.uniform(0.5, 1.0)

    def _make_due(self, key: str) -> None:
        timer = self._later.pop(key, None)
        if timer is not None:
            timer.cancel()
        self._due[key] = None
        self._is_due.set()

    def _put_off(self, key: str, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        timer = self._later.get(key)
        if timer is not None:
            if timer.when() <= loop.time() + seconds:
                return
            timer.cancel()
        self._later[key] = loop.call_later(seconds, self._make_due, key)

    def close(self) -> None:
        """Forget what is due later."""
        for timer in self._later.values():
            timer.cancel()
        self._later.clear()
