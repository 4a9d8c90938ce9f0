"""How far a job has got in a table that grows: the highest value of a column, kept in a small file.

The file is replaced as a whole, and only after everything up to that value was answered for. A value says nothing about
rows that come later with a lower or the same one, so the column has to be one that grows: an ingest time, a sequence.
Rows without a value have no place in that order: they are counted, and never sent. What was done stays done where the
highest rows are gone for a while, and an instant is kept with its zone, for sessions are in one or another.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from pyspark.sql import functions as sql
from pyspark.sql.types import DoubleType, FloatType, StringType, TimestampType

from aviso_spark.common.kept_files import replace_file
from aviso_spark.common.problems import NotUnderstood
from pyspark_aviso.sql_json import as_instant_text

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType


class Watermark(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The value of a column up to which rows are done, as Spark writes it."""

    column: str
    value: str


class Reached(NamedTuple):
    """The highest value that there is or was, None where there is none, and how many rows have no value."""

    mark: Watermark | None
    without_value: int


def read_watermark(file: str, column: str) -> Watermark | None:
    """Return what the file says, or None where there is no file yet."""
    path = Path(file)
    if not path.exists():
        return None
    try:
        mark = msgspec.json.decode(path.read_bytes(), type=Watermark)
    except msgspec.DecodeError as error:
        raise NotUnderstood(f"{file} holds no watermark: {error}") from error
    if mark.column != column:
        raise NotUnderstood(
            f"{file} is the watermark of column '{mark.column}', not of '{column}': take another file"
        )
    return mark


def write_watermark(file: str, mark: Watermark) -> None:
    """Replace what the file says."""
    replace_file(file, msgspec.json.encode(mark))


def reached(frame: DataFrame, column: str, *, before: Watermark | None = None) -> Reached:
    """Return how far the rows go now, which is no less far than they went before."""
    value, kind = sql.col(column), _kind(frame, column)
    highest = sql.max(value)
    if before is not None:
        highest = sql.greatest(highest, sql.lit(before.value).cast(kind))
    row = frame.agg(
        _as_text(highest, kind).alias("highest"),
        sql.count_if(value.isNull()).alias("without_value"),
        sql.count_if(_is_without_end(value, kind)).alias("without_end"),
        *[one.alias(name) for name, one in _of_text(value, kind).items()],
    ).first()
    assert row is not None, "an aggregate has one row"
    if row["without_end"]:
        raise NotUnderstood(
            f"--watermark-column {column}: NaN or infinite in {row['without_end']:,} rows, behind which nothing would "
            f"ever be new: leave them out with --where \"abs({column}) < double('Infinity')\", or mend them"
        )
    lengths = {row["shortest"], row["longest"]} - {None}
    if before is not None and isinstance(kind, StringType):
        lengths.add(len(before.value))
    if row["numbers"] or len(lengths) > 1:
        raise NotUnderstood(
            f"--watermark-column {column}: it is text, of which '9' stands behind '10', so what is new would be passed "
            f"over: say of which type it is with --columns, as in '{column} timestamp, …', or cast it in the table. "
            "Texts that are all equally long, in all runs, and no numbers, as instants of one form are, may stay"
        )
    mark = None if row["highest"] is None else Watermark(column=column, value=row["highest"])
    return Reached(mark, row["without_value"])


def _as_text(value: Column, kind: DataType) -> Column:
    """Return a value as it is kept, which reads the same in every session."""
    return as_instant_text(value) if isinstance(kind, TimestampType) else value.cast("string")


def _of_text(value: Column, kind: DataType) -> dict[str, Column]:
    """Return what tells whether texts stand in the order of what they say."""
    is_text = isinstance(kind, StringType)
    length = sql.length(value) if is_text else sql.lit(0)
    is_number = value.try_cast("double").isNotNull() if is_text else sql.lit(False)
    return {"numbers": sql.count_if(is_number), "shortest": sql.min(length), "longest": sql.max(length)}


def _is_without_end(value: Column, kind: DataType) -> Column:
    if not isinstance(kind, DoubleType | FloatType):
        return sql.lit(False)
    return sql.isnan(value) | (sql.abs(value) == float("inf"))


def between(frame: DataFrame, *, after: Watermark | None, to: Watermark) -> DataFrame:
    """Return the rows after one value and up to another: what is added meanwhile waits for the next run."""
    column, kind = sql.col(to.column), _kind(frame, to.column)
    rows = frame.where(column <= sql.lit(to.value).cast(kind))
    return rows if after is None else rows.where(column > sql.lit(after.value).cast(kind))


def _kind(frame: DataFrame, column: str) -> DataType:
    return frame.select(column).schema.fields[0].dataType
