"""Sending history, and the seam between it and now.

History goes to one reader as fast as that reader takes it. Then a watch reads on in the log, as live events, until it
has reached the place up to which its feed has served everybody, and joins the feed in one step. While history runs
nothing of now waits for the stream anywhere, so nothing is lost, nothing comes twice, and a long history fills nothing.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, Final, NamedTuple

from aviso_core.errors import AvisoError
from aviso_core.matching.matcher import Matcher
from aviso_http.records.log import Log
from aviso_stream_gateway.runs import Selecting
from aviso_stream_gateway.session import Cause, Phase, Shown
from aviso_stream_gateway.showing import tell_unrendered

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

    from aviso_core.eventlog.base import Bounds
    from aviso_stream_gateway.feed import Feed
    from aviso_stream_gateway.moment import Timekeeper
    from aviso_stream_gateway.request import Asked
    from aviso_stream_gateway.runs import Page, Runs
    from aviso_stream_gateway.showing import Showing
    from aviso_stream_gateway.stream import Stream

# Of how many different filters a page remembers what they select.
_MOST_SELECTIONS: Final = 4

log = Log("aviso_stream_gateway.playback")


class Range(NamedTuple):
    """Which part of the log is history for a stream."""

    first: int
    last: int
    # What the log held when the stream was set up; its last sequence is where history ends and now begins.
    bounds: Bounds


class Playback:
    """What sending history needs."""

    def __init__(self, runs: Runs, timekeeper: Timekeeper, *, delay_seconds: float = 0.0) -> None:
        self._runs = runs
        self._timekeeper = timekeeper
        self._delay_seconds = delay_seconds

    async def play(
        self, stream: Stream, asked: Asked, showing: Showing, range: Range, feed: Feed | None
    ) -> None:
        """Send a stream its history, if it asked for any, and bring it to its feed, if it goes on."""
        source = _Source(self._runs, asked, showing, shows_actor=stream.shows_actor)
        try:
            if stream.session.phase is Phase.HISTORY:
                await self._send_history(stream, source, range)
            if feed is not None:
                await self._catch_up(stream, source, range.bounds, feed)
        except AvisoError as error:
            log.warning("stream.replay.batch.failed", str(error), error=error, topic=asked.selection.topic)
            if stream.session.phase is Phase.HISTORY:
                stream.send(stream.session.history_failed(str(error), self._timekeeper.now()))
            else:
                # Its history is complete; a client that is told to come again resumes behind what it was sent.
                stream.close(Cause.LOG_LOST)

    async def _send_history(self, stream: Stream, source: _Source, range: Range) -> None:
        session = stream.session
        async with aclosing(source.read(range.first, range.last, range.bounds)) as pages:
            async for page in pages:
                # Whenever something was waited for, the stream may have ended meanwhile.
                if session.is_over:
                    return
                stream.send(session.history(source.shown(page), page.through, self._timekeeper.now()))
                await stream.outlet.drained()
                if self._delay_seconds and page.through < range.last:
                    await asyncio.sleep(self._delay_seconds)
        if not session.is_over:
            stream.send(session.history_ended(range.bounds.last, self._timekeeper.now()))

    async def _catch_up(self, stream: Stream, source: _Source, bounds: Bounds, feed: Feed) -> None:
        session = stream.session
        while not session.is_over:
            if feed.over is not None:
                stream.close(feed.over)
            elif feed.join(stream, source.selection.filter):
                return
            else:
                # The feed has served others what this stream has not been sent yet.
                await self._read_on(stream, source, bounds, feed.position)

    async def _read_on(self, stream: Stream, source: _Source, bounds: Bounds, last: int) -> None:
        session = stream.session
        async with aclosing(source.read(session.position + 1, last, bounds)) as pages:
            async for page in pages:
                if session.is_over:
                    return
                stream.send(session.catch_up(source.shown(page), page.through))
                await stream.outlet.drained()


class _Source:
    """The events that one stream selects."""

    def __init__(self, runs: Runs, asked: Asked, showing: Showing, *, shows_actor: bool) -> None:
        self.selection = asked.selection
        self._base = asked.base
        self._runs = runs
        self._showing = showing
        self._selecting = Selecting(asked.selection.filter, shows_actor)
        self._matcher = Matcher(asked.selection.filter)

    def read(self, first: int, last: int, bounds: Bounds) -> AsyncGenerator[Page, None]:
        """Yield the part of the log in which the events are, with others between them."""
        return self._runs.read(
            self._base, self._showing, first=first, last=last, bounds=bounds, pattern=self.selection.pattern
        )

    def shown(self, page: Page) -> list[Shown]:
        """Return those of a page, which are looked for once for several readers with the same filter."""
        found = page.selected.get(self._selecting)
        if found is None:
            found = list(self._select(page))
            if len(page.selected) < _MOST_SELECTIONS:
                page.selected[self._selecting] = found
        return found

    def _select(self, page: Page) -> Iterator[Shown]:
        selects, shows_actor = self._matcher.selects, self._selecting.shows_actor
        for item in page.items:
            if selects(item.candidate):
                cloud_event = item.cloud_event(show_actor=shows_actor)
                if cloud_event is None:
                    tell_unrendered(item)
                    yield Shown(item.sequence, None, item.failure, item.topic)
                else:
                    yield Shown(item.sequence, cloud_event)
