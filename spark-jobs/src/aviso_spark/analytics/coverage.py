"""Coverage: of what was expected, what was announced, when first, and what is late or missing.

A cell is one expected combination of values. It is seen by the first event whose identifier has these values, whatever
else it says. With a due time, a cell that came after it is late, and one whose time has not come yet is not missing.

A field may be called like a column of ours, as `time`, `day` and `status` are: so fields have a name of their own while
they are compared, and in the table that is kept they have it where theirs is taken.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as sql

from aviso_spark.analytics.grid import day_field
from aviso_spark.analytics.instants import as_instant
from aviso_spark.common.problems import NotUnderstood

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from pyspark.sql import Column, DataFrame, SparkSession

ON_TIME, LATE, MISSING, NOT_DUE = "seen", "late", "missing", "not due"
STATUSES: Final = (ON_TIME, LATE, MISSING, NOT_DUE)
EVENT_TYPE, DUE = "event_type", "due"
_OWN: Final = (EVENT_TYPE, DUE, "day", "first_seen", "last_seen", "first_sequence", "announcements", "status")
_FIELD: Final = "field_"


def product_of(session: SparkSession, grid: Mapping[str, Sequence[str]]) -> DataFrame:
    """Return every combination of the values."""
    frames = [
        session.createDataFrame([(value,) for value in values], f"`{field}` string")
        for field, values in grid.items()
    ]
    return reduce(lambda left, right: left.crossJoin(right), frames)


def fields_of(cells: DataFrame) -> list[str]:
    """Return the columns of expected cells that are fields of an identifier."""
    return [name for name in cells.columns if name not in (EVENT_TYPE, DUE)]


def compared(cells: DataFrame) -> list[str]:
    """Return the fields of prepared cells."""
    return [name.removeprefix(_FIELD) for name in cells.columns if name.startswith(_FIELD)]


def field(name: str) -> Column:
    """Return the column of a field while it is compared."""
    return sql.col(f"`{_FIELD}{name}`")


def kept(cells: DataFrame, fields: Sequence[str]) -> DataFrame:
    """Return judged cells as they are kept, where fields have their own names as far as they can."""
    return cells.withColumnsRenamed({f"{_FIELD}{name}": _kept_name(name) for name in fields})


def taken_up(table: DataFrame, fields: Sequence[str]) -> DataFrame:
    """Return what was kept with fields as they are called while they are compared."""
    return table.withColumnsRenamed({_kept_name(name): f"{_FIELD}{name}" for name in fields})


def _kept_name(name: str) -> str:
    return f"{_FIELD}{name}" if name.lower() in _OWN else name


def check_fields(events: DataFrame, fields: Sequence[str]) -> None:
    """Refuse a field that no event has: everything would be missing for a word that was mistyped."""
    keys = events.select(sql.explode(sql.map_keys("identifier")).alias("field")).distinct().collect()
    known = sorted(row["field"] for row in keys)
    unknown = [field for field in fields if field not in known]
    if known and unknown:
        raise NotUnderstood(
            f"no event has a field '{unknown[0]}' in its identifier: there are {', '.join(known)}"
        )


def prepared(cells: DataFrame, *, event_types: Sequence[str], due: str | None) -> DataFrame:
    """Return each expected cell once: event_type, its fields as texts, due and day."""
    fields = fields_of(cells)
    named = (
        cells if EVENT_TYPE in cells.columns else cells.withColumn(EVENT_TYPE, sql.lit(_only(event_types)))
    )
    if due is not None:
        named = named.withColumn(DUE, as_instant(named, due, option="--due"))
    elif DUE not in cells.columns:
        named = named.withColumn(DUE, sql.lit(None).cast("timestamp"))
    texts = named.select(
        EVENT_TYPE,
        *[sql.col(f"`{name}`").cast("string").alias(f"{_FIELD}{name}") for name in fields],
        sql.col(DUE).cast("timestamp").alias(DUE),
    )
    # The same cell twice, with two due times, is due at the earlier one.
    once = texts.groupBy(EVENT_TYPE, *map(field, fields)).agg(sql.min(DUE).alias(DUE))
    return once.withColumn("day", _day(fields))


def _only(event_types: Sequence[str]) -> str:
    if len(event_types) != 1:
        raise NotUnderstood(
            "what is expected belongs to one event type: name it with --event-types, or give the table of --expected "
            "a column event_type"
        )
    return event_types[0]


def _day(fields: Sequence[str]) -> Column:
    name = day_field(fields)
    if name is None:
        return sql.to_date(DUE)
    parsed = [sql.try_to_date(field(name), form) for form in ("yyyyMMdd", "yyyy-MM-dd")]
    return sql.coalesce(*parsed, sql.to_date(DUE))


def judged(events: DataFrame, cells: DataFrame, *, fields: Sequence[str], as_of: datetime) -> DataFrame:
    """Return the cells with first_seen, last_seen, announcements, sequence of the first, and status."""
    values = [sql.col("identifier").getItem(name).alias(f"{_FIELD}{name}") for name in fields]
    announced = events.where("operation IS NULL").select(EVENT_TYPE, "sequence", "time", *values)
    seen = announced.groupBy(EVENT_TYPE, *map(field, fields)).agg(
        sql.min("time").alias("first_seen"),
        sql.max("time").alias("last_seen"),
        sql.min_by("sequence", "time").alias("first_sequence"),
        sql.count("*").alias("announcements"),
    )
    joined = cells.join(seen, [EVENT_TYPE, *(f"{_FIELD}{name}" for name in fields)], "left")
    found = joined.withColumn("announcements", sql.coalesce("announcements", sql.lit(0)))
    return found.withColumn("status", _status(as_of))


def _status(as_of: datetime) -> Column:
    first, due = sql.col("first_seen"), sql.col(DUE)
    return (
        sql.when(first.isNull() & (due > sql.lit(as_of)), NOT_DUE)
        .when(first.isNull(), MISSING)
        .when(first > due, LATE)
        .otherwise(ON_TIME)
    )


def by_day(cells: DataFrame, *more: str) -> DataFrame:
    """Return how many cells of each day came to which end, and the share of what was due that was seen."""
    counts = [sql.count_if(sql.col("status") == status).alias(_name(status)) for status in STATUSES]
    counted = cells.groupBy(EVENT_TYPE, "day", *[f"`{name}`" for name in more]).agg(
        sql.count("*").alias("expected"), *counts
    )
    due, announced = sql.col("expected") - sql.col("not_due"), sql.col("seen") + sql.col("late")
    return counted.select("*", sql.when(due > 0, announced / due).alias("share"))


def _name(status: str) -> str:
    return status.replace(" ", "_")
