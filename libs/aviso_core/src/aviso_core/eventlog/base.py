"""What a log promises. Every implementation is held to this page by one suite of tests (`tests/contract`).

A log keeps records in *streams*, one per topic base. Bases are the same in large and small letters: a stream keeps
the spelling it was made with, subjects come back in it, and patterns are understood in any.

**Appending.** An append that returns is committed: it has its sequence, readers and tails will see it, and it is only
removed by retention, by a limit of the stream, or on purpose. How much of it survives the backend's own death is the
backend's affair (its replicas, how often it writes to disk).

An append that raises `AppendFailed` may or may not be stored, unless its class says more (`RecordRefused`,
`WrongLastSequence`, `DuplicateInBatch`: it is not). Repeated with the same message id it is stored once, however
often it is tried within the stream's duplicate window, and every try is told the first one's sequence.

Records that are handed over in one call are stored in their order; with calls in flight side by side the order is
that of their sequences. What the backend loses on its way is sent again before anything that was not sent yet. Only
what was on the way behind it may then stand before it: that can happen while a stream is made or changes its leader,
never because a connection broke.

A record may name the sequence that it expects to be the last before it; it is refused with `WrongLastSequence` when
another one is. A batch that is appended atomically is stored whole, with consecutive sequences, or not at all; one
whose outcome is unknown is refused with `DuplicateInBatch` when it is repeated with ids and was stored.

**Sequences.** Each stream counts from 1 and never goes back, also when it is emptied. Deletion and limits leave gaps.
The epoch names the stream's life: it changes when the stream is removed and made again, and sequences of different
epochs never compare. Who hands over sequences names the epoch that they are of, and gets `EpochChanged` where the
stream is gone or of another one, before anything of it is told. A call that is given no epoch is about whichever stream
there is when it begins.

**Reading.** A read of a range yields what is stored in it, in the order of sequences, each entry once; entries that
are removed while it runs may be missing, entries that are added beyond its end are not part of it. It ends: also when
what was to come is removed meanwhile, and with `EpochChanged` when the stream is. A pattern leaves out what it does
not match.

**Tailing.** A tail yields every entry after its position, in order, each once, for as long as it is held; it survives
lost connections, restarts and lost consumers by itself and goes on at the right place. So does a reader whose waiting
was cancelled. What is removed before it got there may be missing. What the *delivery* skipped is fetched again and
never hidden. When the stream is removed or made again the tail ends with `EpochChanged`, and with `Unavailable`
when the log was closed or the backend is given up for good. While it cannot go on it waits; `is_healthy` says that
something is wrong.

**Errors.** `Unavailable` when the backend cannot be reached within the deadline, `StreamMissing` when there is no
stream for the base and this process may not make one, `StreamRefused` when the backend refuses the wanted stream or
what is asked of it. Cancelling a call leaves nothing behind, except that an append may or may not have been stored.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

import msgspec

from aviso_core.errors import AvisoError

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

Headers: TypeAlias = Mapping[str, str]


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """What is appended. Its stored form is `entry`'s affair; the log looks at none of it but the subject."""

    subject: str
    payload: bytes
    headers: dict[str, str] = {}
    message_id: str | None = None
    expected_last_sequence: int | None = None

    @property
    def size(self) -> int:
        """How much of the backend's limit the record takes, headers included."""
        bare = len(self.payload) + bytes_of(self.subject)
        return bare + self.headers_size if self.headers else bare

    @property
    def headers_size(self) -> int:
        """How many bytes the headers take as they are written: `name: value` and a line end."""
        return sum(len(name) + bytes_of(value) + 4 for name, value in self.headers.items())


def bytes_of(text: str) -> int:
    """Return how many bytes a text takes."""
    return len(text) if text.isascii() else len(text.encode())


