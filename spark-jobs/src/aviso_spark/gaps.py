"""Sequences that nobody has: the runs of numbers between those that are there.

Neighbours are looked for within blocks of sequences, and then between the blocks, so that no task has to see a whole
log. Days would not do as blocks: around midnight, clocks that are set put neighbours on either side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as sql

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

LOG: Final = ("event_type", "epoch")
_BLOCK: Final = 1_000_000


def gaps(events: DataFrame) -> DataFrame:
    """Return event_type, epoch, first, last and missing of every run of sequences between those of the events."""
    block = sql.expr(f"sequence div {_BLOCK}").alias("block")
    numbered = events.select(*LOG, "sequence", block)
    within = numbered.select(*LOG, "sequence", _before("sequence", "sequence", *LOG, "block"))
    ends = numbered.groupBy(*LOG, "block").agg(
        sql.min("sequence").alias("sequence"), sql.max("sequence").alias("highest")
    )
    between = ends.select(*LOG, "sequence", _before("highest", "sequence", *LOG))
    first, last = (sql.col("before") + 1).alias("first"), (sql.col("sequence") - 1).alias("last")
    found = within.union(between).where(sql.col("sequence") - sql.col("before") > 1)
    return found.select(*LOG, first, last, (sql.col("sequence") - sql.col("before") - 1).alias("missing"))


def runs(events: DataFrame) -> DataFrame:
    """Return event_type, epoch, first, last and events of every run of sequences that follow each other."""
    order = Window.partitionBy(*LOG).orderBy("sequence")
    numbered = events.select(
        *LOG, "sequence", (sql.col("sequence") - sql.row_number().over(order)).alias("run")
    )
    ends = (sql.min("sequence").alias("first"), sql.max("sequence").alias("last"))
    return numbered.groupBy(*LOG, "run").agg(*ends, sql.count("*").alias("events")).drop("run")


def _before(column: str, order: str, *parts: str) -> Column:
    return sql.lag(column).over(Window.partitionBy(*parts).orderBy(order)).alias("before")
