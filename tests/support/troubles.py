"""What is wrong with the backend of a log now, and what has gone wrong: set by a test, met by `faulty_log`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Literal, TypeAlias

from aviso_core.errors import Unavailable

if TYPE_CHECKING:
    from random import Random

    from aviso_core.errors import AvisoError
    from support.faulty_log import FaultyTail

Call: TypeAlias = Literal["bounds", "seek", "read", "tail"]


class Troubles:
    """What is wrong with a backend at the moment, and what has gone wrong."""

    def __init__(self, chance: Random) -> None:
        self.chance = chance
        # How long an answer, or the next batch of one, takes at most; and how long entries take to tails.
        self.longest_seconds = 0.0
        self.longest_tail_seconds = 0.0
        # How often the next calls fail, and after how many batches the next reading does.
        self.refused: dict[Call, int] = {}
        self.breaks_after: int | None = None
        # How large the pieces are in which entries come.
        self.batch_bytes = 1_048_576
        self.most_entries = 1_000_000
        # When somebody was told of a failure, and how many readings and tails are open.
        self.told: list[float] = []
        self.readings = 0
        self.tails: dict[FaultyTail, None] = {}

    def mend(self) -> None:
        """Have everything work, at once; tails that were told to end do."""
        self.longest_seconds = self.longest_tail_seconds = 0.0
        self.refused.clear()
        self.breaks_after = None

    async def delay(self) -> None:
        """Let others run, as long as an answer takes."""
        await self._delay(self.longest_seconds)

    async def delay_tail(self) -> None:
        """Let others run, as long as entries take to tails."""
        await self._delay(self.longest_tail_seconds)

    async def _delay(self, longest_seconds: float) -> None:
        if not longest_seconds:
            return
        # Now and then an answer is there at once, or after a turn or two of the loop.
        kind = self.chance.randrange(4)
        if kind == 0:
            await asyncio.sleep(self.chance.uniform(0, longest_seconds))
        for _ in range(kind):
            await asyncio.sleep(0)

    def check(self, call: Call) -> None:
        """Fail, if it is this call's turn."""
        left = self.refused.get(call, 0)
        if left:
            self.refused[call] = left - 1
            raise self.failure(Unavailable(f"{call}: the backend did not answer in time"))

    def failure(self, error: AvisoError) -> AvisoError:
        """Return an error, which somebody is told now."""
        self.note()
        return error

    def note(self) -> None:
        """Note that somebody is told of a failure, or might take it for one."""
        self.told.append(asyncio.get_running_loop().time())

    def were_told(self, since: float, until: float) -> bool:
        """Tell whether there was a failure between two moments."""
        return any(since <= at <= until for at in self.told)

    def end_tails(self, error: AvisoError | None) -> None:
        """End all tails with an error, or as if there was nothing more to come."""
        for tail in self.tails:
            tail.end(error)
