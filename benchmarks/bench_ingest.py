"""The way of notifications into a service that runs as its own process: rates by its CPU, memory, and how it starts.

The load comes from a generator in C (`load/post.c`), over loopback, in a closed loop of so many connections. A rate is
by the CPU of the service alone; generator and broker have theirs beside it, on the same cores, so the rate by the clock
is that of the machine. The floor is an ASGI function on the same server that reads the body and answers a constant.
`AVISO_REFERENCE` may name the program of another server with the same interface and configuration.
"""

from __future__ import annotations

import json
import os
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from msgspec.structs import replace

from load.posting import Report, Work, generator, posting, rendered
from measure import Bar, print_table
from program import in_a_folder, run
from serving import ProcessTree, Service, serving, uvicorn
from support.nats import running_server

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

SECONDS: Final = 5.0
WARM_UP_SECONDS: Final = 1.0
CONNECTIONS: Final = 64
STARTS: Final = 3

BATCH_RECORDS: Final = 1000
# A batch keeps one core busy for so long that more at a time only wait.
BATCH_CONNECTIONS: Final = 8

LARGEST_RECORDS: Final = 10_000
LARGEST_BYTES: Final = 8 * 1024 * 1024
LARGEST_CONNECTIONS: Final = 200
# Two million records. Who is slower than that has missed the bar of the batch as well.
LARGEST_LIMIT_SECONDS: Final = 80.0

EVENT_TYPE: Final = "runs"
IDENTIFIER_FIELDS: Final[dict[str, dict[str, Any]]] = {
    "class": {"type": "EnumHandler", "values": ["od", "rd", "ea"], "required": True},
    "destination": {"type": "StringHandler", "max_length": 16, "required": True},
    "stream": {"type": "StringHandler", "max_length": 8, "required": True},
    "expver": {"type": "ExpverHandler", "default": "0001", "required": False},
    "date": {"type": "DateHandler", "canonical_format": "%Y%m%d", "required": True},
    "time": {"type": "TimeHandler", "required": True},
    "step": {"type": "IntHandler", "range": [0, 100_000], "required": True},
}
_PAYLOAD_BYTES: Final = 300
_TO_FILL: Final = "~"


def notification(*, payload_bytes: int = _PAYLOAD_BYTES, source: str | None = None) -> bytes:
    """Return a notification as a template: thousands of topics, a location of its own, and perhaps an id."""
    payload = {"location": "s3://archive/{n}", "size": 4711, "note": _TO_FILL}
    filler = "x" * (payload_bytes - rendered(_compact(payload)) + len(_TO_FILL))
    identifier = {
        "class": "od",
        "destination": "dest{n:2}",
        "stream": "oper",
        "expver": "1",
        "date": "20250706",
        "time": "1200",
        "step": "1{n:4}",
    }
    record: dict[str, Any] = {"event_type": EVENT_TYPE, "identifier": identifier, "payload": payload}
    if source is not None:
        record["id"] = f"{source}-{{n}}"
    return _compact(record).replace(_TO_FILL.encode(), filler.encode())


