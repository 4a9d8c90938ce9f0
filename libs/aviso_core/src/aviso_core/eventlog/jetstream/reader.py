"""What is stored, read: a range, the last of each subject, the first of a time.

All of it goes over consumers that bring what is stored and then end. One that is lost on the way is followed by another
that begins where it stopped, as long as the stream is still the same.
"""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Final, TypeVar

from aviso_core import instant as instants
from aviso_core.broker.connection import ApiRefusal
from aviso_core.eventlog.base import Batch, Entry, EpochChanged
from aviso_core.eventlog.jetstream.consumer import ConsumerLost, Start, from_sequence, open_consumer
from aviso_core.eventlog.jetstream.streams import find_stream, get_stream, refused
from aviso_core.schema.stream import stream_name

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator

    from aviso_core.broker.connection import Connection

# So often a consumer may be lost in a row without having brought anything.
_MOST_LOSSES: Final = 3
_EVERYTHING: Final = 2**31
_ANY_SUBJECT: Final = ">"

T = TypeVar("T")


class Reader:
    """Reads one stream of one epoch."""

    def __init__(self, connection: Connection, base: str, epoch: str) -> None:
        self._connection = connection
        self._base = base
        self._stream = stream_name(base)
        self._epoch = epoch

    async def read(
        self, *, first: int, last: int, pattern: str | None, batch_bytes: int
    ) -> AsyncGenerator[Batch, None]:
        """Yield what is stored in a range."""
        position = first - 1
        losses = 0
        while position < last:
            try:
                async with aclosing(self._read_on(position + 1, last, pattern, batch_bytes)) as batches:
                    async for batch in batches:
                        losses = 0
                        position = batch.through
                        yield batch
            except ConsumerLost as loss:
                losses += 1
                await self._check_going_on(loss, losses)
            except ApiRefusal as refusal:
                raise refused(self._base, refusal) from refusal

    async def _read_on(
        self, first: int, last: int, pattern: str | None, batch_bytes: int
    ) -> AsyncGenerator[Batch, None]:
        start = from_sequence(first)
        most = min(last - first + 1, _EVERYTHING)
        async with open_consumer(
            self._connection, self._stream, start, pattern=pattern, most=most
        ) as consumer:
            is_over = False
            while not is_over:
                entries, pending = await consumer.take()
                is_over = not entries or not pending or entries[-1].sequence >= last
                inside = [entry for entry in entries if first <= entry.sequence <= last]
                for batch in _batches(inside, batch_bytes, end=last if is_over else None):
                    yield batch

    async def latest(self, pattern: str | None) -> list[Entry]:
        """Return the last entry of each subject."""

        async def attempt() -> list[Entry]:
            last = (await get_stream(self._connection, self._base)).state.last_seq
            found: dict[str, Entry] = {}
            async with open_consumer(
                self._connection,
                self._stream,
                Start(deliver_policy="last_per_subject"),
                pattern=pattern or _ANY_SUBJECT,
                most=_EVERYTHING,
            ) as consumer:
                is_over = False
                while not is_over:
                    entries, pending = await consumer.take()
                    # What was added meanwhile has no end.
                    is_over = not entries or not pending or entries[-1].sequence > last
                    found |= {entry.subject: entry for entry in entries if entry.sequence <= last}
            return sorted(found.values(), key=lambda entry: entry.sequence)

        return await self._persistently(attempt)

    async def seek(self, instant: int) -> int | None:
        """Return the first sequence stored at or after an instant, or None where nothing is."""
        start_time = instants.to_text(max(instant, instants.EARLIEST_STAMP))

        async def attempt() -> int | None:
            start = Start(deliver_policy="by_start_time", opt_start_time=start_time)
            async with open_consumer(self._connection, self._stream, start, most=1) as consumer:
                entries, _ = await consumer.take()
            return entries[0].sequence if entries else None

        return await self._persistently(attempt)

    async def _persistently(self, attempt: Callable[[], Awaitable[T]]) -> T:
        losses = 0
        while True:
            try:
                return await attempt()
            except ConsumerLost as loss:
                losses += 1
                await self._check_going_on(loss, losses)
            except ApiRefusal as refusal:
                raise refused(self._base, refusal) from refusal

    async def _check_going_on(self, loss: ConsumerLost, losses: int) -> None:
        """Raise where another consumer would not help."""
        if losses > _MOST_LOSSES:
            raise self._connection.unavailable("reading failed", loss) from loss
        info = await find_stream(self._connection, self._base)
        if info is None or info.created != self._epoch:
            now = "there is none any more" if info is None else f"it is of {info.created} now"
            raise EpochChanged(f"stream '{self._stream}' was of epoch {self._epoch}, {now}") from loss


def _batches(entries: list[Entry], most_bytes: int, *, end: int | None) -> Iterator[Batch]:
    """Yield entries in batches of a size. With an end, the last batch goes through to it, and there is one."""
    begin, size = 0, 0
    for place, entry in enumerate(entries):
        size += len(entry.payload) + len(entry.subject)
        if size > most_bytes and place > begin:
            yield Batch(entries=tuple(entries[begin:place]), through=entries[place - 1].sequence)
            begin, size = place, len(entry.payload) + len(entry.subject)
    if begin < len(entries) or end is not None:
        rest = tuple(entries[begin:])
        yield Batch(entries=rest, through=rest[-1].sequence if end is None else end)
