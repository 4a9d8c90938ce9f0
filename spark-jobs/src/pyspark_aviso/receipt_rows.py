"""In a task: the rows of a batch are posted, and come back with their receipts beside them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pyspark_aviso.batches import cut_lines
from pyspark_aviso.encode import Encoder
from pyspark_aviso.transport import Client, TransportError, client_of
from pyspark_aviso.writer import current_task, scope_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import pyarrow as pa  # type: ignore[import-untyped]  # it brings no types

    from pyspark_aviso.encode import Lines
    from pyspark_aviso.options import WriteOptions
    from pyspark_aviso.transport import Result

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
    return name not in RECEIPT_COLUMNS and name != REFUSED_COLUMN


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
        encoder = encoder_of(sent, options, scope=scope_of(options, current_task()))
        with closing(client), ThreadPoolExecutor(options.in_flight, thread_name_prefix="posting") as pool:
            for batch in batches:
                lines = encoder.encode(batch.select(list(sent)))
                yield with_receipts(batch, receipts_of(batch, lines, _poster(pool, client, options)))

    return post_all


def encoder_of(sent: Sequence[str], options: WriteOptions, *, scope: str) -> Encoder:
    """Return what makes lines of these columns, or refuse them."""
    return Encoder(
        sent,
        event_type=options.event_type,
        scope=scope,
        geometry_field=options.geometry_field,
    )


def _poster(
    pool: ThreadPoolExecutor, client: Client, options: WriteOptions
) -> Callable[[list[bytes]], list[Result]]:
    """Return what posts lines, in bodies, several at once; the results are in the order of the lines."""

    def post(lines: list[bytes]) -> list[Result]:
        bodies = cut_lines(lines, most_bytes=options.batch_bytes, most_records=options.batch_records)
        answers = pool.map(
            lambda body: client.post_records(options.event_type, body.data, body.records), bodies
        )
        results = [result for answer in answers for result in answer]
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
    own_ids = _column(batch, "id")
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
