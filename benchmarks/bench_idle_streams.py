"""Streams on which nothing happens, on a gateway that runs as its own process: opening them, memory, heartbeats.

Readers are a program in C (`load/streams.c`). Memory is what the kernel says is resident, beside what it was when some
streams had been opened and had ended. With `--long` as many streams as one process should hold are kept ten minutes.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from load.posting import generator
from load.watching import Watch, watching
from measure import Bar, print_table
from program import run, temporary_folder
from serving import free_port
from streaming import JSON, WATCH, allow_descriptors, everything, gateway, own_filter, settings, wait_open

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from load.watching import Arrived

MANY_STREAMS: Final = 10_000
MOST_STREAMS: Final = 15_000
FIRST_STREAMS: Final = 200
HEARTBEAT_SECONDS: Final = 5
HOLD_SECONDS: Final = 12.0
LONG_SECONDS: Final = 600.0


def _watch(streams: int, body: bytes) -> Watch:
    return Watch(path=WATCH, body=body, streams=streams, headers=JSON)


class Idle(NamedTuple):
    """What streams cost on which nothing happens."""

    streams: int
    opened: Arrived
    opening_cpu_seconds: float
    held: Arrived
    holding_cpu_seconds: float
    bytes_before: int
    bytes_held: int
    bytes_left: int

    @property
    def bytes_each(self) -> float:
        """Resident memory of a stream."""
        return (self.bytes_held - self.bytes_before) / self.streams

    @property
    def opened_by_cpu(self) -> float:
        """Streams opened in a second of CPU."""
        return self.streams / self.opening_cpu_seconds

    def row(self, what: str) -> Sequence[object]:
        """Return the line of the table."""
        return (
            f"{self.streams} {what}",
            self.opened_by_cpu,
            self.streams / self.opened.active_seconds,
            self.opened.latency_ms.p99,
            self.bytes_each,
            self.bytes_held / 1e6,
            self.bytes_left / 1e6,
            self.held.heartbeats / self.streams,
            self.holding_cpu_seconds / self.held.seconds * 100,
        )


_IDLE_HEAD: Final = (
    *("streams", "opened/s CPU", "opened/s clock", "p99 ms", "bytes each", "MB", "MB behind", "heartbeats"),
    "% of a core",
)


def idle(folder: Path, streams: int, seconds: float, *, body: bytes) -> Idle:
    """Open streams on a gateway, hold them, and let them go."""
    watch_endpoint = {"sse_heartbeat_interval_sec": HEARTBEAT_SECONDS}
    metrics = {"enabled": True, "port": free_port()}
    with gateway(folder, settings(watch_endpoint=watch_endpoint, metrics=metrics)) as service:
        # What the first streams bring about once is not what a stream costs.
        with watching(_watch(FIRST_STREAMS, body), port=service.port) as run:
            run.wait_opened()
        before, cpu_before = service.tree.resident_bytes(), service.tree.cpu_seconds()
        with watching(_watch(streams, body), port=service.port) as run:
            opened = run.wait_opened()
            opened.require_complete()
            cpu_opened = service.tree.cpu_seconds()
            held = run.hold(seconds)
            held.require_complete()
            cpu_held, bytes_held = service.tree.cpu_seconds(), service.tree.resident_bytes()
        wait_open(metrics["port"], 0)
        return Idle(
            streams,
            opened,
            cpu_opened - cpu_before,
            held,
            cpu_held - cpu_opened,
            before,
            bytes_held,
            service.tree.resident_bytes(),
        )


def measure(folder: Path, long: float) -> list[Bar]:
    """Run all of it and return the bars."""
    many = idle(folder, MANY_STREAMS, HOLD_SECONDS, body=own_filter())
    most = idle(folder, MOST_STREAMS, long, body=everything())
    print_table(
        "Streams on which nothing happens",
        _IDLE_HEAD,
        [many.row("with filters of their own"), most.row("with equal filters")],
    )
    return [
        Bar("idle stream, 10 000", many.bytes_each, "≤", 4096, "bytes"),
        Bar("15 000 idle streams with equal filters", most.bytes_held / 1e6, "≤", 120, "MB"),
        Bar("opening 10 000 streams", many.opened_by_cpu, "≥", 2000, "/s CPU"),
    ]


def _needs() -> None:
    generator("streams")
    allow_descriptors(MOST_STREAMS)


def main() -> None:
    """Print the bars of idle streams, or why this machine cannot measure them."""

    def work(arguments: Namespace) -> list[Bar]:
        with temporary_folder() as folder:
            return measure(Path(folder), LONG_SECONDS if arguments.long else HOLD_SECONDS)

    flags = {"--long": f"keep 15 000 streams for {LONG_SECONDS / 60:.0f} minutes"}
    run(__doc__, work, needs=_needs, flags=flags)


if __name__ == "__main__":
    main()
