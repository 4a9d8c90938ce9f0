"""A log whose backend has troubles: it is slow, it cannot be reached, it loses its place, it is made anew.

The log behind it is a real one. What is read through here may come late and in pieces of any size, and may fail in
every way that the log's contract allows, at the beginning and in the middle. Writing is left alone: who appends is not
what is looked at, and goes to the log behind.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING

from aviso_core.errors import AvisoError, Unavailable
from aviso_core.eventlog.base import Batch, EpochChanged

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Sequence

    from aviso_core.eventlog.base import Appended, AppendFailed, Bounds, Entry, EventLog, Record, Tail
    from support.troubles import Troubles


class FaultyLog:
    """An `EventLog` in trouble."""

    def __init__(self, behind: EventLog, troubles: Troubles) -> None:
        self.behind = behind
        self.troubles = troubles

    @property
    def is_healthy(self) -> bool:
        """Whether the backend answers now."""
        return self.behind.is_healthy

    def make_anew(self, behind: EventLog) -> None:
        """Have the streams removed and made again. Who follows them hears of it when the delay is over."""
        self.behind = behind
        self.troubles.end_tails(EpochChanged("the stream was made anew"))

    async def append(self, base: str, record: Record) -> Appended:
        """Store one record."""
        return await self.behind.append(base, record)

    async def append_all(self, base: str, records: Sequence[Record]) -> list[Appended | AppendFailed]:
        """Store records in their order."""
        return await self.behind.append_all(base, records)

    async def append_atomically(self, base: str, records: Sequence[Record]) -> list[Appended]:
        """Store all records or none."""
        return await self.behind.append_atomically(base, records)

    async def delete(self, base: str, sequence: int) -> bool:
        """Remove one entry."""
        return await self.behind.delete(base, sequence)

    async def wipe(self, base: str) -> bool:
        """Remove all entries of a stream."""
        return await self.behind.wipe(base)

    async def wipe_all(self) -> None:
        """Remove all entries of all streams."""
        await self.behind.wipe_all()

    async def latest(self, base: str, *, pattern: str | None = None, epoch: str | None = None) -> list[Entry]:
        """Return the last entry of each subject."""
        return await self.behind.latest(base, pattern=pattern, epoch=epoch)

    async def bounds(self, base: str) -> Bounds:
        """Return what the stream holds: it may have grown by the time that the answer is there."""
        await self.troubles.delay()
        self.troubles.check("bounds")
        try:
            answer = await self.behind.bounds(base)
        except AvisoError as error:
            raise self.troubles.failure(error) from error
        await self.troubles.delay()
        return answer

    async def seek(self, base: str, instant: int, *, epoch: str | None = None) -> int:
        """Return the first sequence stored at or after an instant."""
        await self.troubles.delay()
        self.troubles.check("seek")
        try:
            answer = await self.behind.seek(base, instant, epoch=epoch)
        except AvisoError as error:
            raise self.troubles.failure(error) from error
        await self.troubles.delay()
        return answer

    async def read(
        self,
        base: str,
        *,
        first: int,
        last: int,
        pattern: str | None = None,
        batch_bytes: int = 1_048_576,
        epoch: str | None = None,
    ) -> AsyncGenerator[Batch, None]:
        """Yield what is stored in a range."""
        troubles = self.troubles
        troubles.readings += 1
        try:
            await troubles.delay()
            troubles.check("read")
            breaks_after, troubles.breaks_after = troubles.breaks_after, None
            behind, count = self.behind, 0
            size = min(batch_bytes, troubles.batch_bytes)
            try:
                async with aclosing(
                    behind.read(base, first=first, last=last, pattern=pattern, batch_bytes=size, epoch=epoch)
                ) as batches:
                    async for batch in batches:
                        if self.behind is not behind:
                            raise EpochChanged("the stream was made anew")
                        if count == breaks_after:
                            raise Unavailable("read: the connection was lost")
                        yield batch
                        count += 1
                        await troubles.delay()
            except AvisoError as error:
                raise troubles.failure(error) from error
        finally:
            troubles.readings -= 1

    @asynccontextmanager
    async def tail(self, base: str, *, after: int, epoch: str) -> AsyncIterator[Tail]:
        """Follow the stream from the entry after a position."""
        await self.troubles.delay_tail()
        self.troubles.check("tail")
        try:
            async with self.behind.tail(base, after=after, epoch=epoch) as behind:
                tail = FaultyTail(behind, self.troubles)
                self.troubles.tails[tail] = None
                try:
                    yield tail
                finally:
                    del self.troubles.tails[tail]
        except AvisoError as error:
            raise self.troubles.failure(error) from error


class FaultyTail:
    """A tail that may come late, in pieces, and to an end."""

    def __init__(self, behind: Tail, troubles: Troubles) -> None:
        self._behind = aiter(behind)
        self._troubles = troubles
        self._rest: tuple[Entry, ...] = ()
        self._through = 0
        self._end: asyncio.Future[AvisoError | None] = asyncio.get_running_loop().create_future()

    def end(self, error: AvisoError | None) -> None:
        """Come to an end as soon as it is noticed."""
        if not self._end.done():
            self._end.set_result(error)

    def __aiter__(self) -> FaultyTail:
        return self

    async def __anext__(self) -> Batch:
        if not self._rest:
            await self._take_more()
        await self._troubles.delay_tail()
        most = self._troubles.chance.randint(1, self._troubles.most_entries)
        entries, self._rest = self._rest[:most], self._rest[most:]
        return Batch(entries=entries, through=entries[-1].sequence if self._rest else self._through)

    async def _take_more(self) -> None:
        taking = asyncio.ensure_future(anext(self._behind))
        try:
            await asyncio.wait((taking, self._end), return_when=asyncio.FIRST_COMPLETED)
            if self._end.done():
                await self._troubles.delay_tail()
                self._come_to_an_end(self._end.result())
            batch = taking.result()
            self._rest, self._through = batch.entries, batch.through
        finally:
            taking.cancel()

    def _come_to_an_end(self, error: AvisoError | None) -> None:
        if error is not None:
            raise error
        self._troubles.note()
        raise StopAsyncIteration
