"""Which parts of which logs an archive was read from: a line for each, in a folder of the archive that tables skip.

The last sequence of a run that was to catch up is where the next one begins. What was filled in by range does not move
that, and a line is written only when its events are there: who breaks off between both reads some events again, which
are then found in the archive. So these lines save work and explain gaps; no event depends on them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
from pyspark.errors import AnalysisException

from aviso_spark.folders import literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import SparkSession

    from aviso_spark.spans import Span

RUNS: Final = "_runs"
_COLUMNS: Final = "event_type string, epoch string, first bigint, last bigint, is_range boolean, until string"


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a log that was read, first and last sequence included."""

    event_type: str
    epoch: str
    first: int
    last: int
    # Whether it was asked for by range, which says nothing about what is before it.
    is_range: bool = False
    # When the last event was stored that the log had then.
    until: str | None = None


def read_runs(session: SparkSession, folder: str) -> list[Run]:
    """Return what was read so far; nothing where nobody wrote that down."""
    try:
        rows = session.read.schema(_COLUMNS).json(literal(f"{folder}/{RUNS}")).collect()
    except AnalysisException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            return []
        raise
    return [Run(**row.asDict()) for row in rows]


def add_runs(session: SparkSession, folder: str, runs: Sequence[Run]) -> None:
    """Write down what was read, now that it is in the archive."""
    if runs:
        rows = [msgspec.structs.astuple(run) for run in runs]
        session.createDataFrame(rows, _COLUMNS).coalesce(1).write.mode("append").json(f"{folder}/{RUNS}")


def positions(runs: Iterable[Run]) -> dict[tuple[str, str], Run]:
    """Return how far each life of each log was caught up with: the run that came furthest."""
    furthest: dict[tuple[str, str], Run] = {}
    for run in runs:
        place = (run.event_type, run.epoch)
        if not run.is_range and (place not in furthest or run.last > furthest[place].last):
            furthest[place] = run
    return furthest


def covered(runs: Iterable[Run], span: Span) -> list[tuple[int, int]]:
    """Return which sequences of a life of a log were read, as ranges that have nothing in common."""
    ranges = sorted(
        (run.first, run.last) for run in runs if (run.event_type, run.epoch) == (span.event_type, span.epoch)
    )
    merged: list[tuple[int, int]] = []
    for first, last in ranges:
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return merged
