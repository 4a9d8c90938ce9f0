"""Streams of what happens now, from a service that runs as its own process: what a delivery costs.

Readers are a program in C (`load/streams.c`), which also announces. The floor is measured in the same run: one bare
`send()` of the same bytes to each of as many sockets, from Python (`load/bare_send.py`). Every delivery is looked for:
a hole, a repetition or a lost stream fails the run. CPU is that of the service alone.
"""

from __future__ import annotations

import json
import statistics
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec.structs import replace

from load.posting import generator
from load.watching import Announcing, Arrived, Watch, watching
from measure import Bar, print_table
from program import in_a_folder, run
from serving import free_port
from streaming import (
    DESTINATIONS,
    JSON,
    NOTIFICATION,
    WATCH,
    allow_descriptors,
    announcement,
    avisod,
    bare_send,
    everything,
    gateway,
    get,
    own_filter,
    settings,
    wait_open,
)
from support.nats import running_server

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from load.watching import Watching
    from serving import Service

ROUNDS: Final = 3
SECONDS: Final = 5.0
WARM_UP_SECONDS: Final = 1.0
# Makes a frame of about 560 bytes.
PAYLOAD_BYTES: Final = 120

MANY_STREAMS: Final = 10_000
MATCHING_STREAMS: Final = MANY_STREAMS // DESTINATIONS
MATCHING_RATE: Final = 500

# Deliveries are measured, and nothing else.
RARELY_SECONDS: Final = 3600

STALLED: Final = 5
STALLED_PAYLOAD_BYTES: Final = 2000
STALLED_LIMIT_BYTES: Final = 262_144
SEND_BUFFER_BYTES: Final = 131_072
RECEIVE_BUFFER_BYTES: Final = 32_768


class Delivered(NamedTuple):
    """What a service needed for what it delivered."""

    arrived: Arrived
    cpu_seconds: float
    events: int

    @property
    def us_each(self) -> float:
        """CPU of a delivery."""
        return self.cpu_seconds / self.arrived.deliveries * 1e6

    @property
    def us_event(self) -> float:
        """CPU of an event with its deliveries."""
        return self.cpu_seconds / self.events * 1e6

    @property
    def p99_ms(self) -> float:
        """How late the latest hundredth was."""
        return self.arrived.latency_ms.p99

    @property
    def frame_bytes(self) -> int:
        """How long a delivery is; heartbeats are too few to matter."""
        return round(self.arrived.bytes / self.arrived.deliveries)


def _watch(streams: int, body: bytes | None = None, *, stride: int = 1, receive: int | None = None) -> Watch:
    return Watch(
        path=WATCH,
        body=body or everything(),
        streams=streams,
        headers=JSON,
        stride=stride,
        receive_buffer_bytes=receive,
    )


def _announcing(service: Service, *, payload_bytes: int = PAYLOAD_BYTES, connections: int = 1) -> Announcing:
    body = announcement(payload_bytes=payload_bytes)
    return Announcing(port=service.port, path=NOTIFICATION, body=body, connections=connections)


def deliver(
    run: Watching, service: Service, *, rate: float, each: int, seconds: float = SECONDS
) -> Delivered:
    """Announce so often a second, and return what the deliveries cost; all must arrive, once and in order."""
    run.announce(rate=rate, warm_up_seconds=WARM_UP_SECONDS, seconds=seconds, each=each)
    run.wait_measuring()
    before = service.tree.cpu_seconds()
    arrived = run.wait_announced()
    spent = service.tree.cpu_seconds() - before
    arrived.require_complete()
    return Delivered(arrived, spent, int(rate * seconds))


# --- fan-out ---------------------------------------------------------------------------------------------


class FanOut(NamedTuple):
    """A service beside the floor."""

    streams: int
    rate: float
    ours: Delivered
    floor: Delivered
    burst_ms: float

    @property
    def over_floor(self) -> float:
        """How many times the CPU of a bare `send()` a delivery costs."""
        return self.ours.us_each / self.floor.us_each

    @property
    def over_burst(self) -> float:
        """How many bursts of bare `send()` the latest hundredth waits."""
        return self.ours.p99_ms / self.burst_ms

    def row(self) -> Sequence[object]:
        """Return the line of the table."""
        latency = self.ours.arrived.latency_ms
        return (
            f"{self.streams} × {self.rate:g}/s",
            self.ours.us_each,
            self.floor.us_each,
            self.over_floor,
            latency.p50,
            latency.p99,
            self.floor.p99_ms,
            self.burst_ms,
            self.over_burst,
            self.ours.frame_bytes,
        )


_FAN_OUT_HEAD: Final = (
    *("streams", "µs CPU", "µs bare", "× bare", "p50 ms", "p99 ms", "p99 bare", "burst ms", "× burst"),
    "bytes",
)


def fan_out(folder: Path, streams: int, rate: float) -> FanOut:
    """Deliver everything to so many streams, and the same with nothing but `send()`, by turns."""
    with (
        avisod(folder, settings(watch_endpoint={"sse_heartbeat_interval_sec": RARELY_SECONDS})) as ours,
        _everything_watched(ours, streams) as watching_ours,
    ):
        frame_bytes = deliver(watching_ours, ours, rate=rate, each=streams, seconds=1).frame_bytes
        with (
            bare_send(folder, body_bytes=frame_bytes) as floor,
            _everything_watched(floor, streams) as watching_floor,
        ):
            pairs = [
                (
                    deliver(watching_ours, ours, rate=rate, each=streams),
                    deliver(watching_floor, floor, rate=rate, each=streams),
                )
                for _ in range(ROUNDS)
            ]
            bursts = json.loads(get(floor.port, "/bursts"))
    of_ours, of_floor = zip(*pairs, strict=True)
    return FanOut(streams, rate, _best(of_ours), _best(of_floor), statistics.median(bursts) * 1000)


