"""The events that are looked at: part of an archive, or of what the service holds now."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from pyspark import StorageLevel
from pyspark.sql import functions as sql

from aviso_spark.archived import COLUMNS, read_archive
from aviso_spark.common.problems import NotUnderstood
from aviso_spark.log_reading import read_spans
from aviso_spark.within import spans_within
from pyspark_aviso.positions import NoSuchEventType, read_positions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

    from aviso_spark.common.service import ServiceAddress
    from aviso_spark.jobs.analytics import Analytics
    from aviso_spark.within import Within


@contextmanager
def chosen_events(session: SparkSession, job: Analytics) -> Iterator[DataFrame]:
    """Yield the events; those of the service are fetched once, and kept on disk for as long as the block runs."""
    if job.service is None:
        assert job.folder is not None, "an archive or a service was named"
        yield _of_archive(session, job.folder, job)
        return
    events = _of_service(session, job.service, job).persist(StorageLevel.DISK_ONLY)
    try:
        yield events
    finally:
        events.unpersist()


def _of_archive(session: SparkSession, folder: str, job: Analytics) -> DataFrame:
    kept = read_archive(session, folder)
    if kept is None:
        raise NotUnderstood(f"there is no archive at {folder}")
    rows = within(kept, job.within)
    return rows.where(sql.col("event_type").isin(*job.event_types)) if job.event_types else rows


def _of_service(session: SparkSession, service: ServiceAddress, job: Analytics) -> DataFrame:
    client = service.client()
    try:
        spans = spans_within(client, read_positions(client, job.event_types), job.within)
    except NoSuchEventType as error:
        raise NotUnderstood(str(error)) from error
    return read_spans(session, service, spans) if spans else session.createDataFrame([], COLUMNS)


def within(events: DataFrame, part: Within) -> DataFrame:
    """Return the events of a part."""
    rows = events
    if part.from_sequence is not None:
        rows = rows.where(sql.col("sequence") >= part.from_sequence)
    if part.to_sequence is not None:
        rows = rows.where(sql.col("sequence") <= part.to_sequence)
    # A day is a folder: those that cannot have such events are not opened.
    if part.begins is not None:
        rows = rows.where(
            (sql.col("time") >= sql.lit(part.begins)) & (sql.col("day") >= sql.lit(part.begins.date()))
        )
    if part.ends is not None:
        rows = rows.where(
            (sql.col("time") < sql.lit(part.ends)) & (sql.col("day") <= sql.lit(part.ends.date()))
        )
    return rows
