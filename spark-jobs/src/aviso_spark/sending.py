"""Rows that are mapped already → notifications with receipts, or a rehearsal of it; either ends in a report."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from pyspark.sql import functions as sql

from aviso_spark.common.problems import NotUnderstood
from aviso_spark.common.progress import told_progress
from aviso_spark.common.report import Finding, Report
from aviso_spark.folders import Folder, has_files, literal
from aviso_spark.stream_progress import STREAM_ACCOUNT
from pyspark_aviso.receipt_rows import REFUSED_COLUMN
from pyspark_aviso.receipts import notify

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import Column, DataFrame, Row, SparkSession

    from aviso_spark.common.service import ServiceAddress
    from pyspark_aviso.receipts import Counts

_MOST_FINDINGS: Final = 20
_SHOWN_ROWS: Final = 3


def run_name() -> str:
    """Return a name for a run that no other has, in the order of time."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{uuid4().hex[:6]}"


def sent(
    job: str,
    rows: DataFrame,
    *,
    session: SparkSession,
    service: ServiceAddress,
    id_scope: str,
    folder: str,
    in_flight: int = 2,
) -> Report:
    """Post the rows, keep their receipts in a folder of this run, and tell what became of them."""
    target = f"{folder.rstrip('/')}/run={run_name()}"
    with told_progress(session, job):
        handle = notify(rows, **service.options(), idScope=id_scope, inFlight=in_flight)
        counts = handle.write_to(target)
        findings = rejections(session.read.parquet(literal(target))) if counts.rejected else ()
    return Report(job=job, counts=as_counts(counts), findings=findings, notes=(f"  receipts in {target}",))


def check_receipts(session: SparkSession, folder: str) -> None:
    """Refuse a folder of a stream's receipts: whoever reads it sees what the stream has written, and nothing else."""
    if has_files(session) and Folder(session, folder).has(STREAM_ACCOUNT):
        raise NotUnderstood(
            f"--receipts {folder}: it has the receipts of a stream, beside which others are never read: "
            "name another folder"
        )


def as_counts(counts: Counts) -> dict[str, int]:
    """Return the counts of a report."""
    return {"rows": counts.rows, **counts._asdict()}


def rejections(receipts: DataFrame) -> tuple[Finding, ...]:
    """Return why rows were rejected: how often each field was at fault, with an example."""
    rejected = receipts.where(sql.col("status") == "rejected")
    return tuple(_findings(_by_field(rejected, sql.col("field"), sql.col("error"))))


def rehearsed(job: str, rows: DataFrame) -> Report:
    """Tell what would be posted, and what would be refused before."""
    if REFUSED_COLUMN not in rows.columns:
        return Report(job=job, counts={"rows": rows.count()}, notes=tuple(_shown(rows)), is_dry_run=True)
    reason = sql.col(REFUSED_COLUMN)
    counted = rows.agg(sql.count("*").alias("rows"), sql.count(reason).alias("refused")).first()
    assert counted is not None, "an aggregate has one row"
    refused = rows.where(reason.isNotNull())
    return Report(
        job=job,
        counts={
            "rows": counted["rows"],
            "would be sent": counted["rows"] - counted["refused"],
            "refused": counted["refused"],
        },
        findings=tuple(_findings(_by_field(refused, reason["field"], reason["error"])))
        if counted["refused"]
        else (),
        notes=tuple(_shown(rows.where(reason.isNull()).drop(REFUSED_COLUMN))),
        is_dry_run=True,
    )


def _by_field(rows: DataFrame, field: Column, error: Column) -> list[Row]:
    grouped = rows.groupBy(field.alias("field")).agg(
        sql.count("*").alias("rows"), sql.min(error).alias("example")
    )
    return grouped.orderBy(sql.desc("rows"), "field").limit(_MOST_FINDINGS).collect()


def _findings(groups: list[Row]) -> Iterator[Finding]:
    for group in groups:
        where = f"field '{group['field']}': " if group["field"] else ""
        example = f"{group['example']}" if group["rows"] == 1 else f"for example {group['example']}"
        yield Finding(count=group["rows"], what=f"{where}{example}")


def _shown(rows: DataFrame) -> Iterator[str]:
    for text in rows.select(sql.to_json(sql.struct("*")).alias("row")).limit(_SHOWN_ROWS).collect():
        yield f"  such as {text['row']}"
