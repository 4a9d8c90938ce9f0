"""The dry run of a stream: the first batch that has rows is looked at, and nothing is sent or remembered."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from aviso_spark import sending
from aviso_spark.common.report import Report
from aviso_spark.stream_running import begin_no_more, wait_ended

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from aviso_spark.common.stopping import Stopping

PATIENCE_SECONDS: Final = 10.0


def rehearsed(
    job: str, rows: DataFrame, stopping: Stopping, *, patience_seconds: float = PATIENCE_SECONDS
) -> Report:
    """Tell what would be posted of the first batch, and what would be refused before."""
    reports: list[Report] = []

    def look_at(batch: DataFrame, _batch_id: int) -> None:
        if not reports and not batch.isEmpty():
            reports.append(sending.rehearsed(job, batch))

    # Spark keeps the checkpoint of such a query in a place that it removes behind it.
    query = rows.writeStream.foreachBatch(look_at).start()
    until = time.monotonic() + patience_seconds

    def end_if_seen() -> None:
        is_idle = not query.status["isTriggerActive"]
        if reports or (is_idle and time.monotonic() > until):
            begin_no_more(query)
            query.stop()

    wait_ended(query, stopping, look=end_if_seen)
    if reports:
        return reports[0]
    note = f"  nothing came within {patience_seconds:g} s"
    return Report(job=job, counts={"rows": 0}, notes=(note,), is_dry_run=True)
