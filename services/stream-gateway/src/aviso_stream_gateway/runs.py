"""Reading history from the log, once for all who read the same at the same time.

A run is one reading of a range, with what it read last kept for those who are a little behind. Whoever is further
behind than that begins another, which those who are as far behind join, until it has reached what the first one keeps.
A run that began before somebody came is joined only if nothing was removed meanwhile: what an administrator deleted
must not come back out of it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from aviso_core.eventlog.base import Batch, Bounds, Entry, EventLog
    from aviso_core.matching.filter import Filter
    from aviso_core.schema.event_type import EventType
    from aviso_stream_gateway.session import Shown
    from aviso_stream_gateway.showing import Item, Showing

# How much one run keeps for those who are behind, how much all of them do, and how much is read at a time.
KEPT_BYTES: Final = 8 * 1024 * 1024
KEPT_BYTES_IN_ALL: Final = 8 * KEPT_BYTES
BATCH_BYTES: Final = 512 * 1024
# What an event takes in memory beside its payload, about; and for each byte of its headers, of which those that are
# long hold shapes: as text, as pairs of numbers, and as text again when it is rendered.
_OVERHEAD: Final = 500
_OF_HEADERS: Final = 10


class Page:
    """What was read at a time: events, and the sequences from which and up to which there is nothing else."""

    __slots__ = ("first", "items", "selected", "size", "through")

    def __init__(self, items: list[Item], *, first: int, through: int, size: int = 0) -> None:
        self.items = items
        self.first = first
        self.through = through
        self.size = size
        # What some of its readers select, for others with the same filter.
        self.selected: dict[Selecting, list[Shown]] = {}


class Selecting(NamedTuple):
    """By what a reader selects events, and as what they are shown."""

    filter: Filter
    shows_actor: bool


class Behind(Exception):
    """What is asked for is not kept any more."""


class _Key(NamedTuple):
    base: str
    # Equal only if it is the very same: another revision may read entries in another way.
    event_type: EventType | None
    name: str
    epoch: str
    pattern: str | None


class _Run:
    """One reading, which several readers take from."""

    def __init__(
        self, batches: AsyncGenerator[Batch, None], showing: Showing, bounds: Bounds, *, first: int
    ) -> None:
        self.bounds = bounds
        self.readers = 0
        # The sequences from which on it keeps what was read, and up to which it has read.
        self.first = first
        self.through = first - 1
        self._is_over = False
        self._batches = batches
        self._showing = showing
        self._pages: deque[Page] = deque()
        self._bytes = 0
        self._turn = asyncio.Lock()
        self._failure: Exception | None = None

    def holds(self, sequence: int) -> bool:
        """Tell whether what begins with a sequence can be had from here: it is kept, or it is what is read next."""
        behind = self.through + 1
        return self.first <= sequence < behind or (sequence == behind and not self._is_over)

    async def page(self, sequence: int) -> Page | None:
        """Return the page with a sequence, None behind the last; `Behind` if it cannot be had from here any more."""
        failure_before = self._failure
        async with self._turn:
            if self.first <= sequence <= self.through:
                return next(page for page in self._pages if page.through >= sequence)
            if self._failure is not failure_before and self._failure is not None:
                # Whoever waited for what failed has waited long enough, and need not try it in turn.
                raise self._failure
            if not self.holds(sequence):
                raise Behind
            return await self._read()

    async def _read(self) -> Page | None:
        try:
            batch = await anext(self._batches)
            items = [item for entry in batch.entries if (item := self._showing.read(entry)) is not None]
        except StopAsyncIteration:
            self._is_over = True
            return None
        except BaseException as error:
            # It is over for good, cancelled as well as failed; whoever comes later begins another.
            self._is_over = True
            self._failure = error if isinstance(error, Exception) else None
            raise
        size = sum(map(_size_of, batch.entries))
        page = Page(items, first=self.through + 1, through=batch.through, size=size)
        self._pages.append(page)
        self._bytes += page.size
        self.through = page.through
        return page

    def keep(self, most_bytes: int) -> None:
        """Keep so much at most of what was read, and the last page at any rate."""
        while self._bytes > most_bytes and len(self._pages) > 1:
            dropped = self._pages.popleft()
            self._bytes -= dropped.size
            self.first = dropped.through + 1

    def has_lost_nothing(self, bounds: Bounds) -> bool:
        """Tell whether what is held now is all that was held when this began, and what came since."""
        came = bounds.last - self.bounds.last
        return came >= 0 and bounds.messages == self.bounds.messages + came

    async def close(self) -> None:
        await self._batches.aclose()


class Runs:
    """All readings of a process."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._runs: dict[_Key, list[_Run]] = {}
        self._count = 0

    async def read(
        self, base: str, showing: Showing, *, first: int, last: int, bounds: Bounds, pattern: str | None
    ) -> AsyncGenerator[Page, None]:
        """Yield what is stored from `first` to `last`, in order; the last page goes through to `last`.

        `bounds` are those of a moment in which the reader was there already. Close it when you leave it early.
        """
        key = _Key(base, showing.event_type, showing.name, bounds.epoch, pattern)
        while first <= last:
            run = self._join(key, showing, first, last, bounds)
            try:
                # Where another run has read what this one would read next, this one is not needed any more.
                while first <= last and self._best(key, first, bounds) is run:
                    page = await run.page(first)
                    if page is None:
                        # It was begun for somebody who wanted less.
                        break
                    run.keep(min(KEPT_BYTES, KEPT_BYTES_IN_ALL // self._count))
                    yield page if first <= page.first and page.through <= last else _part(page, first, last)
                    first = page.through + 1
            except Behind:
                continue
            finally:
                await self._leave(key, run)

    def _best(self, key: _Key, first: int, bounds: Bounds) -> _Run | None:
        """Return the run from which what begins there is to be had, of several the one that is furthest."""
        good = [run for run in self._runs.get(key, ()) if run.holds(first) and run.has_lost_nothing(bounds)]
        return max(good, key=lambda run: run.through, default=None)

    def _join(self, key: _Key, showing: Showing, first: int, last: int, bounds: Bounds) -> _Run:
        run = self._best(key, first, bounds)
        if run is None:
            batches = self._log.read(
                key.base,
                first=first,
                last=last,
                pattern=key.pattern,
                batch_bytes=BATCH_BYTES,
                epoch=key.epoch,
            )
            run = _Run(batches, showing, bounds, first=first)
            self._runs.setdefault(key, []).append(run)
            self._count += 1
        run.readers += 1
        return run

    async def _leave(self, key: _Key, run: _Run) -> None:
        run.readers -= 1
        if not run.readers:
            self._count -= 1
            runs = self._runs[key]
            runs.remove(run)
            if not runs:
                del self._runs[key]
            await run.close()


def _size_of(entry: Entry) -> int:
    return len(entry.payload) + _OVERHEAD + _OF_HEADERS * sum(map(len, entry.headers.values()))


def _part(page: Page, first: int, last: int) -> Page:
    items = [item for item in page.items if first <= item.sequence <= last]
    return Page(items, first=first, through=min(page.through, last))
