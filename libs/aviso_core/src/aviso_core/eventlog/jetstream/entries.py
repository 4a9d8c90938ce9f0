"""One stored entry, asked for alone: what became of a record, and what is the last or the next of a subject.

The leader of the stream is asked, which has everything that was acknowledged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from aviso_core import span
from aviso_core.broker.connection import ApiRefusal, read_headers
from aviso_core.eventlog.jetstream.streams import NOT_FOUND, refused
from aviso_core.schema.stream import stream_name

if TYPE_CHECKING:
    from aviso_core.broker.connection import Connection

_NO_SUCH_ENTRY: Final = 10037


class StoredEntry(msgspec.Struct, frozen=True):
    """What is looked at of an entry that is asked for alone."""

    sequence: int
    instant: int
    headers: dict[str, str]


class _Message(msgspec.Struct, frozen=True):
    seq: int
    time: str
    # Of the protocol's own form, in base 64.
    hdrs: bytes = b""


class _Answer(msgspec.Struct, frozen=True):
    message: _Message


_read_answer: Final = msgspec.json.Decoder(_Answer).decode


async def find_entry(connection: Connection, base: str, sequence: int) -> StoredEntry | None:
    """Return what the broker says of one entry, its own headers included, or None where there is none."""
    return await _find(connection, base, {"seq": sequence})


async def find_last_entry(connection: Connection, base: str, subject: str) -> StoredEntry | None:
    """Return what the broker says of the last entry of a subject, or None where there is none."""
    return await _find(connection, base, {"last_by_subj": subject})


async def find_next_entry(
    connection: Connection, base: str, sequence: int, pattern: str
) -> StoredEntry | None:
    """Return what the broker says of the first entry from a sequence on whose subject matches, or None.

    Where there is no stream that is an error: nothing is known of its entries then.
    """
    return await _find(connection, base, {"seq": sequence, "next_by_subj": pattern}, may_be_gone=False)


async def find_newest_entry(connection: Connection, base: str) -> StoredEntry | None:
    """Return what the broker says of the last entry of a stream, or None where it is empty; there must be a stream."""
    return await _find(connection, base, {"last_by_subj": ">"}, may_be_gone=False)


async def _find(
    connection: Connection, base: str, which: dict[str, object], *, may_be_gone: bool = True
) -> StoredEntry | None:
    try:
        answer = await connection.ask(f"STREAM.MSG.GET.{stream_name(base)}", which)
    except ApiRefusal as refusal:
        if refusal.number == _NO_SUCH_ENTRY or (may_be_gone and refusal.number == NOT_FOUND):
            return None
        # Any other reason leaves open whether it is there.
        raise refused(base, refusal) from refusal
    message = _read_answer(answer).message
    _, headers = read_headers(message.hdrs)
    return StoredEntry(message.seq, span.read_date(message.time, name="time"), headers)
