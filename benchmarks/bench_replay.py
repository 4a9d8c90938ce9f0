"""History from a gateway that runs as its own process, out of a real broker: events a second of its CPU.

Readers are a program in C (`load/streams.c`), which looks for holes and repetitions. The floor is what the broker's
own client library needs for the same stream in the same run: an ordered consumer with a callback that does nothing.
"""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

import nats

from load.posting import Work, generator, posting
from load.watching import Arrived, Watch, watching
from measure import Bar, print_table
from program import in_a_folder, run
from serving import ProcessTree
from streaming import EVENT_TYPE, JSON, REPLAY, announcement, avisod, everything, gateway, settings
from support.nats import running_server

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from nats.aio.msg import Msg

    from serving import Service

EVENTS: Final = 200_000
BATCH_RECORDS: Final = 1000
# So the record of an event in the log has about 500 bytes.
PAYLOAD_BYTES: Final = 300
READERS: Final = 20
# Each of many readers reads a part, so that all of them together do not take for ever.
PART: Final = 50_000
LIMIT_SECONDS: Final = 300.0

ACCEPTED: Final[dict[str, str]] = {
    "SSE": "text/event-stream",
    "NDJSON": "application/x-ndjson",
    "Arrow": "application/vnd.apache.arrow.stream",
}


class Read(NamedTuple):
    """How fast history was read by all readers together."""

    events: int
    cpu_seconds: float
    broker_seconds: float
    seconds: float
    bytes: int = 0

    @property
    def by_cpu(self) -> float:
        """Thousands of events in a second of the reading process's CPU."""
        return self.events / self.cpu_seconds / 1000

    @property
    def by_clock(self) -> float:
        """Thousands of events in a second."""
        return self.events / self.seconds / 1000

    def row(self, what: str, raw: Read) -> Sequence[object]:
        """Return the line of the table."""
        return (
            what,
            self.by_cpu,
            self.by_clock,
            self.cpu_seconds / self.events * 1e6,
            self.broker_seconds / self.events * 1e6,
            self.by_cpu / raw.by_cpu,
            self.by_clock / raw.by_clock,
            self.bytes / self.events,
        )


_HEAD: Final = ("what", "k/s CPU", "k/s clock", "µs CPU", "µs broker", "× raw CPU", "× raw clock", "bytes")


def fill(service: Service) -> None:
    """Store the events, numbered in order."""
    record = announcement(payload_bytes=PAYLOAD_BYTES) + b"\n"
    work = Work(
        path="/api/v1/notifications",
        headers={"Content-Type": "application/x-ndjson"},
        body=_with_one_number(record) * BATCH_RECORDS,
        connections=1,
        count=EVENTS // BATCH_RECORDS,
        limit_seconds=LIMIT_SECONDS,
        expected=f'"accepted":{BATCH_RECORDS}',
    )
    with posting(work, port=service.port) as run:
        run.wait_measuring()
        run.wait_report().require_all_right()


def _with_one_number(record: bytes) -> bytes:
    """Return the template with the mark as its only number: where events are posted, every place takes another one."""
    return record.replace(b"{n:3}", b"001")


async def read_raw(url: str, broker: ProcessTree) -> Read:
    """Read all of it with the library's ordered consumer and a callback."""
    client = await nats.connect(url)
    seen = 0
    done = asyncio.Event()

    async def take(message: Msg) -> None:
        del message
        nonlocal seen
        seen += 1
        if seen == EVENTS:
            done.set()

    began, cpu_began, broker_began = time.perf_counter(), time.process_time(), broker.cpu_seconds()
    await client.jetstream().subscribe(f"{EVENT_TYPE}.>", cb=take, ordered_consumer=True)
    await done.wait()
    read = Read(
        EVENTS,
        time.process_time() - cpu_began,
        broker.cpu_seconds() - broker_began,
        time.perf_counter() - began,
    )
    await client.close()
    return read


def replay(
    service: Service,
    broker: ProcessTree,
    *,
    readers: int = 1,
    first: int = 1,
    accept: str = "SSE",
) -> Read:
    """Have so many readers read from a sequence to the end; each must get all of it, once and in order."""
    watch = Watch(
        path=REPLAY,
        body=everything(from_sequence=first),
        streams=readers,
        window=readers,
        headers={**JSON, "Accept": ACCEPTED[accept]},
    )
    before, broker_before = service.tree.cpu_seconds(), broker.cpu_seconds()
    with watching(watch, port=service.port) as run:
        opened = run.wait_opened()
        arrived = run.finish(LIMIT_SECONDS)
    spent, broker_spent = service.tree.cpu_seconds() - before, broker.cpu_seconds() - broker_before
    deliveries = opened.deliveries + arrived.deliveries
    _require_all(opened, arrived, deliveries, expected=readers * (EVENTS - first + 1))
    seconds = opened.active_seconds + arrived.active_seconds
    return Read(deliveries, spent, broker_spent, seconds, opened.bytes + arrived.bytes)


def _require_all(opened: Arrived, arrived: Arrived, deliveries: int, *, expected: int) -> None:
    faults = [one.holes + one.repeated + one.lost + one.refused for one in (opened, arrived)]
    if any(faults) or deliveries != expected:
        raise RuntimeError(f"history is not complete: {expected} expected; {opened}, {arrived}")


def measure(folder: Path) -> list[Bar]:
    """Run all of it and return the bars."""
    with running_server(folder / "broker") as server:
        broker = ProcessTree(server.process_id)
        watch_endpoint = {"max_historical_notifications": EVENTS}
        made = settings(broker_url=server.url, watch_endpoint=watch_endpoint)
        with avisod(folder, made) as service:
            fill(service)
        with gateway(folder, made) as service:
            raw = asyncio.run(read_raw(server.url, broker))
            one = {accept: replay(service, broker, accept=accept) for accept in ACCEPTED}
            many = replay(service, broker, readers=READERS, first=EVENTS - PART + 1)
    rows = [raw.row("raw client, ordered callback", raw)]
    rows += [read.row(f"{accept}, one reader", raw) for accept, read in one.items()]
    rows.append(many.row(f"SSE, {READERS} readers of the same range", raw))
    print_table(f"{EVENTS} events of 500 bytes, JetStream: thousands a second", _HEAD, rows)
    return [
        Bar("SSE to one reader", one["SSE"].by_cpu, "≥", 50, "k/s"),
        Bar(f"SSE to {READERS} readers of the same range", many.by_cpu, "≥", 100, "k/s"),
        Bar("NDJSON to one reader", one["NDJSON"].by_cpu / raw.by_cpu, "≥", 0.4, "× raw client"),
        Bar("Arrow to one reader", one["Arrow"].by_cpu / raw.by_cpu, "≥", 0.7, "× raw client"),
    ]


def main() -> None:
    """Print the bars of history, or why this machine cannot measure them."""
    run(__doc__, in_a_folder(measure), needs=partial(generator, "streams"))


if __name__ == "__main__":
    main()
