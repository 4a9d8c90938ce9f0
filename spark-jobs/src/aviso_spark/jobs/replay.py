"""`replay`: an archive's events go back into a service, with the ids and in the order that they had."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from aviso_spark.common.arguments import service_of
from aviso_spark.common.problems import NotUnderstood
from aviso_spark.common.report import Finding, Report
from aviso_spark.common.service import ServiceAddress
from aviso_spark.folders import is_below

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

    from aviso_spark.common.stopping import Stopping

NAME: Final = "replay"
SUMMARY: Final = "Post an archive's events to a service, with the ids and in the order that they had."
MORE: Final = """\
examples:
  what an archive has of two event types, into another service:
    $ aviso-spark replay /archive --event-types model_output,weather_alert --receipts /data/receipts \\
        --url http://other:8000
  a part of one:
    $ aviso-spark replay /archive --event-types model_output --from-sequence 100 --to-sequence 200 \\
        --receipts /data/receipts

what is posted:
  identifier, payload and shape of each event, with its id (event_type@sequence) as the record's id and the instant at
  which it was stored as the producer's time. Doing it twice within the duplicate window stores everything once; what
  broke off and was begun longer ago is not done again until --accept-repeats.
  The service gives sequences and instants of its own. Events of one type are posted in their order, one request after
  the other; event types side by side.

what is left out:
  Retractions, and shapes that are clouds of points: their number is told.
"""


class Replay(msgspec.Struct, frozen=True, kw_only=True):
    """What the job was asked to do."""

    service: ServiceAddress
    folder: str
    event_types: tuple[str, ...]
    epoch: str | None
    from_sequence: int | None
    to_sequence: int | None
    receipts: str | None
    accepts_repeats: bool
    is_dry_run: bool


def add_arguments(parser: ArgumentParser) -> None:
    """Add what only this job takes."""
    parser.add_argument("folder", metavar="FOLDER", help="the archive")
    parser.add_argument(
        "--event-types", default="", metavar="NAMES", help="separated by commas (default: all)"
    )
    parser.add_argument(
        "--epoch", help="which life of a log, where the archive has several of one event type"
    )
    parser.add_argument("--from-sequence", type=int, metavar="N", help="the first sequence")
    parser.add_argument("--to-sequence", type=int, metavar="N", help="the last sequence")
    parser.add_argument(
        "--receipts", metavar="FOLDER", help="where the receipts are kept; needed unless --dry-run"
    )
    parser.add_argument(
        "--accept-repeats",
        action="store_true",
        help="start again even where the service has forgotten the ids",
    )


def wanted(read: Mapping[str, Any]) -> Replay:
    """Return what a command line asks for, or say what of it does not go together."""
    if read["receipts"] is None and not read["dry_run"]:
        raise NotUnderstood("name a folder with --receipts: what became of each event must be somewhere")
    if read["receipts"] is not None and is_below(read["receipts"], read["folder"]):
        raise NotUnderstood("--receipts would put receipts into the archive: name a folder outside of it")
    return Replay(
        service=service_of(read),
        folder=read["folder"],
        event_types=tuple(name.strip() for name in read["event_types"].split(",") if name.strip()),
        epoch=read["epoch"],
        from_sequence=read["from_sequence"],
        to_sequence=read["to_sequence"],
        receipts=read["receipts"],
        accepts_repeats=read["accept_repeats"],
        is_dry_run=read["dry_run"],
    )


def run(job: Replay, session: SparkSession, stopping: Stopping) -> Report:
    """Do it."""
    from aviso_spark import sending
    from aviso_spark.archived import last_sequences, read_archive

    kept = read_archive(session, job.folder)
    if kept is None:
        raise NotUnderstood(f"there is no archive at {job.folder}")
    chosen = select(kept, job)
    check_epochs(list(last_sequences(chosen)))
    retractions = chosen.where("operation is not null").count()
    rows = transform(chosen)
    stopping.check()
    report = sending.rehearsed(NAME, rows) if job.is_dry_run else _sent(job, rows, session)
    if not retractions:
        return report
    left_out = Finding(count=retractions, what="retractions, which are not replayed")
    return msgspec.structs.replace(report, findings=(*report.findings, left_out))


def _sent(job: Replay, rows: DataFrame, session: SparkSession) -> Report:
    from aviso_spark import sending, unfinished

    assert job.receipts is not None, "without a place for receipts there is only the dry run"
    sending.check_receipts(session, job.receipts)
    part = (job.epoch, job.from_sequence, job.to_sequence)
    source = (NAME, job.folder, ",".join(job.event_types), *(str(end) for end in part))
    run = unfinished.Run(source=source, event_type=None, id_scope="")
    place = unfinished.place_of(receipts=job.receipts)
    with unfinished.remembered(
        session, place, run, rows, service=job.service, accepts_repeats=job.accepts_repeats
    ) as notes:
        report = sending.sent(
            NAME, rows, session=session, service=job.service, id_scope="", folder=job.receipts, in_flight=1
        )
    return msgspec.structs.replace(report, notes=(*notes, *report.notes))


def select(kept: DataFrame, job: Replay) -> DataFrame:
    """Return the events that are wanted."""
    from pyspark.sql import functions as sql

    rows = kept
    if job.event_types:
        rows = rows.where(sql.col("event_type").isin(*job.event_types))
    if job.epoch is not None:
        rows = rows.where(sql.col("epoch") == job.epoch)
    if job.from_sequence is not None:
        rows = rows.where(sql.col("sequence") >= job.from_sequence)
    if job.to_sequence is not None:
        rows = rows.where(sql.col("sequence") <= job.to_sequence)
    return rows


def check_epochs(lives: list[tuple[str, str]]) -> None:
    """Refuse several lives of one log: their events have the same ids, so those of the second would be duplicates."""
    names = sorted(name for name, _ in lives)
    for name in names:
        if names.count(name) > 1:
            epochs = ", ".join(sorted(epoch for other, epoch in lives if other == name))
            raise NotUnderstood(
                f"the log of {name} was made anew, and the archive has several of its lives: "
                f"choose one with --event-types {name} --epoch, of {epochs}"
            )


def transform(kept: DataFrame) -> DataFrame:
    """Return the events as they are posted: those of one type in one partition, in their order."""
    from pyspark.sql import functions as sql

    from aviso_spark.checks import fault
    from aviso_spark.footprint_columns import as_footprint
    from pyspark_aviso.receipt_rows import REFUSED_COLUMN

    shaped = kept.where("operation is null").withColumn("footprint", as_footprint(sql.col("geometry")))
    ordered = shaped.repartition("event_type").sortWithinPartitions("event_type", "sequence")
    error = sql.col("footprint.error")
    return ordered.select(
        "event_type",
        "identifier",
        "payload",
        "id",
        "time",
        # What is refused is kept, in letters: a receipt without it would look like an event that never had a shape.
        sql.when(error.isNull(), sql.col("footprint.geometry"))
        .otherwise(sql.hex("geometry"))
        .alias("geometry"),
        sql.col("sequence").alias("archived_sequence"),
        fault(error.isNotNull(), "geometry", error).alias(REFUSED_COLUMN),
    )
