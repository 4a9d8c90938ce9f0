"""Several who work at the same time, one step at a time: who is next is drawn from a seed.

Each waits for its turn before each step; a turn is given only when everybody who still works waits for one. So how
their steps fall together is the seed's alone, however long any of them takes.
"""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine


class Turns:
    """Who is next."""

    def __init__(self, seed: int) -> None:
        self.taken: list[str] = []
        self._random = random.Random(seed)  # noqa: S311 (an order of steps guards nothing)
        self._working = 0
        self._waiting: list[tuple[str, asyncio.Future[None]]] = []

    async def wait(self, worker: str) -> None:
        """Wait for a turn."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((worker, turn))
        self._give()
        await turn

    async def work(self, *workers: Callable[[], Coroutine[None, None, None]]) -> None:
        """Run all to their end."""
        self._working = len(workers)
        async with asyncio.TaskGroup() as group:
            for worker in workers:
                group.create_task(self._until_done(worker))

    async def _until_done(self, worker: Callable[[], Coroutine[None, None, None]]) -> None:
        await worker()
        self._working -= 1
        self._give()

    def _give(self) -> None:
        if self._waiting and len(self._waiting) == self._working:
            self._waiting.sort(key=lambda one: one[0])
            worker, turn = self._waiting.pop(self._random.randrange(len(self._waiting)))
            self.taken.append(worker)
            turn.set_result(None)
