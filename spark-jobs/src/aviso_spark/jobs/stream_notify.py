"""`stream-notify`: rows become notifications as they come, each batch once, with a receipt for every row."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import msgspec

from aviso_spark.common.arguments import service_of
from aviso_spark.common.problems import NotUnderstood
from aviso_spark.common.report import Finding, Report
from aviso_spark.common.service import ServiceAddress, read_event_schema
from aviso_spark.expressions import Expressions
from aviso_spark.folders import literal
from aviso_spark.mapping_arguments import add_mapping, add_reading, expressions_of
from aviso_spark.sources import Source, source_of
from aviso_spark.stream_sources import has_name, limited, new_objects

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from aviso_spark.common.stopping import Stopping
    from aviso_spark.event_schema import EventSchema

NAME: Final = "stream-notify"
SUMMARY: Final = "Make notifications of rows as they come, with a receipt for each row."
MORE: Final = """\
examples:
  what would be sent of the first batch, and what would be refused:
    $ aviso-spark stream-notify /data/alerts --format json --columns 'basin string, level int' \\
        --event-type weather_alert --map severity=level --dry-run
  send what is there and what comes, looking every ten seconds, until it is told to stop:
    $ aviso-spark stream-notify /data/alerts --format json --columns 'basin string, level int' \\
        --event-type weather_alert --map severity=level --checkpoint /data/cp --receipts /data/receipts
  send what came since the last run, and end (from a timer, for example):
    $ aviso-spark stream-notify db.scenes --format table --event-type scene --available-now \\
        --checkpoint /data/cp --receipts /data/receipts
  announce objects that appear in a folder, described by their names:
    $ aviso-spark stream-notify --new-objects /data/model --glob '*.grib2' --event-type model_output \\
        --map "date=regexp_extract(path, '_([0-9]{8})_', 1)" --payload 'struct(path, length)' --id path \\
        --checkpoint /data/cp --receipts /data/receipts
  messages of Kafka (its jars come with spark-submit --packages):
    $ aviso-spark stream-notify --format kafka --option kafka.bootstrap.servers=broker:9092 \\
        --option subscribe=scenes --event-type scene --map 'name=string(key)' --payload 'string(value)' \\
        --max-per-trigger 10000 --checkpoint /data/cp --receipts /data/receipts

sources:
  Whatever Spark follows: files (their columns are told by --columns), STAC items as files, tables, kafka, delta, rate.
  A file is known by its path: one that is replaced under its name is not seen again. Put files in place whole, by
  renaming them. What is a week older than the newest is passed over (--option maxFileAge=30d).

how rows become notifications:
  As in batch-notify: see there.

once:
  The checkpoint says what was done. A batch that broke off is done again with the same ids, which are made within the
  query and the batch, so later batches may say the same again: --id or --id-scope say otherwise. The service knows ids
  for the event type's duplicate window; where a batch was begun longer ago, nothing is sent until --accept-repeats.

receipts:
  One row for each row that was read, as Parquet by run and status. The folder belongs to the checkpoint, and is read as
  a whole: 'batch-notify FOLDER --format dead-letters' posts what was rejected once more.

stopping:
  SIGTERM or Ctrl-C ends it behind the batch that runs; a second one ends it at once.
