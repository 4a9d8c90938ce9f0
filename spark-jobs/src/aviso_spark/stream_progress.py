"""How far a stream has got: what Spark says about each batch, added up, and told in one line.

Values alone: what is decoded here is the JSON of Spark's progress.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

OBSERVED: Final = "receipts"
"""The name under which a batch's outcomes are counted."""

STREAM_ACCOUNT: Final = "_spark_metadata"
"""The folder in which Spark's file sink keeps account of what a stream has written."""

OUTCOMES: Final = ("accepted", "duplicate", "rejected")
# What sources say themselves about what they have not handed over yet.
_WAITING: Final = {"numFilesOutstanding": "files", "maxOffsetsBehindLatest": "messages"}


class SourceProgress(msgspec.Struct, frozen=True, rename="camel"):
    """What Spark says about a source."""

    end_offset: Any = None
    latest_offset: Any = None
    metrics: dict[str, str] | None = None


class BatchProgress(msgspec.Struct, frozen=True, rename="camel"):
    """What Spark says about a batch, or about a look for one."""

    batch_id: int
    timestamp: str
    num_input_rows: int = 0
    duration_ms: dict[str, int] = {}
    sources: tuple[SourceProgress, ...] = ()
    observed_metrics: dict[str, dict[str, int]] = {}

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.duration_ms.get("triggerExecution", 0) / 1000

    @property
    def is_batch(self) -> bool:
        """Tell whether it was a batch: a look that found nothing is told as well."""
        return "addBatch" in self.duration_ms


class Sum(msgspec.Struct, frozen=True):
    """Several batches together."""

    batches: int = 0
    accepted: int = 0
    duplicate: int = 0
    rejected: int = 0
    seconds: float = 0.0

    @property
    def rows(self) -> int:
        """How many rows there were."""
        return self.accepted + self.duplicate + self.rejected

    @property
    def rows_per_second(self) -> float:
        """How many rows were done in each second of work."""
        return self.rows / self.seconds if self.seconds else 0.0

    def plus(self, batch: BatchProgress) -> Sum:
        """Return the sum with one batch more."""
        if not batch.is_batch:
            return self
        counts = batch.observed_metrics.get(OBSERVED, {})
        accepted, duplicate, rejected = (counts.get(name, 0) for name in OUTCOMES)
        return Sum(
            self.batches + 1,
            self.accepted + accepted,
            self.duplicate + duplicate,
            self.rejected + rejected,
            self.seconds + batch.seconds,
        )

    def minus(self, earlier: Sum) -> Sum:
        """Return what came since."""
        return Sum(*(now - then for now, then in zip(_values(self), _values(earlier), strict=True)))

    def counts(self) -> dict[str, int]:
        """Return the counts of a report."""
        return {"batches": self.batches, "rows": self.rows} | {name: getattr(self, name) for name in OUTCOMES}


def _values(of: Sum) -> tuple[Any, ...]:
    return msgspec.structs.astuple(of)


decode_progress: Final = msgspec.json.Decoder(BatchProgress).decode


def told(job: str, *, since: Sum, whole: Sum, last: BatchProgress, every_seconds: float) -> str:
    """Return the line about what came since the last line, and about everything."""
    parts = [
        f"{job}: batch {last.batch_id}",
        f"{since.rows:,} {'row' if since.rows == 1 else 'rows'}, {since.rows_per_second:,.1f} rows/s",
        f"{whole.rows:,} in all, {whole.rejected:,} rejected",
        behind(last, every_seconds=every_seconds),
    ]
    return "; ".join(part for part in parts if part)


def behind(last: BatchProgress, *, every_seconds: float) -> str:
    """Return how much waits, as far as the source says; else whether batches take longer than there is time for."""
    waits = [text for source in last.sources for text in _waiting(source)]
    if waits:
        return f"behind: {', '.join(waits)}"
    if every_seconds and last.seconds > every_seconds:
        return f"behind: a batch took {last.seconds:.0f} s and is to take {every_seconds:g} s"
    return ""


def _waiting(source: SourceProgress) -> list[str]:
    metrics = source.metrics or {}
    said = [f"{int(float(metrics[name])):,} {unit}" for name, unit in _WAITING.items() if name in metrics]
    if said:
        return said
    difference = _difference(source.latest_offset, source.end_offset)
    return [] if difference is None else [f"{difference:,} offsets"]


def _difference(latest: Any, end: Any) -> int | None:
    """Return by how much the numbers of one offset are higher than those of another; None where it is no such thing."""
    match latest, end:
        case bool(), _:
            return None
        case int(), int():
            return max(0, int(latest) - int(end))
        case dict(), dict():
            found = [_difference(value, end.get(name, 0)) for name, value in latest.items()]
            numbers = [number for number in found if number is not None]
            return sum(numbers) if numbers else None
        case dict(), int():
            return _difference(latest, dict.fromkeys(latest, 0))
        case _:
            return None
