"""How much is held in memory at a time, and who has to wait."""

from __future__ import annotations

import asyncio

import pytest

from aviso_core.errors import Overloaded
from aviso_ingest.pressure import Pressure
from support.event_logs import asynchronous


def pressure(*, most_bytes: int = 100, waiting_seconds: float = 30, most_waiting: int = 10) -> Pressure:
    """Return one with small numbers."""
    return Pressure(most_bytes=most_bytes, waiting_seconds=waiting_seconds, most_waiting=most_waiting)


async def waiting(subject: Pressure, size: int) -> asyncio.Task[int]:
    """Return a task that waits for room."""
    task = asyncio.ensure_future(subject.enter(size))
    await asyncio.sleep(0)
    return task


@asynchronous
async def test_who_fits_does_not_wait() -> None:
    """Up to the last byte."""
    subject = pressure()
    assert await subject.enter(60) == 60
    assert await subject.enter(40) == 40
    assert subject.bytes_in_flight == 100


@asynchronous
async def test_who_waits_is_let_in_in_order() -> None:
    """A small one that would fit does not pass a large one, which would else wait for ever."""
    subject = pressure()
    held = await subject.enter(80)
    large, small = await waiting(subject, 50), await waiting(subject, 10)
    assert not large.done()
    assert not small.done()
    subject.leave(held)
    assert [await large, await small] == [50, 10]
    assert subject.bytes_in_flight == 60


@asynchronous
async def test_what_is_larger_than_everything_gets_everything() -> None:
    """It is alone then, and does not wait for ever."""
    subject = pressure()
    assert await subject.enter(1_000) == 100
    subject.leave(100)
    assert subject.bytes_in_flight == 0


@asynchronous
async def test_who_waited_for_too_long_is_told_when_to_come_again() -> None:
    """And holds nothing."""
    subject = pressure(waiting_seconds=0)
    held = await subject.enter(100)
    with pytest.raises(Overloaded) as refused:
        await subject.enter(1)
    assert refused.value.retry_after_seconds >= 1
    subject.leave(held)
    assert subject.bytes_in_flight == 0


@asynchronous
async def test_there_is_an_end_to_waiting_ones() -> None:
    """One more is refused at once."""
    subject = pressure(most_waiting=1)
    await subject.enter(100)
    task = await waiting(subject, 1)
    with pytest.raises(Overloaded):
        await subject.enter(1)
    task.cancel()


@asynchronous
async def test_who_is_cancelled_leaves_nothing_behind() -> None:
    """Neither while waiting nor in the moment in which the turn had come."""
    subject = pressure()
    held = await subject.enter(100)
    first, second = await waiting(subject, 60), await waiting(subject, 60)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    subject.leave(held)
    second.cancel()
    await asyncio.gather(second, return_exceptions=True)
    assert subject.bytes_in_flight == 0
    assert await subject.enter(100) == 100


@asynchronous
async def test_a_block_holds_and_lets_go() -> None:
    """Also when it fails."""
    subject = pressure()

    async def fail() -> None:
        async with subject.room(70):
            assert subject.bytes_in_flight == 70
            raise ValueError("x")

    with pytest.raises(ValueError, match="x"):
        await fail()
    assert subject.bytes_in_flight == 0


@asynchronous
async def test_whoever_gives_up_while_others_are_let_in_has_given_up() -> None:
    """In the moment between the end of its time and its learning of that, its place may be gone."""
    subject = pressure()
    held = await subject.enter(100)
    late = [await waiting(subject, 60) for _ in range(3)]
    for task in late:
        task.cancel()
    subject.leave(held)
    assert [type(one) for one in await asyncio.gather(*late, return_exceptions=True)] == [
        asyncio.CancelledError
    ] * 3
    assert subject.bytes_in_flight == 0
    assert await subject.enter(100) == 100
