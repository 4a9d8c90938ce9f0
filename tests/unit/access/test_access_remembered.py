"""What was verified a moment ago, and work that is done once for many."""

from __future__ import annotations

import asyncio

import pytest

from aviso_http.access.flights import Flights
from aviso_http.access.remembered import Remembered, digest_of
from aviso_http.access.user import User
from support.event_logs import asynchronous

ANN, BOB = User(name="ann"), User(name="bob")


def test_a_user_is_remembered_until_the_instant_that_was_said() -> None:
    remembered = Remembered(entries=10)
    remembered.put(b"a", ANN, until=100)
    assert remembered.get(b"a", now=100) is ANN
    assert remembered.get(b"b", now=100) is None
    assert remembered.get(b"a", now=101) is None
    assert len(remembered) == 0


def test_what_is_remembered_is_bounded() -> None:
    remembered = Remembered(entries=3)
    for number in range(100):
        remembered.put(b"%d" % number, ANN, until=100)
    assert len(remembered) == 3
    assert [number for number in range(100) if remembered.get(b"%d" % number, now=0)] == [97, 98, 99]


def test_what_is_verified_again_takes_the_place_of_what_was() -> None:
    remembered = Remembered(entries=2)
    remembered.put(b"a", ANN, until=1)
    remembered.put(b"b", ANN, until=100)
    remembered.put(b"a", BOB, until=100)
    assert remembered.get(b"a", now=50) is BOB
    assert remembered.get(b"b", now=50) is ANN


def test_no_credential_is_kept() -> None:
    digest = digest_of(b"correct-horse")
    assert len(digest) == 32
    assert b"correct" not in digest


@asynchronous
async def test_many_who_want_the_same_get_it_from_one() -> None:
    flights: Flights[int] = Flights()
    gate, done = asyncio.Event(), []

    async def work() -> int:
        await gate.wait()
        done.append(1)
        return 7

    waiting = [asyncio.create_task(flights.join("x", work)) for _ in range(20)]
    other = asyncio.create_task(flights.join("y", work))
    await asyncio.sleep(0)
    gate.set()
    assert await asyncio.gather(*waiting, other) == [7] * 21
    assert len(done) == 2
    assert not flights.under_way("x")


@asynchronous
async def test_whoever_goes_away_takes_nobody_along() -> None:
    """The first one does the work; when it is cancelled the next one does, and no one waits for ever."""
    flights: Flights[int] = Flights()
    gate, begun = asyncio.Event(), []

    async def work() -> int:
        begun.append(1)
        await gate.wait()
        return 7

    first, second, third = (asyncio.create_task(flights.join("x", work)) for _ in range(3))
    await asyncio.sleep(0)
    third.cancel()
    first.cancel()
    gate.set()
    assert await second == 7
    assert len(begun) == 2
    with pytest.raises(asyncio.CancelledError):
        await first
    with pytest.raises(asyncio.CancelledError):
        await third


@asynchronous
async def test_a_bug_is_its_own_callers_and_the_next_one_tries() -> None:
    flights: Flights[int] = Flights()
    begun = []

    async def work() -> int:
        begun.append(1)
        await asyncio.sleep(0)
        if len(begun) == 1:
            raise ZeroDivisionError
        return 7

    first, second = (asyncio.create_task(flights.join("x", work)) for _ in range(2))
    with pytest.raises(ZeroDivisionError):
        await first
    assert await second == 7
