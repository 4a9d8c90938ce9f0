"""Instants that a user says in SQL: when data was produced, when it was due."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import functions as sql

from aviso_spark.common.problems import NotUnderstood

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def as_instant(frame: DataFrame, text: str, *, option: str) -> Column:
    """Return an expression over the columns of a frame as an instant, or say why it is none."""
    # What is no instant is none: one odd payload says nothing of all others.
    instant = sql.expr(text).try_cast("timestamp")
    try:
        # The columns are resolved here, so that an error names the option that it comes from.
        _ = frame.select(instant.alias("instant")).schema
    except (AnalysisException, ParseException) as error:
        raise NotUnderstood(f"{option}: {str(error).splitlines()[0]}") from error
    return instant
