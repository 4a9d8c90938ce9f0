"""The event log beside the client library's own best: a real server, file storage, one core for all of our side.

The bars are about that core, so rates are by the CPU of this process. By the clock they are lower where the server is
what is waited for, or the machine has other work; the table has both.
"""

from __future__ import annotations

import asyncio
import gc
import time
from typing import TYPE_CHECKING, Final, NamedTuple

import nats
from msgspec.structs import replace

from aviso_core.broker.connection import ConnectionOptions
from aviso_core.eventlog.base import Record
from aviso_core.eventlog.jetstream.log import open_jetstream_log
from aviso_core.eventlog.memory import MemoryLog
from aviso_core.schema.model import Storage
from aviso_core.schema.stream import StreamDefaults, stream_of_base
from measure import Bar, print_table
from program import in_a_folder, run
from support.nats import running_server

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from nats.aio.msg import Msg
    from nats.js import JetStreamContext

    from aviso_core.eventlog.base import EventLog

EVENTS: Final = 100_000
IN_FLIGHT: Final = 2000
PAYLOAD: Final = b"x" * 500
BASE: Final = "runs"


class Rate(NamedTuple):
    """Thousands of events a second."""

    by_cpu: float
    by_clock: float

    def __str__(self) -> str:
        """Return both."""
        return f"{self.by_cpu:.0f} ({self.by_clock:.0f})"


async def rate(work: Callable[[], Awaitable[int]]) -> Rate:
    """Return how many a second."""
    gc.collect()
    began, cpu_began = time.perf_counter(), time.process_time()
    done = await work() / 1000
    return Rate(done / (time.process_time() - cpu_began), done / (time.perf_counter() - began))


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


async def append_singly(log: EventLog, lots: list[list[Record]]) -> int:
    """Append each record in a call of its own, from as many tasks as may be in flight."""
    waiting = iter([record for lot in lots for record in lot])

    async def work() -> None:
        for record in waiting:
            await log.append(BASE, record)

    await asyncio.gather(*(work() for _ in range(IN_FLIGHT)))
    return sum(map(len, lots))


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
        singly = await rate(lambda: append_singly(log, records("singly", EVENTS // 2)))
        theirs = await rate(lambda: publish_as_the_library_does(js, EVENTS // 4))
        stored = (await log.bounds(BASE)).messages
        raw = await rate(lambda: read_as_the_library_does(js, stored))
        read = await rate(lambda: read_all(log))
        tail = await rate(lambda: tail_all(log))
    await client.close()
    plain = [[replace(record, message_id=None) for record in lot] for lot in lots]
    memory = await rate(lambda: append_to_memory(MemoryLog(), plain))
    print_table(
        "Thousands of events of 500 bytes, a second of CPU (and a second by the clock)",
        ("what", "ours", "the library's"),
        [
            ("append, 2000 in flight, with ids, in calls of 2000", ours, theirs),
            ("the same, one in each call", singly, theirs),
            ("read a range", read, raw),
            ("tail", tail, raw),
            ("append and one tail, in memory", memory, "-"),
        ],
    )
    return [
        Bar("append, 2000 in flight, with ids", ours.by_cpu, "≥", 60, "k/s"),
        Bar("the same, against the library's publish", ours.by_cpu / theirs.by_cpu, "≥", 2, "×"),
        Bar("read a range, against the library's ordered callback", read.by_cpu / raw.by_cpu, "≥", 0.7, "×"),
        Bar("tail, against the same", tail.by_cpu / raw.by_cpu, "≥", 0.6, "×"),
        Bar("append and one tail, in memory", memory.by_cpu, "≥", 250, "k/s"),
    ]


def main() -> None:
    """Print the bars of the event log."""

    def work(folder: Path) -> list[Bar]:
        with running_server(folder) as server:
            return asyncio.run(measure(server.port))

    run(__doc__, in_a_folder(work))


if __name__ == "__main__":
    main()