"""

_TRIGGER: Final = re.compile(r"(\d+)\s*(ms|s|m|h)")
_UNITS: Final = {
    "ms": ("milliseconds", 0.001),
    "s": ("seconds", 1),
    "m": ("minutes", 60),
    "h": ("hours", 3600),
}


class StreamNotify(msgspec.Struct, frozen=True, kw_only=True):
    """What the job was asked to do."""

    service: ServiceAddress
    source: Source
    event_type: str
    expressions: Expressions
    where: str | None
    id_scope: str | None
    receipts: str | None
    checkpoint: str | None
    # How often it looks for news, as Spark says it, and in seconds; None is once.
    trigger: tuple[str, float] | None
    accepts_repeats: bool
    is_dry_run: bool


def add_arguments(parser: ArgumentParser) -> None:
    """Add what only this job takes."""
    parser.add_argument(
        "source",
        metavar="SOURCE",
        nargs="?",
        help="a folder, or with --format table a table's name; none where options say it, as for kafka",
    )
    parser.add_argument(
        "--format", help="json, csv, parquet, text, stac, table, kafka, delta, rate and others"
    )
    parser.add_argument(
        "--new-objects", metavar="FOLDER", help="follow a folder: columns path, modificationTime, length"
    )
    parser.add_argument("--glob", metavar="PATTERN", help="the names of such objects, as '*.grib2'")
    add_reading(parser)
    parser.add_argument("--event-type", required=True, help="what the rows become")
    add_mapping(parser)
    parser.add_argument(
        "--id-scope", help="within which ids are made of content (default: the query and the batch)"
    )
    parser.add_argument(
        "--checkpoint", metavar="FOLDER", help="where it is remembered what was done; needed unless --dry-run"
    )
    parser.add_argument(
        "--receipts", metavar="FOLDER", help="where the receipts are kept; needed unless --dry-run"
    )
    when = parser.add_mutually_exclusive_group()
    when.add_argument("--available-now", action="store_true", help="end when everything there now is done")
    when.add_argument(
        "--trigger", default="10s", metavar="TIME", help="how often to look for news: 500ms, 10s, 5m, 1h"
    )
    parser.add_argument(
        "--max-per-trigger",
        type=int,
        metavar="N",
        help="how many files, messages or rows a batch takes at most",
    )
    parser.add_argument(
        "--accept-repeats", action="store_true", help="resume even where the service has forgotten the ids"
    )


def wanted(read: Mapping[str, Any]) -> StreamNotify:
    """Return what a command line asks for, or say what of it does not go together."""
    if not read["dry_run"]:
        for name, what in (
            ("checkpoint", "a restart must know what was sent"),
            ("receipts", "what became of each row must be somewhere"),
        ):
            if read[name] is None:
                raise NotUnderstood(f"name a folder with --{name}: {what}; or look first with --dry-run")
    if read["max_per_trigger"] is not None and read["max_per_trigger"] < 1:
        raise NotUnderstood(f"--max-per-trigger {read['max_per_trigger']}: a batch takes 1 at least")
    return StreamNotify(
        service=service_of(read),
        source=limited(_source(read), read["max_per_trigger"]),
        event_type=read["event_type"],
        expressions=expressions_of(read),
        where=read["where"],
        id_scope=read["id_scope"],
        receipts=read["receipts"],
        checkpoint=read["checkpoint"],
        trigger=None if read["available_now"] else trigger_of(read["trigger"]),
        accepts_repeats=read["accept_repeats"],
        is_dry_run=read["dry_run"],
    )


def _source(read: Mapping[str, Any]) -> Source:
    folder, name, options = read["new_objects"], read["source"], dict(read["option"])
    if folder is not None:
        if (name, read["format"], read["columns"]) != (None, None, None):
            raise NotUnderstood(
                "--new-objects is a source of its own: leave out SOURCE, --format and --columns"
            )
        return new_objects(folder, glob=read["glob"], options=options)
    if read["glob"] is not None:
        raise NotUnderstood("--glob says which --new-objects there are; for files: --option pathGlobFilter=…")
    if name is None and has_name(read["format"]):
        raise NotUnderstood("name what is followed: a folder, a table with --format table, or --new-objects")
    return source_of(name or "", format_=read["format"], options=options, columns=read["columns"])


def trigger_of(text: str) -> tuple[str, float]:
    """Return a duration as Spark says it, and in seconds."""
    found = _TRIGGER.fullmatch(text.strip())
    if found is None:
        raise NotUnderstood(f"--trigger '{text}' is no duration: say 500ms, 10s, 5m or 1h")
    unit, seconds = _UNITS[found[2]]
    return f"{found[1]} {unit}", int(found[1]) * seconds


def run(job: StreamNotify, session: SparkSession, stopping: Stopping) -> Report:
    """Do it."""
    from aviso_spark.mapping import mapped

    schema = read_event_schema(job.service.client(), job.event_type)
    rows = mapped(read(session, job, schema), schema, job.expressions)
    if job.is_dry_run:
        from aviso_spark.stream_rehearsal import rehearsed

        return rehearsed(NAME, rows, stopping)
    return _followed(job, rows, session, stopping)


def read(session: SparkSession, job: StreamNotify, schema: EventSchema) -> DataFrame:
    """Return the rows that are wanted, as they come."""
    from aviso_spark.stream_sources import read_stream

    rows = read_stream(session, job.source, fields=[field.name for field in schema.fields])
    return rows if job.where is None else rows.where(job.where)


def _followed(job: StreamNotify, rows: DataFrame, session: SparkSession, stopping: Stopping) -> Report:
    from aviso_spark import stream_receipts
    from aviso_spark.folders import open_folder
    from aviso_spark.sending import rejections, run_name
    from aviso_spark.stream_running import follow

    assert job.checkpoint is not None, "without a checkpoint there is only the dry run"
    assert job.receipts is not None, "without a place for receipts there is only the dry run"
    # Spark resolves a plain path by the file system that it has by default, which may be another than this machine's.
    open_ = partial(open_folder, session)
    if not job.accepts_repeats:
        stream_receipts.check_resumption(job.checkpoint, job.event_type, job.service, open_=open_)
    stream_receipts.check_folder(job.receipts, job.checkpoint, open_=open_)
    name = run_name()
    writer = stream_receipts.keeping_receipts(
        rows, service=job.service, id_scope=job.id_scope, run=name, folder=job.receipts
    )
    query = _start(writer.option("checkpointLocation", job.checkpoint), job)
    done = follow(query, NAME, stopping, every_seconds=job.trigger[1] if job.trigger else 0.0)
    findings: tuple[Finding, ...] = ()
    if done.rejected:
        receipts = session.read.parquet(literal(job.receipts))
        findings = rejections(receipts.where(receipts["run"] == name))
    notes = [f"  receipts in {job.receipts} (run={name})"]
    if stopping.is_asked:
        notes.append(
            "  stopped behind its last batch; the next start with this checkpoint goes on from there"
        )
    return Report(job=NAME, counts=done.counts(), findings=findings, notes=tuple(notes))


def _start(writer: DataStreamWriter, job: StreamNotify) -> StreamingQuery:
    if job.trigger is None:
        return writer.trigger(availableNow=True).start()
    return writer.trigger(processingTime=job.trigger[0]).start()