class Appended(msgspec.Struct, frozen=True):
    """Where a record is stored. A duplicate tells the sequence of the first."""

    sequence: int
    is_duplicate: bool = False


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A stored record: its place, the instant at which the log took it, and what was appended."""

    sequence: int
    instant: int
    subject: str
    payload: bytes
    headers: Headers = {}

    @property
    def size(self) -> int:
        """How much it takes, about. Shapes stand in headers, and may be all that there is of an entry."""
        size = len(self.payload) + len(self.subject)
        return size + sum(map(len, self.headers.values())) if self.headers else size


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """What a stream holds. `last` is the highest sequence ever given; `first` is `last + 1` when nothing is stored.

    `bytes` is what the backend counts, which differs from one to another.
    """

    epoch: str
    first: int
    last: int
    messages: int
    bytes: int
    last_instant: int | None = None


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """Entries in order, and the sequence up to which nothing else is to come: a reader may resume after it."""

    entries: tuple[Entry, ...]
    through: int


class AppendFailed(AvisoError):
    """The record was not stored, as far as anyone knows. `may_retry` tells whether the same may work later."""

    code = "NOTIFICATION_STORAGE_FAILED"

    def __init__(self, message: str, *, may_retry: bool) -> None:
        super().__init__(message)
        self.may_retry = may_retry


class RecordRefused(AppendFailed):
    """The record cannot be stored as it is; it was not sent."""

    code = "RECORD_REFUSED"

    def __init__(self, message: str) -> None:
        super().__init__(message, may_retry=False)


class RecordTooLarge(RecordRefused):
    """The record, its subject, its id or its headers are larger than the backend takes."""

    code = "RECORD_TOO_LARGE"

    def __init__(self, size: int, limit: int, what: str = "record") -> None:
        super().__init__(f"the {what} is {size} bytes, at most {limit} are taken")


class WrongLastSequence(AppendFailed):
    """The stream's last sequence is not the one that the record expected."""

    code = "WRONG_LAST_SEQUENCE"

    def __init__(self, expected: int, actual: int | None = None) -> None:
        now = "" if actual is None else f", it is {actual}"
        super().__init__(f"the last sequence was expected to be {expected}{now}", may_retry=False)
        self.expected = expected
        self.actual = actual


class DuplicateInBatch(AppendFailed):
    """A record of an atomic batch was stored before; nothing of the batch is."""

    code = "DUPLICATE_IN_BATCH"


class StreamMissing(AvisoError):
    """There is no stream for the base, and this process does not make any."""

    code = "STREAM_MISSING"


class StreamRefused(AvisoError):
    """The backend refuses the stream as it is wanted."""

    code = "STREAM_REFUSED"


class EpochChanged(AvisoError):
    """The stream was removed or made again; sequences of before mean nothing any more."""

    code = "EPOCH_CHANGED"


class Unsupported(AvisoError):
    """The backend cannot do what was asked."""

    code = "UNSUPPORTED"


class Tail(Protocol):
    """A stream as it grows."""

    def __aiter__(self) -> AsyncIterator[Batch]:
        """Yield what comes, in batches as they arrive."""
        ...


class EventLog(Protocol):
    """A log. The module's docstring is the contract."""

    async def append(self, base: str, record: Record) -> Appended:
        """Store one record."""
        ...

    async def append_all(self, base: str, records: Sequence[Record]) -> list[Appended | AppendFailed]:
        """Store records in their order; one that fails does not stop the others."""
        ...

    async def append_atomically(self, base: str, records: Sequence[Record]) -> list[Appended]:
        """Store all records or none, with consecutive sequences; `Unsupported` where that cannot be had."""
        ...

    async def bounds(self, base: str) -> Bounds:
        """Return what the stream holds."""
        ...

    def read(
        self,
        base: str,
        *,
        first: int,
        last: int,
        pattern: str | None = None,
        batch_bytes: int = 1_048_576,
        epoch: str | None = None,
    ) -> AsyncGenerator[Batch, None]:
        """Yield what is stored from `first` to `last`, inclusive. The last batch goes through to `last`.

        Close it when you leave it early: it holds a consumer of the broker.
        """
        ...

    async def latest(self, base: str, *, pattern: str | None = None, epoch: str | None = None) -> list[Entry]:
        """Return the last entry of each subject, ascending.

        A subject that is written while this runs may be missing: read on from the bounds of before to have it.
        """
        ...

    def tail(self, base: str, *, after: int, epoch: str) -> AbstractAsyncContextManager[Tail]:
        """Follow the stream from the entry after a position."""
        ...

    async def seek(self, base: str, instant: int, *, epoch: str | None = None) -> int:
        """Return the first sequence stored at or after an instant, or the next one to come."""
        ...

    async def delete(self, base: str, sequence: int) -> bool:
        """Remove one entry; False where there is none."""
        ...

    async def wipe(self, base: str) -> bool:
        """Remove all entries of a stream; False where there is no such stream."""
        ...

    async def wipe_all(self) -> None:
        """Remove all entries of all streams of this log, and of no other's.

        One that cannot be emptied does not keep the others from it; the error names it in the end.
        """
        ...

    @property
    def is_healthy(self) -> bool:
        """Whether the backend answers now; asking costs nothing."""
        ...
