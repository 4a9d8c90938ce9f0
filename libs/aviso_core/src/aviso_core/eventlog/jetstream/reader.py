"""What is stored, read: a range, the last of each subject, the first of a time.

All of it goes over consumers that bring what is stored and then end. One that is lost on the way is followed by another
that begins where it stopped. Each time the stream is looked at once the consumer is there: whether it is still the same
could not be told before, for it may be made anew in between.
"""

from __future__ import annotations

from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Final, TypeVar

from aviso_core import instant as instants
from aviso_core.broker.connection import ApiRefusal
from aviso_core.eventlog.base import Batch, Entry, StreamMissing
from aviso_core.eventlog.jetstream.consumer import ConsumerLost, Start, from_sequence, start_consumer
from aviso_core.eventlog.jetstream.streams import epoch_changed, get_stream, refused
from aviso_core.schema.stream import stream_name

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator

    from aviso_core.broker.connection import Connection
    from aviso_core.errors import AvisoError
    from aviso_core.eventlog.jetstream.consumer import Consumer
    from aviso_core.eventlog.jetstream.stream_info import StreamInfo

# So often a consumer may be lost in a row without having brought anything.
_MOST_LOSSES: Final = 3
_EVERYTHING: Final = 2**31
_ANY_SUBJECT: Final = ">"

T = TypeVar("T")


class Reader:
    """Reads one stream: that of an epoch or, without one, whichever there is when it begins."""

    def __init__(self, connection: Connection, base: str, epoch: str | None) -> None:
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
        if position >= last and self._epoch is not None:
            await self._look()
        while position < last:
            try:
                async with aclosing(self._read_on(position + 1, last, pattern, batch_bytes)) as batches:
                    async for batch in batches:
                        losses = 0
                        position = batch.through
                        yield batch
            except ConsumerLost as loss:
                losses += 1
                self._check_going_on(loss, losses)

    async def _read_on(
        self, first: int, last: int, pattern: str | None, batch_bytes: int
    ) -> AsyncGenerator[Batch, None]:
        start = from_sequence(first)
        most = min(last - first + 1, _EVERYTHING)
        async with self._open(start, pattern=pattern, most=most) as (consumer, _):
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
            found: dict[str, Entry] = {}
            start = Start(deliver_policy="last_per_subject")
            async with self._open(start, pattern=pattern or _ANY_SUBJECT, most=_EVERYTHING) as opened:
                consumer, info = opened
                last = info.state.last_seq
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
            async with self._open(start, pattern=None, most=1) as (consumer, _):
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
                self._check_going_on(loss, losses)

    def _check_going_on(self, loss: ConsumerLost, losses: int) -> None:
        """Raise where another consumer would not help."""
        if losses > _MOST_LOSSES:
            raise self._connection.unavailable("reading failed", loss) from loss

    @asynccontextmanager
    async def _open(
        self, start: Start, *, pattern: str | None, most: int
    ) -> AsyncIterator[tuple[Consumer, StreamInfo]]:
        """Open a consumer, and say what stream it is of."""
        try:
            consumer = await start_consumer(self._connection, self._stream, start, pattern=pattern, most=most)
        except ApiRefusal as refusal:
            raise self._unless_gone(refused(self._base, refusal)) from refusal
        try:
            yield consumer, await self._look()
        finally:
            consumer.let_go()

    async def _look(self) -> StreamInfo:
        """Return what the stream is like now, which must be the one that is read."""
        try:
            info = await get_stream(self._connection, self._base)
        except StreamMissing as missing:
            raise self._unless_gone(missing) from missing
        if self._epoch is not None and self._epoch != info.created:
            raise epoch_changed(self._base, self._epoch, info.created)
        self._epoch = info.created
        return info

    def _unless_gone(self, error: AvisoError) -> AvisoError:
        """Return the error, or what it means that the stream is missing where it was there before."""
        if self._epoch is None or not isinstance(error, StreamMissing):
            return error
        return epoch_changed(self._base, self._epoch, None)


def _batches(entries: list[Entry], most_bytes: int, *, end: int | None) -> Iterator[Batch]:
    """Yield entries in batches of a size. With an end, the last batch goes through to it, and there is one."""
    begin, size = 0, 0
    for place, entry in enumerate(entries):
        size += entry.size
        if size > most_bytes and place > begin:
            yield Batch(entries=tuple(entries[begin:place]), through=entries[place - 1].sequence)
            begin, size = place, entry.size
    if begin < len(entries) or end is not None:
        rest = tuple(entries[begin:])
        yield Batch(entries=rest, through=rest[-1].sequence if end is None else end)
