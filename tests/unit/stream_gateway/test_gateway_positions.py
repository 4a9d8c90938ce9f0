"""Following logs for those who are shown their positions: once for all, and told of what has changed."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from aviso_core.errors import Unavailable
from aviso_core.eventlog.base import EpochChanged, StreamMissing
from aviso_stream_gateway.bounds import FreshBounds
from aviso_stream_gateway.positions.following import Following, News, open_following
from aviso_stream_gateway.positions.held import Held, held, held_of
from aviso_stream_gateway.positions.stream import is_news
from support.event_logs import asynchronous
from support.stream_parts import CATALOG, HeldLog, announce

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

# Longer than any of these tests: what is waited for comes by itself.
LONG = 60.0


def position(last: int, *, first: int = 1, epoch: str = "e") -> Held:
    """Return a position."""
    return Held(epoch=epoch, first=first, last=last, messages=last, bytes=last, last_time=None)


@asynccontextmanager
async def following(log: HeldLog, *, recheck_seconds: float = LONG) -> AsyncIterator[Following]:
    """Follow logs without pauses."""
    made = Following(log, FreshBounds(log), pause_seconds=0, recheck_seconds=recheck_seconds, retry_seconds=0)
    async with open_following(made) as opened:
        yield opened


async def told_until(news: News, last: int, *, base: str = "places") -> list[int]:
    """Return up to where the log came, each time that it was told, until it has come so far."""
    heard: list[int] = []
    while not heard or heard[-1] != last:
        told = (await news.wait(LONG)).get(base)
        if told is not None:
            heard.append(told.last)
    return heard


@asynchronous
async def test_what_is_stored_is_told() -> None:
    """What the log holds at first, and then each change."""
    log = HeldLog()
    await announce(log)
    async with following(log) as subject:
        with subject.listening(lambda: ["places"]) as listening:
            assert await told_until(listening.news, 1) == [1]
            await announce(log)
            assert await told_until(listening.news, 2) == [2]


@asynchronous
async def test_a_log_is_followed_once_for_all() -> None:
    """However many are told of it, and as long as anybody is."""
    log = HeldLog()
    async with following(log) as subject:
        with subject.listening(lambda: ["places"]) as first:
            await told_until(first.news, 0)
            with subject.listening(lambda: ["places"]) as second:
                await announce(log)
                await told_until(first.news, 1)
                await told_until(second.news, 1)
                assert log.open_tails == 1
            await announce(log)
            await told_until(first.news, 2)
            assert log.open_tails == 1
        with subject.listening(lambda: ["others"]) as third:
            await told_until(third.news, 0, base="others")
            assert log.open_tails == 1, "nobody is told of the first any more"


@asynchronous
async def test_many_changes_in_a_row_are_told_together() -> None:
    """Whoever does not listen all the time hears of what is so in the end."""
    log = HeldLog()
    async with following(log) as subject:
        with subject.listening(lambda: ["places"]) as often, subject.listening(lambda: ["places"]) as seldom:
            for _ in range(20):
                await announce(log)
            await told_until(often.news, 20)
            told = (await seldom.news.wait(LONG))["places"]
            assert told is not None
            assert told.last == 20


@asynchronous
async def test_what_was_removed_is_noticed_after_a_while() -> None:
    """No tail tells of it."""
    log = HeldLog()
    await announce(log)
    async with following(log, recheck_seconds=0.01) as subject:
        with subject.listening(lambda: ["places"]) as listening:
            await told_until(listening.news, 1)
            await log.wipe("places")
            told = None
            while told is None or told.messages:
                told = (await listening.news.wait(LONG)).get("places")
            assert (told.first, told.last) == (2, 1)


@pytest.mark.parametrize(
    "failure", [Unavailable("away"), EpochChanged("another"), RuntimeError("a bug")], ids=repr
)
@pytest.mark.parametrize("question", ["bounds", "tail"])
@asynchronous
async def test_following_goes_on_after_a_failure(question: str, failure: Exception) -> None:
    """From what the log holds then."""
    log = HeldLog()
    log.fail(question, failure)
    async with following(log) as subject:
        with subject.listening(lambda: ["places"]) as listening:
            await announce(log)
            await told_until(listening.news, 1)
            await announce(log)
            await told_until(listening.news, 2)


@asynchronous
async def test_a_log_that_there_is_not_is_told_as_none() -> None:
    """Until there is one."""
    log = HeldLog()
    await announce(log)
    async with following(log) as subject:
        with subject.listening(lambda: ["places"]) as listening:
            await told_until(listening.news, 1)
            log.fail("bounds", StreamMissing("not there"))
            log.tail_failure = EpochChanged("another")
            await announce(log)
            assert await listening.news.wait(LONG) == {"places": None}
            log.tail_failure = None
            await told_until(listening.news, 2)


@asynchronous
async def test_who_listens_may_be_told_of_others() -> None:
    """When the event types have changed, everybody looks around."""
    log, wanted = HeldLog(), ["places"]
    async with following(log) as subject:
        with subject.listening(lambda: wanted) as listening:
            await told_until(listening.news, 0)
            wanted[:] = ["others"]
            subject.catalog_changed(CATALOG)
            assert await listening.news.wait(LONG) == {}
            listening.look_around()
            assert await told_until(listening.news, 0, base="others") == [0]
            assert log.open_tails == 1


@asynchronous
async def test_nothing_comes_when_nothing_changes() -> None:
    """Waiting ends by itself."""
    assert await News().wait(0) == {}


@asynchronous
async def test_what_an_event_type_holds_is_none_where_it_has_no_log() -> None:
    """Somebody else makes the logs there."""
    log, event_type = HeldLog(), CATALOG.get("places")
    assert event_type is not None
    await announce(log)
    fresh = FreshBounds(log)
    assert await held_of(event_type, fresh) == held(await log.bounds("places"))
    log.fail("bounds", StreamMissing("not there"))
    assert await held_of(event_type, fresh) is None


@pytest.mark.parametrize(
    ("told", "shown", "is_shown"),
    [
        (position(2), position(1), True),
        (position(1), position(1), False),
        # Asked before what is shown was: it is not so any more.
        (position(1), position(2), False),
        (position(1, epoch="f"), position(2), True),
        (position(2, first=2), position(2), True),
        (None, position(2), True),
        (position(2), None, True),
        (None, None, False),
    ],
)
def test_only_what_is_new_is_shown(told: Held | None, shown: Held | None, is_shown: bool) -> None:
    """Answers to earlier questions may come later."""
    assert is_news(told, shown) is is_shown
