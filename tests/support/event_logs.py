"""The logs that tests run over, and the few steps that such tests are made of."""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple, ParamSpec, TypeAlias

import nats
from msgspec.structs import replace

from aviso_core.broker.connection import ConnectionOptions
from aviso_core.eventlog.base import Appended, Batch, Entry, EventLog, Record, Tail
from aviso_core.eventlog.jetstream.log import open_jetstream_log
from aviso_core.eventlog.memory import MemoryLimits, MemoryLog
from aviso_core.schema.stream import StreamConfiguration, stream_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aviso_core.eventlog.jetstream.log import JetStreamLog
    from support.nats import Cluster, Server

# Far more than any test needs: whatever reaches it waits for something that will not come.
DEADLINE_SECONDS: Final = 60.0

P = ParamSpec("P")


def asynchronous(test: Callable[P, Awaitable[None]]) -> Callable[P, None]:
    """Make a test of an asynchronous one: it runs in a loop of its own, under a deadline."""

    @functools.wraps(test)
    def run(*arguments: P.args, **named: P.kwargs) -> None:
        async def in_time() -> None:
            async with asyncio.timeout(DEADLINE_SECONDS):
                await test(*arguments, **named)

        asyncio.run(in_time())

    return run


# --- the logs --------------------------------------------------------------------------------------------


class Backend(NamedTuple):
    """A kind of log, and how a new and empty one is opened."""

    name: str
    open: Callable[[], AbstractAsyncContextManager[EventLog]]


Behaviour: TypeAlias = Callable[[EventLog], Awaitable[None]]


def over_every_log(behaviour: Behaviour) -> Callable[[Backend], None]:
    """Make a test of a behaviour: it runs over an empty log of the kind that the fixture `backend` names."""

    def test(backend: Backend) -> None:
        async def run() -> None:
            async with asyncio.timeout(DEADLINE_SECONDS), backend.open() as log:
                await behaviour(log)

        asyncio.run(run())

    for attribute in ("__name__", "__qualname__", "__doc__", "__module__"):
        setattr(test, attribute, getattr(behaviour, attribute))
    return test


def memory_backend() -> Backend:
    """Return logs in memory that keep all that the tests append."""

    @asynccontextmanager
    async def open_log() -> AsyncIterator[EventLog]:
        yield MemoryLog(MemoryLimits(max_history_per_topic=100_000, max_topics=100_000))

    return Backend("memory", open_log)


def jetstream_backend(url: str) -> Backend:
    """Return logs on a broker that has no streams yet."""
    return Backend("jetstream", lambda: open_owning_log(url))


def keep_all(base: str) -> StreamConfiguration:
    """Return a stream without limits."""
    return StreamConfiguration(name=stream_name(base), subjects=(f"{base}.>",))


def three_times(base: str) -> StreamConfiguration:
    """Return a stream without limits that three servers keep."""
    return replace(keep_all(base), replicas=3)


def options(*urls: str, **other: Any) -> ConnectionOptions:
    """Return the options of a connection that does not wait long before it tries again."""
    return ConnectionOptions(servers=urls, **{"reconnect_delay_seconds": 0.1, **other})


@asynccontextmanager
async def open_owning_log(
    *urls: str,
    wanted: Callable[[str], StreamConfiguration] = keep_all,
    append_seconds: float = DEADLINE_SECONDS,
    **other: Any,
) -> AsyncIterator[JetStreamLog]:
    """Open a log that makes the streams that it needs."""
    async with open_jetstream_log(
        options(*urls, **other), wanted=wanted, append_seconds=append_seconds
    ) as log:
        yield log


# --- the broker, asked without our own code --------------------------------------------------------------


async def ask_broker(url: str, subject: str, question: object = None) -> dict[str, Any]:
    """Return the broker's own answer to a question of its API."""
    client = await nats.connect(url)
    try:
        body = b"" if question is None else json.dumps(question).encode()
        answer = await client.request(f"$JS.API.{subject}", body, timeout=5)
        return dict(json.loads(answer.data))
    finally:
        await client.close()


async def leader_of(cluster: Cluster, base: str = "mars") -> Server:
    """Return the server that leads a stream."""
    answer = await ask_broker(cluster.servers[0].url, f"STREAM.INFO.{stream_name(base)}")
    return cluster.named(answer["cluster"]["leader"])


# --- steps -----------------------------------------------------------------------------------------------


def record(subject: str = "mars.od.1", payload: bytes = b'"x"', **other: Any) -> Record:
    """Return a record, of which most tests care about one thing only."""
    return Record(subject=subject, payload=payload, **other)


def numbered(count: int, subject: str = "mars.od.1", *, begin: int = 1) -> list[Record]:
    """Return records that say their number."""
    return [record(subject, str(number).encode()) for number in range(begin, begin + count)]


async def fill(log: EventLog, records: Sequence[Record], base: str = "mars") -> list[int]:
    """Append records, all of which must be taken, and return their sequences."""
    results = await log.append_all(base, records)
    assert all(isinstance(result, Appended) for result in results), results
    return [result.sequence for result in results if isinstance(result, Appended)]


async def read_batches(log: EventLog, base: str = "mars", **span: Any) -> list[Batch]:
    """Return the batches of a range; without one, of all there is."""
    if "last" not in span:
        span["last"] = (await log.bounds(base)).last
    async with aclosing(log.read(base, **{"first": 1, **span})) as batches:
        return [batch async for batch in batches]


async def read_all(log: EventLog, base: str = "mars", **span: Any) -> list[Entry]:
    """Return the entries of a range; without one, all there are."""
    return [entry for batch in await read_batches(log, base, **span) for entry in batch.entries]


async def take(tail: Tail, count: int) -> list[Entry]:
    """Return the next entries of a tail, which must not bring more than these."""
    taken: list[Entry] = []
    batches = aiter(tail)
    while len(taken) < count:
        taken += (await anext(batches)).entries
    assert len(taken) == count, f"{len(taken)} entries came, {count} were there"
    return taken


def payloads(entries: Sequence[Entry]) -> list[bytes]:
    """Return what entries say."""
    return [entry.payload for entry in entries]


def sequences(entries: Sequence[Entry]) -> list[int]:
    """Return where entries stand."""
    return [entry.sequence for entry in entries]
