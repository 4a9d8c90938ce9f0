"""What the page shows: values of a bounded number, taken from tables of any size.

A list that was cut knows how long it was, so that the page can say what it leaves out and where the rest is.
"""

from __future__ import annotations

from datetime import datetime
from typing import Generic, TypeVar

import msgspec

from aviso_spark.analytics.heat_map import Square
from aviso_spark.analytics.latency_plot import Point

T_co = TypeVar("T_co", covariant=True)


class Cut(msgspec.Struct, Generic[T_co], frozen=True, kw_only=True):
    """The first of many rows."""

    rows: tuple[T_co, ...] = ()
    total: int = 0

    @property
    def left_out(self) -> int:
        """How many rows there are besides."""
        return self.total - len(self.rows)


class Volume(msgspec.Struct, frozen=True, kw_only=True):
    """The events of one event type."""

    event_type: str
    events: int
    retractions: int
    first: datetime | None
    last: datetime | None


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """An expected combination that is missing or late."""

    what: str
    status: str
    due: datetime | None
    first_seen: datetime | None


class Coverage(msgspec.Struct, frozen=True, kw_only=True):
    """What became of what was expected."""

    expected: int
    seen: int
    late: int
    missing: int
    not_due: int
    squares: tuple[Square, ...]
    rows: Cut[str]
    days: Cut[str]
    worst: Cut[Cell]

    @property
    def share(self) -> float | None:
        """Of what was due, the share that was announced."""
        due = self.expected - self.not_due
        return (self.seen + self.late) / due if due else None


class Latency(msgspec.Struct, frozen=True, kw_only=True):
    """Latencies of one event type."""

    event_type: str
    events: int
    unknown: int
    early: int
    p50: float | None
    p95: float | None
    p99: float | None
    longest: float | None
    # By hour, or by day where there are many hours.
    points: tuple[Point, ...] = ()
    is_by_day: bool = False


class Gap(msgspec.Struct, frozen=True, kw_only=True):
    """Sequences that are not there."""

    event_type: str
    epoch: str
    first: int
    last: int
    missing: int


class Repeat(msgspec.Struct, frozen=True, kw_only=True):
    """What is there several times."""

    kind: str
    event_type: str
    what: str
    copies: int
    first_sequence: int
    last_sequence: int
    first_time: datetime
    last_time: datetime


class RepeatsOfKind(msgspec.Struct, frozen=True, kw_only=True):
    """All of one kind: how many things, how many announcements more than one of each, and the most frequent."""

    kind: str
    more: int
    shown: Cut[Repeat]


class Results(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the page shows."""

    source: str
    part: str
    made: datetime
    volumes: Cut[Volume]
    events: int
    coverage: Coverage | None = None
    latencies: Cut[Latency] | None = None
    gaps: Cut[Gap]
    missing_sequences: int
    repeats: tuple[RepeatsOfKind, ...]
    cells: dict[str, int] = {}
    resolution: int = 0
    tables: str = ""
