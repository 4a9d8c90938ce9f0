"""Archives that tests write themselves, so that it is known when each event was stored: of a log, all would be new."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from aviso_spark.archived import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

EVENT_TYPE: Final = "runs"
DAY: Final = datetime(2020, 1, 1, tzinfo=UTC)
_NAMES: Final = [column.split()[0] for column in COLUMNS.split(", ")]


def event(sequence: int, *, hours: float, late_by: float = 60.0, **fields: Any) -> dict[str, Any]:
    """Return an event that was stored so many hours after the first day began, and produced seconds before that."""
    time = DAY + timedelta(hours=hours)
    produced = time - timedelta(seconds=late_by)
    return {
        "epoch": "e",
        "sequence": sequence,
        "time": time,
        "id": f"id-{sequence}",
        "identifier": {name: str(value) for name, value in fields.items()},
        "payload": f'{{"produced":"{produced:%Y-%m-%dT%H:%M:%SZ}"}}',
        "event_type": EVENT_TYPE,
        "day": time.date(),
    }


def keep(spark: SparkSession, folder: Path, events: Sequence[dict[str, Any]]) -> str:
    """Add events to an archive, as a run of the job does; return where it is."""
    rows = [tuple(event.get(name) for name in _NAMES) for event in events]
    frame = spark.createDataFrame(rows, COLUMNS).coalesce(1)
    frame.write.mode("append").partitionBy("event_type", "day").parquet(str(folder))
    return str(folder)
