"""`POST /api/v1/replay` for programs: history in the form that `Accept` asks for, as fast as it is taken.

There are no frames around the events. What is said behind the last of them tells a whole answer from one that was cut
off, which is what becomes of every answer that cannot be brought to its end.
"""

from __future__ import annotations

import asyncio
import importlib
from contextlib import aclosing
from typing import TYPE_CHECKING, Final

from aviso_core.errors import AvisoError
from aviso_core.matching.matcher import Matcher
from aviso_http.answers import send_answer
from aviso_http.body import BodyTooLarge, BodyTooSlow, ClientGone, read_body, refuse_body
from aviso_http.problems import Endpoint
from aviso_http.records.log import Log
from aviso_stream_gateway.admission import admit, check, count, refuse
from aviso_stream_gateway.machines.accepted import Form, form_of
from aviso_stream_gateway.machines.form import Ending
from aviso_stream_gateway.machines.held import Overtaken, RangeRemoved, check_held
from aviso_stream_gateway.machines.lines import LineWriter
from aviso_stream_gateway.request import Mode
from aviso_stream_gateway.sending import sending
from aviso_stream_gateway.setup import set_up
from aviso_stream_gateway.showing import Showing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from aviso_http.asgi import Application, Receive, Scope, Send
    from aviso_http.metrics.streams import StreamSeries
    from aviso_stream_gateway.machines.form import Writer
    from aviso_stream_gateway.parts import Parts
    from aviso_stream_gateway.request import Asked
    from aviso_stream_gateway.runs import Page
    from aviso_stream_gateway.sending import Sending
    from aviso_stream_gateway.setup import SetUp
    from aviso_stream_gateway.showing import Item

PATH: Final = "/api/v1/replay"

log = Log("aviso_stream_gateway.machines")


class Replay:
    """The route: in frames, as `frames` answers it, or in a form for machines."""

    def __init__(self, parts: Parts, *, frames: Application) -> None:
        self._parts = parts
        self._frames = frames

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        form = form_of(scope["headers"])
        if form is Form.FRAMES:
            return await self._frames(scope, receive, send)
        try:
            body = await read_body(scope["headers"], receive)
        except (BodyTooLarge, BodyTooSlow) as error:
            log.warning("api.request.parse.failed", str(error), error=error)
            return await refuse_body(error, receive, send)
        try:
            asked = await check(self._parts, body, Mode.REPLAY, scope)
            ticket = admit(self._parts, scope)
        except AvisoError as error:
            return await refuse(self._parts, error, Endpoint.REPLAY, scope, send)
        series = count(self._parts, PATH, asked.name, scope)
        timekeeper = self._parts.streams.timekeeper
        began = timekeeper.now().seconds
        try:
            await self._answer(asked, form, series, scope, receive, send)
        finally:
            ticket.give_back()
            series.close(timekeeper.now().seconds - began)

    async def _answer(
        self, asked: Asked, form: Form, series: StreamSeries, scope: Scope, receive: Receive, send: Send
    ) -> None:
        parts = self._parts
        try:
            setup = await set_up(asked, parts.log, parts.bounds)
            check_held(asked, setup)
        except RangeRemoved as error:
            request_id = scope["state"]["request_id"]
            more = {"first_sequence": error.first_held}
            return await send_answer(send, parts.problems.answer(error, Endpoint.REPLAY, request_id, **more))
        except AvisoError as error:
            return await refuse(parts, error, Endpoint.REPLAY, scope, send)
        log.info(
            "api.replay.stream.established", "replay opened", event_type=asked.name, form=form.name.lower()
        )
        writer = await self._writer(form, scope)
        history = _History(parts, asked, setup, series)
        stalled_seconds = parts.settings.streams.stalled_seconds
        async with sending(scope, receive, send, stalled_seconds=stalled_seconds) as answer:
            await answer.begin([(b"content-type", form.value), (b"cache-control", b"no-cache")])
            await _send_all(answer, writer, history)
        return None

    async def _writer(self, form: Form, scope: Scope) -> Writer:
        if form is Form.LINES:
            user, access = scope["state"]["user"], self._parts.access
            return LineWriter(shows_actor=user is not None and access.is_administrator(user))
        # The first import takes long, and nobody else is to wait for it.
        arrow = await asyncio.to_thread(importlib.import_module, "aviso_stream_gateway.machines.arrow")
        writer: Writer = arrow.ArrowWriter()
        return writer


async def _send_all(answer: Sending, writer: Writer, history: _History) -> None:
    """Send an answer, or cut it where the log does not give what belongs in it."""
    try:
        async for items in history.read():
            if items:
                await answer.send(writer.rows(items))
                history.series.sent.add(len(items))
            # A reader that keeps up must not keep the loop from everybody else.
            await asyncio.sleep(0)
        await answer.send(writer.end(history.ending()))
        await answer.finish()
    except ClientGone:
        raise
    except AvisoError as error:
        log.warning("stream.replay.batch.failed", str(error), error=error, topic=history.topic)
        history.series.errors.add(1)
        answer.cut()
        raise ClientGone("its answer was cut off") from error
    except BaseException:
        answer.cut()
        raise


class _History:
    """The events of one replay, and how far it has come."""

    def __init__(self, parts: Parts, asked: Asked, setup: SetUp, series: StreamSeries) -> None:
        self.series = series
        self.topic = asked.selection.topic
        self._parts = parts
        self._asked = asked
        self._setup = setup
        self._matcher = Matcher(asked.selection.filter)
        self._overtaken = Overtaken(asked, setup)
        self._most = _most(parts, asked)
        self._count = 0
        self._failed = 0
        # Up to where everything was given out.
        self._through = setup.range.first - 1
        self._has_more = False

    async def read(self) -> AsyncIterator[list[Item]]:
        """Yield what is selected, in order, some at a time."""
        asked, (first, last, bounds) = self._asked, self._setup.range
        base_url = self._parts.settings.application.base_url
        showing = Showing(asked.name, asked.event_type, base_url=base_url)
        pages = self._parts.runs.read(
            asked.base, showing, first=first, last=last, bounds=bounds, pattern=asked.selection.pattern
        )
        async with aclosing(pages):
            async for page in pages:
                if self._overtaken.is_watched:
                    self._overtaken.check(page.through, await self._parts.bounds.of(asked.base))
                yield self._take(page)
                if self._has_more:
                    return
        self._through = max(last, 0)

    def _take(self, page: Page) -> list[Item]:
        """Return the events of a page that are selected, as far as they may be given out."""
        taken: list[Item] = []
        selects = self._matcher.selects
        for item in page.items:
            if not selects(item.candidate):
                continue
            if item.failure:
                self._failed += 1
                self.series.errors.add(1)
            elif self._count == self._most:
                self._has_more = True
                return taken
            else:
                self._count += 1
                self._through = item.sequence
                taken.append(item)
        return taken

    def ending(self) -> Ending:
        """Return what is said behind the last event."""
        return Ending(
            complete=not self._has_more,
            last=self._through,
            count=self._count,
            failed=self._failed,
            max_allowed=self._most if self._has_more else None,
        )


def _most(parts: Parts, asked: Asked) -> int | None:
    """Return how many events there may be: as many as there are, where the request says where they end."""
    if asked.end is not None:
        return None
    declared = None if asked.event_type is None else asked.event_type.schema.max_historical_notifications
    return declared or parts.settings.watch_endpoint.max_historical_notifications
