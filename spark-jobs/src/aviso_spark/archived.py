"""The archive: events as rows of Parquet, by event type and day.

An event's place is the life of its log (`epoch`) and its sequence; what is compared is compared by these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pyspark.errors import AnalysisException
from pyspark.sql import functions as sql

from aviso_spark.common.progress import told_progress
from aviso_spark.extents import EXTENT_COLUMNS, extent_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from aviso_spark.spans import Span

_PLACE = ("event_type", "epoch", "sequence")


class Judged(NamedTuple):
    """What a comparison of archive and log has shown of one event type."""

    missing: int
    first_missing: int | None
    repeated: int
    holes: int


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
        # An event type may look like a number or a date; it is a name.
        return session.read.option("mergeSchema", "false").schema(_DDL).parquet(folder)
    except AnalysisException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            return None
        raise


_DDL = (
    "epoch string, sequence bigint, time timestamp, id string, identifier map<string,string>, geometry binary, "
    "payload string, operation string, west double, south double, east double, north double, h3 string, "
    "event_type string, day date"
)


def last_sequences(kept: DataFrame) -> dict[tuple[str, str], int]:
    """Return the last sequence of each life of each log."""
    rows = kept.groupBy("event_type", "epoch").agg(sql.max("sequence").alias("last")).collect()
    return {(row["event_type"], row["epoch"]): row["last"] for row in rows}


def not_yet_in(rows: DataFrame, kept: DataFrame) -> DataFrame:
    """Return the rows whose place in the archive is empty."""
    return rows.join(kept.select(*_PLACE), [*_PLACE], "left_anti")


def append(session: SparkSession, job: str, rows: DataFrame, folder: str) -> dict[str, int]:
    """Add rows to the archive, few files for each day; return how many there were of each event type."""
    from pyspark.sql import Observation

    observed = Observation()
    counted = rows.observe(observed, sql.count("*").alias("events"))
    ordered = counted.hint("rebalance", "event_type", "day").sortWithinPartitions(
        "event_type", "day", "sequence"
    )
    with told_progress(session, job):
        ordered.write.mode("append").partitionBy("event_type", "day").parquet(folder)
    return {"events": observed.get["events"]}


def compare(kept: DataFrame, sequences: DataFrame, span: Span) -> Judged:
    """Compare what the archive has of a part of a log with the sequences that are in it."""
    place = (sql.col("event_type") == span.event_type) & (sql.col("epoch") == span.epoch)
    within = kept.where(place & sql.col("sequence").between(span.first, span.last))
    archive = within.groupBy("sequence").agg(sql.count("*").alias("copies"))
    both = archive.join(sequences.select("sequence", sql.lit(1).alias("held")), "sequence", "full_outer")
    missing = sql.col("copies").isNull()
    row = both.agg(
        sql.count_if(missing).alias("missing"),
        sql.min(sql.when(missing, sql.col("sequence"))).alias("first_missing"),
        sql.count_if(sql.col("copies") > 1).alias("repeated"),
        sql.count("*").alias("known"),
    ).first()
    assert row is not None, "an aggregate has one row"
    width = span.last - span.first + 1
    return Judged(row["missing"], row["first_missing"], row["repeated"], width - row["known"])
