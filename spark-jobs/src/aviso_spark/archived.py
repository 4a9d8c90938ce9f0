"""The archive: events as rows of Parquet, by event type and day.

An event's place is the life of its log (`epoch`) and its sequence; what is compared is compared by these.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Final, NamedTuple

from pyspark.errors import AnalysisException
from pyspark.sql import Observation
from pyspark.sql import functions as sql

from aviso_spark.common.progress import told_progress
from aviso_spark.compaction import read_files
from aviso_spark.extents import EXTENT_COLUMNS, extent_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from pyspark.sql import Column, DataFrame, SparkSession

    from aviso_spark.spans import Span

# An event type may look like a number or a date; it is a name.
COLUMNS: Final = (
    "epoch string, sequence bigint, time timestamp, id string, identifier map<string,string>, geometry binary, "
    "payload string, operation string, west double, south double, east double, north double, h3 string, "
    "event_type string, day date"
)
_PLACE: Final = ("event_type", "epoch", "sequence")


class Added(NamedTuple):
    """How many events a run added, and how many of those that it read were there already."""

    events: int
    already_there: int


def as_kept(events: DataFrame, *, epoch: str) -> DataFrame:
    """Return events with the life of their log, the day of their storage, and where they lie."""
    placed = events.withColumn("extent", extent_of(sql.col("geometry")))
    return placed.select(
        "event_type",
        sql.lit(epoch).alias("epoch"),
        *["sequence", "time", "id", "identifier", "geometry", "payload", "operation"],
        *[sql.col(f"extent.{name}").alias(name) for name in EXTENT_COLUMNS],
        sql.to_date("time").alias("day"),
    )


def read_archive(session: SparkSession, folder: str) -> DataFrame | None:
    """Return the archive, or None where there is none yet."""
    try:
        return read_files(session, folder, COLUMNS)
    except AnalysisException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            return None
        raise


def last_sequences(kept: DataFrame) -> dict[tuple[str, str], int]:
    """Return the last sequence of each life of each log."""
    rows = kept.groupBy("event_type", "epoch").agg(sql.max("sequence").alias("last")).collect()
    return {(row["event_type"], row["epoch"]): row["last"] for row in rows}


def of_span(kept: DataFrame, span: Span) -> DataFrame:
    """Return what the archive has of a part of a log."""
    return kept.where(_within(span))


def _within(span: Span) -> Column:
    place = (sql.col("event_type") == span.event_type) & (sql.col("epoch") == span.epoch)
    return place & sql.col("sequence").between(span.first, span.last)


def not_yet_in(rows: DataFrame, kept: DataFrame, spans: Sequence[Span], since: date | None) -> DataFrame:
    """Return the rows whose place in the archive is empty.

    Of the archive only these parts are looked at, and only days since that date, where one is known: a run that catches
    up must not open every file there is.
    """
    there = kept.where(reduce(lambda left, right: left | right, [_within(span) for span in spans]))
    if since is not None:
        there = there.where(sql.col("day") >= sql.lit(since))
    return rows.join(there.select(*_PLACE), [*_PLACE], "left_anti")


def append(
    session: SparkSession,
    job: str,
    rows: DataFrame,
    folder: str,
    *,
    kept: DataFrame | None,
    spans: Sequence[Span],
    since: date | None,
) -> Added:
    """Add the rows that the archive does not have, few files for each day."""
    read, added = Observation(), Observation()
    new = rows.observe(read, sql.count("*").alias("events"))
    if kept is not None:
        new = not_yet_in(new, kept, spans, since)
    counted = new.observe(added, sql.count("*").alias("events"))
    ordered = counted.hint("rebalance", "event_type", "day").sortWithinPartitions(
        "event_type", "day", "sequence"
    )
    with told_progress(session, job):
        ordered.write.mode("append").partitionBy("event_type", "day").parquet(folder)
    events = added.get.get("events", 0)
    return Added(events, read.get.get("events", 0) - events)
