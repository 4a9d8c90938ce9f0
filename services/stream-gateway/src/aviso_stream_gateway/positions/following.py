"""Logs that are followed for whoever is shown their positions: each log once, however many are shown it.

What was stored is noticed by a tail, and what the log then holds is asked once for all. What was removed no tail tells
of, so each log is also asked now and then.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Final

from aviso_core.alongside import alongside
from aviso_core.errors import AvisoError
from aviso_core.eventlog.base import StreamMissing
from aviso_http.records.log import Log
from aviso_stream_gateway.positions.held import Held, held

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator

    from aviso_core.eventlog.base import EventLog
    from aviso_core.schema.catalog import Catalog
    from aviso_stream_gateway.bounds import FreshBounds

# How soon after a change the next one is told of.
PAUSE_SECONDS: Final = 0.05
# How often a log is asked though nothing was stored, and how long after a failure.
RECHECK_SECONDS: Final = 5.0
RETRY_SECONDS: Final = 1.0

log = Log("aviso_stream_gateway.positions")


class News:
    """What has changed since somebody looked last: logs by their base, and whether anything else is to be looked at."""

    def __init__(self) -> None:
        self._changed: dict[str, Held | None] = {}
        self._arrived = asyncio.Event()

    def tell(self, base: str, position: Held | None) -> None:
        """Note what a log holds now."""
        self._changed[base] = position
        self._arrived.set()

    def wake(self) -> None:
        """Have whoever waits look around."""
        self._arrived.set()

    async def wait(self, seconds: float) -> dict[str, Held | None]:
        """Return what has changed, as soon as there is something to look at, or nothing after some time."""
        try:
            async with asyncio.timeout(seconds):
                await self._arrived.wait()
        except TimeoutError:
            return {}
        self._arrived.clear()
        changed, self._changed = self._changed, {}
        return changed


class _Followed:
    """One log that is followed."""

    def __init__(self, base: str) -> None:
        self.base = base
        self.listeners: set[News] = set()
        self.task: asyncio.Task[None] | None = None
        self._told: Held | None = None

    def tell(self, position: Held | None) -> None:
        """Tell all, if it is another than they know of."""
        if position != self._told:
            self._told = position
            for news in self.listeners:
                news.tell(self.base, position)


class Following:
    """All logs that are followed. Made by `open_following`."""

    def __init__(
        self,
        event_log: EventLog,
        bounds: FreshBounds,
        *,
        pause_seconds: float = PAUSE_SECONDS,
        recheck_seconds: float = RECHECK_SECONDS,
        retry_seconds: float = RETRY_SECONDS,
    ) -> None:
        self._log = event_log
        self._bounds = bounds
        self._pause_seconds = pause_seconds
        self._recheck_seconds = recheck_seconds
        self._retry_seconds = retry_seconds
        self._followed: dict[str, _Followed] = {}
        self._listeners: set[News] = set()

    @contextmanager
    def listening(self, is_told: Callable[[], Iterable[str]]) -> Iterator[Listening]:
        """Follow logs for somebody as long as the block runs; which ones may be asked again and again."""
        listening = Listening(self, is_told)
        self._listeners.add(listening.news)
        try:
            listening.look_around()
            yield listening
        finally:
            self._listeners.discard(listening.news)
            listening.leave()

    def catalog_changed(self, catalog: Catalog) -> None:
        """Have everybody look around: there may be event types that were not, and others may be gone."""
        del catalog
        for news in self._listeners:
            news.wake()

    def follow(self, base: str, news: News) -> None:
        """Tell somebody of a log from now on."""
        followed = self._followed.get(base)
        if followed is None:
            followed = self._followed[base] = _Followed(base)
            followed.task = asyncio.create_task(self._keep_following(followed))
        followed.listeners.add(news)

    def leave(self, base: str, news: News) -> None:
        """Tell somebody of a log no more."""
        followed = self._followed[base]
        followed.listeners.discard(news)
        if not followed.listeners:
            del self._followed[base]
            assert followed.task is not None
            followed.task.cancel()

    async def _keep_following(self, followed: _Followed) -> None:
        while True:
            try:
                await self._follow(followed)
            except StreamMissing:
                followed.tell(None)
            except AvisoError as error:
                log.debug("positions.log.lost", str(error), base=followed.base)
            except Exception as error:  # noqa: BLE001 (a bug in following one log must not end its being followed)
                log.error("positions.failed", "following a log met a bug", base=followed.base, error=error)
            await asyncio.sleep(self._retry_seconds)

    async def _follow(self, followed: _Followed) -> None:
        bounds = await self._bounds.of(followed.base)
        followed.tell(held(bounds))
        moved = asyncio.Event()
        async with (
            self._log.tail(followed.base, after=bounds.last, epoch=bounds.epoch) as tail,
            alongside(self._keep_asking(followed, moved)),
        ):
            async for _ in tail:
                moved.set()

    async def _keep_asking(self, followed: _Followed, moved: asyncio.Event) -> None:
        while True:
            try:
                async with asyncio.timeout(self._recheck_seconds):
                    await moved.wait()
            except TimeoutError:
                pass
            moved.clear()
            try:
                followed.tell(held(await self._bounds.of(followed.base)))
            except AvisoError as error:
                # The tail knows how to go on, or ends; here it is only asked again.
                log.debug("positions.log.lost", str(error), base=followed.base)
            await asyncio.sleep(self._pause_seconds)

    async def close(self) -> None:
        """Follow nothing any more."""
        tasks = [followed.task for followed in self._followed.values() if followed.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Listening:
    """The logs that one listener is told of."""

    def __init__(self, following: Following, is_told: Callable[[], Iterable[str]]) -> None:
        self.news = News()
        self._following = following
        self._is_told = is_told
        self._bases: set[str] = set()

    def look_around(self) -> None:
        """Follow what there is to follow now, and nothing else."""
        wanted = set(self._is_told())
        for base in wanted - self._bases:
            self._following.follow(base, self.news)
        for base in self._bases - wanted:
            self._following.leave(base, self.news)
        self._bases = wanted

    def leave(self) -> None:
        """Follow nothing."""
        for base in self._bases:
            self._following.leave(base, self.news)
        self._bases = set()


@asynccontextmanager
async def open_following(following: Following) -> AsyncIterator[Following]:
    """Keep following for as long as the block runs."""
    try:
        yield following
    finally:
        await following.close()
