"""What Spark calls to write: one core for batches and for streams, and their two thin shells.

A task encodes its rows, posts them and returns what became of them. `commit` and `abort` run elsewhere, in a process of
their own beside the driver: nothing is kept for them but what the tasks returned, and of tasks that did not end there
is None. What was posted is not taken back by an abort; repeated, it is known again by its ids.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)

from pyspark_aviso.batches import cut_column, cut_lines
from pyspark_aviso.encode import Encoder, check_columns
from pyspark_aviso.options import OptionError
from pyspark_aviso.posting import Posting
from pyspark_aviso.reports import Written, check_report, report
from pyspark_aviso.resuming import KnownIds, Point, nothing_to_check, read_point
from pyspark_aviso.schema import VALUE_COLUMN
from pyspark_aviso.transport import client_of
from pyspark_aviso.value_lines import value_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import pyarrow as pa  # type: ignore[import-untyped]  # it brings no types

    from pyspark_aviso.options import WriteOptions
    from pyspark_aviso.row_values import Faults
    from pyspark_aviso.transport import Client

QUERY_PROPERTY: Final = "sql.streaming.queryId"
BATCH_PROPERTY: Final = "streaming.sql.batchId"


class Task(NamedTuple):
    """What a task knows of itself; the last two in a stream only."""

    attempt: int = 0
    query_id: str | None = None
    batch_id: int | None = None


class Work(NamedTuple):
    """One write, as it travels to its tasks."""

    options: WriteOptions
    names: tuple[str, ...]
    # None where it does not matter whether it was posted before.
    point: Point | None

    def write(
        self, batches: Iterable[pa.RecordBatch], task: Task, *, clock: Callable[[], float] = time.time
    ) -> Written:
        """Post the rows of one task, and return what became of them."""
        options = self.options
        client = client_of(
            url=options.url,
            token_file=options.token_file,
            ca_file=options.ca_file,
            deadline_seconds=options.deadline_seconds,
            compression=options.compression,
            connections=options.in_flight,
        )
        known = self._known_ids(client, task, clock)
        post = self._post_lines if self.names == (VALUE_COLUMN,) else self._post_rows
        with Posting(client, in_flight=options.in_flight, on_reject=options.on_reject) as posting:
            for batch in batches:
                post(batch, posting, task, known)
        return Written(posting.tally)

    def _known_ids(self, client: Client, task: Task, clock: Callable[[], float]) -> KnownIds | None:
        """Return what the service must still know of what this task posts; None where it posts nothing again."""
        if self.point is None:
            return None
        point = self.point.of_batch(task.batch_id)
        return KnownIds(client, point, clock=clock) if point.is_repeated(attempt=task.attempt) else None

    def _post_lines(
        self, batch: pa.RecordBatch, posting: Posting, task: Task, known: KnownIds | None
    ) -> None:
        faults: Faults = {}
        lines = value_lines(batch.column(0), faults)
        for fault in faults.values():
            posting.refuse(fault)
        check = nothing_to_check if known is None else known.check_of(_event_types_of(lines))
        most_bytes, most_records = self.options.batch_bytes, self.options.batch_records
        for body in cut_column(lines, most_bytes=most_bytes, most_records=most_records):
            posting.post(body, check)

    def _post_rows(self, batch: pa.RecordBatch, posting: Posting, task: Task, known: KnownIds | None) -> None:
        encoder = Encoder(
            self.names,
            event_type=self.options.event_type,
            scope=scope_of(self.options, task),
            geometry_field=self.options.geometry_field,
        )
        lines = encoder.encode(batch)
        for fault in lines.faults.values():
            posting.refuse(fault)
        check = nothing_to_check if known is None else known.check_of(lines.event_types)
        most_bytes, most_records = self.options.batch_bytes, self.options.batch_records
        for body in cut_lines(lines.good, most_bytes=most_bytes, most_records=most_records):
            posting.post(body, check, event_type=self.options.event_type)


class _OfEventType(msgspec.Struct):
    event_type: str


_decode_event_type: Final = msgspec.json.Decoder(_OfEventType).decode


def _event_types_of(lines: pa.StringArray) -> set[str]:
    return {_event_type_of(line) for line in lines.to_pylist()} - {""}


def _event_type_of(line: str) -> str:
    """Return the event type of a line; nothing where it is none, which is the service's to refuse."""
    try:
        return _decode_event_type(line).event_type
    except (msgspec.DecodeError, RecursionError):
        return ""


