"""The log in memory: for trying things out, for tests, and for services that need no history to survive them.

History is bounded as the reference's is: the newest entries of each subject, and the subjects that were written most
recently. Tails do not read history, or a burst on one subject would be cut down to its last entry before they saw it.
They read a run of the latest entries that is kept for them while there are any, and history only to catch up with it.

Everything happens in one event loop and no method waits while it changes something, so an append and its delivery to
the tails are one step.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections import OrderedDict, deque
from contextlib import asynccontextmanager
from operator import attrgetter
from typing import TYPE_CHECKING, Final

import msgspec

from aviso_core.clock import Clock, SystemClock
from aviso_core.eventlog.base import (
    Appended,
    AppendFailed,
    Batch,
    Bounds,
    DuplicateInBatch,
    Entry,
    EpochChanged,
    Record,
    WrongLastSequence,
)
from aviso_core.eventlog.limits import check_batch, check_record
from aviso_core.schema.stream import DEFAULT_DUPLICATE_WINDOW_SECONDS
from aviso_core.topic.pattern import prefix_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence

# How far a tail may fall behind before it reads history again, which may have lost what it needs.
MOST_RECENT_ENTRIES: Final = 65_536
_MOST_RECENT_BYTES: Final = 64 * 1024 * 1024
_BATCH_BYTES: Final = 1_048_576
# Ids that the log knows again; beyond that the oldest are forgotten before their time.
_MOST_MESSAGE_IDS: Final = 1_000_000


class MemoryLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How much history is kept."""

    max_history_per_topic: int = 1
    max_topics: int = 10_000
    duplicate_window_seconds: int = DEFAULT_DUPLICATE_WINDOW_SECONDS


class MemoryLog:
    """An `EventLog` in this process. Closing it is forgetting it."""

    def __init__(self, limits: MemoryLimits | None = None, clock: Clock | None = None) -> None:
        self._limits = limits or MemoryLimits()
        self._keep = max(1, self._limits.max_history_per_topic)
        self._clock = clock or SystemClock()
        self._epoch = f"{self._clock.now_ns():x}"
        self._streams: dict[str, _Stream] = {}
        # Subject → its stream, the one written longest ago first.
        self._subjects: OrderedDict[str, _Stream] = OrderedDict()

    @property
    def is_healthy(self) -> bool:
        """Memory is always there."""
        return True

    async def append(self, base: str, record: Record) -> Appended:
        """Store one record."""
        check_record(base, record)
        return self._append(self._stream(base), record)

    async def append_all(self, base: str, records: Sequence[Record]) -> list[Appended | AppendFailed]:
        """Store records in their order."""
        stream = self._stream(base)
        results: list[Appended | AppendFailed] = []
        for record in records:
            try:
                check_record(base, record)
                results.append(self._append(stream, record))
            except AppendFailed as failure:
                results.append(failure)
        return results

    async def append_atomically(self, base: str, records: Sequence[Record]) -> list[Appended]:
        """Store all records or none."""
        expected = check_batch(base, records)
        stream = self._stream(base)
        now = self._clock.monotonic()
        ids = [record.message_id for record in records if record.message_id is not None]
        if any(stream.known_sequence(one, now) is not None for one in ids):
            raise DuplicateInBatch("a record of the batch was stored before", may_retry=False)
        if expected is not None and expected != stream.last:
            raise WrongLastSequence(expected, stream.last)
        return [self._append(stream, record) for record in records]

    def _append(self, stream: _Stream, record: Record) -> Appended:
        message_id = record.message_id
        if message_id is not None:
            known = stream.known_sequence(message_id, self._clock.monotonic())
            if known is not None:
                return Appended(known, is_duplicate=True)
        expected = record.expected_last_sequence
        if expected is not None and expected != stream.last:
            raise WrongLastSequence(expected, stream.last)
        subject = stream.spelt(record.subject)
        entry = Entry(
            sequence=stream.last + 1,
            instant=self._clock.now_ns(),
            subject=subject,
            payload=record.payload,
            headers=record.headers,
        )
        if message_id is not None:
            now = self._clock.monotonic()
            until = now + self._limits.duplicate_window_seconds
            stream.remember(message_id, entry.sequence, now=now, until=until)
        if subject in self._subjects:
            self._subjects.move_to_end(subject)
        else:
            self._make_room()
            self._subjects[subject] = stream
        stream.add(entry, keep=self._keep)
        return Appended(entry.sequence)

    def _make_room(self) -> None:
        """Let go of the subject that was written longest ago, if there are as many as there may be."""
        if len(self._subjects) >= max(1, self._limits.max_topics):
            oldest, stream = self._subjects.popitem(last=False)
            stream.forget_subject(oldest)

    def _stream(self, base: str) -> _Stream:
        stream = self._streams.get(base.lower())
        if stream is None:
            stream = self._streams[base.lower()] = _Stream(base)
        return stream

    def _look_up(self, base: str) -> _Stream:
        """Return the stream of a base for reading: asking for one does not make it."""
        stream = self._streams.get(base.lower())
        return _Stream(base) if stream is None else stream

    async def bounds(self, base: str) -> Bounds:
        """Return what the stream holds; one that was never written to is empty."""
        stream = self._look_up(base)
        entries = stream.stored(1, stream.last)
        first = next(entries, None)
        return Bounds(
            epoch=self._epoch,
            first=stream.last + 1 if first is None else first.sequence,
            last=stream.last,
            messages=stream.messages,
            bytes=stream.bytes,
            last_instant=stream.last_instant,
        )

    async def read(
        self,
        base: str,
        *,
        first: int,
        last: int,
        pattern: str | None = None,
        batch_bytes: int = _BATCH_BYTES,
        epoch: str | None = None,
    ) -> AsyncGenerator[Batch, None]:
        """Yield what is stored in a range."""
        self._check_epoch(epoch)
        stream = self._look_up(base)
        prefix = stream.prefix(pattern)
        position = first - 1
        while position < last:
            batch = _batch(stream.stored(position + 1, last), prefix, batch_bytes, end=last)
            position = batch.through
            yield batch
            # Others run between two batches, however fast the reader is.
            await asyncio.sleep(0)

    async def latest(self, base: str, *, pattern: str | None = None, epoch: str | None = None) -> list[Entry]:
        """Return the last entry of each subject."""
        self._check_epoch(epoch)
        stream = self._look_up(base)
        prefix = stream.prefix(pattern)
        found = [entry for entry in stream.newest() if entry.subject.startswith(prefix)]
        return sorted(found, key=lambda entry: entry.sequence)

    @asynccontextmanager
    async def tail(self, base: str, *, after: int, epoch: str) -> AsyncIterator[_Tail]:
        """Follow the stream from the entry after a position."""
        self._check_epoch(epoch)
        stream = self._stream(base)
        tail = _Tail(stream, after)
        stream.tails += 1
        try:
            yield tail
        finally:
            stream.let_go()

    async def seek(self, base: str, instant: int, *, epoch: str | None = None) -> int:
        """Return the first sequence stored at or after an instant, or the next one to come."""
        self._check_epoch(epoch)
        stream = self._look_up(base)
        found = (entry.sequence for entry in stream.stored(1, stream.last) if entry.instant >= instant)
        return next(found, stream.last + 1)

    def _check_epoch(self, epoch: str | None) -> None:
        """Refuse what is of another process's log; none of its streams is ever made anew."""
        if epoch is not None and epoch != self._epoch:
            raise EpochChanged(f"the log's epoch is {self._epoch}, the position is of {epoch}")

    async def delete(self, base: str, sequence: int) -> bool:
        """Remove one entry."""
        stream = self._look_up(base)
        removed = stream.remove(sequence)
        if removed is not None and not stream.holds(removed.subject):
            del self._subjects[removed.subject]
        return removed is not None

    async def wipe(self, base: str) -> bool:
        """Remove all entries of a stream."""
        stream = self._streams.get(base.lower())
        if stream is None:
            return False
        stream.clear()
        for subject in [subject for subject, owner in self._subjects.items() if owner is stream]:
            del self._subjects[subject]
        return True

    async def wipe_all(self) -> None:
        """Remove all entries of all streams."""
        for stream in self._streams.values():
            stream.clear()
        self._subjects.clear()


