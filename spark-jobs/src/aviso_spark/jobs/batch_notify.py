"""`batch-notify`: rows of a table or of files become notifications.

Read, map by the event type's schema, post with ids made of content, and keep a receipt for each row. What the schema
refuses is not posted, and is among the receipts with the field at fault.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec.structs import replace

from aviso_spark.common.arguments import service_of
from aviso_spark.common.problems import NotUnderstood
from aviso_spark.common.report import Finding, Report
from aviso_spark.common.service import ServiceAddress, read_event_schema
from aviso_spark.expressions import Expressions
from aviso_spark.folders import literal
from aviso_spark.mapping_arguments import add_mapping, add_reading, expressions_of
from aviso_spark.sources import Source, source_of
from pyspark_aviso.receipts import dead_letters

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

    from aviso_spark.common.stopping import Stopping
    from aviso_spark.event_schema import EventSchema
    from aviso_spark.unfinished import Run
    from aviso_spark.watermark import Watermark

NAME: Final = "batch-notify"
SUMMARY: Final = "Make notifications of the rows of a table or of files, with a receipt for each row."
MORE: Final = """\
examples:
  what would be sent, and what would be refused, of a folder of Parquet:
    $ aviso-spark batch-notify /data/forecasts --format parquet --event-type model_output --dry-run
  send it, with expressions for what is called otherwise, and keep the receipts:
    $ aviso-spark batch-notify alerts.csv --event-type weather_alert --map 'severity=level + 1' \\
        --map polygon=wkt --payload 'struct(headline)' --receipts /data/receipts
  scenes of a STAC item collection, their footprints as polygons:
    $ aviso-spark batch-notify items.json --format stac --event-type scene --map polygon=geometry \\
        --id id --receipts /data/receipts
  only what came since the last run, from a catalogue table:
    $ aviso-spark batch-notify db.scenes --format table --event-type scene --receipts /data/receipts \\
        --watermark /data/scenes.mark --watermark-column ingested_at
  once more what was rejected, with the same ids:
    $ aviso-spark batch-notify /data/receipts --format dead-letters --receipts /data/receipts-2

how rows become notifications:
  A field of the event type takes the column of its name, or what --map says: any expression of Spark SQL.
  The payload is the column 'payload' or --payload: JSON text, or a struct, an array, a map or a variant.
  A polygon is GeoJSON, WKT, WKB or a box [west, south, east, north], longitude first.
  The schema service is asked for the rules. A row that breaks one is not sent; its receipt names the field.

ids:
  Without --id, a record's id is made of what it says: sent again within the event type's duplicate window it is
  a duplicate, and not a second notification. --id-scope makes room for saying the same again: a run's own date.
  What was begun and broke off is remembered beside the watermark or the receipts: where it was begun longer ago than
  that window, nothing is sent until --accept-repeats.

watermark:
  Rows whose watermark column is null are never sent; their number is told.

receipts:
  One row for each row that was read, as Parquet in a folder run=<id> below --receipts: what was sent, and id,
  status (accepted, duplicate, rejected), sequence, field, error, attempts.
