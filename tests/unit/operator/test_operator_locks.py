"""One at a time for each name."""

from __future__ import annotations

import asyncio
import random

from aviso_operator.locks import Locks
from support.event_logs import asynchronous


@asynchronous
async def test_one_at_a_time_for_each_name_and_never_in_a_circle() -> None:
    locks, chance = Locks(), random.Random(7)  # noqa: S311 (seeded, not secret)
    held: set[str] = set()

    async def hold(names: list[str]) -> None:
        async with locks.held(*names):
            assert not held & set(names)
            held.update(names)
            for _ in range(chance.randrange(3)):
                await asyncio.sleep(0)
            held.difference_update(names)

    async with asyncio.timeout(10):
        await asyncio.gather(*(hold(chance.sample("abcde", 2)) for _ in range(300)))
    assert not held
    assert not locks._locks, "what nobody holds is forgotten"


@asynchronous
async def test_somebody_who_gives_up_waiting_leaves_nothing_behind() -> None:
    locks = Locks()
    async with locks.held("a"):
        waiting = asyncio.create_task(_hold(locks))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert waiting.cancelled()
    async with asyncio.timeout(1), locks.held("a", "b", "a"):
        pass
    assert not locks._locks


async def _hold(locks: Locks) -> None:
    async with locks.held("a", "b"):
        raise AssertionError("nobody let it in")
