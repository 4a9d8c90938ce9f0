"""Reading history once for all who read the same: shared where it may be, and alone where it must."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from typing import TYPE_CHECKING, Final

import pytest

from aviso_core.errors import Unavailable
from aviso_core.eventlog.base import EpochChanged, Record
from aviso_stream_gateway.runs import BATCH_BYTES, KEPT_BYTES, Page, Runs
from aviso_stream_gateway.showing import Showing
from support.event_logs import asynchronous
from support.stream_parts import BASE_URL, CATALOG, HeldLog, announce

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from aviso_core.eventlog.base import Bounds

SHOWING: Final = Showing("places", CATALOG.get("places"), base_url=BASE_URL)
# So large that three of them fill a batch.
LARGE: Final = b'"' + BATCH_BYTES * 2 // 5 * b"x" + b'"'
PATTERN: Final = "places.here.>"


async def _filled(count: int, payload: bytes = b"null") -> HeldLog:
    log = HeldLog()
    for _ in range(count):
        await announce(log, payload=payload)
    return log


def _pages(
    runs: Runs,
    bounds: Bounds,
    *,
    first: int = 1,
    last: int | None = None,
    pattern: str | None = None,
    showing: Showing = SHOWING,
) -> AsyncGenerator[Page, None]:
    last = bounds.last if last is None else last
    return runs.read("places", showing, first=first, last=last, bounds=bounds, pattern=pattern)


async def _sequences(pages: AsyncGenerator[Page, None]) -> list[int]:
    """Return what a reader gets, whose pages must go on where the one before ended."""
    got: list[int] = []
    through = 0
    async with aclosing(pages):
        async for page in pages:
            assert page.through > through
            assert all(through < item.sequence <= page.through for item in page.items)
            through = page.through
            got += [item.sequence for item in page.items]
    return got


def _reads(log: HeldLog) -> list[str]:
    return [question for question in log.questions if question.startswith("read")]


async def _next(pages: AsyncGenerator[Page, None]) -> list[int]:
    return [item.sequence for item in (await anext(pages)).items]


# --- sharing ---------------------------------------------------------------------------------------------


@asynchronous
async def test_many_readers_of_the_same_cost_one_reading() -> None:
    """They share the events as well, so that each is decoded and rendered once."""
    log = await _filled(8, LARGE)
    bounds = await log.bounds("places")
    runs = Runs(log)
    got = await asyncio.gather(*(_sequences(_pages(runs, bounds)) for _ in range(20)))
    assert got == [list(range(1, 9))] * 20
    assert _reads(log) == ["read 1 to 8"]
    async with aclosing(_pages(runs, bounds)) as one, aclosing(_pages(runs, bounds)) as other:
        assert (await anext(one)).items[0] is (await anext(other)).items[0]


@pytest.mark.parametrize("question", ["read", "on"])
@asynchronous
async def test_who_comes_while_the_log_is_waited_for_shares_what_it_answers(question: str) -> None:
    """It mostly is: a broker takes its time."""
    log = await _filled(8, LARGE)
    bounds = await log.bounds("places")
    runs = Runs(log)
    log.hold(question)
    readers = [asyncio.create_task(_sequences(_pages(runs, bounds)))]
    await log.wait_asked({"read": "read 1 to 8", "on": "on 3"}[question])
    readers += [asyncio.create_task(_sequences(_pages(runs, bounds))) for _ in range(5)]
    await asyncio.sleep(0)
    log.go_on()
    assert await asyncio.gather(*readers) == [list(range(1, 9))] * 6
    assert _reads(log) == ["read 1 to 8"]


@asynchronous
async def test_who_comes_later_begins_at_the_beginning() -> None:
    log = await _filled(8, LARGE)
    bounds = await log.bounds("places")
    runs = Runs(log)
    async with aclosing(_pages(runs, bounds)) as early:
        got = await _next(early) + await _next(early)
        assert got == [1, 2, 3, 4, 5, 6]
        assert await _sequences(_pages(runs, bounds)) == [1, 2, 3, 4, 5, 6, 7, 8]
        assert await _sequences(early) == [7, 8]
    assert _reads(log) == ["read 1 to 8"]


@asynchronous
async def test_what_nobody_reads_any_more_is_forgotten() -> None:
    """The next reader gets what is stored then."""
    log = await _filled(3)
    runs = Runs(log)
    bounds = await log.bounds("places")
    await _sequences(_pages(runs, bounds))
    await log.delete("places", 2)
    assert await _sequences(_pages(runs, bounds)) == [1, 3]
    assert len(_reads(log)) == 2


@pytest.mark.parametrize(
    ("pattern", "showing"),
    [
        (PATTERN, SHOWING),
        (None, Showing("places", None, base_url=BASE_URL)),
        (None, Showing("other", CATALOG.get("places"), base_url=BASE_URL)),
    ],
    ids=["another pattern", "another event type", "another name"],
)
@asynchronous
async def test_who_reads_something_else_reads_alone(pattern: str | None, showing: Showing) -> None:
    log = await _filled(4, LARGE)
    bounds = await log.bounds("places")
    runs = Runs(log)
    async with aclosing(_pages(runs, bounds)) as one:
        await anext(one)
        other = _pages(runs, bounds, pattern=pattern, showing=showing)
        assert await _sequences(other) == [1, 2, 3, 4]
    assert len(_reads(log)) == 2


@pytest.mark.parametrize(("first", "reads"), [(2, 1), (4, 1), (5, 2)])
@asynchronous
async def test_who_begins_elsewhere_shares_what_is_kept_or_comes_next(first: int, reads: int) -> None:
    """Three were read so far; whoever begins further on would have to wait for what it does not want."""
    log = await _filled(8, LARGE)
    bounds = await log.bounds("places")
    runs = Runs(log)
    async with aclosing(_pages(runs, bounds)) as one:
        assert await _next(one) == [1, 2, 3]
        assert await _sequences(_pages(runs, bounds, first=first)) == list(range(first, 9))
        assert await _sequences(one) == [4, 5, 6, 7, 8]
    assert len(_reads(log)) == reads


@asynchronous
async def test_who_comes_to_where_another_reading_has_been_goes_on_in_that() -> None:
    """From there on one reading is enough for both."""
    log = await _filled(9, LARGE)
    bounds = await log.bounds("places")
    runs = Runs(log)
    async with aclosing(_pages(runs, bounds, first=4)) as ahead:
        assert await _next(ahead) + await _next(ahead) == [4, 5, 6, 7, 8, 9]
        async with aclosing(_pages(runs, bounds)) as behind:
            assert await _next(behind) == [1, 2, 3]
            assert log.open_reads == 2
            assert await _next(behind) == [4, 5, 6]
            assert log.open_reads == 1
            assert await _sequences(behind) == [7, 8, 9]
    assert _reads(log) == ["read 4 to 9", "read 1 to 9"]


# --- other ends ------------------------------------------------------------------------------------------


@asynchronous
async def test_who_wants_less_gets_less() -> None:
    log = await _filled(6, LARGE)
    bounds = await log.bounds("places")
    runs = Runs(log)
    async with aclosing(_pages(runs, bounds)) as whole:
        first = await anext(whole)
        assert first.through == 3
        async with aclosing(_pages(runs, bounds, last=4)) as part:
            assert [page.through async for page in part] == [3, 4]
        assert await _sequences(_pages(runs, bounds, last=1)) == [1]
    assert _reads(log) == ["read 1 to 6"]


@asynchronous
async def test_who_wants_more_reads_on_where_the_others_stop() -> None:
    log = await _filled(4, LARGE)
    bounds = await log.bounds("places")
    runs = Runs(log)
    async with aclosing(_pages(runs, bounds, last=3)) as part:
        assert await _next(part) == [1, 2, 3]
        assert await _sequences(_pages(runs, bounds)) == [1, 2, 3, 4]
    assert _reads(log) == ["read 1 to 3", "read 4 to 4"]


@asynchronous
async def test_what_was_stored_since_does_not_keep_from_sharing() -> None:
    """A reader that came later wants the same beginning and a later end."""
    log = await _filled(4, LARGE)
    runs = Runs(log)
    async with aclosing(_pages(runs, await log.bounds("places"))) as early:
        await anext(early)
        await announce(log)
        assert await _sequences(_pages(runs, await log.bounds("places"))) == [1, 2, 3, 4, 5]
    assert _reads(log) == ["read 1 to 4", "read 5 to 5"]


@pytest.mark.parametrize(("first", "last"), [(5, 4), (1, 0)])
@asynchronous
async def test_a_range_without_anything_asks_nobody(first: int, last: int) -> None:
    log = await _filled(4)
    bounds = await log.bounds("places")
    assert await _sequences(_pages(Runs(log), bounds, first=first, last=last)) == []
    assert _reads(log) == []


@asynchronous
async def test_the_last_page_goes_through_to_the_end_whatever_is_stored_there() -> None:
    """A stream that reads on behind it must not read the gap again."""
    log = await _filled(5)
    bounds = await log.bounds("places")
    for number in (4, 5):
        await log.delete("places", number)
    async with aclosing(_pages(Runs(log), bounds)) as pages:
        assert [(len(page.items), page.through) async for page in pages] == [(3, 5)]


# --- what was removed ------------------------------------------------------------------------------------


@asynchronous
async def test_what_was_deleted_does_not_come_back_out_of_a_reading_of_before() -> None:
    """Who came behind the deletion gets a reading of their own, and those after them share it."""
    log = await _filled(6, LARGE)
    runs = Runs(log)
    async with aclosing(_pages(runs, await log.bounds("places"))) as early:
        await anext(early)
        await log.delete("places", 1)
        await announce(log)
        bounds = await log.bounds("places")
        later = [_sequences(_pages(runs, bounds)) for _ in range(3)]
        assert await asyncio.gather(*later) == [[2, 3, 4, 5, 6, 7]] * 3
    assert len(_reads(log)) == 2


@asynchronous
async def test_who_was_there_before_a_deletion_does_not_join_a_reading_from_behind_it() -> None:
    """That would be good enough, but its counts cannot tell; the reader gets what is stored when it reads."""
    log = await _filled(4, LARGE)
    runs = Runs(log)
    before = await log.bounds("places")
    await log.delete("places", 1)
    await announce(log)
    async with aclosing(_pages(runs, await log.bounds("places"))) as later:
        await anext(later)
        assert await _sequences(_pages(runs, before)) == [2, 3, 4]
    assert len(_reads(log)) == 2


@asynchronous
async def test_another_life_of_the_stream_is_another_history() -> None:
    """A reader that knows sequences of before is told so, and reads nothing of the new ones."""
    log = await _filled(2)
    bounds = await log.bounds("places")
    gone = type(bounds)(epoch="before", first=1, last=2, messages=2, bytes=0)
    with pytest.raises(EpochChanged):
        await _sequences(_pages(Runs(log), gone))


# --- readers that differ in speed, and give up -----------------------------------------------------------


@asynchronous
async def test_who_falls_far_behind_reads_alone_and_misses_nothing() -> None:
    """What is kept for those behind is bounded."""
    count = KEPT_BYTES // len(LARGE) + 12
    log = await _filled(count, LARGE)
    bounds = await log.bounds("places")
    runs = Runs(log)
    async with aclosing(_pages(runs, bounds)) as slow, aclosing(_pages(runs, bounds)) as quick:
        got = await _next(slow)
        assert await _sequences(quick) == list(range(1, count + 1))
        assert len(_reads(log)) == 1
        assert got + await _sequences(slow) == list(range(1, count + 1))
    assert _reads(log) == [f"read 1 to {count}", f"read 4 to {count}"]


@asynchronous
async def test_shapes_count_as_much_as_they_take() -> None:
    """They stand in headers, and their points take far more as numbers than as text."""
    log = HeldLog()
    shape = json.dumps([[0.5, number / 100] for number in range(4000)])
    count = 2 * KEPT_BYTES // (8 * len(shape))
    for _ in range(count):
        await log.append("places", Record(subject="places.here.1", payload=b"", headers={"shape": shape}))
    bounds = await log.bounds("places")
    runs = Runs(log)
    async with aclosing(_pages(runs, bounds)) as slow, aclosing(_pages(runs, bounds)) as quick:
        await anext(slow)
        await _sequences(quick)
        async for _ in slow:
            pass
    assert len(_reads(log)) == 2, "what the quick one read is kept no more"


@asynchronous
async def test_a_reader_that_waits_may_be_cancelled_and_the_others_go_on() -> None:
    """Also where it was the one that was reading for all."""
    log = await _filled(6, LARGE)
    bounds = await log.bounds("places")
    runs = Runs(log)
    log.hold("on")
    readers = [asyncio.create_task(_sequences(_pages(runs, bounds))) for _ in range(3)]
    await log.wait_asked("on 3")
    readers[0].cancel()
    await asyncio.gather(readers[0], return_exceptions=True)
    log.go_on()
    assert await asyncio.gather(*readers[1:]) == [[1, 2, 3, 4, 5, 6]] * 2


@asynchronous
async def test_who_comes_behind_a_failure_tries_anew() -> None:
    """The log may be back."""
    log = await _filled(6, LARGE)
    bounds = await log.bounds("places")
    runs = Runs(log)
    log.fail("on", Unavailable("away"))
    outcomes = await asyncio.gather(
        *(_sequences(_pages(runs, bounds)) for _ in range(3)), return_exceptions=True
    )
    assert [type(outcome) for outcome in outcomes].count(Unavailable) == 1
    assert [outcome for outcome in outcomes if isinstance(outcome, list)] == [[1, 2, 3, 4, 5, 6]] * 2


@asynchronous
async def test_who_leaves_early_closes_what_it_read() -> None:
    """A broker's reader is held only as long as somebody reads."""
    log = await _filled(6, LARGE)
    bounds = await log.bounds("places")
    runs = Runs(log)
    async with aclosing(_pages(runs, bounds)) as one, aclosing(_pages(runs, bounds)) as other:
        await anext(one)
        await anext(other)
        assert log.open_reads == 1
        await one.aclose()
        assert log.open_reads == 1
        await other.aclose()
        assert log.open_reads == 0