"""

DEAD_LETTERS: Final = "dead-letters"


class BatchNotify(msgspec.Struct, frozen=True, kw_only=True):
    """What the job was asked to do."""

    service: ServiceAddress
    source: Source
    event_type: str | None
    expressions: Expressions
    where: str | None
    id_scope: str
    receipts: str | None
    watermark_file: str | None
    watermark_column: str | None
    accepts_repeats: bool
    is_dry_run: bool


def add_arguments(parser: ArgumentParser) -> None:
    """Add what only this job takes."""
    parser.add_argument(
        "source", metavar="SOURCE", help="a file, a folder, or with --format table a table's name"
    )
    parser.add_argument(
        "--format", help=f"parquet, csv, json, stac, table, {DEAD_LETTERS}, or any other that Spark reads"
    )
    add_reading(parser)
    parser.add_argument("--event-type", help="what the rows become")
    add_mapping(parser)
    parser.add_argument(
        "--id-scope", default="", help="within which ids are made of content (default: one for all)"
    )
    parser.add_argument(
        "--receipts", metavar="FOLDER", help="where the receipts are kept; needed unless --dry-run"
    )
    parser.add_argument("--watermark", metavar="FILE", help="a file that remembers how far this job has got")
    parser.add_argument(
        "--watermark-column", metavar="COLUMN", help="the column that grows, as an ingest time"
    )
    parser.add_argument(
        "--accept-repeats",
        action="store_true",
        help="start again even where the service has forgotten the ids",
    )


def wanted(read: Mapping[str, Any]) -> BatchNotify:
    """Return what a command line asks for, or say what of it does not go together."""
    is_replayed = read["format"] == DEAD_LETTERS
    if (read["event_type"] is None) != is_replayed:
        raise NotUnderstood("--event-type says what the rows become; dead letters alone know it themselves")
    if read["receipts"] is None and not read["dry_run"]:
        raise NotUnderstood("name a folder with --receipts: what became of each row must be somewhere")
    if (read["watermark"] is None) != (read["watermark_column"] is None):
        raise NotUnderstood("--watermark and --watermark-column go together")
    return BatchNotify(
        service=service_of(read),
        source=source_of(
            read["source"], format_=read["format"], options=dict(read["option"]), columns=read["columns"]
        ),
        event_type=read["event_type"],
        expressions=expressions_of(read),
        where=read["where"],
        id_scope=read["id_scope"],
        receipts=read["receipts"],
        watermark_file=read["watermark"],
        watermark_column=read["watermark_column"],
        accepts_repeats=read["accept_repeats"],
        is_dry_run=read["dry_run"],
    )


def run(job: BatchNotify, session: SparkSession, stopping: Stopping) -> Report:
    """Do it."""
    from aviso_spark import sending
    from aviso_spark.mapping import mapped

    mark: Watermark | None = None
    findings: tuple[Finding, ...] = ()
    if job.source.format == DEAD_LETTERS:
        rows = dead_letters(read_receipts(session, job.source.name))
    else:
        schema = read_event_schema(job.service.client(), job.event_type or "")
        raw, mark, findings = _new_rows(read(session, job, schema), job)
        rows = mapped(raw, schema, job.expressions)
    if job.is_dry_run:
        report = sending.rehearsed(NAME, rows)
    else:
        stopping.check()
        report = _sent(job, rows, mark, session)
    return replace(report, findings=(*report.findings, *findings))


def read_receipts(session: SparkSession, folder: str) -> DataFrame:
    """Return the receipts of all runs, each of which has the columns of its own rows."""
    return session.read.option("mergeSchema", "true").parquet(literal(folder))


def read(session: SparkSession, job: BatchNotify, schema: EventSchema) -> DataFrame:
    """Return the rows of the source that are wanted."""
    from aviso_spark.sources import read_source

    rows = read_source(session.read, job.source, fields=[field.name for field in schema.fields])
    return rows if job.where is None else rows.where(job.where)


def _sent(job: BatchNotify, rows: DataFrame, mark: Watermark | None, session: SparkSession) -> Report:
    from aviso_spark import sending, unfinished, watermark

    assert job.receipts is not None, "without a place for receipts there is only the dry run"
    sending.check_receipts(session, job.receipts)
    place = unfinished.place_of(receipts=job.receipts, watermark_file=job.watermark_file)
    with unfinished.remembered(
        session, place, _identity(job), rows, service=job.service, accepts_repeats=job.accepts_repeats
    ) as notes:
        report = sending.sent(
            NAME, rows, session=session, service=job.service, id_scope=job.id_scope, folder=job.receipts
        )
        if mark is not None and job.watermark_file is not None:
            watermark.write_watermark(job.watermark_file, mark)
            notes = (f"  done up to {mark.column} {mark.value}", *notes)
    return replace(report, notes=(*notes, *report.notes))


def _identity(job: BatchNotify) -> Run:
    from aviso_spark.unfinished import Run

    options = (f"{name}={value}" for name, value in sorted(job.source.options.items()))
    source = (job.source.format, job.source.name, job.where or "", *options)
    return Run(source=source, event_type=job.event_type, id_scope=job.id_scope)


def _new_rows(rows: DataFrame, job: BatchNotify) -> tuple[DataFrame, Watermark | None, tuple[Finding, ...]]:
    """Return the rows that came since the last run, how far they go, and what is to be told of those that are left out.

    They are all rows where nobody remembers.
    """
    from aviso_spark import watermark

    if job.watermark_file is None or job.watermark_column is None:
        return rows, None, ()
    before = watermark.read_watermark(job.watermark_file, job.watermark_column)
    now = watermark.reached(rows, job.watermark_column, before=before)
    what = (
        f"null in --watermark-column {job.watermark_column}, and never sent: give them a value, or send them by a run "
        "without --watermark"
    )
    findings = (Finding(count=now.without_value, what=what),) if now.without_value else ()
    if now.mark is None:
        return rows.where("false"), None, findings
    return watermark.between(rows, after=before, to=now.mark), now.mark, findings