def _compact(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def batch(*, source: str, records: int, payload_bytes: int = _PAYLOAD_BYTES) -> bytes:
    """Return a batch as a template, with an id in every record."""
    return (notification(payload_bytes=payload_bytes, source=source) + b"\n") * records


def largest_batch() -> bytes:
    """Return as many records as a batch may have, filled up to the bytes that it may have."""
    source = "largest"
    least = rendered(batch(source=source, records=1))
    payload_bytes = _PAYLOAD_BYTES + LARGEST_BYTES // LARGEST_RECORDS - least
    made = batch(source=source, records=LARGEST_RECORDS, payload_bytes=payload_bytes)
    assert LARGEST_BYTES - LARGEST_RECORDS < rendered(made) <= LARGEST_BYTES
    return made


SINGLE: Final = Work(
    path="/api/v1/notification",
    headers={"Content-Type": "application/json"},
    body=notification(),
    connections=CONNECTIONS,
    seconds=SECONDS,
    warm_up_seconds=WARM_UP_SECONDS,
    expected='"status":"success"',
)
BATCH: Final = Work(
    path="/api/v1/notifications",
    headers={"Content-Type": "application/x-ndjson"},
    body=batch(source="batch", records=BATCH_RECORDS),
    connections=BATCH_CONNECTIONS,
    seconds=SECONDS,
    warm_up_seconds=WARM_UP_SECONDS,
    expected=f'"accepted":{BATCH_RECORDS}',
)


def largest() -> Work:
    """Return one of the largest batches for each of many connections, all at once."""
    return Work(
        path=BATCH.path,
        headers=BATCH.headers,
        body=largest_batch(),
        connections=LARGEST_CONNECTIONS,
        count=LARGEST_CONNECTIONS,
        limit_seconds=LARGEST_LIMIT_SECONDS,
        expected=f'"accepted":{LARGEST_RECORDS}',
        # A service that bounds its memory may ask to come again; in the end it must take all of them.
        retries=True,
    )


# --- services --------------------------------------------------------------------------------------------


def configuration(*, broker_url: str | None, level: str) -> dict[str, Any]:
    """Return the settings of a service, as the reference writes them: on a broker, or in memory."""
    schema: dict[str, Any] = {
        "topic": {"base": EVENT_TYPE, "key_order": list(IDENTIFIER_FIELDS)},
        "identifier": IDENTIFIER_FIELDS,
        "payload": {"required": True},
    }
    backend: dict[str, Any] = {"kind": "in_memory"}
    if broker_url is not None:
        backend = {"kind": "jetstream", "jetstream": {"nats_url": broker_url, "storage_type": "file"}}
        # All records stay, as far as the disk of whoever runs this allows.
        schema["storage_policy"] = {"allow_duplicates": True, "max_size": "256Mi"}
    return {
        "application": {"host": "127.0.0.1", "port": 0},
        "logging": {"level": level, "format": "json"},
        "notification_backend": backend,
        "notification_schema": {EVENT_TYPE: schema},
    }


def _configuration_file(folder: Path, *, broker_url: str | None, level: str) -> Path:
    """Write the settings; JSON is YAML."""
    file = folder / f"{'memory' if broker_url is None else 'jetstream'}-{level}.yaml"
    file.write_text(json.dumps(configuration(broker_url=broker_url, level=level)), encoding="utf-8")
    return file


def avisod(
    folder: Path, *, broker_url: str | None = None, level: str = "warn"
) -> AbstractContextManager[Service]:
    """Run our service while a block does."""
    file = _configuration_file(folder, broker_url=broker_url, level=level)
    program = Path(sysconfig.get_path("scripts")) / "avisod"
    return serving([str(program), "serve", "--config", str(file), "--port", "{port}"], folder=folder)


def reference(
    program: str, folder: Path, *, broker_url: str | None = None
) -> AbstractContextManager[Service]:
    """Run the reference while a block does."""
    file = _configuration_file(folder, broker_url=broker_url, level="warn")
    environment = {"AVISOSERVER_CONFIG_FILE": str(file), "AVISOSERVER_APPLICATION__PORT": "{port}"}
    return serving([program], folder=folder, environment=environment)


def floor(folder: Path) -> AbstractContextManager[Service]:
    """Run the floor while a block does."""
    return serving(uvicorn("floor:application", folder=Path(__file__).parent / "load"), folder=folder)


# --- measuring -------------------------------------------------------------------------------------------


class Rate(NamedTuple):
    """How one service did one work."""

    records: int
    service_seconds: float
    broker_seconds: float
    report: Report

    @property
    def by_cpu(self) -> float:
        """Thousands of records in a second of the service's CPU."""
        return self.records / self.service_seconds / 1000

    def row(self, what: str, floor: Rate) -> Sequence[object]:
        """Return the line of the table."""
        broker = self.broker_seconds / self.records * 1e6
        return (
            what,
            self.by_cpu,
            self.records / self.report.seconds / 1000,
            self.service_seconds / self.records * 1e6,
            floor.by_cpu / self.by_cpu,
            broker if broker else "-",
            self.report.latency_ms.p50,
            self.report.latency_ms.p99,
        )


_HEAD: Final = ("what", "k/s CPU", "k/s clock", "µs CPU", "× floor", "µs broker", "p50 ms", "p99 ms")


def rate(work: Work, service: Service, *, records_each: int = 1, broker: ProcessTree | None = None) -> Rate:
    """Return how fast a service does the work; every request must be answered as expected."""

    def cpu_seconds() -> tuple[float, float]:
        return service.tree.cpu_seconds(), broker.cpu_seconds() if broker else 0.0

    with posting(work, port=service.port) as run:
        run.wait_measuring()
        service_before, broker_before = cpu_seconds()
        report = run.wait_report()
        service_after, broker_after = cpu_seconds()
    report.require_all_right()
    return Rate(
        report.requests * records_each, service_after - service_before, broker_after - broker_before, report
    )


class Largest(NamedTuple):
    """What the largest batches at once did to a service."""

    report: Report
    peak_bytes: int
    idle_bytes: int


def post_largest(service: Service) -> Largest:
    """Post one of the largest batches on each of many connections; answers are counted, not required."""
    idle_bytes = service.tree.resident_bytes()
    with posting(largest(), port=service.port) as run:
        run.wait_measuring()
        report = run.wait_report()
    return Largest(report, service.tree.peak_resident_bytes(), idle_bytes)


def seconds_until_ready(folder: Path) -> float:
    """Return the best of several starts: the first may still compile, and what else goes on only makes one longer."""
    starts = []
    for _ in range(STARTS):
        with avisod(folder) as service:
            starts.append(service.seconds_until_ready)
    return min(starts)


def reference_rows(program: str, folder: Path, floor: Rate) -> list[Sequence[object]]:
    """Measure the reference too, with a broker of its own: streams of one server are not those of the other."""
    with reference(program, folder) as service:
        memory = rate(SINGLE, service)
    with running_server(folder / "broker-of-the-reference") as server:
        broker = ProcessTree(server.process_id)
        with reference(program, folder, broker_url=server.url) as service:
            jetstream = rate(SINGLE, service, broker=broker)
    return [
        memory.row("reference: single, memory", floor),
        jetstream.row("reference: single, JetStream", floor),
    ]


def measure(folder: Path) -> list[Bar]:
    """Run all of it and return the bars."""
    rows: list[Sequence[object]] = []
    program = os.environ.get("AVISO_REFERENCE")

    with floor(folder) as service:
        single_floor = rate(SINGLE, service)
        batch_floor = rate(replace(BATCH, expected=None), service, records_each=BATCH_RECORDS)
    rows.append(single_floor.row("floor: single", single_floor))

    ready = seconds_until_ready(folder)
    with avisod(folder) as service:
        memory = rate(SINGLE, service)
    rows.append(memory.row("single, memory", single_floor))
    with avisod(folder, level="info") as service:
        rows.append(rate(SINGLE, service).row("the same, each one logged", single_floor))

    with running_server(folder / "broker") as server:
        broker = ProcessTree(server.process_id)
        with avisod(folder, broker_url=server.url) as service:
            jetstream = rate(SINGLE, service, broker=broker)
            batches = rate(BATCH, service, records_each=BATCH_RECORDS, broker=broker)
        with avisod(folder, broker_url=server.url) as service:
            held = post_largest(service)
    rows.append(jetstream.row("single, JetStream", single_floor))
    if program:
        rows += reference_rows(program, folder, single_floor)
    rows.append(batch_floor.row("floor: records of a batch", batch_floor))
    rows.append(batches.row("records of a batch, with ids, JetStream", batch_floor))

    print_table("Thousands of notifications a second", _HEAD, rows)
    if not program:
        print("\n  the reference was skipped: AVISO_REFERENCE does not name its program")
    _print_largest(held)
    return [
        Bar("single, memory, 64 connections", memory.by_cpu, "≥", 12, "k/s"),
        Bar("single, JetStream file", jetstream.by_cpu, "≥", 12, "k/s"),
        Bar("batch of 1000 with ids, JetStream file", batches.by_cpu, "≥", 35, "k records/s"),
        Bar("memory, 200 × the largest batch", held.peak_bytes / 1e6, "≤", 400, "MB"),
        Bar("of these answered rightly", held.report.right, "≥", LARGEST_CONNECTIONS, "requests"),
        Bar("start until /ready", ready, "≤", 1.5, "s"),
    ]


def _print_largest(held: Largest) -> None:
    report = held.report
    print_table(
        f"{LARGEST_CONNECTIONS} connections, each with one batch of {LARGEST_RECORDS} records in 8 MiB",
        ("MB idle", "MB at most", "right", "wrong", "lost", "told to come again", "s", "p50 s", "p99 s"),
        [
            (
                held.idle_bytes / 1e6,
                held.peak_bytes / 1e6,
                report.right,
                report.unexpected,
                report.errors + report.unanswered,
                report.retried,
                report.seconds,
                report.latency_ms.p50 / 1000,
                report.latency_ms.p99 / 1000,
            )
        ],
    )
    if report.faults:
        print(report.faults)


def main() -> None:
    """Print the bars of ingest, or why this machine cannot measure them."""
    run(__doc__, in_a_folder(measure), needs=generator)


if __name__ == "__main__":
    main()
