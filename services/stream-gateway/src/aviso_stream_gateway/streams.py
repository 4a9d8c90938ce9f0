"""All open streams of a process: how they begin, how they end, and how they leave when the process is told to stop.

Each stream that was open then ends at a moment of its own within some seconds, so that its readers do not all knock at
the next process at once.
"""

from __future__ import annotations

import asyncio
import random
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from aviso_core.alongside import alongside
from aviso_http.records.log import Log
from aviso_stream_gateway.session import Cause
from aviso_stream_gateway.stream import Stream

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from aviso_http.draining import Draining
    from aviso_http.metrics.streams import StreamSeries
    from aviso_stream_gateway.moment import Timekeeper
    from aviso_stream_gateway.outlet import Outlet
    from aviso_stream_gateway.session import Session
    from aviso_stream_gateway.stream import Limits
    from aviso_stream_gateway.wheel import Wheel

# How long after the last moment of draining a reader may take what was left.
_LAST_READING_SECONDS: Final = 10.0

_NOTABLE: Final = (Cause.SLOW, Cause.LOG_LOST, Cause.SCHEMA_CHANGED, Cause.HISTORY_FAILED)

log = Log("aviso_stream_gateway.streams")


class Streams:
    """The open streams. Made by `open_streams`."""

    def __init__(
        self,
        wheel: Wheel,
        timekeeper: Timekeeper,
        *,
        limits: Limits,
        drain_seconds: float,
        draining: Draining,
    ) -> None:
        self.wheel = wheel
        self.timekeeper = timekeeper
        self.limits = limits
        self._drain_seconds = drain_seconds
        self._draining = draining
        # One for all: a bound method for each would cost as much as a stream's session.
        self._on_end: Callable[[Stream], None] = self._ended
        # What lets go of a stream when it ends.
        self._open: dict[Stream, Callable[[Stream], None]] = {}
        self._is_empty = asyncio.Event()
        self._is_empty.set()

    def __len__(self) -> int:
        """Return how many streams are open."""
        return len(self._open)

    @property
    def is_draining(self) -> bool:
        """Whether no stream is opened any more."""
        return self._draining.has_begun

    def begin(
        self,
        session: Session,
        outlet: Outlet,
        series: StreamSeries,
        *,
        shows_actor: bool,
        let_go: Callable[[Stream], None],
    ) -> Stream:
        """Begin a stream."""
        stream = Stream(
            session,
            outlet,
            series,
            wheel=self.wheel,
            timekeeper=self.timekeeper,
            limits=self.limits,
            on_end=self._on_end,
            shows_actor=shows_actor,
        )
        self._open[stream] = let_go
        self._is_empty.clear()
        if self.is_draining:
            # It was let in before, and took so long to be set up.
            self._end_within(session, random.random())  # noqa: S311
        return stream

    def _end_within(self, session: Session, part: float) -> None:
        """End a stream when this part of the seconds to drain in is over."""
        session.close_by(self.timekeeper.now().seconds + part * self._drain_seconds, Cause.SHUTDOWN)

    def _ended(self, stream: Stream) -> None:
        let_go = self._open.pop(stream)
        cause = stream.session.cause or Cause.LEFT
        seconds = self.timekeeper.now().seconds - stream.began
        stream.series.close(seconds, cause.value)
        let_go(stream)
        # What its reader could not know, and an operator should.
        tell = log.info if cause in _NOTABLE else log.debug
        topic = stream.session.topic
        tell("stream.closed", "a stream ended", cause=cause.value, seconds=round(seconds, 3), topic=topic)
        if not self._open:
            self._is_empty.set()

    async def wait_draining(self) -> None:
        """Wait until the process is on its way out."""
        await self._draining.wait()

    async def drain(self) -> None:
        """Wait until the process is on its way out, then end every stream within some seconds.

        Each ends at a moment of its own share of them, in no order: moments that know nothing of each other would come
        in clumps, and a rollout is as hard on the next process as its worst second.
        """
        await self._draining.wait()
        streams = list(self._open)
        random.shuffle(streams)
        for place, stream in enumerate(streams):
            self._end_within(stream.session, (place + random.random()) / len(streams))  # noqa: S311
            stream.watch_time()

    async def ended(self) -> None:
        """Wait until all have ended; what has not by then is cut."""
        try:
            async with asyncio.timeout(self._drain_seconds + _LAST_READING_SECONDS):
                await self._is_empty.wait()
        except TimeoutError:
            for stream in list(self._open):
                stream.outlet.cut()


@asynccontextmanager
async def open_streams(streams: Streams) -> AsyncIterator[Streams]:
    """Keep time for streams as long as the block runs, and wait for their end behind it."""
    async with alongside(streams.wheel.turn_for_ever()), alongside(streams.drain()):
        yield streams
        await streams.ended()
