"""Which object is looked at when: in virtual time, so pauses are exact."""

from __future__ import annotations

import asyncio
import random
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from aviso_core.alongside import alongside
from aviso_operator.queue import FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS, WorkQueue
from support.virtual_time import VirtualLoop, virtual_clock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine


class Looks:
    """Who looks, and what became of it."""

    def __init__(self, queue: WorkQueue, *, seconds: float = 0.0) -> None:
        self.queue = queue
        self.seconds = seconds
        self.failing: set[str] = set()
        self.seen: list[tuple[str, float]] = []
        self.busy: set[str] = set()

    async def look(self, key: str) -> bool:
        assert key not in self.busy, "one worker at a time"
        self.busy.add(key)
        self.seen.append((key, virtual_clock().monotonic()))
        await asyncio.sleep(self.seconds)
        self.busy.discard(key)
        return key not in self.failing


@asynccontextmanager
async def working(queue: WorkQueue, looks: Looks, *, workers: int = 2) -> AsyncIterator[None]:
    async with alongside(_work(queue, looks, workers)):
        yield
    queue.close()


async def _work(queue: WorkQueue, looks: Looks, workers: int) -> None:
    async with asyncio.TaskGroup() as tasks:
        for _ in range(workers):
            tasks.create_task(queue.work_for_ever(looks.look))


def in_virtual_time(story: Coroutine[None, None, None]) -> None:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(story)


def test_many_reasons_are_one_look() -> None:
    async def story() -> None:
        queue = WorkQueue()
        looks = Looks(queue)
        for _ in range(5):
            queue.add("a")
        queue.add("b")
        async with working(queue, looks):
            await asyncio.sleep(1)
        assert [key for key, _ in looks.seen] == ["a", "b"]
        assert queue.is_idle

    in_virtual_time(story())


def test_what_comes_up_during_a_look_is_looked_at_once_more() -> None:
    async def story() -> None:
        queue = WorkQueue()
        looks = Looks(queue, seconds=10)
        queue.add("a")
        async with working(queue, looks, workers=3):
            await asyncio.sleep(5)
            queue.add("a")
            queue.add("a", seconds=3)
            await asyncio.sleep(30)
        assert looks.seen == [("a", 0), ("a", 10)]

    in_virtual_time(story())


@pytest.mark.parametrize(
    ("added", "looked_at"),
    [
        ([7.0], 7.0),
        ([7.0, 3.0], 3.0),
        ([3.0, 7.0], 3.0),
        ([7.0, 0.0], 0.0),
    ],
)
def test_the_earliest_time_stands(added: list[float], looked_at: float) -> None:
    async def story() -> None:
        queue = WorkQueue()
        looks = Looks(queue)
        for seconds in added:
            queue.add("a", seconds=seconds)
        async with working(queue, looks):
            await asyncio.sleep(20)
        assert looks.seen == [("a", looked_at)]

    in_virtual_time(story())


def test_a_failure_comes_again_after_pauses_that_grow_to_a_limit() -> None:
    async def story() -> None:
        queue = WorkQueue(chance=random.Random(1))  # noqa: S311 (seeded, not secret)
        looks = Looks(queue)
        looks.failing.add("a")
        queue.add("a")
        async with working(queue, looks):
            await asyncio.sleep(1000)
            assert queue.failures_of("a") == len(looks.seen)
            looks.failing.clear()
            await asyncio.sleep(LONGEST_PAUSE_SECONDS)
            assert queue.failures_of("a") == 0
            count = len(looks.seen)
            await asyncio.sleep(1000)
            assert len(looks.seen) == count, "what succeeded comes no more by itself"
        times = [at for _, at in looks.seen]
        pauses = [later - earlier for earlier, later in pairwise(times)]
        for number, pause in enumerate(pauses):
            longest = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2**number)
            assert longest / 2 <= pause <= longest

    in_virtual_time(story())


def test_one_that_fails_keeps_nobody_else_waiting() -> None:
    async def story() -> None:
        queue = WorkQueue()
        looks = Looks(queue)
        looks.failing.add("a")
        queue.add("a")
        queue.add("b")
        async with working(queue, looks, workers=1):
            await asyncio.sleep(0.1)
        assert [key for key, _ in looks.seen] == ["a", "b"]

    in_virtual_time(story())
