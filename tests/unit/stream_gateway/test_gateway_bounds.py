"""What a log holds now: asked once for all who ask at the same time, and never an answer from before the question."""

from __future__ import annotations

import asyncio

import pytest

from aviso_core.errors import Unavailable
from aviso_stream_gateway.bounds import FreshBounds
from support.event_logs import asynchronous, fill, numbered
from support.stream_parts import HeldLog


async def _last(bounds: FreshBounds, base: str = "mars") -> int:
    return (await bounds.of(base)).last


async def _asking(bounds: FreshBounds, log: HeldLog, count: int = 1) -> list[asyncio.Task[int]]:
    """Have so many ask, and wait until the log has been asked."""
    tasks = [asyncio.create_task(_last(bounds)) for _ in range(count)]
    await log.wait_asked("bounds mars")
    return tasks


@asynchronous
async def test_who_asks_together_is_answered_together() -> None:
    log = HeldLog()
    await fill(log, numbered(3))
    bounds = FreshBounds(log)
    assert await asyncio.gather(*(_last(bounds) for _ in range(50))) == [3] * 50
    assert log.questions == ["bounds mars"]


@asynchronous
async def test_who_comes_while_a_question_is_under_way_shares_the_next() -> None:
    """The answer that is under way may be from before; whoever comes then must see what was stored meanwhile."""
    log = HeldLog()
    bounds = FreshBounds(log)
    log.hold("bounds")
    early = await _asking(bounds, log, 3)
    await fill(log, numbered(2))
    late = [asyncio.create_task(_last(bounds)) for _ in range(20)]
    await asyncio.sleep(0)
    log.go_on()
    assert await asyncio.gather(*early) == [0] * 3
    assert await asyncio.gather(*late) == [2] * 20
    assert log.questions == ["bounds mars"] * 2


@asynchronous
async def test_an_answer_is_not_kept() -> None:
    log = HeldLog()
    bounds = FreshBounds(log)
    assert await _last(bounds) == 0
    await fill(log, numbered(1))
    assert await _last(bounds) == 1


@asynchronous
async def test_bases_do_not_wait_for_each_other() -> None:
    log = HeldLog()
    bounds = FreshBounds(log)
    log.hold("bounds")
    waiting = await _asking(bounds, log)
    other = asyncio.create_task(_last(bounds, "other"))
    await log.wait_asked("bounds other")
    log.go_on()
    assert await asyncio.gather(*waiting, other) == [0, 0]


@asynchronous
async def test_who_gives_up_leaves_the_others_their_answer() -> None:
    log = HeldLog()
    bounds = FreshBounds(log)
    log.hold("bounds")
    first, second = await _asking(bounds, log, 2)
    third = asyncio.create_task(_last(bounds))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    assert first.cancelled()
    log.go_on()
    assert [await second, await third] == [0, 0]


@asynchronous
async def test_all_may_give_up() -> None:
    """The next one is answered all the same."""
    log = HeldLog()
    bounds = FreshBounds(log)
    log.hold("bounds")
    for waiting in await _asking(bounds, log, 2):
        waiting.cancel()
    log.go_on()
    assert await _last(bounds) == 0


@asynchronous
async def test_a_failure_is_that_of_all_who_asked_and_of_nobody_else() -> None:
    log = HeldLog()
    bounds = FreshBounds(log)
    log.fail("bounds", Unavailable("away"))
    log.hold("bounds")
    early = await _asking(bounds, log, 3)
    late = asyncio.create_task(_last(bounds))
    await asyncio.sleep(0)
    log.go_on()
    for waiting in early:
        with pytest.raises(Unavailable, match="away"):
            await waiting
    assert await late == 0
