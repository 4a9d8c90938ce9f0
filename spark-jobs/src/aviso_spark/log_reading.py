"""Parts of the service's logs as rows in the shape of the archive."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from aviso_spark.archived import as_kept

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

    from aviso_spark.common.service import ServiceAddress
    from aviso_spark.spans import Span


def read_spans(session: SparkSession, service: ServiceAddress, spans: Sequence[Span]) -> DataFrame:
    """Return the events of parts of logs; there is at least one part."""
    frames = [as_kept(reading(session, service, span).load(), epoch=span.epoch) for span in spans]
    return reduce(lambda left, right: left.unionByName(right), frames)


def read_sequences(session: SparkSession, service: ServiceAddress, span: Span) -> DataFrame:
    """Return the sequences alone that are in a part of a log."""
    return reading(session, service, span).schema("event_type string, sequence bigint").load()


def reading(session: SparkSession, service: ServiceAddress, span: Span) -> DataFrameReader:
    """Return a reader of every event of a part of a log."""
    return (
        session.read.format("aviso")
        .options(**service.options())
        .options(eventTypes=span.event_type, fromSequence=span.first, toSequence=span.last)
    )
