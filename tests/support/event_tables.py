"""The data source's readers as Spark drives them, but without Spark: planned, and sent to tasks as copies."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.streaming.datasource import ReadAllAvailable

from pyspark_aviso.options import read_options
from pyspark_aviso.reader import reader_of
from pyspark_aviso.schema import EVENT_COLUMNS
from pyspark_aviso.stream import EventStreamReader
from support.spark_types import sent_to_task, struct_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql.datasource import InputPartition

    from pyspark_aviso.reader import EventReader

FORMS: Final = ("arrow", "ndjson", "auto")
COLUMNS: Final = ", ".join(f"{name} {kind}" for name, kind in EVENT_COLUMNS.items())
ALL: Final = ReadAllAvailable()
Offset = dict[str, Any]


def _given(url: str, options: Mapping[str, Any]) -> dict[str, str]:
    return {"url": url, "deadlineSeconds": "30", **{name: str(value) for name, value in options.items()}}


# --- once ------------------------------------------------------------------------------------------------


def reader(url: str, columns: str = COLUMNS, **options: Any) -> EventReader:
    """Return a reader as Spark makes it."""
    return reader_of(read_options(_given(url, options), "read"), struct_of(columns))


def rows_of(one: EventReader, partitions: list[InputPartition] | None = None) -> list[dict[str, Any]]:
    """Return what a reader reads, in the order of its partitions, having been sent to where it is done."""
    rows: list[dict[str, Any]] = []
    for partition in one.partitions() if partitions is None else partitions:
        there, part = sent_to_task((one, partition))
        for batch in there.read(part):
            rows += batch.to_pylist()
    return rows


def read(url: str, columns: str = COLUMNS, **options: Any) -> list[dict[str, Any]]:
    """Return what is read with these options."""
    return rows_of(reader(url, columns, **options))


def sequences(url: str, **options: Any) -> list[int]:
    """Return the sequences of what is read with these options."""
    return [row["sequence"] for row in read(url, "sequence bigint", **options)]


# --- as a stream -----------------------------------------------------------------------------------------


@contextmanager
def following(url: str, **options: Any) -> Iterator[EventStreamReader]:
    """Return a stream reader for as long as the block runs."""
    columns = struct_of("event_type string, sequence bigint")
    one = EventStreamReader(read_options(_given(url, options), "stream"), columns)
    try:
        yield one
    finally:
        one.stop()


def sent(offset: Offset) -> Offset:
    """Return an offset as it comes back out of a checkpoint."""
    found: Offset = json.loads(json.dumps(offset))
    return found


def rows_between(one: EventStreamReader, start: Offset, end: Offset) -> list[tuple[str, int]]:
    """Return the rows of one batch, read where tasks run."""
    rows: list[tuple[str, int]] = []
    for partition in one.partitions(sent(start), sent(end)):
        there, part = sent_to_task((one, partition))
        for batch in there.read(part):
            rows += [(row["event_type"], row["sequence"]) for row in batch.to_pylist()]
    return rows


def next_batch(one: EventStreamReader, start: Offset) -> tuple[Offset, list[tuple[str, int]]]:
    """Return the end of the next batch, and its rows."""
    end = sent(one.latestOffset(sent(start), one.getDefaultReadLimit()))
    return end, rows_between(one, start, end)


def wait_other_offset(one: EventStreamReader, start: Offset) -> Offset:
    """Return the first offset that is another."""
    end = start
    while end == start:
        end = one.latestOffset(start, ALL)
    return end


def wait_rows(one: EventStreamReader, start: Offset, count: int) -> tuple[Offset, list[tuple[str, int]]]:
    """Return where the batches end that have so many rows together, and the rows."""
    found: list[tuple[str, int]] = []
    while len(found) < count:
        start, rows = next_batch(one, start)
        found += rows
    return start, found


def maps(*numbers: int) -> list[tuple[str, int]]:
    """Return rows of one event type."""
    return [("maps", number) for number in numbers]
