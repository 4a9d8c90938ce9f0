"""How far a job has got in a table that grows: the highest value of a column, kept in a small file.

The file is replaced as a whole, and only after everything up to that value was answered for. A value says nothing about
rows that come later with a lower or the same one, so the column has to be one that grows: an ingest time, a sequence.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from pyspark.sql import functions as sql

from aviso_spark.common.problems import NotUnderstood

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Watermark(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The value of a column up to which rows are done, as Spark writes it."""

    column: str
    value: str


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
    path = Path(file)
    new = path.with_name(f"{path.name}.new")
    new.write_bytes(msgspec.json.encode(mark))
    new.replace(path)


def next_watermark(frame: DataFrame, column: str) -> Watermark | None:
    """Return the highest value there is now; None where there are no rows."""
    row = frame.agg(sql.max(sql.col(column)).cast("string").alias("highest")).first()
    highest = None if row is None else row["highest"]
    return None if highest is None else Watermark(column=column, value=highest)


def between(frame: DataFrame, *, after: Watermark | None, to: Watermark) -> DataFrame:
    """Return the rows after one value and up to another: what is added meanwhile waits for the next run."""
    column = sql.col(to.column)
    kind = frame.schema[to.column].dataType
    rows = frame.where(column <= sql.lit(to.value).cast(kind))
    return rows if after is None else rows.where(column > sql.lit(after.value).cast(kind))
