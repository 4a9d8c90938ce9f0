"""The feeds: one for each event type that somebody watches, with the tail of the log that moves it.

A feed begins with its first stream and ends some time after its last. What the log survives its streams do not
notice; where the log itself gives up, or begins anew, they end, and their readers resume from what they were sent last.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec.structs import replace

from aviso_core.errors import AvisoError, Overloaded, UnknownEventType
from aviso_core.schema.compatibility import incompatibilities
from aviso_http.records.log import Log
from aviso_stream_gateway.feed import Feed
from aviso_stream_gateway.session import Cause

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from aviso_core.eventlog.base import EventLog
    from aviso_core.schema.catalog import Catalog
    from aviso_core.schema.event_type import EventType
    from aviso_stream_gateway.bounds import FreshBounds
    from aviso_stream_gateway.request import Asked
    from aviso_stream_gateway.stream import Stream

LINGER_SECONDS: Final = 30.0

log = Log("aviso_stream_gateway.hub")

# The base in small letters, as the log compares them, and the event type's name.
_Key: TypeAlias = tuple[str, str]


class Hub:
    """All feeds of a process. Made by `open_hub`."""

    def __init__(
        self,
        event_log: EventLog,
        bounds: FreshBounds,
        *,
        base_url: str,
        linger_seconds: float = LINGER_SECONDS,
    ) -> None:
        self._log = event_log
        self._bounds = bounds
        self._base_url = base_url
        self._linger_seconds = linger_seconds
        self._feeds: dict[_Key, Feed] = {}
        self._starting: dict[tuple[_Key, EventType | None], asyncio.Task[Feed]] = {}
        self._motors: dict[_Key, asyncio.Task[None]] = {}
        self._lingering: dict[_Key, asyncio.TimerHandle] = {}
        # The latest; None as long as it has not changed since the beginning.
        self._catalog: Catalog | None = None

    async def expect(self, asked: Asked) -> Feed:
        """Return the running feed of an event type. It stays for the stream that comes, until `done_expecting`."""
        key = _key_of(asked.base, asked.name)
        while True:
            feed = self._feeds.get(key)
            if feed is None:
                feed = await self._started(key, asked)
            self._check_current(asked)
            if feed.over is None:
                feed.expected += 1
                self._stay(key)
                return feed

    def done_expecting(self, feed: Feed) -> None:
        """Note that a stream has joined, or will not."""
        feed.expected -= 1
        self._end_if_idle(feed)

    def leave(self, feed: Feed, stream: Stream) -> None:
        """Serve a stream no longer."""
        feed.leave(stream)
        self._end_if_idle(feed)

    def catalog_changed(self, catalog: Catalog) -> None:
        """End the streams whose event type is not any more what they were opened for; all others go on."""
        self._catalog = catalog
        for feed in list(self._feeds.values()):
            if not _has_changed(feed.name, feed.event_type, catalog):
                feed.revise(catalog.get(feed.name))
            else:
                log.info(
                    "stream.feed.schema.changed", "streams of a changed event type end", event_type=feed.name
                )
                self._end(feed, Cause.SCHEMA_CHANGED)

    def _check_current(self, asked: Asked) -> None:
        """Refuse what was checked by a catalog of before: its permissions and filters may not hold any more."""
        if self._catalog is not None and _has_changed(asked.name, asked.event_type, self._catalog):
            raise Overloaded("The event type is changing at this moment; ask again", retry_after_seconds=1)

    # --- beginning -----------------------------------------------------------------------------------------

    async def _started(self, key: _Key, asked: Asked) -> Feed:
        # Who was checked by the catalog of now does not wait with those who were by another.
        asking = key, asked.event_type
        starting = self._starting.get(asking)
        if starting is None or starting.done():
            starting = self._starting[asking] = asyncio.create_task(self._start(key, asked))
            starting.add_done_callback(lambda done: self._has_started(asking, done))
        # Whoever gives up waiting leaves the others theirs.
        return await asyncio.shield(starting)

    def _has_started(self, asking: tuple[_Key, EventType | None], done: asyncio.Task[Feed]) -> None:
        if self._starting.get(asking) is done:
            del self._starting[asking]

    async def _start(self, key: _Key, asked: Asked) -> Feed:
        bounds = await self._bounds.of(asked.base)
        self._check_current(asked)
        running = self._feeds.get(key)
        if running is not None:
            return running
        feed = self._feeds[key] = Feed(
            asked.name,
            asked.base,
            # It may have been edited since it was asked for, in a way that changes nothing for who asked.
            asked.event_type if self._catalog is None else self._catalog.get(asked.name),
            base_url=self._base_url,
            epoch=bounds.epoch,
            position=bounds.last,
        )
        self._motors[key] = asyncio.create_task(self._move(key, feed))
        # If whoever asked has left meanwhile, nobody else would notice that it is idle.
        self._end_if_idle(feed)
        return feed

    async def _move(self, key: _Key, feed: Feed) -> None:
        try:
            async with self._log.tail(feed.base, after=feed.position, epoch=feed.epoch) as tail:
                async for batch in tail:
                    feed.dispatch(batch)
            log.warning("stream.feed.ended", "the log ended a tail", event_type=feed.name)
        except AvisoError as error:
            log.warning(
                "stream.feed.ended", "the log cannot be followed on", event_type=feed.name, error=error
            )
        except Exception as error:  # noqa: BLE001 (a bug ends the streams of one event type, not those of all)
            log.error("stream.feed.failed", "a feed met a bug", event_type=feed.name, error=error)
        self._end(feed, Cause.LOG_LOST)

    # --- ending --------------------------------------------------------------------------------------------

    def _stay(self, key: _Key) -> None:
        lingering = self._lingering.pop(key, None)
        if lingering is not None:
            lingering.cancel()

    def _end_if_idle(self, feed: Feed) -> None:
        if feed.over is not None or not feed.is_idle:
            return
        key = _key_of(feed.base, feed.name)
        self._stay(key)
        loop = asyncio.get_running_loop()
        self._lingering[key] = loop.call_later(self._linger_seconds, self._end, feed, Cause.FINISHED)

    def _end(self, feed: Feed, cause: Cause) -> None:
        key = _key_of(feed.base, feed.name)
        if self._feeds.get(key) is feed:
            del self._feeds[key]
            self._stay(key)
            self._motors.pop(key).cancel()
        feed.end(cause)

    async def close(self) -> None:
        """End everything."""
        tasks = [*self._starting.values(), *self._motors.values()]
        for feed in list(self._feeds.values()):
            self._end(feed, Cause.SHUTDOWN)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def open_hub(hub: Hub) -> AsyncIterator[Hub]:
    """Keep a hub for as long as the block runs."""
    try:
        yield hub
    finally:
        await hub.close()


def _key_of(base: str, name: str) -> _Key:
    return base.lower(), name


def _has_changed(name: str, before: EventType | None, catalog: Catalog) -> bool:
    """Tell whether filters and permissions of before may not hold any more.

    Where more values are accepted, or more fields, what a filter of before selects is still what it asked for.
    """
    try:
        after = catalog.get(name)
    except UnknownEventType:
        return True
    if before is None or after is None:
        return before is not after
    old, new = before.schema, after.schema
    if (old.topic, old.edges, old.auth) != (new.topic, new.edges, new.auth):
        return True
    return old.fields != new.fields and bool(incompatibilities(old, replace(new, payload=old.payload)))
