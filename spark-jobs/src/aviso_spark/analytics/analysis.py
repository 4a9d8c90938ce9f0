"""Events → tables → page and report. Each table is computed by Spark once; the page takes a bounded part of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as sql

from aviso_spark.analytics import collecting, coverage, latency
from aviso_spark.analytics.grid import day_field
from aviso_spark.analytics.instants import as_instant
from aviso_spark.analytics.page import page
from aviso_spark.analytics.places import by_cell, shown_cells
from aviso_spark.analytics.repeats import repeats
from aviso_spark.analytics.results import Results
from aviso_spark.analytics.tables import FOLDER, Tables
from aviso_spark.analytics.words import duration, percent
from aviso_spark.common.problems import NotUnderstood
from aviso_spark.common.report import Finding, Report
from aviso_spark.folders import write_page
from aviso_spark.gaps import gaps
from aviso_spark.sources import read_source, source_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

    from aviso_spark.common.stopping import Stopping
    from aviso_spark.jobs.analytics import Analytics

_NAME: Final = "analytics"
PAGE: Final = "report.html"


def rehearsed(session: SparkSession, job: Analytics, events: DataFrame) -> Report:
    """Check everything, and tell how much there is to look at."""
    counts = {"events": events.count()}
    if job.is_coverage_asked:
        counts["expected combinations"] = expected(session, job, events).count()
    if job.produced is not None:
        produced = as_instant(events, job.produced, option="--produced")
        known = sql.count_if(sql.col("produced").isNotNull())
        row = events.select(produced.alias("produced")).agg(known.alias("known")).first()
        counts["events with an instant of production"] = 0 if row is None else row["known"]
    return Report(job=_NAME, counts=counts, is_dry_run=True)


def analysed(session: SparkSession, job: Analytics, events: DataFrame, stopping: Stopping) -> Report:
    """Write the tables and the page, and return the report about them."""
    # What was mistyped is told before anything takes time.
    cells = expected(session, job, events) if job.is_coverage_asked else None
    produced = as_instant(events, job.produced, option="--produced") if job.produced is not None else None
    tables = Tables(job=_NAME, session=session, folder=job.output, stopping=stopping)
    volumes, count = collecting.volumes(tables.keep("events", by_day(events)))
    found: dict[str, Any] = {}
    if cells is not None:
        found["coverage"] = _coverage(tables, job, events, cells)
    if produced is not None:
        hours = tables.keep("latency", latency.by_hour(events, produced))
        by_type = tables.keep("latency_by_type", latency.merged(hours, "event_type"))
        found["latencies"] = collecting.latencies(hours, by_type)
    gap_rows, missing = collecting.gaps(tables.keep("gaps", gaps(events)))
    repeated = collecting.repeats(tables.keep("repeats", repeats(events)))
    resolution, shown = shown_cells(tables.keep("places", by_cell(events)), most=collecting.MOST_CELLS)
    results = Results(
        source=job.folder if job.folder is not None else "what the service holds",
        part=told_part(job),
        made=job.now,
        volumes=volumes,
        events=count,
        gaps=gap_rows,
        missing_sequences=missing,
        repeats=repeated,
        cells=shown,
        resolution=resolution,
        tables=f"{job.output}/{FOLDER}",
        **found,
    )
    write_page(session, job.output, PAGE, page(results))
    return report(results, f"{job.output}/{PAGE}")


def expected(session: SparkSession, job: Analytics, events: DataFrame) -> DataFrame:
    """Return what was expected."""
    if job.expected is None:
        cells = coverage.product_of(session, job.grid)
    else:
        source = source_of(job.expected, format_=job.expected_format, options={})
        cells = read_source(session.read, source)
        if cells.isEmpty():
            raise NotUnderstood(f"--expected {job.expected}: the table has no rows, so nothing is expected")
    coverage.check_fields(events, coverage.fields_of(cells))
    return coverage.prepared(cells, event_types=job.event_types, due=job.due)


def by_day(events: DataFrame) -> DataFrame:
    """Return how many events of each type were stored on each day."""
    return events.groupBy("event_type", "day").agg(
        sql.count_if(sql.col("operation").isNull()).alias("events"),
        sql.count("operation").alias("retractions"),
        sql.min("time").alias("first"),
        sql.max("time").alias("last"),
    )


def _coverage(tables: Tables, job: Analytics, events: DataFrame, cells: DataFrame) -> Any:
    fields = coverage.compared(cells)
    as_of = min(job.now, job.within.ends or job.now)
    judged = coverage.judged(events, cells, fields=fields, as_of=as_of)
    kept = coverage.taken_up(tables.keep("coverage", coverage.kept(judged, fields)), fields)
    tables.keep("coverage_by_day", coverage.by_day(kept))
    return collecting.covered(kept, fields, day_field(fields))


def told_part(job: Analytics) -> str:
    """Return which events were looked at."""
    part = job.within
    ends = [
        f"{word} {value}"
        for word, value in (
            ("from", part.from_time),
            ("before", part.to_time),
            ("from sequence", part.from_sequence),
            ("to sequence", part.to_sequence),
        )
        if value is not None
    ]
    types = ", ".join(job.event_types) or "all event types"
    return f"{types}, {' '.join(ends)}" if ends else f"{types}, all that there is"


def report(results: Results, place: str) -> Report:
    """Return what a terminal shows of the results."""
    counts = {"events": results.events, "event types": results.volumes.total}
    notes = [f"  page in {place}"]
    if results.coverage is not None:
        found = results.coverage
        counts |= {"expected": found.expected, "seen in time": found.seen, "not due yet": found.not_due}
        notes.append(f"  {percent(found.share)} of what was due was announced")
    for one in () if results.latencies is None else results.latencies.rows:
        told = f"half within {duration(one.p50)}, 95 % within {duration(one.p95)}, 99 % within {duration(one.p99)}"
        notes.append(f"  {one.event_type}: {told}, longest {duration(one.longest)}")
    return Report(job=_NAME, counts=counts, findings=tuple(_findings(results)), notes=tuple(notes))


def _findings(results: Results) -> Iterator[Finding]:
    found = results.coverage
    told = [
        (0 if found is None else found.missing, "expected and missing"),
        (0 if found is None else found.late, "expected and late"),
        (results.missing_sequences, f"sequences not there, in {results.gaps.total:,} gaps"),
        *[
            (
                kind.more,
                f"announcements repeated, of {kind.shown.total:,} events"
                if kind.kind == "content"
                else "rows that the archive has twice",
            )
            for kind in results.repeats
            if kind.kind != "identifier"
        ],
    ]
    for count, what in told:
        if count:
            yield Finding(count=count, what=what)