def scope_of(options: WriteOptions, task: Task) -> str:
    """Return what ids are made within: what the user says, else the batch of the stream, else everything."""
    if options.id_scope is not None:
        return options.id_scope
    return "" if task.query_id is None else f"{task.query_id}/{task.batch_id}"


def current_task() -> Task:
    """Return the task that this code runs in."""
    from pyspark import TaskContext

    context = TaskContext.get()
    if context is None:
        return Task()
    batch_id = context.getLocalProperty(BATCH_PROPERTY)
    return Task(
        context.attemptNumber(),
        context.getLocalProperty(QUERY_PROPERTY),
        None if batch_id is None else int(batch_id),
    )


# --- what Spark sees ---------------------------------------------------------------------------------------------


class BatchWriter(DataSourceArrowWriter):
    """Writes a table, all of it or with an error."""

    def __init__(self, work: Work) -> None:
        self._work = work

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        """Post one partition."""
        return self._work.write(iterator, current_task())

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Report that all of it is written."""
        report(self._work.options, messages, outcome="written")

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Report that not all of it is written; what is stays."""
        report(self._work.options, messages, outcome="aborted")


class StreamWriter(DataSourceStreamArrowWriter):
    """Writes the batches of a stream, each all of it or with an error."""

    def __init__(self, work: Work, refusal: str | None = None) -> None:
        self._work = work
        # Spark makes a writer also to commit with, which must not fail for what was posted: so tasks are refused.
        self._refusal = refusal

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        """Post one partition of a batch."""
        if self._refusal is not None:
            raise OptionError(self._refusal)
        return self._work.write(iterator, current_task())

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 (Spark's name)
        """Report that a batch is written."""
        report(self._work.options, messages, outcome="written", batch_id=batchId)

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 (Spark's name)
        """Report that not all of a batch is written."""
        report(self._work.options, messages, outcome="aborted", batch_id=batchId)


def batch_writer(options: WriteOptions, names: Sequence[str], *, overwrite: bool) -> BatchWriter:
    """Return what writes a table with these columns, or refuse it before anything runs."""
    _check(options, names, overwrite=overwrite)
    check_report(options, is_stream=False)
    now = time.time()
    point = None if options.accept_repeats else Point(None, now, now)
    return BatchWriter(Work(options, tuple(names), point))


def stream_writer(options: WriteOptions, names: Sequence[str], *, overwrite: bool) -> StreamWriter:
    """Return what writes the batches of a stream, or refuse it before anything runs."""
    _check(options, names, overwrite=overwrite)
    return StreamWriter(Work(options, tuple(names), _point_of(options)), _refused_report(options))


def _refused_report(options: WriteOptions) -> str | None:
    try:
        check_report(options, is_stream=True)
    except OptionError as error:
        return str(error)
    return None


def _point_of(options: WriteOptions) -> Point | None:
    """Return from where on a stream writes; Spark makes a writer anew for each of its batches."""
    if options.accept_repeats:
        return None
    if options.checkpoint_location is None:
        raise OptionError(
            "there is no option 'checkpointLocation' on this query. Without it nobody can tell from how old a point a "
            "stream resumes: give it to the query itself, or set option 'acceptRepeats' to true"
        )
    now = time.time()
    return read_point(options.checkpoint_location, now=now) or Point(None, now, now)


def _check(options: WriteOptions, names: Sequence[str], *, overwrite: bool) -> None:
    if overwrite:
        raise OptionError(
            "what was notified cannot be overwritten: use mode('append') for a table, outputMode('append') or "
            "outputMode('update') for a stream"
        )
    if tuple(names) != (VALUE_COLUMN,):
        check_columns(names, event_type=options.event_type)
