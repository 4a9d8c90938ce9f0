"""Atomic batches: the members go one after the other, and the last one's acknowledgement is that of all.

A batch is not sent again. When the connection is lost before the acknowledgement nobody knows whether it was stored;
one that is repeated with the ids of its records is then refused as a duplicate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from nats.nuid import NUID

from aviso_core.errors import Unavailable
from aviso_core.eventlog.base import (
    Appended,
    AppendFailed,
    DuplicateInBatch,
    Unsupported,
    WrongLastSequence,
)
from aviso_core.eventlog.jetstream.frames import (
    EXPECTED_LAST,
    MESSAGE_ID,
    check_fits,
    header_block,
    publication,
)
from aviso_core.eventlog.jetstream.lane import SERVER_TROUBLE, AckError, read_ack

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aviso_core.broker.connection import Connection
    from aviso_core.eventlog.base import Record

_BATCH_ID: Final = "Nats-Batch-Id"
_PLACE: Final = "Nats-Batch-Sequence"
_COMMIT: Final = "Nats-Batch-Commit"

_WRONG_LAST_SEQUENCE: Final = 10071
_NOT_ENABLED: Final = 10174
# Members were lost among brokers, or more batches were under way than a stream takes.
_INCOMPLETE: Final = 10176
_DUPLICATE: Final = 10201


class NobodyListens(AppendFailed):
    """There is no stream, or it has no leader; nothing of the batch is stored."""


async def publish_batch(
    connection: Connection, records: Sequence[Record], *, expected_last: int | None, seconds: float
) -> list[Appended]:
    """Send records of which the broker stores all or none."""
    members = _members(connection, records, expected_last)
    try:
        answer = await connection.request(
            lambda reply: b"".join(
                publication(record.subject, reply if place == len(records) else b"", headers, record.payload)
                for place, (record, headers) in enumerate(zip(records, members, strict=True), start=1)
            ),
            what="the batch",
            seconds=seconds,
            may_repeat=False,
        )
    except Unavailable as error:
        raise AppendFailed(str(error), may_retry=True) from error
    if not answer.data:
        raise NobodyListens(f"nothing stores '{records[-1].subject}' at the moment", may_retry=True)
    ack = read_ack(answer.data)
    if ack.error is not None:
        raise _refusal(expected_last, ack.error)
    return [Appended(ack.seq - len(records) + place) for place in range(1, len(records) + 1)]


def _members(connection: Connection, records: Sequence[Record], expected_last: int | None) -> list[bytes]:
    """Return the headers of each member, all of which have to fit."""
    ids = NUID()
    batch_id = ids.next().decode()
    blocks = []
    for place, record in enumerate(records, start=1):
        headers = {
            **record.headers,
            MESSAGE_ID: record.message_id or ids.next().decode(),
            _BATCH_ID: batch_id,
            _PLACE: str(place),
        }
        if place == 1 and expected_last is not None:
            headers[EXPECTED_LAST] = str(expected_last)
        if place == len(records):
            headers[_COMMIT] = "1"
        block = header_block(headers)
        check_fits(record, block, connection.client.max_payload)
        blocks.append(block)
    return blocks


def _refusal(expected_last: int | None, error: AckError) -> AppendFailed | Unsupported:
    if error.err_code == _WRONG_LAST_SEQUENCE and expected_last is not None:
        return WrongLastSequence(expected_last)
    if error.err_code == _DUPLICATE:
        return DuplicateInBatch("a record of the batch was stored before", may_retry=False)
    if error.err_code == _NOT_ENABLED:
        return Unsupported(f"the stream takes no atomic batches: {error.description}")
    may_retry = error.err_code == _INCOMPLETE or error.code >= SERVER_TROUBLE
    return AppendFailed(error.description, may_retry=may_retry)
