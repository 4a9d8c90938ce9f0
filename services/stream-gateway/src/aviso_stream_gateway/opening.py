"""`POST /api/v1/watch` and `POST /api/v1/replay`: from a request to an open stream.

Everything that can be refused is refused before the first byte of an answer. Then the headers and the first frame go
out at once, before any history is read. A watch takes its connection over from the server, and the request ends there;
where that cannot be had, and for replays, the request's task carries the stream to its end.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from aviso_core.errors import AvisoError
from aviso_http.body import BodyTooLarge, BodyTooSlow, ClientGone, read_body, refuse_body
from aviso_http.problems import Endpoint
from aviso_http.protocol import CONNECTION, HAND_OVER
from aviso_http.records.log import Log
from aviso_stream_gateway.admission import admit, check, count, lifetime, refuse
from aviso_stream_gateway.handed_over import HandedOver
from aviso_stream_gateway.request import Mode, first_instant, first_sequence, is_live_only, last_instant
from aviso_stream_gateway.session import Cause, Opening, Session
from aviso_stream_gateway.setup import set_up, setting_up
from aviso_stream_gateway.showing import Showing
from aviso_stream_gateway.socket_options import set_options
from aviso_stream_gateway.through_server import ThroughServer

if TYPE_CHECKING:
    from aviso_http.access.user import User
    from aviso_http.asgi import Receive, Scope, Send
    from aviso_http.metrics.streams import StreamSeries
    from aviso_stream_gateway.feed import Feed
    from aviso_stream_gateway.hub import Hub
    from aviso_stream_gateway.limits import Ticket
    from aviso_stream_gateway.parts import Parts
    from aviso_stream_gateway.request import Asked
    from aviso_stream_gateway.setup import SetUp
    from aviso_stream_gateway.stream import Stream

PATHS: Final = {Mode.WATCH: "/api/v1/watch", Mode.REPLAY: "/api/v1/replay"}
_ENDPOINTS: Final = {Mode.WATCH: Endpoint.WATCH, Mode.REPLAY: Endpoint.REPLAY}

_HEADERS: Final = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache"),
    (b"access-control-allow-origin", b"*"),
    (b"x-accel-buffering", b"no"),
)

log = Log("aviso_stream_gateway.opening")


class Open:
    """One of the two routes."""

    def __init__(self, parts: Parts, mode: Mode) -> None:
        self._parts = parts
        self._mode = mode
        # What still brings history to streams whose requests have ended.
        self._playing: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        try:
            body = await read_body(scope["headers"], receive)
        except (BodyTooLarge, BodyTooSlow) as error:
            log.warning("api.request.parse.failed", str(error), error=error)
            return await refuse_body(error, receive, send)
        try:
            asked = await check(self._parts, body, self._mode, scope)
            ticket = admit(self._parts, scope)
        except AvisoError as error:
            return await self._refuse(error, scope, send)
        series = count(self._parts, PATHS[self._mode], asked.name, scope)
        began = self._parts.streams.timekeeper.now().seconds
        try:
            feed = None if self._mode is Mode.REPLAY else await self._expect(asked)
            opening = _Opening(self._parts, asked, scope, series, ticket, feed)
            try:
                setup = await set_up(asked, self._parts.log, self._parts.bounds)
                if feed is not None:
                    with setting_up(asked):
                        feed.check_epoch(setup.bounds)
                await send({"type": "http.response.start", "status": 200, "headers": list(_HEADERS)})
            except BaseException:
                opening.give_up()
                raise
        except BaseException as error:
            ticket.give_back()
            series.close(self._parts.streams.timekeeper.now().seconds - began)
            if isinstance(error, AvisoError) and not isinstance(error, ClientGone):
                return await self._refuse(error, scope, send)
            raise
        return await self._carry(opening, setup, scope, receive, send)

    async def _expect(self, asked: Asked) -> Feed:
        with setting_up(asked):
            return await self._parts.hub.expect(asked)

    async def _refuse(self, error: AvisoError, scope: Scope, send: Send) -> None:
        await refuse(self._parts, error, _ENDPOINTS[self._mode], scope, send)

    async def _carry(
        self, opening: _Opening, setup: SetUp, scope: Scope, receive: Receive, send: Send
    ) -> None:
        log.info(
            f"api.{self._mode.value}.stream.established",
            "stream opened",
            event_type=opening.asked.name,
            topic=opening.asked.selection.topic,
        )
        connection = HandedOver()
        hand_over = scope.get("extensions", {}).get(HAND_OVER) if self._mode is Mode.WATCH else None
        transport = None if hand_over is None else hand_over(connection)
        limits = self._parts.settings.streams
        send_buffer_bytes = limits.send_buffer_bytes
        # What history leaves in the mailbox must not be what a live stream is ended for.
        most_before_live_bytes = limits.max_waiting_bytes // 2
        if transport is None:
            kept = scope.get("extensions", {}).get(CONNECTION)
            if kept is not None:
                set_options(kept, send_buffer_bytes=send_buffer_bytes)
            outlet = ThroughServer(receive, send, kept, most_before_live_bytes=most_before_live_bytes)
            stream = opening.begin(outlet, setup)
            outlet.on_gone = stream.gone
            playing = self._play(opening, stream, setup)
            try:
                await outlet.carry()
            finally:
                await _ended(playing)
            return
        connection.take(
            transport,
            send_buffer_bytes=send_buffer_bytes,
            most_before_live_bytes=most_before_live_bytes,
        )
        stream = opening.begin(connection, setup)
        connection.stream = stream
        if opening.joins_at_once(stream):
            return
        self._play(opening, stream, setup)

    def _play(self, opening: _Opening, stream: Stream, setup: SetUp) -> asyncio.Task[None]:
        playing = asyncio.create_task(opening.play(stream, setup))
        self._playing.add(playing)
        playing.add_done_callback(self._playing.discard)
        return playing


class _Opening:
    """One stream on its way to being open."""

    def __init__(
        self,
        parts: Parts,
        asked: Asked,
        scope: Scope,
        series: StreamSeries,
        ticket: Ticket,
        feed: Feed | None,
    ) -> None:
        self.asked = asked
        self._parts = parts
        self._user: User | None = scope["state"]["user"]
        self._request_id: str = scope["state"]["request_id"]
        self._series = series
        self._ticket = ticket
        self._feed = feed

    def give_up(self) -> None:
        """Let go of what was held for a stream that will not be."""
        if self._feed is not None:
            self._parts.hub.done_expecting(self._feed)

    def begin(self, outlet: HandedOver | ThroughServer, setup: SetUp) -> Stream:
        """Begin the stream with its first frame."""
        parts, asked = self._parts, self.asked
        heartbeat_seconds = parts.settings.watch_endpoint.sse_heartbeat_interval_sec
        session = self._session(setup)
        stream = parts.streams.begin(
            session,
            outlet,
            self._series,
            shows_actor=self._user is not None and parts.access.is_administrator(self._user),
            let_go=_Held(self._ticket, parts.hub, self._feed),
        )
        now = parts.streams.timekeeper.now()
        if is_live_only(asked.start):
            stream.send(session.open_live(now, heartbeat_seconds=heartbeat_seconds))
        else:
            opening = Opening(
                batch_size=parts.settings.watch_endpoint.replay_batch_size,
                from_sequence=first_sequence(asked.start),
                from_instant=first_instant(asked.start),
                to_instant=last_instant(asked.end),
                end_sequence=setup.end_sequence,
            )
            stream.send(session.open_history(now, opening, heartbeat_seconds=heartbeat_seconds))
        stream.watch_time()
        return stream

    def _session(self, setup: SetUp) -> Session:
        asked, watch = self.asked, self._parts.settings.watch_endpoint
        goes_on = asked.mode is Mode.WATCH
        closes_at, closes_for = self._closing_time() if goes_on else (None, Cause.MAX_DURATION)
        declared = None if asked.event_type is None else asked.event_type.schema.max_historical_notifications
        return Session(
            topic=asked.selection.topic,
            request_id=self._request_id,
            position=setup.bounds.last if is_live_only(asked.start) else setup.range.first - 1,
            goes_on=goes_on,
            limit=declared or watch.max_historical_notifications,
            closes_at=closes_at,
            closes_for=closes_for,
        )

    def _closing_time(self) -> tuple[float, Cause]:
        seconds, cause = lifetime(self._parts, self._user)
        return self._parts.streams.timekeeper.now().seconds + seconds, cause

    def joins_at_once(self, stream: Stream) -> bool:
        """Join the feed, where the stream wants no history and is level with it."""
        feed = self._feed
        if feed is None or feed.over is not None or not is_live_only(self.asked.start):
            return False
        if not feed.join(stream, self.asked.selection.filter):
            return False
        self.give_up()
        return True

    async def play(self, stream: Stream, setup: SetUp) -> None:
        """Send history, and bring a watch to its feed."""
        feed = self._feed
        try:
            await self._parts.playback.play(stream, self.asked, self._showing(), setup.range, feed)
        except Exception as error:  # noqa: BLE001 (nobody waits for this; a bug must not leave a silent stream)
            log.error(
                "stream.playback.failed", "a stream met a bug", error=error, topic=self.asked.selection.topic
            )
            stream.close(Cause.HISTORY_FAILED)
        finally:
            self.give_up()

    def _showing(self) -> Showing:
        if self._feed is not None:
            return self._feed.showing
        base_url = self._parts.settings.application.base_url
        return Showing(self.asked.name, self.asked.event_type, base_url=base_url)


class _Held:
    """What an open stream holds until it ends. An idle one is to keep nothing else of its opening."""

    __slots__ = ("_feed", "_hub", "_ticket")

    def __init__(self, ticket: Ticket, hub: Hub, feed: Feed | None) -> None:
        self._ticket = ticket
        self._hub = hub
        self._feed = feed

    def __call__(self, stream: Stream) -> None:
        """Let go of it."""
        self._ticket.give_back()
        if self._feed is not None:
            self._hub.leave(self._feed, stream)


async def _ended(playing: asyncio.Task[None]) -> None:
    """Wait until history ends for a stream that is over; what it waits for may not come any more."""
    playing.cancel()
    await asyncio.gather(playing, return_exceptions=True)
