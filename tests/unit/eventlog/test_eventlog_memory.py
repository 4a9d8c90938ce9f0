"""What the log in memory does beside the contract: how much history it keeps, and of what."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aviso_core.eventlog.base import Appended, EpochChanged
from aviso_core.eventlog.memory import MOST_RECENT_ENTRIES, MemoryLimits, MemoryLog
from support.event_logs import asynchronous, fill, numbered, payloads, read_all, record, sequences, take


class HandClock:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def now_ns(self) -> int:
        return int(self.seconds * 1e9)

    def monotonic(self) -> float:
        return self.seconds


def open_log(*, history: int = 1, topics: int = 10_000) -> MemoryLog:
    return MemoryLog(MemoryLimits(max_history_per_topic=history, max_topics=topics))


# --- history ---------------------------------------------------------------------------------------------


@asynchronous
async def test_the_newest_of_each_topic_are_kept() -> None:
    """As many as configured; what is dropped leaves a gap in the sequences."""
    log = open_log(history=2)
    await fill(log, [record(f"mars.{subject}") for subject in "ababaa"])
    assert sequences(await read_all(log)) == [2, 4, 5, 6]
    bounds = await log.bounds("mars")
    assert (bounds.first, bounds.last, bounds.messages) == (2, 6, 4)


@pytest.mark.parametrize("history", [0, 1])
@asynchronous
async def test_at_least_one_of_each_topic_is_kept(history: int) -> None:
    """A configured 0 acts as 1."""
    log = open_log(history=history)
    await fill(log, numbered(5))
    assert payloads(await read_all(log)) == [b"5"]


@asynchronous
async def test_the_topic_that_was_silent_for_longest_makes_room() -> None:
    """Not the one that was made first: what counts is its newest entry."""
    log = open_log(history=5, topics=3)
    await fill(log, [record(f"mars.{subject}") for subject in "abcaa"])
    await log.append("mars", record("mars.d"))
    assert [entry.subject for entry in await read_all(log)] == [
        "mars.a",
        "mars.c",
        "mars.a",
        "mars.a",
        "mars.d",
    ]


@asynchronous
async def test_topics_of_all_streams_share_the_room() -> None:
    """The limit is one of the process."""
    log = open_log(topics=2)
    await log.append("mars", record("mars.a"))
    await log.append("diss", record("diss.a"))
    await log.append("diss", record("diss.b"))
    assert (await log.bounds("mars")).messages == 0
    assert (await log.bounds("mars")).last == 1
    assert (await log.bounds("diss")).messages == 2


@asynchronous
async def test_deleted_and_wiped_topics_take_no_room() -> None:
    """Only topics that hold something count."""
    log = open_log(topics=2)
    await fill(log, [record("mars.a"), record("mars.b")])
    await log.delete("mars", 1)
    await log.append("mars", record("mars.c"))
    assert sequences(await read_all(log)) == [2, 3]
    await log.wipe("mars")
    await fill(log, [record("mars.d"), record("mars.e")])
    assert sequences(await read_all(log)) == [4, 5]


_steps: Final = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.sampled_from("abcdef")),
        st.tuples(st.just("delete"), st.integers(1, 25)),
        st.tuples(st.just("wipe"), st.none()),
    ),
    max_size=30,
)


@given(_steps, st.integers(1, 3), st.integers(1, 4))
def test_what_is_kept_is_what_the_limits_say(
    steps: list[tuple[str, str | int | None]], history: int, topics: int
) -> None:
    """A list that is cut down anew after each step agrees."""

    @asynchronous
    async def agree() -> None:
        log = open_log(history=history, topics=topics)
        kept: list[tuple[int, str]] = []
        last = 0
        for what, argument in steps:
            match what:
                case "append":
                    last += 1
                    assert await log.append("mars", record(f"mars.{argument}")) == Appended(last)
                    kept = _cut([*kept, (last, f"mars.{argument}")], history, topics)
                case "delete":
                    there = [one for one in kept if one[0] == argument]
                    assert await log.delete("mars", int(argument or 0)) == bool(there)
                    kept = [one for one in kept if one not in there]
                case _:
                    await log.wipe("mars")
                    kept = []
            assert [(entry.sequence, entry.subject) for entry in await read_all(log)] == kept
            assert sequences(await log.latest("mars")) == sorted({s: n for n, s in kept}.values())
            bounds = await log.bounds("mars")
            assert (bounds.first, bounds.last) == (kept[0][0] if kept else last + 1, last)
            assert (bounds.messages, bounds.bytes) == (len(kept), 3 * len(kept))

    agree()


def _cut(entries: list[tuple[int, str]], history: int, topics: int) -> list[tuple[int, str]]:
    by_topic: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for entry in entries:
        by_topic[entry[1]].append(entry)
    newest = sorted(by_topic.values(), key=lambda of_topic: of_topic[-1], reverse=True)[:topics]
    return sorted(entry for of_topic in newest for entry in of_topic[-history:])


# --- tails -----------------------------------------------------------------------------------------------


@asynchronous
async def test_a_burst_on_one_topic_reaches_tails_whole() -> None:
    """Though history keeps one entry of it; a tail that is opened afterwards finds that one."""
    log = open_log(history=1)
    epoch = (await log.bounds("mars")).epoch
    async with log.tail("mars", after=0, epoch=epoch) as tail:
        await fill(log, numbered(1000))
        assert sequences(await take(tail, 1000)) == list(range(1, 1001))
        async with log.tail("mars", after=0, epoch=epoch) as second:
            await fill(log, numbered(1))
            assert sequences(await take(second, 1001))[-1] == 1001
    async with log.tail("mars", after=0, epoch=epoch) as late:
        assert sequences(await take(late, 1)) == [1001]


@asynchronous
async def test_what_is_kept_for_tails_is_bounded_in_bytes() -> None:
    """Shapes stand in headers, so these count."""
    log = open_log(history=1)
    epoch = (await log.bounds("mars")).epoch
    shape = {"shape": "x" * 60_000}
    async with log.tail("mars", after=0, epoch=epoch) as tail:
        await fill(log, [record(headers=shape) for _ in range(2000)])
        assert len((await anext(aiter(tail))).entries) < 1200


@asynchronous
async def test_a_tail_that_falls_far_behind_reads_history() -> None:
    """What history has dropped by then is missing; the order stays, and nothing comes twice."""
    log = open_log(history=1)
    epoch = (await log.bounds("mars")).epoch
    count = MOST_RECENT_ENTRIES + 10
    async with log.tail("mars", after=0, epoch=epoch) as tail:
        await fill(log, [record("mars.rare"), *(record("mars.busy") for _ in range(count))])
        seen: list[int] = []
        while not seen or seen[-1] <= count:
            seen += sequences((await anext(aiter(tail))).entries)
    assert seen[0] == 1
    assert seen == sorted(set(seen))
    assert seen[1:] == list(range(seen[1], count + 2))
    assert len(seen) >= MOST_RECENT_ENTRIES // 2


@asynchronous
async def test_an_append_and_its_delivery_are_one_step() -> None:
    """Whoever knows of an append finds it in every tail without waiting for anything."""
    log = open_log()
    epoch = (await log.bounds("mars")).epoch
    async with log.tail("mars", after=0, epoch=epoch) as tail:
        waiting = asyncio.ensure_future(anext(aiter(tail)))
        await asyncio.sleep(0)
        await log.append("mars", record())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert waiting.done()


# --- the rest --------------------------------------------------------------------------------------------


@asynchronous
async def test_ids_are_known_for_as_long_as_the_window_says() -> None:
    """Then the same id is another record."""
    clock = HandClock()
    log = MemoryLog(MemoryLimits(duplicate_window_seconds=60, max_history_per_topic=9), clock)
    await log.append("mars", record(message_id="one"))
    clock.seconds += 59
    assert await log.append("mars", record(message_id="one")) == Appended(1, is_duplicate=True)
    clock.seconds += 1
    assert await log.append("mars", record(message_id="one")) == Appended(2)


@asynchronous
async def test_entries_carry_the_instant_of_the_clock() -> None:
    """And are found by it."""
    clock = HandClock()
    log = MemoryLog(MemoryLimits(max_history_per_topic=9), clock)
    for _ in range(3):
        await log.append("mars", record())
        clock.seconds += 10
    assert [entry.instant for entry in await read_all(log)] == [1000 * 10**9, 1010 * 10**9, 1020 * 10**9]
    assert await log.seek("mars", 1010 * 10**9) == 2
    assert await log.seek("mars", 1010 * 10**9 + 1) == 3


@asynchronous
async def test_each_log_is_an_epoch() -> None:
    """Positions do not survive the process: what they meant is gone."""
    clock = HandClock()
    first = MemoryLog(clock=clock)
    clock.seconds += 0.001
    second = MemoryLog(clock=clock)
    epochs = [(await log.bounds(base)).epoch for log in (first, second) for base in ("mars", "diss")]
    assert epochs[0] == epochs[1] != epochs[2] == epochs[3]
    with pytest.raises(EpochChanged):
        async with second.tail("mars", after=0, epoch=epochs[0]):
            pass


@asynchronous
async def test_a_subject_may_be_the_base_alone() -> None:
    """An event type without fields in its topic has no other; only a broker cannot keep it."""
    log = open_log()
    assert await log.append("mars", record("mars")) == Appended(1)
    assert [entry.subject for entry in await log.latest("mars")] == ["mars"]
