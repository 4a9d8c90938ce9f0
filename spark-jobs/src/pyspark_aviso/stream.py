"""A streaming read: offsets are sequences of each event type, and news of them come by themselves.

Spark keeps one of these in a process of its own for as long as a query runs, asks it for offsets, and sends copies of
it to the tasks. What must hold when the process is killed is in the offsets alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from pyspark_aviso.columns import check_columns
from pyspark_aviso.everything import Filters
from pyspark_aviso.offsets import (
    LogBehind,
    LogReplaced,
    Mark,
    admit,
    between,
    check_log,
    decode,
    encode,
    is_behind,
)
from pyspark_aviso.positions import read_positions
from pyspark_aviso.reader import (
    connect,
    partitions_of,
    read_filter,
    read_names,
    read_partition,
    reading_of,
)
from pyspark_aviso.retrying import Attempts
from pyspark_aviso.starting import begin, read_starting
from pyspark_aviso.watching import HeadWatch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa  # type: ignore[import-untyped]  # it brings no types
    from pyspark.sql.datasource import InputPartition
    from pyspark.sql.streaming.datasource import ReadLimit
    from pyspark.sql.types import StructType

    from pyspark_aviso.offsets import Offset
    from pyspark_aviso.options import StreamReadOptions
    from pyspark_aviso.positions import Positions


class EventStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Follows event types."""

    def __init__(self, options: StreamReadOptions, schema: StructType) -> None:
        check_columns(schema, options)
        self._options = options
        self._schema = schema
        self._names = read_names(options.event_types)
        self._filters = Filters(read_filter(options.filter))
        self._starting = read_starting(options.starting_offsets)
        self._client = connect(options)
        # Opened when it is needed, which is only in the process that plans.
        self._watch: HeadWatch | None = None
        # Up to where a query reads that ends by itself.
        self._frozen: Positions | None = None
        self._has_checked_names = False

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_watch": None, "_frozen": None}

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 (Spark's name)
        """Return where a query without a checkpoint begins."""
        self._check_filters(self._names)
        # What comes between the two questions of a query that ends by itself is behind its end, and so its beginning.
        held = self._now() if self._frozen is None else self._frozen
        return encode(begin(self._client, self._starting, held))

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 (Spark's name)
        """Return how much one batch may take."""
        most = self._options.max_notifications_per_trigger
        return ReadAllAvailable() if most is None else ReadMaxRows(most)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 (Spark's name)
        """Fix the end of the query: what is stored now, and nothing that comes later."""
        self._frozen = self._now()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802 (Spark's name)
        """Return up to where the next batch reads: `start` itself where nothing new has come within some time."""
        read = decode(start)
        self._check_new_names(read)
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        head = self._wait(read, most) if self._frozen is None else self._frozen
        if self._options.fail_on_data_loss and is_behind(read, head):
            head = self._caught_up(read)
            self._frozen = None if self._frozen is None else head
        self._check(read, head)
        end = admit(read, head, most=most)
        return start if end == read else encode(end)

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802 (Spark's name)
        """Return the heads of the logs, which progress reports compare with what is read."""
        head = self._frozen or (None if self._watch is None else self._watch.head)
        if head is None:
            return None
        selected = self._selected(head)
        return encode(
            {name: Mark(held.epoch, held.last) for name, held in selected.items() if held is not None}
        )

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """Return the ranges between two offsets."""
        if start == end:
            return []
        through = decode(end)
        ranges = between(
            decode(start),
            through,
            self._caught_up(through),
            rows_per_partition=self._options.rows_per_partition,
            on_loss=reading_of(self._options).on_loss,
        )
        return partitions_of(self._client, ranges, self._filters)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the events of one partition."""
        yield from read_partition(self._options, self._schema, partition)

    def stop(self) -> None:
        """Let go of the service."""
        if self._watch is not None:
            self._watch.close()
        self._client.close()

    def _check_new_names(self, read: Offset) -> None:
        """Refuse once what a query that goes on from a checkpoint was named anew, and what there is not."""
        if self._has_checked_names:
            return
        new = [name for name in self._names if name not in read]
        if new:
            read_positions(self._client, new)
        self._check_filters(new)
        self._has_checked_names = True

    def _check_filters(self, names: Sequence[str]) -> None:
        """Tell now what cannot be read, and not when its first event comes."""
        for name in names:
            self._filters.of(self._client, name)

    def _now(self) -> dict[str, Any]:
        return read_positions(self._client, self._names)

    def _caught_up(self, read: Offset) -> Positions:
        """Return what is held, told by an instance of the service that knows what was read, if one does in time.

        What was withdrawn meanwhile is missing from it, and no reason not to read the others.
        """
        attempts = Attempts(self._options.deadline_seconds)
        while True:
            head = self._selected(read_positions(self._client))
            is_final = not self._options.fail_on_data_loss or not is_behind(read, head)
            if is_final or not attempts.pause():
                return head

    def _wait(self, read: Offset, most: int | None) -> Positions:
        """Return what is held as soon as there is something to read, or something is wrong."""
        if self._watch is None:
            self._watch = HeadWatch(connect(self._options))

        def is_news(head: Positions) -> bool:
            selected = self._selected(head)
            try:
                self._check(read, selected)
            except LogReplaced:
                return True
            except LogBehind:
                return False
            return admit(read, selected, most=most) != read

        return self._selected(self._watch.wait(is_news, seconds=self._options.wait_seconds))

    def _selected(self, head: Positions) -> Positions:
        names = self._names or sorted(head)
        return {name: head[name] for name in names if name in head}

    def _check(self, read: Offset, head: Positions) -> None:
        """Raise as soon as another log has taken the place of one that was read."""
        if not self._options.fail_on_data_loss:
            return
        for name, mark in read.items():
            if not self._names or name in self._names:
                check_log(name, mark, head.get(name))
