"""Tables of any size → the rows of them that a page has room for."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec
from pyspark.sql import functions as sql

from aviso_spark.analytics import coverage, latency
from aviso_spark.analytics.grid import label_fields
from aviso_spark.analytics.heat_map import Square
from aviso_spark.analytics.latency_plot import Point
from aviso_spark.analytics.repeats import KINDS
from aviso_spark.analytics.results import Cell, Coverage, Cut, Gap, Latency, Repeat, RepeatsOfKind, Volume

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, Row

MOST_ROWS: Final = 50
MOST_REPEATS: Final = 20
MOST_LABELS: Final = 40
MOST_DAYS: Final = 62
MOST_PLOTS: Final = 6
MOST_HOURS: Final = 24 * 14
MOST_POINTS: Final = 366
MOST_CELLS: Final = 2000
_ALL_DAYS: Final = "all days"

S = TypeVar("S", bound=msgspec.Struct)


def as_structs(rows: Sequence[Row], kind: type[S]) -> tuple[S, ...]:
    """Return rows as values, by the names of their columns."""
    names = [field.name for field in msgspec.structs.fields(kind)]
    return tuple(kind(**{name: _in_utc(row[name]) for name in names if name in row}) for row in rows)


def _in_utc(value: Any) -> Any:
    """Return an instant with its zone: Spark hands it over by the clock of this process, without saying which."""
    return value.astimezone(UTC) if isinstance(value, datetime) else value


def volumes(table: DataFrame) -> tuple[Cut[Volume], int]:
    """Return what there is of each event type, and how many events there are in all."""
    by_type = table.groupBy("event_type").agg(
        sql.sum("events").alias("events"),
        sql.sum("retractions").alias("retractions"),
        sql.min("first").alias("first"),
        sql.max("last").alias("last"),
    )
    shown = by_type.orderBy(sql.desc("events"), "event_type").limit(MOST_ROWS).collect()
    total = _only(
        by_type.agg(
            sql.count("*").alias("types"), sql.coalesce(sql.sum("events"), sql.lit(0)).alias("events")
        )
    )
    return Cut(rows=as_structs(shown, Volume), total=total["types"]), total["events"]


def covered(cells: DataFrame, fields: Sequence[str], day_field: str | None) -> Coverage:
    """Return what became of what was expected, with the picture of it."""
    totals = _only(coverage.by_day(cells.withColumns({"day": sql.lit(0), "event_type": sql.lit("")})))
    drawn = [name for name in fields if name != day_field] or list(fields)
    distinct = _only(
        cells.agg(*[sql.count_distinct(coverage.field(name)).alias(name) for name in drawn])
    ).asDict()
    named = label_fields(distinct, MOST_LABELS)
    label = sql.concat_ws(" · ", *[sql.concat(sql.lit(f"{name} "), coverage.field(name)) for name in named])
    column = sql.coalesce(sql.col("day").cast("string"), sql.lit(_ALL_DAYS))
    labelled = cells.withColumns({"label": label, "column": column})
    rows, days = _labels(labelled), _days(labelled)
    within = labelled.where(sql.col("label").isin(*rows.rows) & sql.col("column").isin(*days.rows))
    counted = coverage.by_day(
        within.withColumns({"day": sql.col("column"), "event_type": sql.lit("")}), "label"
    )
    squares = as_structs(
        counted.select("*", sql.col("label").alias("row"), sql.col("day").alias("column")).collect(), Square
    )
    return Coverage(
        expected=totals["expected"],
        seen=totals["seen"],
        late=totals["late"],
        missing=totals["missing"],
        not_due=totals["not_due"],
        squares=squares,
        rows=rows,
        days=days,
        worst=_worst(cells, fields),
    )


def _labels(cells: DataFrame) -> Cut[str]:
    """Return the rows of the picture; where there are too many, those with the lowest shares."""
    found = coverage.by_day(cells.withColumns({"day": sql.lit(0), "event_type": sql.lit("")}), "label")
    rows = found.orderBy(sql.asc_nulls_last("share"), "label").limit(MOST_LABELS).collect()
    total = found.count() if len(rows) == MOST_LABELS else len(rows)
    return Cut(rows=tuple(sorted((row["label"] for row in rows), key=_natural)), total=total)


def _natural(text: str) -> tuple[tuple[int, int | str], ...]:
    """Return a key that sorts `step 6` before `step 12`."""
    return tuple((0, int(word)) if word.isdecimal() else (1, word) for word in text.split())


def _days(cells: DataFrame) -> Cut[str]:
    days = cells.select("column").distinct()
    rows = days.orderBy(sql.desc("column")).limit(MOST_DAYS).collect()
    total = days.count() if len(rows) == MOST_DAYS else len(rows)
    return Cut(rows=tuple(sorted(row["column"] for row in rows)), total=total)


def _worst(cells: DataFrame, fields: Sequence[str]) -> Cut[Cell]:
    wrong = cells.where(sql.col("status").isin(coverage.MISSING, coverage.LATE))
    what = sql.concat_ws(" · ", *[sql.concat(sql.lit(f"{name} "), coverage.field(name)) for name in fields])
    ordered = wrong.select(what.alias("what"), "status", "due", "first_seen", "day").orderBy(
        sql.desc("status"), sql.desc("day"), "what"
    )
    return Cut(rows=as_structs(ordered.limit(MOST_ROWS).collect(), Cell), total=wrong.count())


def latencies(hours: DataFrame, by_type: DataFrame) -> Cut[Latency]:
    """Return the latencies of each event type, and of the most frequent ones those of each hour or day."""
    rows = by_type.orderBy(sql.desc("events"), "event_type").limit(MOST_ROWS).collect()
    found = [
        msgspec.structs.replace(one, **_points(hours.where(sql.col("event_type") == one.event_type)))
        if number < MOST_PLOTS
        else one
        for number, one in enumerate(as_structs(rows, Latency))
    ]
    return Cut(rows=tuple(found), total=by_type.count())


def _points(hours: DataFrame) -> dict[str, Any]:
    known = hours.where("events > unknown")
    is_by_day = known.limit(MOST_HOURS + 1).count() > MOST_HOURS
    at = sql.date_trunc("day", "hour") if is_by_day else sql.col("hour")
    merged = latency.merged(known, at.alias("at")) if is_by_day else known.withColumn("at", at)
    rows = merged.select("at", *latency.QUANTILES).orderBy(sql.desc("at")).limit(MOST_POINTS).collect()
    points = tuple(Point(_in_utc(row["at"]), row["p50"], row["p95"], row["p99"]) for row in reversed(rows))
    return {"points": points, "is_by_day": is_by_day}


def gaps(table: DataFrame) -> tuple[Cut[Gap], int]:
    """Return the largest gaps, and how many sequences are not there in all."""
    rows = table.orderBy(sql.desc("missing"), "event_type", "first").limit(MOST_ROWS).collect()
    total = _only(
        table.agg(sql.count("*").alias("gaps"), sql.coalesce(sql.sum("missing"), sql.lit(0)).alias("missing"))
    )
    return Cut(rows=as_structs(rows, Gap), total=total["gaps"]), total["missing"]


def repeats(table: DataFrame) -> tuple[RepeatsOfKind, ...]:
    """Return of each kind the most frequent ones."""
    counted = table.groupBy("kind").agg(
        sql.count("*").alias("total"), sql.sum(sql.col("copies") - 1).alias("more")
    )
    totals = {row["kind"]: row for row in counted.collect()}
    return tuple(_of_kind(table, kind, totals.get(kind)) for kind in KINDS)


def _of_kind(table: DataFrame, kind: str, totals: Row | None) -> RepeatsOfKind:
    if totals is None:
        return RepeatsOfKind(kind=kind, more=0, shown=Cut())
    rows = (
        table.where(sql.col("kind") == kind)
        .orderBy(sql.desc("copies"), "event_type", "what")
        .limit(MOST_REPEATS)
    )
    return RepeatsOfKind(
        kind=kind,
        more=totals["more"],
        shown=Cut(rows=as_structs(rows.collect(), Repeat), total=totals["total"]),
    )


def _only(rows: DataFrame) -> Row:
    row = rows.first()
    assert row is not None, "an aggregate has one row"
    return row
