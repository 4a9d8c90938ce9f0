"""The audit of an archive: every sequence of a log accounted for, and a reason where there is no event.

Between the first and the last sequence that anybody knows of, a sequence is in the archive, or in the log alone, or in
neither. In neither it may be for two reasons, which the parts that runs have read tell apart: a run has read that part
and the log had no such event any more (it was replaced, or removed on purpose), or no run had come by before retention
removed it. Only what the log still has can be mended.
"""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
from pyspark.sql import functions as sql

from aviso_spark.archive_runs import covered, read_runs
from aviso_spark.archived import of_span, read_archive
from aviso_spark.common.report import Finding
from aviso_spark.gaps import gaps, runs
from aviso_spark.log_reading import read_sequences

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import Column, DataFrame, Row, SparkSession

    from aviso_spark.archive_runs import Run
    from aviso_spark.common.service import ServiceAddress
    from aviso_spark.spans import Span

MOST_RANGES: Final = 10


class Audit(NamedTuple):
    """What an audit has found: what can be mended, the numbers, and in words how to mend it and what is gone."""

    findings: tuple[Finding, ...]
    counts: dict[str, int]
    notes: tuple[str, ...]


def audit(session: SparkSession, service: ServiceAddress, folder: str, logs: Sequence[Span]) -> Audit:
    """Compare an archive with what logs hold."""
    kept, read = read_archive(session, folder), read_runs(session, folder)
    judged = [] if kept is None else [_judged(session, service, kept, log, read) for log in logs]
    return Audit(
        tuple(finding for one in judged for finding in _findings(one)),
        {
            "removed before a run came by": sum(one.removed for one in judged),
            "replaced or removed in the log itself": sum(one.not_in_log for one in judged),
        },
        tuple(note for one in judged for note in _notes(one, folder)),
    )


def _judged(
    session: SparkSession, service: ServiceAddress, kept: DataFrame, log: Span, read: Sequence[Run]
) -> Judged:
    parts = covered(read, log)
    known = msgspec.structs.replace(
        log,
        first=min([log.first, *(first for first, _ in parts)]),
        last=max([log.last, *(last for _, last in parts)]),
    )
    return judge(kept, read_sequences(session, service, log), log=log, known=known, read=parts)


def _findings(judged: Judged) -> Iterator[Finding]:
    if judged.missing:
        ranges = told(judged.missing_ranges, judged.missing_range_count)
        what = f"{judged.event_type}: in the log and not in the archive, sequences {ranges}"
        yield Finding(count=judged.missing, what=what)
    if judged.repeated:
        yield Finding(count=judged.repeated, what=f"{judged.event_type}: more than once in the archive")


def _notes(judged: Judged, folder: str) -> Iterator[str]:
    name = judged.event_type
    if judged.missing:
        first, last = judged.missing_ranges[0][0], judged.missing_ranges[-1][1]
        fill = f"--event-types {name} --from-sequence {first} --to-sequence {last}"
        yield f"  to add them: aviso-spark archive {folder} {fill}"
    if judged.removed:
        ranges = told(judged.removed_ranges, judged.removed_range_count)
        yield f"  {name}: removed by retention before a run came by: {judged.removed:,}, sequences {ranges}"


def told(ranges: Sequence[tuple[int, int]], count: int) -> str:
    """Return the first ranges of so many as words."""
    texts = [f"{first}" if first == last else f"{first} to {last}" for first, last in ranges]
    more = f" and {count - len(texts)} more ranges" if count > len(texts) else ""
    return ", ".join(texts) + more


class Judged(NamedTuple):
    """What a comparison of archive and log has shown of one event type."""

    event_type: str
    # In the log and not in the archive: how many, in which ranges, and in how many of them.
    missing: int
    missing_ranges: tuple[tuple[int, int], ...]
    missing_range_count: int
    # Several times in the archive.
    repeated: int
    # In neither, and removed before a run came by.
    removed: int
    removed_ranges: tuple[tuple[int, int], ...]
    removed_range_count: int
    # In neither, and not in the log either when it was read.
    not_in_log: int


def judge(
    kept: DataFrame, sequences: DataFrame, *, log: Span, known: Span, read: Sequence[tuple[int, int]]
) -> Judged:
    """Compare what the archive has of one life of a log with what the log holds of it now.

    `log` is what is held now, `known` reaches back to what runs have read; `read` is which of it they have read.
    """
    archive = of_span(kept, known)
    missing = runs(_missing(archive, sequences, log))
    holes = _holes(archive, sequences, known)
    unread = sql.col("missing") - _overlap(read, first=sql.col("first"), last=sql.col("last"))
    # What was stored since the last run is held, or was replaced meanwhile; retention removes from the front.
    removed = sql.when(sql.col("last") < log.first, unread).otherwise(sql.lit(0))
    counted = holes.withColumn("removed", removed)
    total = _only(counted.agg(_sum("removed"), _sum("missing")))
    lost = counted.where("removed > 0")
    return Judged(
        event_type=log.event_type,
        missing=_only(missing.agg(_sum("events")))["events"],
        missing_ranges=_ranges(missing),
        missing_range_count=missing.count(),
        repeated=archive.groupBy("sequence").count().where("count > 1").count(),
        removed=total["removed"],
        removed_ranges=_ranges(lost),
        removed_range_count=lost.count(),
        not_in_log=total["missing"] - total["removed"],
    )


def _missing(archive: DataFrame, sequences: DataFrame, log: Span) -> DataFrame:
    held = _placed(sequences, log)
    return held.join(archive.select("sequence"), "sequence", "left_anti")


def _holes(archive: DataFrame, sequences: DataFrame, known: Span) -> DataFrame:
    # Both ends are known of although they may hold nothing: the sequence before the first, and the one behind the last.
    ends = archive.sparkSession.createDataFrame([(known.first - 1,), (known.last + 1,)], "sequence bigint")
    everything = archive.select("sequence").union(sequences.select("sequence")).union(ends).distinct()
    return gaps(_placed(everything, known))


def _placed(sequences: DataFrame, span: Span) -> DataFrame:
    place = (sql.lit(span.event_type).alias("event_type"), sql.lit(span.epoch).alias("epoch"))
    return sequences.select(*place, sql.col("sequence"))


def _overlap(read: Sequence[tuple[int, int]], *, first: Column, last: Column) -> Column:
    """Return how many of the sequences from first to last were read; few ranges remain when they are merged."""
    parts = [
        sql.greatest(sql.lit(0), sql.least(last, sql.lit(end)) - sql.greatest(first, sql.lit(begin)) + 1)
        for begin, end in read
    ]
    return reduce(add, parts, sql.lit(0))


def _ranges(rows: DataFrame) -> tuple[tuple[int, int], ...]:
    return tuple((row["first"], row["last"]) for row in rows.orderBy("first").limit(MOST_RANGES).collect())


def _sum(name: str) -> Column:
    return sql.coalesce(sql.sum(name), sql.lit(0)).alias(name)


def _only(rows: DataFrame) -> Row:
    row = rows.first()
    assert row is not None, "an aggregate has one row"
    return row
