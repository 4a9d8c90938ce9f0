"""What was acknowledged is read, also where the server that answers has not got it yet.

Of three servers that keep a stream one lags: it answers, and does not know what the other two have acknowledged. Which
server is asked is the broker's choice, so each reader asks often.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final, NamedTuple

import pytest

from aviso_core.errors import Unavailable
from aviso_core.eventlog.jetstream import reader, tail
from support.event_logs import (
    ask_broker,
    asynchronous,
    fill,
    leader_of,
    open_owning_log,
    read_all,
    record,
    sequences,
    take,
    three_times,
)
from support.gate_between_brokers import LaggingCluster, running_lagging_cluster

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
    from pathlib import Path

    from aviso_core.eventlog.base import Bounds, Record
    from aviso_core.eventlog.jetstream.log import JetStreamLog
    from support.nats import Cluster, Server

# With a third of them at the one that lags, all miss it once in three thousand times.
READERS: Final = 20
STORED_BEFORE: Final = 5
STORED: Final = 11
# Electing a leader takes a broker four to nine seconds, and much longer on a machine with much to do.
ELECTIONS_SECONDS: Final = 90.0


@pytest.fixture(scope="module")
def lagging(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LaggingCluster]:
    """Run three brokers for all tests of this module; each takes another stream."""
    with running_lagging_cluster(tmp_path_factory.mktemp("lagging")) as lagging:
        yield lagging


def records(base: str, first: int, last: int) -> list[Record]:
    """Return records that say their number; the odd ones are of one subject, the even ones of another."""
    return [record(f"{base}.{'even' if number % 2 == 0 else 'odd'}") for number in range(first, last + 1)]


@asynccontextmanager
async def behind(lagging: LaggingCluster, base: str) -> AsyncIterator[JetStreamLog]:
    """Open a log of which one server, that does not lead it, has only the first entries for as long as this lasts."""
    async with open_owning_log(*lagging.cluster.urls, wanted=three_times) as log:
        await fill(log, records(base, 1, STORED_BEFORE), base)
        while any((replicas := await replicas_of(lagging.cluster, base)).values()):  # noqa: ASYNC110 (nobody tells)
            await asyncio.sleep(0.05)
        laggard = next(iter(replicas))
        lagging.let_lag(lagging.cluster.named(laggard))
        try:
            await fill(log, records(base, STORED_BEFORE + 1, STORED), base)
            assert (await replicas_of(lagging.cluster, base))[laggard], "it does not lag"
            yield log
        finally:
            lagging.catch_up()


async def replicas_of(cluster: Cluster, base: str) -> dict[str, bool]:
    """Tell of each server that follows the leader of a stream whether it lags."""
    answer = await ask_broker(cluster.servers[0].url, f"STREAM.INFO.{base.upper()}")
    return {one["name"]: not one["current"] or "lag" in one for one in answer["cluster"]["replicas"]}


class Case(NamedTuple):
    """Something that is asked of a log, and the sequences that are the answer."""

    name: str
    ask: Callable[[JetStreamLog, str, Bounds], Awaitable[list[int]]]
    answer: list[int]


async def everything(log: JetStreamLog, base: str, bounds: Bounds) -> list[int]:
    """Read all there is."""
    return sequences(await read_all(log, base, last=bounds.last))


async def one_subject(log: JetStreamLog, base: str, bounds: Bounds) -> list[int]:
    """Read what is of one subject; another one comes last."""
    return sequences(await read_all(log, base, last=bounds.last, pattern=f"{base}.even"))


async def the_last(log: JetStreamLog, base: str, bounds: Bounds) -> list[int]:
    """Read from behind what is there where it lags."""
    return sequences(await read_all(log, base, first=STORED - 1, last=bounds.last))


async def a_middle(log: JetStreamLog, base: str, _: Bounds) -> list[int]:
    """Read a range that ends before the end, in batches of one."""
    return sequences(await read_all(log, base, first=STORED_BEFORE, last=STORED_BEFORE + 2, batch_bytes=1))


async def without_an_end(log: JetStreamLog, base: str, _: Bounds) -> list[int]:
    """Read to far beyond what is there."""
    return sequences(await read_all(log, base, first=STORED - 2, last=10**9))


async def latest(log: JetStreamLog, base: str, _: Bounds) -> list[int]:
    """Read the last of each subject."""
    return sequences(await log.latest(base))


async def latest_of_one(log: JetStreamLog, base: str, _: Bounds) -> list[int]:
    """Read the last of one subject."""
    return sequences(await log.latest(base, pattern=f"{base}.even"))


async def the_last_instant(log: JetStreamLog, base: str, bounds: Bounds) -> list[int]:
    """Look for the time of the last entry."""
    assert bounds.last_instant is not None
    return [await log.seek(base, bounds.last_instant)]


async def after_the_last_instant(log: JetStreamLog, base: str, bounds: Bounds) -> list[int]:
    """Look for a time at which nothing was stored yet."""
    assert bounds.last_instant is not None
    return [await log.seek(base, bounds.last_instant + 1)]


async def what_follows(log: JetStreamLog, base: str, bounds: Bounds) -> list[int]:
    """Follow from where it lags."""
    async with log.tail(base, after=STORED_BEFORE, epoch=bounds.epoch) as following:
        return sequences(await take(following, STORED - STORED_BEFORE))


CASES: Final = [
    Case("all", everything, [*range(1, STORED + 1)]),
    Case("subject", one_subject, [2, 4, 6, 8, 10]),
    Case("last", the_last, [10, 11]),
    Case("middle", a_middle, [5, 6, 7]),
    Case("endless", without_an_end, [9, 10, 11]),
    Case("latest", latest, [10, 11]),
    Case("latest-one", latest_of_one, [10]),
    Case("instant", the_last_instant, [11]),
    Case("later", after_the_last_instant, [12]),
]


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
@asynchronous
async def test_what_was_acknowledged_is_read(lagging: LaggingCluster, case: Case) -> None:
    """Whichever server answers."""
    base = case.name.replace("-", "")
    async with behind(lagging, base) as log:
        bounds = await log.bounds(base)
        answers = await asyncio.gather(*(case.ask(log, base, bounds) for _ in range(READERS)))
    assert answers == [case.answer] * READERS


@asynchronous
async def test_what_follows_comes_when_it_is_there(lagging: LaggingCluster) -> None:
    """A tail has no end that could be told too early: it waits for the server that it reads from."""
    async with behind(lagging, "tail") as log:
        bounds = await log.bounds("tail")
        async with asyncio.TaskGroup() as group:
            following = [group.create_task(what_follows(log, "tail", bounds)) for _ in range(READERS)]
            await asyncio.wait(following, return_when=asyncio.FIRST_COMPLETED)
            lagging.catch_up()
    assert [task.result() for task in following] == [[*range(STORED_BEFORE + 1, STORED + 1)]] * READERS


@asynchronous
async def test_who_follows_leaves_a_server_that_does_not_catch_up(lagging: LaggingCluster) -> None:
    """What the others have been told comes within moments, though that server never has it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tail, "_STILL_SECONDS", 0.2)
        async with behind(lagging, "stuck") as log:
            bounds = await log.bounds("stuck")
            followed = await asyncio.gather(*(what_follows(log, "stuck", bounds) for _ in range(READERS)))
    assert followed == [[*range(STORED_BEFORE + 1, STORED + 1)]] * READERS