def _batch(entries: Iterator[Entry], prefix: str, batch_bytes: int, *, end: int) -> Batch:
    """Return the next entries up to a size; where nothing is left the batch goes through to the end."""
    taken: list[Entry] = []
    size = 0
    for entry in entries:
        if not entry.subject.startswith(prefix):
            continue
        taken.append(entry)
        size += entry.size
        if size >= batch_bytes:
            return Batch(entries=tuple(taken), through=entry.sequence)
    return Batch(entries=tuple(taken), through=end)


_sequence_of: Final = attrgetter("sequence")


def _weight(entry: Entry) -> int:
    """Return how much an entry counts where memory is bounded."""
    size = len(entry.payload)
    return size + sum(map(len, entry.headers.values())) if entry.headers else size


class _Stream:
    """The entries of one base. Sequences stand in a sorted list; removed ones are swept out of it in bulk."""

    def __init__(self, base: str) -> None:
        self._base = base
        self.last = 0
        self.last_instant: int | None = None
        self.bytes = 0
        self.tails = 0
        self._entries: dict[int, Entry] = {}
        self._order: list[int] = []
        self._by_subject: dict[str, deque[int]] = {}
        self._message_ids: OrderedDict[str, tuple[int, float]] = OrderedDict()
        self._recent: list[Entry] = []
        self._recent_bytes = 0
        # In the order in which they came, which is the order in which they are told.
        self._waiting: dict[asyncio.Future[None], None] = {}

    def spelt(self, subject: str) -> str:
        """Return a subject or pattern with the base spelt as it was when the stream was made."""
        return subject if subject.startswith(self._base) else self._base + subject[len(self._base) :]

    def prefix(self, pattern: str | None) -> str:
        """Return what the subjects of a pattern begin with."""
        return "" if pattern is None else self.spelt(prefix_of(pattern))

    @property
    def messages(self) -> int:
        """How many entries are stored."""
        return len(self._entries)

    def holds(self, subject: str) -> bool:
        """Tell whether anything is stored under a subject."""
        return subject in self._by_subject

    def add(self, entry: Entry, *, keep: int) -> None:
        """Store an entry and hand it to the tails, keeping so many entries of its subject."""
        self.last = entry.sequence
        self.last_instant = entry.instant
        self._entries[entry.sequence] = entry
        self._order.append(entry.sequence)
        self.bytes += len(entry.payload)
        of_subject = self._by_subject.get(entry.subject)
        if of_subject is None:
            of_subject = self._by_subject[entry.subject] = deque()
        of_subject.append(entry.sequence)
        if len(of_subject) > keep:
            self._drop(of_subject.popleft())
        if self.tails:
            self._deliver(entry)

    def _deliver(self, entry: Entry) -> None:
        self._recent.append(entry)
        self._recent_bytes += _weight(entry)
        if len(self._recent) > MOST_RECENT_ENTRIES or self._recent_bytes > _MOST_RECENT_BYTES:
            half = len(self._recent) // 2
            self._recent_bytes -= sum(map(_weight, self._recent[:half]))
            del self._recent[:half]
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(None)

    def _drop(self, sequence: int) -> None:
        self.bytes -= len(self._entries.pop(sequence).payload)
        if len(self._order) > 64 and len(self._order) > 2 * len(self._entries):
            self._order = [kept for kept in self._order if kept in self._entries]

    def remove(self, sequence: int) -> Entry | None:
        """Remove one entry and return it; None where there is none."""
        entry = self._entries.get(sequence)
        if entry is None:
            return None
        of_subject = self._by_subject[entry.subject]
        of_subject.remove(sequence)
        if not of_subject:
            del self._by_subject[entry.subject]
        self._drop(sequence)
        self._drop_recent(sequence)
        return entry

    def _drop_recent(self, sequence: int) -> None:
        place = bisect_left(self._recent, sequence, key=_sequence_of)
        if place < len(self._recent) and self._recent[place].sequence == sequence:
            self._recent_bytes -= _weight(self._recent.pop(place))

    def forget_subject(self, subject: str) -> None:
        """Remove all entries of a subject."""
        for sequence in self._by_subject.pop(subject, ()):
            self._drop(sequence)

    def clear(self) -> None:
        """Remove all entries; the sequence goes on counting."""
        self._entries.clear()
        self._order.clear()
        self._by_subject.clear()
        self._recent = []
        self._recent_bytes = 0
        self.bytes = 0

    def stored(self, first: int, last: int) -> Iterator[Entry]:
        """Yield what is stored in a range. Nothing may change the stream while this runs."""
        for place in range(bisect_left(self._order, first), len(self._order)):
            sequence = self._order[place]
            if sequence > last:
                return
            entry = self._entries.get(sequence)
            if entry is not None:
                yield entry

    def newest(self) -> Iterator[Entry]:
        """Yield the last entry of each subject."""
        for of_subject in self._by_subject.values():
            yield self._entries[of_subject[-1]]

    def known_sequence(self, message_id: str, now: float) -> int | None:
        """Return the sequence of a record with that id, while it is remembered."""
        known = self._message_ids.get(message_id)
        return known[0] if known is not None and known[1] > now else None

    def remember(self, message_id: str, sequence: int, *, now: float, until: float) -> None:
        """Remember an id, and forget those whose time is over."""
        ids = self._message_ids
        ids[message_id] = (sequence, until)
        ids.move_to_end(message_id)
        while ids and (len(ids) > _MOST_MESSAGE_IDS or next(iter(ids.values()))[1] <= now):
            ids.popitem(last=False)

    def following(self, position: int) -> Batch | None:
        """Return what comes after a position, or None where nothing does yet."""
        if position >= self.last:
            return None
        if self._recent and self._recent[0].sequence <= position + 1:
            begin = bisect_left(self._recent, position + 1, key=_sequence_of)
            return Batch(entries=tuple(self._recent[begin:]), through=self.last)
        # Up to where the recent run begins there is only history.
        end = self._recent[0].sequence - 1 if self._recent else self.last
        return _batch(self.stored(position + 1, end), "", _BATCH_BYTES, end=end)

    async def wait_grown(self) -> None:
        """Wait for the next entry."""
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[waiting] = None
        try:
            await waiting
        finally:
            del self._waiting[waiting]

    def let_go(self) -> None:
        """Let a tail go; with the last one goes what was kept for them."""
        self.tails -= 1
        if not self.tails:
            self._recent = []
            self._recent_bytes = 0


class _Tail:
    """A stream as it grows: the place where one reader is."""

    def __init__(self, stream: _Stream, after: int) -> None:
        self._stream = stream
        self._position = after

    def __aiter__(self) -> _Tail:
        return self

    async def __anext__(self) -> Batch:
        while True:
            batch = self._stream.following(self._position)
            if batch is None:
                await self._stream.wait_grown()
                continue
            self._position = batch.through
            if batch.entries:
                return batch