@contextmanager
def _everything_watched(service: Service, streams: int) -> Iterator[Watching]:
    with watching(_watch(streams), port=service.port, announcing=_announcing(service)) as run:
        run.wait_opened()
        yield run


def _best(rounds: Sequence[Delivered]) -> Delivered:
    """Return the round that cost least: what else the machine does can only make one dearer, or later."""
    latency = min(rounds, key=lambda one: one.p99_ms).arrived.latency_ms
    cheapest = min(rounds, key=lambda one: one.us_each)
    return cheapest._replace(arrived=replace(cheapest.arrived, latency_ms=latency))


# --- many filters ----------------------------------------------------------------------------------------


def matching(folder: Path) -> Delivered:
    """Deliver to the few of many streams, each with a filter of its own, from a gateway on a log of the broker's."""
    with running_server(folder / "broker") as server:
        made = settings(broker_url=server.url)
        with avisod(folder, made) as ingest, gateway(folder, made) as service:
            watch = _watch(MANY_STREAMS, own_filter(), stride=DESTINATIONS)
            # Who waits for the same destination is far behind whoever is under way.
            announcing = _announcing(ingest, connections=8)
            with watching(watch, port=service.port, announcing=announcing) as run:
                run.wait_opened()
                rounds = [
                    deliver(run, service, rate=MATCHING_RATE, each=MATCHING_STREAMS) for _ in range(ROUNDS)
                ]
    return _best(rounds)


# --- readers that do not read ----------------------------------------------------------------------------


class Stalled(NamedTuple):
    """What readers that read nothing did to others, and cost."""

    without: Delivered
    beside: Delivered
    most_held: int
    frame_bytes: int

    @property
    def most_allowed(self) -> int:
        """What may be held for one: in the kernel and here, each of which looks for room before it takes a frame."""
        return SEND_BUFFER_BYTES + STALLED_LIMIT_BYTES + 2 * self.frame_bytes


def stalled(folder: Path) -> Stalled:
    """Deliver to a thousand streams, then to the same while some of them have stalled."""
    streams = {"max_waiting_bytes": STALLED_LIMIT_BYTES, "send_buffer_bytes": SEND_BUFFER_BYTES}
    metrics = {"enabled": True, "port": free_port()}
    others = 1000
    watch = _watch(others + STALLED, receive=RECEIVE_BUFFER_BYTES)
    with avisod(folder, settings(streams=streams, metrics=metrics)) as service:
        announcing = _announcing(service, payload_bytes=STALLED_PAYLOAD_BYTES)
        with watching(watch, port=service.port, announcing=announcing) as run:
            run.wait_opened()
            without = deliver(run, service, rate=20, each=others + STALLED)
            run.stall(STALLED)
            run.announce(rate=20, warm_up_seconds=0, seconds=20, each=others)
            run.wait_measuring()
            before = service.tree.cpu_seconds()
            wait_open(metrics["port"], others)
            run.resume()
            arrived = run.wait_announced()
            spent = service.tree.cpu_seconds() - before
            arrived.require_complete()
    assert arrived.resumed == STALLED, "a reader that had stalled was not told that its stream ended"
    return Stalled(without, Delivered(arrived, spent, 400), arrived.most_held, without.frame_bytes)


# --- all of it -------------------------------------------------------------------------------------------


def measure(folder: Path) -> list[Bar]:
    """Run all of it and return the bars."""
    crowds = [fan_out(folder, 2000, 10), fan_out(folder, 4000, 10), fan_out(folder, 1000, 40)]
    print_table("Everything to everybody", _FAN_OUT_HEAD, [crowd.row() for crowd in crowds])
    of_many = matching(folder)
    core = of_many.cpu_seconds / SECONDS * 100
    print_table(
        f"{MANY_STREAMS} streams with filters of their own, {MATCHING_STREAMS} of them match, JetStream",
        ("events/s", "µs CPU an event", "% of a core", "p50 ms", "p99 ms"),
        [(MATCHING_RATE, of_many.us_event, core, of_many.arrived.latency_ms.p50, of_many.p99_ms)],
    )
    beside = stalled(folder)
    print_table(
        f"{STALLED} stalled readers among 1000",
        ("p99 ms without", "p99 ms beside", "most bytes held for one", "allowed"),
        [(beside.without.p99_ms, beside.beside.p99_ms, beside.most_held, beside.most_allowed)],
    )
    two, four, quick = crowds
    return [
        Bar("2000 × 10/s, CPU of a delivery", two.over_floor, "≤", 1.4, "× bare send"),
        Bar("2000 × 10/s, p99", two.over_burst, "≤", 2.5, "× bare burst"),
        Bar("4000 × 10/s, CPU of a delivery", four.over_floor, "≤", 1.4, "× bare send"),
        Bar("4000 × 10/s, p99", four.over_burst, "≤", 2.5, "× bare burst"),
        Bar("1000 × 40/s, p99", quick.ours.p99_ms, "≤", 15, "ms"),
        Bar("10 000 filters, 10 match", of_many.us_event, "≤", 200, "µs CPU an event"),
        Bar("the same, 500 events/s", core, "≤", 25, "% of a core"),
        Bar("stalled reader, bytes held", beside.most_held, "≤", beside.most_allowed, "bytes"),
        Bar("p99 beside it", beside.beside.p99_ms / beside.without.p99_ms, "≤", 1.5, "× without"),
    ]


def _needs() -> None:
    generator("streams")
    allow_descriptors(MANY_STREAMS)


def main() -> None:
    """Print the bars of streams, or why this machine cannot measure them."""
    run(__doc__, in_a_folder(measure), needs=_needs)


if __name__ == "__main__":
    main()