@asynchronous
async def test_who_follows_and_has_everything_stays_where_it_is(lagging: LaggingCluster) -> None:
    """However long nothing comes, also where what came last was removed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tail, "_STILL_SECONDS", 0.05)
        async with behind(lagging, "still") as log:
            lagging.catch_up()
            bounds = await log.bounds("still")
            assert await log.delete("still", bounds.last)
            async with log.tail("still", after=bounds.last - 2, epoch=bounds.epoch) as following:
                came = sequences(await take(following, 1))
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(1.0):
                        await anext(following)
                consumers = (await ask_broker(lagging.cluster.urls[0], "CONSUMER.NAMES.STILL"))["consumers"]
                await fill(log, records("still", STORED + 1, STORED + 1), "still")
                came += sequences(await take(following, 1))
                after = (await ask_broker(lagging.cluster.urls[0], "CONSUMER.NAMES.STILL"))["consumers"]
    assert came == [STORED - 1, STORED + 1]
    assert after == consumers
    assert len(consumers) == 1


@asynchronous
async def test_readers_that_find_no_other_server_are_told(lagging: LaggingCluster) -> None:
    """They have everything, or they fail: never a part."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "_BEHIND_SECONDS", -1.0)
        async with behind(lagging, "patience") as log:
            bounds = await log.bounds("patience")
            asked = (everything(log, "patience", bounds) for _ in range(READERS))
            answers = await asyncio.gather(*asked, return_exceptions=True)
    failures = [answer for answer in answers if not isinstance(answer, list)]
    assert all(answer == [*range(1, STORED + 1)] for answer in answers if isinstance(answer, list))
    assert failures
    assert {(type(one), "lag behind the stream's leader" in str(one)) for one in failures} == {
        (Unavailable, True)
    }


