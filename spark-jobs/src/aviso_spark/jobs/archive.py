"""`archive`: events leave the log for Parquet before retention removes them.

Nothing but the archive itself decides what is added to it: a run begins behind what earlier runs have read, and leaves
out every event that is there already. A run that broke off is simply done again.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import msgspec

from aviso_spark.common.arguments import service_of
from aviso_spark.common.problems import NotUnderstood
from aviso_spark.common.report import Finding, Report
from aviso_spark.common.service import ServiceAddress
from aviso_spark.spans import Span, spans_to_archive
from aviso_spark.within import Within, add_within, spans_within, within_of
from pyspark_aviso import register
from pyspark_aviso.positions import NoSuchEventType, instant_of, read_positions

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Mapping, Sequence
    from datetime import date

    from pyspark.sql import SparkSession

    from aviso_spark.archive_runs import Run
    from aviso_spark.common.stopping import Stopping
    from pyspark_aviso.positions import Held

NAME: Final = "archive"
SUMMARY: Final = "Add to an archive of Parquet what the log has stored since the last run."
MORE: Final = """\
examples:
  everything that the token may read, as often as you like:
    $ aviso-spark archive /archive
  two event types, and whether the archive lacks anything that the log still has:
    $ aviso-spark archive /archive --event-types model_output,weather_alert --audit
  a part that is missing, for example after an audit; the next run begins where it would have begun anyway:
    $ aviso-spark archive /archive --event-types model_output --from-sequence 1200 --to-sequence 1300
    $ aviso-spark archive /archive --from-time 2030-01-01 --to-time 2030-01-08
  once a day, with the files of each day made few:
    $ aviso-spark archive /archive --compact

what is written:
  One folder for each event type and day (UTC) of storage. Columns: epoch, sequence, time, id, identifier, geometry
  (WKB, longitude first), payload (JSON), operation, the bounding box west, south, east, north (west is greater than
  east where a shape lies across the antimeridian), and h3: the cell of resolution 5 with the middle of the shape.
  An event is there once, whatever was asked for twice or broke off. One run at a time.

what is told:
  Sequences that were removed from the log before they were archived are gone: run more often than retention removes.
"""
# Clocks are set now and then; an event may have been stored on the day before the one before it.
_CLOCKS: Final = timedelta(days=1)


class Archive(msgspec.Struct, frozen=True, kw_only=True):
    """What the job was asked to do."""

    service: ServiceAddress
    folder: str
    event_types: tuple[str, ...]
    within: Within
    is_audited: bool
    is_compacted: bool
    is_dry_run: bool


def add_arguments(parser: ArgumentParser) -> None:
    """Add what only this job takes."""
    parser.add_argument("folder", metavar="FOLDER", help="the archive; it is made where there is none")
    parser.add_argument(
        "--event-types", default="", metavar="NAMES", help="separated by commas (default: all)"
    )
    parser.add_argument(
        "--audit",
        action="store_true",
        help="compare the archive with what the log holds, sequence by sequence, and say why some are not there",
    )
    parser.add_argument(
        "--compact", action="store_true", help="then make few files of the many small ones of a day"
    )
    add_within(parser, what="Archive only this; without it, whatever is new since the last run")


def wanted(read: Mapping[str, Any]) -> Archive:
    """Return what a command line asks for, or say what of it does not go together."""
    names = tuple(name.strip() for name in read["event_types"].split(",") if name.strip())
    return Archive(
        service=service_of(read),
        folder=read["folder"].rstrip("/") or "/",
        event_types=names,
        within=within_of(read, names),
        is_audited=read["audit"],
        is_compacted=read["compact"],
        is_dry_run=read["dry_run"],
    )


def run(job: Archive, session: SparkSession, stopping: Stopping) -> Report:
    """Do it."""
    from aviso_spark import compaction
    from aviso_spark.archive_runs import positions, read_runs
    from aviso_spark.archived import COLUMNS
    from aviso_spark.auditing import audit
    from aviso_spark.folders import Folder, has_files

    register(session)
    if has_files(session) and not job.is_dry_run:
        compaction.finish(Folder(session, job.folder))
    done = positions(read_runs(session, job.folder))
    held = held_of(job)
    spans = plan(job, held, done)
    findings = tuple(_lost(span) for span in spans if span.lost)
    if job.is_dry_run:
        counts = {span.event_type: span.last - span.first + 1 for span in spans}
        note = "  the numbers are of sequences: what the log has removed between them is not known yet"
        return Report(job=NAME, counts=counts, findings=findings, notes=(note,), is_dry_run=True)
    stopping.check()
    counts = add(session, job, spans, held, done)
    notes: tuple[str, ...] = ()
    if job.is_audited:
        stopping.check()
        logs = spans_within(job.service.client(), held_of(job), Within())
        found = audit(session, job.service, job.folder, logs)
        findings, counts, notes = (*findings, *found.findings), {**counts, **found.counts}, found.notes
    if job.is_compacted:
        stopping.check()
        compacted = compaction.compact(session, NAME, Folder(session, job.folder), COLUMNS, stopping)
        counts |= {
            "days compacted": compacted.days,
            "their files before": compacted.files_before,
            "their files now": compacted.files_after,
        }
    return Report(job=NAME, counts=counts, findings=findings, notes=notes)


def held_of(job: Archive) -> dict[str, Held | None]:
    """Ask what the logs hold."""
    try:
        return read_positions(job.service.client(), job.event_types)
    except NoSuchEventType as error:
        raise NotUnderstood(str(error)) from error


def plan(job: Archive, held: Mapping[str, Held | None], done: Mapping[tuple[str, str], Run]) -> list[Span]:
    """Return what is to be read of the logs."""
    if job.within.is_named:
        return spans_within(job.service.client(), held, job.within)
    return spans_to_archive(held, {place: run.last for place, run in done.items()})


def add(
    session: SparkSession,
    job: Archive,
    spans: Sequence[Span],
    held: Mapping[str, Held | None],
    done: Mapping[tuple[str, str], Run],
) -> dict[str, int]:
    """Add what is not there yet, and write down what was read."""
    from aviso_spark import archived
    from aviso_spark.archive_runs import Run, add_runs
    from aviso_spark.log_reading import read_spans

    if not spans:
        return {"events": 0}
    is_range = job.within.is_named
    added = archived.append(
        session,
        NAME,
        read_spans(session, job.service, spans),
        job.folder,
        kept=archived.read_archive(session, job.folder),
        spans=spans,
        since=None if is_range else since(spans, done),
    )
    logs = {name: log for name, log in held.items() if log is not None}
    add_runs(
        session,
        job.folder,
        [
            Run(
                event_type=span.event_type,
                epoch=span.epoch,
                first=span.first,
                last=span.last,
                is_range=is_range,
                until=logs[span.event_type].last_time,
            )
            for span in spans
        ],
    )
    more = {"already there": added.already_there} if is_range or added.already_there else {}
    return {"events": added.events, **more}


def since(spans: Sequence[Span], done: Mapping[tuple[str, str], Run]) -> date | None:
    """Return the first day on which what is to be read may have been stored; None where that is not known."""
    before = [done.get((span.event_type, span.epoch)) for span in spans]
    times = [run.until for run in before if run is not None and run.until is not None]
    if len(times) < len(spans):
        return None
    return min(instant_of(time) - _CLOCKS for time in times).date()


def _lost(span: Span) -> Finding:
    what = f"{span.event_type}: removed from the log before it was archived, up to sequence {span.first - 1}"
    return Finding(count=span.lost, what=what)
