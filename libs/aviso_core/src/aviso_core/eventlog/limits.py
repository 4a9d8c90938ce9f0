"""What a record may be, the same in every log: what one of them could not store is refused by all.

A broker takes lines of text, so what would end a line, or name a header that the broker acts upon, is refused here and
never reaches it. So is what is too large for it: it would break the connection, and with it everything in flight.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from aviso_core.eventlog.base import (
    DuplicateInBatch,
    Record,
    RecordRefused,
    RecordTooLarge,
    WrongLastSequence,
    bytes_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

# One notification is never larger than this, geometry and identifiers included.
LARGEST_RECORD: Final = 262_144
# What a broker can hold besides: it keeps headers in 64 KiB with its own among them, and breaks the connection over a
# command whose line, subject included, has more than 4 KiB.
LARGEST_HEADERS: Final = 64_000
LARGEST_SUBJECT: Final = 3_000
LONGEST_MESSAGE_ID: Final = 1_000
MOST_IN_A_BATCH: Final = 1_000
LARGEST_BATCH: Final = 32 * 1024 * 1024

# The characters that `codec` escapes, and empty tokens.
_NO_SUBJECT: Final = re.compile(r"[\s*>\x00-\x1f\x7f-\x9f]|\.\.|\.$")
# The broker looks at headers of this beginning; some of them empty a stream.
_THE_BROKERS_OWN: Final = "nats-"
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_LINE_END: Final = re.compile(r"[\r\n]")
_MESSAGE_ID: Final = re.compile(r"\S(?:[^\r\n]*\S)?")
_FIRST_IMPOSSIBLE_SEQUENCE: Final = 2**63
# A character takes four bytes at the most: what is shorter than this needs no counting.
_SURELY_SHORT: Final = 250


def check_record(base: str, record: Record) -> int:
    """Return the size of a record; refuse what not every backend can store or would take for something else."""
    subject = record.subject
    assert _is_of_base(subject, base), f"'{subject}' is not of the base '{base}'"
    if _NO_SUBJECT.search(subject):
        raise RecordRefused(f"'{subject[:200]}' is no subject")
    if len(subject) > _SURELY_SHORT:
        _check_size(bytes_of(subject), LARGEST_SUBJECT, "subject")
    if record.message_id is not None:
        _check_message_id(record.message_id)
    if record.headers:
        _check_headers(record)
    expected = record.expected_last_sequence
    if expected is not None and not 0 <= expected < _FIRST_IMPOSSIBLE_SEQUENCE:
        # A broker passes over a number that it cannot read.
        raise WrongLastSequence(expected)
    size = record.size
    if size > LARGEST_RECORD:
        raise RecordTooLarge(size, LARGEST_RECORD)
    return size


def _is_of_base(subject: str, base: str) -> bool:
    return subject.startswith(f"{base}.") or subject.partition(".")[0].lower() == base.lower()


def _check_message_id(message_id: str) -> None:
    if not _MESSAGE_ID.fullmatch(message_id):
        raise RecordRefused("a message id is one line of text, without white space at its ends")
    if len(message_id) > _SURELY_SHORT:
        _check_size(bytes_of(message_id), LONGEST_MESSAGE_ID, "message id")


def _check_headers(record: Record) -> None:
    for name, value in record.headers.items():
        if not _HEADER_NAME.fullmatch(name) or name.lower().startswith(_THE_BROKERS_OWN):
            raise RecordRefused(f"'{name[:200]}' is no name for a header")
        if _LINE_END.search(value):
            raise RecordRefused(f"the header '{name}' has more than one line")
    _check_size(record.headers_size, LARGEST_HEADERS, "headers")


def _check_size(size: int, limit: int, what: str) -> None:
    if size > limit:
        raise RecordTooLarge(size, limit, what)


def check_batch(base: str, records: Sequence[Record]) -> int | None:
    """Refuse a batch that cannot be stored whole; return the sequence that it expects to be the last before it."""
    if len(records) > MOST_IN_A_BATCH:
        raise RecordRefused(f"the batch has {len(records)} records, at most {MOST_IN_A_BATCH} are taken")
    expected: int | None = None
    for place, record in enumerate(records):
        check_record(base, record)
        if record.expected_last_sequence is None:
            continue
        before_batch = record.expected_last_sequence - place
        if before_batch < 0 or expected not in (None, before_batch):
            raise WrongLastSequence(record.expected_last_sequence)
        expected = before_batch
    _check_size(sum(record.size for record in records), LARGEST_BATCH, "batch")
    ids = [record.message_id for record in records if record.message_id is not None]
    if len(set(ids)) < len(ids):
        raise DuplicateInBatch("the batch has two records with the same id", may_retry=False)
    return expected
