"""In a task: the rows of a batch are posted, and come back with their receipts beside them."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pyspark_aviso.batches import cut_lines
from pyspark_aviso.encode import Encoder
from pyspark_aviso.records import post_records
from pyspark_aviso.resuming import KnownIds, Point, nothing_to_check
from pyspark_aviso.row_values import text_values
from pyspark_aviso.transport import Client, TransportError, client_of
from pyspark_aviso.writer import current_task, scope_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import pyarrow as pa  # type: ignore[import-untyped]  # it brings no types

    from pyspark_aviso.batches import Body
    from pyspark_aviso.encode import Lines
    from pyspark_aviso.options import WriteOptions
    from pyspark_aviso.results import Result
    from pyspark_aviso.writer import Task

RECEIPT_COLUMNS: Final = {
    "id": "string",
    "status": "string",
    "sequence": "bigint",
    "field": "string",
    "error": "string",
    "attempts": "int",
}
"""What a receipt says beside the row itself. `attempts` is how often the row was posted: 0 of one that never was."""

REFUSED_COLUMN: Final = "refused"
"""`struct<field,error>`: a row in which it is not null is not posted, and its receipt says why."""

BEGUN_COLUMN: Final = "__aviso_begun_at"
"""When the action began that the rows are posted by, or when the batch of the stream was made: a timestamp."""


class Receipt(NamedTuple):
    """What became of one row."""

    id: str | None
    status: str
    sequence: int | None = None
    field: str | None = None
    error: str | None = None
    attempts: int = 0


def is_carried(name: str) -> bool:
    """Tell whether a column of the rows is one of the receipts as it is."""
    return name not in RECEIPT_COLUMNS and name not in (REFUSED_COLUMN, BEGUN_COLUMN)


def posting(
    options: WriteOptions, sent: Sequence[str]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return what a task does with its rows. It travels to workers, so it holds values alone."""

    def post_all(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        client = client_of(
            url=options.url,
            token_file=options.token_file,
            ca_file=options.ca_file,
            deadline_seconds=options.deadline_seconds,
            compression=options.compression,
            connections=options.in_flight,
        )
        task = current_task()
        encoder = encoder_of(sent, options, scope=scope_of(options, task))
        known: KnownIds | None = None
        with closing(client), ThreadPoolExecutor(options.in_flight, thread_name_prefix="posting") as pool:
            for batch in batches:
                lines = encoder.encode(batch.select(list(sent)))
                known = known or known_ids(client, options, task, batch)
                check = nothing_to_check if known is None else known.check_of(lines.event_types)
                yield with_receipts(batch, receipts_of(batch, lines, _poster(pool, client, options, check)))

    return post_all


def known_ids(client: Client, options: WriteOptions, task: Task, batch: pa.RecordBatch) -> KnownIds | None:
    """Return what the service must still know of what this task posts; None where it posts nothing again.

    That a stream resumes is for whoever starts it to judge: here nobody can tell since when a batch is run.
    """
    if options.accept_repeats or task.attempt == 0 or not batch.num_rows:
        return None
    begun_at = batch.column(BEGUN_COLUMN)[0].cast("int64").as_py() / 1e6
    return KnownIds(client, Point(task.batch_id, begun_at, begun_at), clock=time.time)


def encoder_of(sent: Sequence[str], options: WriteOptions, *, scope: str) -> Encoder:
    """Return what makes lines of these columns, or refuse them."""
    return Encoder(
        sent,
        event_type=options.event_type,
        scope=scope,
        geometry_field=options.geometry_field,
    )


def _poster(
    pool: ThreadPoolExecutor, client: Client, options: WriteOptions, check: Callable[[], None]
) -> Callable[[list[bytes]], list[Result]]:
    """Return what posts lines, in bodies, several at once; the results are in the order of the lines."""

    def post_body(body: Body) -> list[Result]:
        check()
        return post_records(client, options.event_type, body.data, body.records)

    def post(lines: list[bytes]) -> list[Result]:
        bodies = cut_lines(lines, most_bytes=options.batch_bytes, most_records=options.batch_records)
        results = [result for answer in pool.map(post_body, bodies) for result in answer]
        failed = [result for result in results if result.status == "failed"]
        if failed:
            # Neither stored nor refused: only doing it again is an answer, and the ids make that safe.
            raise TransportError(
                f"the service could not store {len(failed)} notifications within {options.deadline_seconds:g} s: "
                f"{failed[0].message}"
            )
        return results

    return post


def receipts_of(
    batch: pa.RecordBatch, lines: Lines, post: Callable[[list[bytes]], list[Result]]
) -> list[Receipt]:
    """Post what can be posted of a batch, and return the receipts of all its rows."""
    refused = _column(batch, REFUSED_COLUMN)
    own_ids = _own_ids(batch)
    receipts: list[Receipt | None] = []
    to_post: list[bytes] = []
    for row, (line, made_id, own_id, reason) in enumerate(
        zip(lines.data, lines.ids, own_ids, refused, strict=True)
    ):
        identity = made_id or own_id
        if reason is not None:
            receipts.append(Receipt(identity, "rejected", field=reason["field"], error=reason["error"]))
        elif line is None:
            fault = lines.faults[row]
            receipts.append(Receipt(identity, "rejected", field=fault.field, error=str(fault)))
        else:
            receipts.append(None)
            to_post.append(line)
    results = iter(post(to_post) if to_post else ())
    return [
        _receipt(made_id, next(results)) if receipt is None else receipt
        for made_id, receipt in zip(lines.ids, receipts, strict=True)
    ]


def _receipt(identity: str | None, result: Result) -> Receipt:
    return Receipt(
        identity,
        result.status,
        result.sequence,
        field=result.field,
        error=result.message,
        attempts=result.attempts,
    )


def _own_ids(batch: pa.RecordBatch) -> list[str | None]:
    place = batch.schema.get_field_index("id")
    # What is no text here is a fault of its row already.
    return [None] * batch.num_rows if place < 0 else text_values(batch.column(place), "id", {})


def _column(batch: pa.RecordBatch, name: str) -> list[Any]:
    place = batch.schema.get_field_index(name)
    return [None] * batch.num_rows if place < 0 else list(batch.column(place).to_pylist())


def with_receipts(batch: pa.RecordBatch, receipts: Sequence[Receipt]) -> pa.RecordBatch:
    """Return the rows of a batch with their receipts beside them."""
    import pyarrow as pa

    kinds: Mapping[str, pa.DataType] = {"bigint": pa.int64(), "int": pa.int32(), "string": pa.string()}
    carried = [name for name in batch.schema.names if is_carried(name)]
    added = {
        name: pa.array([getattr(receipt, name) for receipt in receipts], kinds[kind])
        for name, kind in RECEIPT_COLUMNS.items()
    }
    columns = [batch.column(batch.schema.get_field_index(name)) for name in carried]
    fields = [batch.schema.field(name) for name in carried]
    return pa.RecordBatch.from_arrays(
        [*columns, *added.values()],
        schema=pa.schema([*fields, *((name, array.type) for name, array in added.items())]),
    )
