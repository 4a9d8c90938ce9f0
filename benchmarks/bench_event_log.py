"""The event log beside the client library's own best: a real server, file storage, one core for all of our side.

Rates are by the clock here, because the server works on the other side of a socket; the ratios are of one run.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import nats
from msgspec.structs import replace

from aviso_core.broker.connection import ConnectionOptions
from aviso_core.eventlog.base import Record
from aviso_core.eventlog.jetstream.log import open_jetstream_log
from aviso_core.eventlog.memory import MemoryLog
from aviso_core.schema.model import Storage
from aviso_core.schema.stream import StreamDefaults, stream_of_base
from measure import Bar, finish, print_bars, print_table
from support.nats import running_server

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from nats.aio.msg import Msg
    from nats.js import JetStreamContext

    from aviso_core.eventlog.base import EventLog

EVENTS: Final = 100_000
IN_FLIGHT: Final = 2000
PAYLOAD: Final = b"x" * 500
BASE: Final = "runs"


async def rate(work: Callable[[], Awaitable[int]]) -> float:
    """Return how many a second."""
    began = time.perf_counter()
    done = await work()
    return done / (time.perf_counter() - began)


def records(prefix: str, count: int) -> list[list[Record]]:
    """Return records with ids, in lots of as many as are in flight."""
    made = [
        Record(subject=f"{BASE}.k.{number % 50}", payload=PAYLOAD, message_id=f"{prefix}{number}")
        for number in range(count)
    ]
    return [made[first : first + IN_FLIGHT] for first in range(0, count, IN_FLIGHT)]


async def append_all(log: EventLog, lots: list[list[Record]]) -> int:
    """Append lot by lot."""
    return sum([len(await log.append_all(BASE, lot)) for lot in lots])


async def read_all(log: EventLog) -> int:
    """Read everything that there is."""
    last = (await log.bounds(BASE)).last
    return sum([len(batch.entries) async for batch in log.read(BASE, first=1, last=last)])


async def tail_all(log: EventLog) -> int:
    """Follow from the beginning to what is the end now."""
    bounds = await log.bounds(BASE)
    done = 0
    async with log.tail(BASE, after=0, epoch=bounds.epoch) as tail:
        async for batch in tail:
            done += len(batch.entries)
            if batch.through >= bounds.last:
                break
    return done


async def publish_as_the_library_does(js: JetStreamContext, count: int) -> int:
    """Publish with as many in flight as we have, through the library's own call."""
    for first in range(0, count, IN_FLIGHT):
        await asyncio.gather(
            *[
                js.publish(f"{BASE}.k.{number % 50}", PAYLOAD, headers={"Nats-Msg-Id": f"theirs{number}"})
                for number in range(first, first + IN_FLIGHT)
            ]
        )
    return count


async def read_as_the_library_does(js: JetStreamContext, count: int) -> int:
    """Read with the library's ordered consumer and a callback."""
    seen = 0
    done = asyncio.Event()

    async def take(message: Msg) -> None:
        del message
        nonlocal seen
        seen += 1
        if seen >= count:
            done.set()

    subscription = await js.subscribe(f"{BASE}.>", cb=take, ordered_consumer=True)
    await done.wait()
    await subscription.unsubscribe()
    return seen


async def append_to_memory(log: MemoryLog, lots: list[list[Record]]) -> int:
    """Append lot by lot while one tail follows."""
    bounds = await log.bounds(BASE)
    count = sum(map(len, lots))

    async def follow() -> None:
        async with log.tail(BASE, after=bounds.last, epoch=bounds.epoch) as tail:
            async for batch in tail:
                if batch.through >= bounds.last + count:
                    return

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(follow())
        await asyncio.sleep(0)
        for lot in lots:
            await log.append_all(BASE, lot)
            # The tail gets its turn, as it does between any two requests.
            await asyncio.sleep(0)
    return count


async def measure(port: int) -> list[Bar]:
    """Run all of it against one server and return the bars."""
    server = f"nats://127.0.0.1:{port}"
    wanted = stream_of_base(BASE, Storage(keep_all=True), StreamDefaults())
    client = await nats.connect(server)
    js = client.jetstream()
    async with open_jetstream_log(ConnectionOptions(servers=(server,)), wanted=lambda _: wanted) as log:
        await log.append_all(BASE, records("warm", IN_FLIGHT)[0])
        lots = records("ours", EVENTS)
        ours = await rate(lambda: append_all(log, lots))
        theirs = await rate(lambda: publish_as_the_library_does(js, EVENTS // 4))
        stored = (await log.bounds(BASE)).messages
        raw = await rate(lambda: read_as_the_library_does(js, stored))
        read = await rate(lambda: read_all(log))
        tail = await rate(lambda: tail_all(log))
    await client.close()
    plain = [[replace(record, message_id=None) for record in lot] for lot in lots]
    memory = await rate(lambda: append_to_memory(MemoryLog(), plain))
    print_table(
        "Events of 500 bytes a second, in thousands",
        ("what", "ours", "the library's"),
        [
            ("append, 2000 in flight, with ids", ours / 1000, theirs / 1000),
            ("read a range", read / 1000, raw / 1000),
            ("tail", tail / 1000, raw / 1000),
            ("append and one tail, in memory", memory / 1000, "-"),
        ],
    )
    return [
        Bar("append, 2000 in flight, with ids", ours / 1000, "≥", 60, "k/s"),
        Bar("the same, against the library's publish", ours / theirs, "≥", 2, "×"),
        Bar("read a range, against the library's ordered callback", read / raw, "≥", 0.7, "×"),
        Bar("tail, against the same", tail / raw, "≥", 0.6, "×"),
        Bar("append and one tail, in memory", memory / 1000, "≥", 250, "k/s"),
    ]


def main() -> None:
    """Print the bars of the event log."""
    with (
        tempfile.TemporaryDirectory(prefix="bench-log-") as folder,
        running_server(Path(folder)) as server,
    ):
        bars = asyncio.run(measure(server.port))
    print_bars("Bars", bars)
    finish(bars)


if __name__ == "__main__":
    main()
