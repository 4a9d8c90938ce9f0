"""`GET /api/v1/positions/stream`: what the logs hold, and from then on how that changes.

The first frame has every event type that the caller may read, each further one those that have changed, soon after they
did and never more than twenty times a second. Who reads slowly is told less often, and always of what is so now.
"""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Final

import msgspec

from aviso_core.alongside import alongside
from aviso_core.errors import AvisoError
from aviso_http.problems import Endpoint
from aviso_http.records.log import Log
from aviso_stream_gateway.admission import admit, count, lifetime, refuse
from aviso_stream_gateway.frames import Heartbeat, closing, encode
from aviso_stream_gateway.positions.following import PAUSE_SECONDS
from aviso_stream_gateway.positions.held import positions_of, readable
from aviso_stream_gateway.positions.routes import PATH as POSITIONS_PATH
from aviso_stream_gateway.sending import sending
from aviso_stream_gateway.session import Cause

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aviso_http.access.user import User
    from aviso_http.asgi import Receive, Scope, Send
    from aviso_http.metrics.streams import StreamSeries
    from aviso_stream_gateway.parts import Parts
    from aviso_stream_gateway.positions.following import Listening, News
    from aviso_stream_gateway.positions.held import Held, Positions
    from aviso_stream_gateway.sending import Sending

PATH: Final = f"{POSITIONS_PATH}/stream"
_HEADERS: Final = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache"),
    (b"access-control-allow-origin", b"*"),
    (b"x-accel-buffering", b"no"),
)
# Where other streams show their topic.
_TOPIC: Final = "positions"

_encode: Final = msgspec.json.Encoder(order="sorted").encode

log = Log("aviso_stream_gateway.positions")


class PositionStream:
    """The route."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        parts = self._parts
        try:
            ticket = admit(parts, scope)
        except AvisoError as error:
            return await refuse(parts, error, Endpoint.POSITIONS, scope, send)
        series = count(parts, PATH, "", scope)
        timekeeper = parts.streams.timekeeper
        began = timekeeper.now().seconds
        try:
            await self._show(_Watcher(parts, scope, series), scope, receive, send)
        finally:
            ticket.give_back()
            series.close(timekeeper.now().seconds - began)

    async def _show(self, watcher: _Watcher, scope: Scope, receive: Receive, send: Send) -> None:
        parts = self._parts
        with parts.following.listening(watcher.bases) as listening:
            try:
                first = await watcher.look_around()
            except AvisoError as error:
                return await refuse(parts, error, Endpoint.POSITIONS, scope, send)
            stalled_seconds = parts.settings.streams.stalled_seconds
            async with (
                sending(scope, receive, send, stalled_seconds=stalled_seconds) as answer,
                alongside(watcher.end_in_time(listening.news)),
            ):
                answer.on_left = listening.news.wake
                await answer.begin(list(_HEADERS))
                await answer.send(_frame(first))
                await watcher.go_on(answer, listening)


async def answer_head(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer whoever asks for the head alone: of a stream, it is all that ever comes to an end."""
    del scope, receive
    await send({"type": "http.response.start", "status": 200, "headers": list(_HEADERS)})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


class _Watcher:
    """Somebody who is shown positions, and what they were shown last."""

    def __init__(self, parts: Parts, scope: Scope, series: StreamSeries) -> None:
        self._parts = parts
        self._user: User | None = scope["state"]["user"]
        self._request_id: str = scope["state"]["request_id"]
        self._series = series
        self._shown: dict[str, Held | None] = {}
        self._over: Cause | None = None

    def bases(self) -> list[str]:
        """Return the logs that there are to be shown."""
        return [event_type.base for event_type in readable(self._parts, self._user)]

    async def look_around(self) -> dict[str, Held | None]:
        """Return what there is that was not, and None for what is no more; at first that is everything."""
        event_types = readable(self._parts, self._user)
        names = {event_type.name for event_type in event_types}
        new = [event_type for event_type in event_types if event_type.name not in self._shown]
        changed: dict[str, Held | None] = {name: None for name in self._shown if name not in names}
        changed |= await positions_of(new, self._parts.bounds)
        self._shown = {name: one for name, one in (self._shown | changed).items() if name in names}
        return changed

    async def go_on(self, answer: Sending, listening: Listening) -> None:
        """Show what changes until the stream is over."""
        timekeeper = self._parts.streams.timekeeper
        heartbeat_seconds = self._parts.settings.watch_endpoint.sse_heartbeat_interval_sec
        beats_at = timekeeper.now().seconds + heartbeat_seconds
        while True:
            told = await listening.news.wait(max(0.0, beats_at - timekeeper.now().seconds))
            answer.check_there()
            if self._over is not None:
                break
            changed = await self._changed(told, listening)
            now = timekeeper.now()
            if changed:
                await answer.send(_frame(changed))
            elif now.seconds >= beats_at:
                await answer.send(encode(Heartbeat(timestamp=now.text, topic=_TOPIC)))
            else:
                continue
            beats_at = now.seconds + heartbeat_seconds
            # What changes meanwhile is told of together.
            await asyncio.sleep(PAUSE_SECONDS)
        await self._close(answer, self._over)

    async def _changed(self, told: Mapping[str, Held | None], listening: Listening) -> dict[str, Held | None]:
        """Return what is not as it was shown."""
        listening.look_around()
        try:
            changed = await self.look_around()
        except AvisoError as error:
            # What is new is shown when its log can be asked; that is tried again with the next thing to look at.
            log.debug("positions.log.lost", str(error))
            changed = {}
        names = {event_type.base: event_type.name for event_type in readable(self._parts, self._user)}
        for base, position in told.items():
            name = names.get(base)
            if name in self._shown and is_news(position, self._shown[name]):
                self._shown[name] = changed[name] = position
        return changed

    async def end_in_time(self, news: News) -> None:
        """Wait until the stream has lasted as long as it may, or the process is about to stop, and say so."""
        seconds, cause = lifetime(self._parts, self._user)
        try:
            async with asyncio.timeout(seconds):
                await self._parts.streams.wait_draining()
        except TimeoutError:
            self._over = cause
        else:
            # Not all readers at once.
            await asyncio.sleep(random.uniform(0, self._parts.settings.streams.drain_seconds))  # noqa: S311
            self._over = Cause.SHUTDOWN
        news.wake()

    async def _close(self, answer: Sending, cause: Cause) -> None:
        now = self._parts.streams.timekeeper.now()
        frame = closing(cause.reason, request_id=self._request_id, timestamp=now.text, topic=_TOPIC)
        await answer.send(encode(frame))
        await answer.finish()


def is_news(told: Held | None, shown: Held | None) -> bool:
    """Tell whether this is another position, and not one of before."""
    is_older = told is not None and shown is not None and told.epoch == shown.epoch and told.last < shown.last
    return told != shown and not is_older


def _frame(positions: Positions) -> bytes:
    return b"event: positions\ndata: %s\n\n" % _encode(positions)