@asynchronous
async def test_what_was_wiped_does_not_come_back(lagging: LaggingCluster) -> None:
    """Also from a server that has not heard of it."""
    async with behind(lagging, "wiped") as log:
        bounds = await log.bounds("wiped")
        assert await log.wipe("wiped")
        answers = await asyncio.gather(*(everything(log, "wiped", bounds) for _ in range(READERS)))
    assert answers == [[]] * READERS


def test_a_leader_that_dies_while_one_lags(tmp_path: Path) -> None:
    """Until there is another, the one that lags speaks for all: whoever reads waits, or is told, and misses nothing."""

    async def run(lagging: LaggingCluster) -> list[list[int] | BaseException]:
        async with asyncio.timeout(ELECTIONS_SECONDS), behind(lagging, "orphans") as log:
            bounds = await log.bounds("orphans")
            await asyncio.to_thread((await leader_of(lagging.cluster, "orphans")).kill)
            asked = [asyncio.create_task(everything(log, "orphans", bounds)) for _ in range(READERS)]
            await asyncio.wait(asked, timeout=1.0)
            lagging.catch_up()
            return await asyncio.gather(*asked, return_exceptions=True)

    with running_lagging_cluster(tmp_path) as lagging:
        answers = asyncio.run(run(lagging))
    for answer in answers:
        assert answer == [*range(1, STORED + 1)] or isinstance(answer, Unavailable), answer


async def wait_without_leader(server: Server, base: str) -> None:
    """Wait until a server speaks for a stream that nobody leads."""
    leader: str | None = "unknown"
    while leader:
        # Whoever does not lead says nothing as long as it believes that somebody does.
        with suppress(TimeoutError):
            answer = await ask_broker(server.url, f"STREAM.INFO.{base.upper()}")
            leader = answer["cluster"].get("leader")


def test_nobody_is_told_of_less_while_there_is_no_leader(tmp_path: Path) -> None:
    """Whoever asks how far a stream goes, or has it wiped, waits for one or is told that there is none."""

    async def run(lagging: LaggingCluster) -> list[int]:
        answers: list[int] = []
        async with asyncio.timeout(ELECTIONS_SECONDS), behind(lagging, "headless") as log:
            await log.bounds("headless")
            leader = await leader_of(lagging.cluster, "headless")
            await asyncio.to_thread(leader.kill)
            await wait_without_leader(lagging.cluster.others(leader)[0], "headless")
            asked = asyncio.create_task(log.bounds("headless"))
            await asyncio.wait([asked], timeout=1.0)
            lagging.catch_up()
            with suppress(Unavailable):
                answers.append((await asked).last)
            while not answers or answers[-1] != STORED:
                with suppress(Unavailable):
                    answers.append((await log.bounds("headless")).last)
        return answers

    with running_lagging_cluster(tmp_path) as lagging:
        assert set(asyncio.run(run(lagging))) == {STORED}
