"""Latency: seconds from when data was produced to when its event was stored, as quantiles by event type and hour.

Quantiles come from KLL sketches. The sketch of an hour is kept beside its numbers, so that hours of many reports can be
merged into days or months later without reading an event again. Percentiles cannot be averaged; sketches can be merged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as sql

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

QUANTILES: Final = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


def by_hour(events: DataFrame, produced: Column) -> DataFrame:
    """Return the latencies of each event type and hour (UTC) of storage.

    `unknown` counts events without an instant of production, `early` those that were stored before it.
    """
    seconds = (sql.unix_micros("time") - sql.unix_micros(produced)) / 1_000_000
    announced = events.where("operation IS NULL").select(
        "event_type", sql.date_trunc("hour", "time").alias("hour"), seconds.alias("seconds")
    )
    counted = announced.groupBy("event_type", "hour").agg(
        sql.count("*").alias("events"),
        sql.count_if(sql.col("seconds").isNull()).alias("unknown"),
        sql.count_if(sql.col("seconds") < 0).alias("early"),
        sql.max("seconds").alias("longest"),
        sql.kll_sketch_agg_double("seconds").alias("sketch"),
    )
    return _with_quantiles(counted)


def merged(hours: DataFrame, *by: Column | str) -> DataFrame:
    """Return hours merged into something longer: of one event type, of one hour of every day."""
    counted = hours.groupBy(*by).agg(
        *[sql.sum(name).alias(name) for name in ("events", "unknown", "early")],
        sql.max("longest").alias("longest"),
        sql.kll_merge_agg_double("sketch").alias("sketch"),
    )
    return _with_quantiles(counted)


def _with_quantiles(counted: DataFrame) -> DataFrame:
    known = sql.col("events") > sql.col("unknown")
    found = {
        name: sql.when(known, sql.kll_sketch_get_quantile_double("sketch", sql.lit(rank)))
        for name, rank in QUANTILES.items()
    }
    return counted.withColumns(found)
