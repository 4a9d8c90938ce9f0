"""`archive`: events leave the log for Parquet before retention removes them.

The archive is its own memory: a run begins behind the last sequence that it has of each event type, so there is no
checkpoint that could be lost or say something else. A run that broke off has added nothing, and is simply done again.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any, Final

import msgspec

from aviso_spark.common.arguments import service_of
from aviso_spark.common.problems import NotUnderstood
from aviso_spark.common.report import Finding, Report
from aviso_spark.common.service import ServiceAddress, read_everything
from aviso_spark.spans import Span, span_to_fill, spans_to_archive
from pyspark_aviso import register
from pyspark_aviso.positions import NoSuchEventType, read_positions

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

    from aviso_spark.common.stopping import Stopping

NAME: Final = "archive"
SUMMARY: Final = "Add to an archive of Parquet what the log has stored since the last run."
MORE: Final = """\
examples:
  everything that the token may read, as often as you like:
    $ aviso-spark archive /archive
  two event types, and whether the archive lacks anything that the log still has:
    $ aviso-spark archive /archive --event-types model_output,weather_alert --audit
  a range that is missing, for example after an audit:
    $ aviso-spark archive /archive --event-types model_output --from-sequence 1200 --to-sequence 1300

what is written:
  One folder for each event type and day (UTC) of storage. Columns: epoch, sequence, time, id, identifier, geometry
  (WKB, longitude first), payload (JSON), operation, the bounding box west, south, east, north, and h3: the cell of
  resolution 5 in which the middle of the shape lies.
  Each run adds files; an event is there once, because a run begins behind the last sequence of the archive, and a
  range is compared with what is there. One run at a time: two at once would add the same events.

what is told:
  Sequences that were removed from the log before they were archived are gone: run more often than retention removes.
"""


class Archive(msgspec.Struct, frozen=True, kw_only=True):
    """What the job was asked to do."""

    service: ServiceAddress
    folder: str
    event_types: tuple[str, ...]
    from_sequence: int | None
    to_sequence: int | None
    is_audited: bool
    is_dry_run: bool

    @property
    def is_range(self) -> bool:
        """Tell whether a range was named."""
        return (self.from_sequence, self.to_sequence) != (None, None)


def add_arguments(parser: ArgumentParser) -> None:
    """Add what only this job takes."""
    parser.add_argument("folder", metavar="FOLDER", help="the archive; it is made where there is none")
    parser.add_argument(
        "--event-types", default="", metavar="NAMES", help="separated by commas (default: all)"
    )
    parser.add_argument("--from-sequence", type=int, metavar="N", help="archive a range: its first sequence")
    parser.add_argument("--to-sequence", type=int, metavar="N", help="archive a range: its last sequence")
    parser.add_argument(
        "--audit",
        action="store_true",
        help="compare the archive with what the log holds, sequence by sequence",
    )


def wanted(read: Mapping[str, Any]) -> Archive:
    """Return what a command line asks for, or say what of it does not go together."""
    names = tuple(name.strip() for name in read["event_types"].split(",") if name.strip())
    job = Archive(
        service=service_of(read),
        folder=read["folder"],
        event_types=names,
        from_sequence=read["from_sequence"],
        to_sequence=read["to_sequence"],
        is_audited=read["audit"],
        is_dry_run=read["dry_run"],
    )
    if job.is_range and len(names) != 1:
        raise NotUnderstood("sequences count in one log: name one event type with --event-types")
    return job


def run(job: Archive, session: SparkSession, stopping: Stopping) -> Report:
    """Do it."""
    from aviso_spark import archived

    register(session)
    kept = archived.read_archive(session, job.folder)
    spans = plan(job, None if kept is None else archived.last_sequences(kept))
    findings = tuple(map(_lost, [span for span in spans if span.lost]))
    if job.is_dry_run:
        counts = {span.event_type: span.last - span.first + 1 for span in spans}
        note = "  the numbers are of sequences: what the log has removed between them is not known yet"
        return Report(job=NAME, counts=counts, findings=findings, notes=(note,), is_dry_run=True)
    counts = {"events": 0}
    stopping.check()
    if spans:
        rows = transform([read(session, job, span) for span in spans], spans)
        if job.is_range and kept is not None:
            rows = archived.not_yet_in(rows, kept)
        counts = archived.append(session, NAME, rows, job.folder)
    stopping.check()
    if job.is_audited:
        found, holes = audit(session, job)
        findings, counts = (*findings, *found), {**counts, "holes of the log itself": holes}
    return Report(job=NAME, counts=counts, findings=findings)


def plan(job: Archive, last: Mapping[tuple[str, str], int] | None) -> list[Span]:
    """Ask what the logs hold, and return what is to be read of them."""
    try:
        held = read_positions(job.service.client(), job.event_types)
    except NoSuchEventType as error:
        raise NotUnderstood(str(error)) from error
    if not job.is_range:
        return spans_to_archive(held, last or {})
    (name,) = job.event_types
    log = held[name]
    span = None if log is None else span_to_fill(name, log, first=job.from_sequence, last=job.to_sequence)
    return [] if span is None else [span]


def read(session: SparkSession, job: Archive, span: Span) -> DataFrame:
    """Return the events of a part of a log."""
    return _reading(session, job, span).load()


def _reading(session: SparkSession, job: Archive, span: Span) -> DataFrameReader:
    selected = read_everything(job.service.client(), span.event_type)
    return (
        session.read.format("aviso")
        .options(**job.service.options())
        .options(eventTypes=span.event_type, fromSequence=span.first, toSequence=span.last)
        .options(filter=msgspec.json.encode(selected).decode())
    )


def transform(events: Sequence[DataFrame], spans: Sequence[Span]) -> DataFrame:
    """Return events as the archive keeps them."""
    from aviso_spark import archived

    kept = [archived.as_kept(one, epoch=span.epoch) for one, span in zip(events, spans, strict=True)]
    return reduce(lambda left, right: left.unionByName(right), kept)


def audit(session: SparkSession, job: Archive) -> tuple[list[Finding], int]:
    """Compare the archive with the log; return what is wrong, and how many sequences neither of them has."""
    from aviso_spark import archived

    kept = archived.read_archive(session, job.folder)
    held = read_positions(job.service.client(), job.event_types)
    findings: list[Finding] = []
    holes = 0
    for event_type, log in held.items():
        whole = None if log is None else span_to_fill(event_type, log, first=None, last=None)
        if whole is None or kept is None:
            continue
        sequences = _reading(session, job, whole).schema("event_type string, sequence bigint").load()
        judged = archived.compare(kept, sequences, whole)
        holes += judged.holes
        if judged.missing:
            what = f"{event_type}: in the log and not in the archive, from sequence {judged.first_missing} on"
            findings.append(Finding(count=judged.missing, what=what))
        if judged.repeated:
            findings.append(
                Finding(count=judged.repeated, what=f"{event_type}: more than once in the archive")
            )
    return findings, holes


def _lost(span: Span) -> Finding:
    what = f"{span.event_type}: removed from the log before it was archived, up to sequence {span.first - 1}"
    return Finding(count=span.lost, what=what)
