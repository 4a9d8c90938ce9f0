"""What is stored, read: a range, the last of each subject, the first of a time.

All of it goes over consumers that bring what is stored and then end. One that is lost on the way is followed by another
that begins where it stopped. Each time the stream is looked at once the consumer is there: whether it is still the same
could not be told before, for it may be made anew in between.

Where several servers keep a stream, the consumer is at any of them, and that one may lag: it says that nothing is left
while the leader has acknowledged more. So it is believed only what the leader bears out; if it lags, another consumer
is asked for, which is at another server as likely as not.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Final, TypeVar

from aviso_core import instant as instants
from aviso_core.broker.connection import ApiRefusal
from aviso_core.errors import Unavailable
from aviso_core.eventlog.base import Batch, Entry, StreamMissing
from aviso_core.eventlog.jetstream.consumer import ConsumerLost, Start, from_sequence, start_consumer
from aviso_core.eventlog.jetstream.entries import find_newest_entry, find_next_entry
from aviso_core.eventlog.jetstream.streams import epoch_changed, get_stream, refused
from aviso_core.schema.stream import stream_name

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator

    from aviso_core.broker.connection import Connection
    from aviso_core.errors import AvisoError
    from aviso_core.eventlog.jetstream.consumer import Consumer
    from aviso_core.eventlog.jetstream.stream_info import StreamInfo

# So often a consumer may be lost in a row without having brought anything, and for so long be at servers that lag.
_MOST_LOSSES: Final = 3
_BEHIND_SECONDS: Final = 10.0
_SHORTEST_PAUSE: Final = 0.01
_LONGEST_PAUSE: Final = 0.5
_EVERYTHING: Final = 2**31
_ANY_SUBJECT: Final = ">"

T = TypeVar("T")


class _IsBehind(ConsumerLost):
    """The consumer is at a server that does not have yet what the leader has acknowledged, as far as anyone knows."""

    def __init__(self, reason: str = "the servers that were asked lag behind the stream's leader") -> None:
        super().__init__(reason)


class Reader:
    """Reads one stream: that of an epoch or, without one, whichever there is when it begins."""

    def __init__(self, connection: Connection, base: str, epoch: str | None) -> None:
        self._connection = connection
        self._base = base
        self._stream = stream_name(base)
        self._epoch = epoch
        # Where this reading ends, once the leader of a stream that several servers keep has said so.
        self._end: int | None = None

    async def read(
        self, *, first: int, last: int, pattern: str | None, batch_bytes: int
    ) -> AsyncGenerator[Batch, None]:
        """Yield what is stored in a range."""
        position = first - 1
        patience = _Patience(self._connection)
        if position >= last and self._epoch is not None:
            await self._look()
        while position < last:
            try:
                async with aclosing(self._read_on(position + 1, last, pattern, batch_bytes)) as batches:
                    async for batch in batches:
                        patience.renew()
                        position = batch.through
                        yield batch
            except ConsumerLost as loss:
                await patience.bear(loss)

    async def _read_on(
        self, first: int, last: int, pattern: str | None, batch_bytes: int
    ) -> AsyncGenerator[Batch, None]:
        start = from_sequence(first)
        most = min(last - first + 1, _EVERYTHING)
        async with self._open(start, pattern=pattern, most=most) as (consumer, info):
            is_alone = info.is_alone
            # A server that lags may still have what was removed.
            begin = first if is_alone else max(first, info.state.first_seq)
            position, is_over = first - 1, False
            while not is_over:
                entries, pending = await consumer.take()
                is_over = not entries or not pending or entries[-1].sequence >= last
                inside = [entry for entry in entries if begin <= entry.sequence <= last]
                position = inside[-1].sequence if inside else position
                for batch in _batches(inside, batch_bytes, end=last if is_over and is_alone else None):
                    yield batch
            if is_alone or position >= last:
                return
            if await self._has_more(position + 1, last, pattern):
                raise _IsBehind
            yield Batch(entries=(), through=last)

    async def _has_more(self, first: int, last: int, pattern: str | None) -> bool:
        """Tell whether the leader of a stream that several servers keep has more in a range.

        What `STREAM.INFO` says is not enough: while there is no leader any server answers that.
        """
        async with self._asking_the_leader():
            following = await find_next_entry(self._connection, self._base, first, pattern or _ANY_SUBJECT)
            has_more = following is not None and following.sequence <= min(last, await self._find_end())
            # Only now is it known which stream that was about.
            await self._look()
        return has_more

    async def _find_end(self) -> int:
        """Return the last sequence that there is when it is first asked for: what is added meanwhile has no end."""
        if self._end is None:
            newest = await find_newest_entry(self._connection, self._base)
            self._end = 0 if newest is None else newest.sequence
        return self._end

    @asynccontextmanager
    async def _asking_the_leader(self) -> AsyncIterator[None]:
        """Ask again where the leader has no word for us: while it is elected, that is a matter of seconds."""
        try:
            yield
        except StreamMissing as missing:
            raise self._unless_gone(missing) from missing
        except Unavailable as error:
            raise _IsBehind(str(error)) from error

    async def latest(self, pattern: str | None) -> list[Entry]:
        """Return the last entry of each subject."""

        async def attempt() -> list[Entry]:
            found: dict[str, Entry] = {}
            start = Start(deliver_policy="last_per_subject")
            async with self._open(start, pattern=pattern or _ANY_SUBJECT, most=_EVERYTHING) as opened:
                consumer, info = opened
                is_alone = info.is_alone
                async with self._asking_the_leader():
                    last = info.state.last_seq if is_alone else await self._find_end()
                is_over = False
                while not is_over:
                    entries, pending = await consumer.take()
                    # What was added meanwhile has no end.
                    is_over = not entries or not pending or entries[-1].sequence > last
                    found |= {entry.subject: entry for entry in entries if entry.sequence <= last}
                in_order = sorted(found.values(), key=lambda entry: entry.sequence)
                following = in_order[-1].sequence + 1 if in_order else 1
                if not is_alone and following <= last and await self._has_more(following, last, pattern):
                    raise _IsBehind
                return in_order

        return await self._persistently(attempt)

    async def seek(self, instant: int) -> int | None:
        """Return the first sequence stored at or after an instant, or None where nothing is."""
        start_time = instants.to_text(max(instant, instants.EARLIEST_STAMP))

        async def attempt() -> int | None:
            start = Start(deliver_policy="by_start_time", opt_start_time=start_time)
            async with self._open(start, pattern=None, most=1) as (consumer, info):
                entries, _ = await consumer.take()
            first = entries[0] if entries else None
            if info.is_alone or (first is not None and first.instant >= instant):
                return None if first is None else first.sequence
            # It has not got so far, or what comes was next when it began, whatever its time: the leader is asked.
            return await self._seek_at_leader(instant, first=1 if first is None else first.sequence + 1)

        return await self._persistently(attempt)

    async def _seek_at_leader(self, instant: int, *, first: int) -> int | None:
        """Return the first sequence in the rest of a stream stored at or after an instant: each answer halves it."""
        found: int | None = None
        async with self._asking_the_leader():
            newest = await find_newest_entry(self._connection, self._base)
            last = newest.sequence if newest is not None and newest.instant >= instant else 0
            while first <= last:
                middle = (first + last) // 2
                entry = await find_next_entry(self._connection, self._base, middle, _ANY_SUBJECT)
                if entry is not None and entry.sequence <= last and entry.instant < instant:
                    first = entry.sequence + 1
                    continue
                if entry is not None and entry.sequence <= last:
                    found = entry.sequence
                last = middle - 1
            await self._look()
        return found

    async def _persistently(self, attempt: Callable[[], Awaitable[T]]) -> T:
        patience = _Patience(self._connection)
        while True:
            try:
                return await attempt()
            except ConsumerLost as loss:
                await patience.bear(loss)

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


class _Patience:
    """How long to go on with another consumer after one that was of no use."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.renew()

    def renew(self) -> None:
        """Begin anew: something has come."""
        self._losses = 0
        self._behind_since: float | None = None
        self._pause = _SHORTEST_PAUSE

    async def bear(self, loss: ConsumerLost) -> None:
        """Wait a little if that helps, or raise where another consumer would not."""
        if not isinstance(loss, _IsBehind):
            self._losses += 1
            if self._losses > _MOST_LOSSES:
                raise self._connection.unavailable("reading failed", loss) from loss
            return
        now = asyncio.get_running_loop().time()
        self._behind_since = now if self._behind_since is None else self._behind_since
        if now - self._behind_since > _BEHIND_SECONDS:
            raise self._connection.unavailable("reading failed", loss) from loss
        await asyncio.sleep(self._pause)
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)


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
