"""`POST /api/v1/notifications`: many notifications in one request (extensions §1).

A batch goes through in windows of a few hundred records: while one is on its way to the log the next is made ready, so
that neither waits for the other and no request holds more than two of them. Nothing is answered before the log has
answered for every record.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from aviso_core.errors import AvisoError
from aviso_http.answers import send_answer
from aviso_http.body import ClientGone
from aviso_http.problems import Endpoint
from aviso_http.records.log import Log
from aviso_ingest.batch.appending import Appending
from aviso_ingest.batch.atomic import MOST_RECORDS, AtomicRefused, append_atomically, require_ready
from aviso_ingest.batch.checking import Checking, Ready, Refused
from aviso_ingest.batch.reading import Extent, Tracked, held_body
from aviso_ingest.batch.record import NOTIFICATION
from aviso_ingest.batch.refusing import refusal, refuse_unread
from aviso_ingest.batch.results import Results
from aviso_ingest.batch.splitting import elements, lines, windows
from aviso_ingest.batch.tally import Tally
from aviso_ingest.batch.wanted import Form, read_wanted
from aviso_ingest.cloudevents.structured import EVENT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from aviso_http.access.user import User
    from aviso_http.answers import Answer
    from aviso_http.asgi import Receive, Scope, Send
    from aviso_ingest.batch.results import Result
    from aviso_ingest.batch.wanted import Wanted
    from aviso_ingest.parts import Parts

PATH: Final = "/api/v1/notifications"

# How long a client may take to read its answer; the body's room is held until then.
_SENDING_SECONDS: Final = 60.0

log = Log("aviso_ingest.batch")


class Notifications:
    """The route, and what other routes hand their batches to."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        parts, coming = self._parts, Tracked(receive)
        try:
            wanted = read_wanted(scope["headers"], scope["query_string"])
            extent = self._extent(wanted)
            async with held_body(scope["headers"], coming, extent=extent, pressure=parts.pressure) as body:
                await _send_whole(send, await self._answer(wanted, body, scope))
        except ClientGone:
            raise
        except AvisoError as error:
            answer = refusal(parts, error, scope)
            await refuse_unread(answer, coming, send, most_bytes=2 * parts.limits.batch_max_bytes)

    def _extent(self, wanted: Wanted) -> Extent:
        limits = self._parts.limits
        separator = b"\n" if wanted.form is Form.LINES else b","
        return Extent(limits.batch_max_bytes, limits.batch_max_records, separator)

    # --- a body that was read ----------------------------------------------------------------------------

    async def _answer(self, wanted: Wanted, body: bytearray, scope: Scope) -> Answer:
        limit = self._parts.limits.batch_max_records
        try:
            records = await split(body, wanted, most=min(limit, MOST_RECORDS) if wanted.is_atomic else limit)
        except AvisoError as error:
            return refusal(self._parts, error, scope)
        work = _Work(self._parts, wanted, scope)
        try:
            results = await (work.store_whole(records) if wanted.is_atomic else work.store_each(records))
        except AvisoError as error:
            work.tally.tell(None, size=len(body), is_atomic=wanted.is_atomic)
            return work.refusal(error)
        work.tally.tell(results, size=len(body), is_atomic=wanted.is_atomic)
        return results.answer(scope["state"]["request_id"])


async def split(body: bytearray, wanted: Wanted, *, most: int) -> Iterator[bytes]:
    """Return the records of a body."""
    return lines(body, most=most) if wanted.form is Form.LINES else await elements(body, most=most)


class _Work:
    """The work on one request."""

    def __init__(self, parts: Parts, wanted: Wanted, scope: Scope) -> None:
        user: User | None = scope["state"]["user"]
        self._parts = parts
        self._request_id: str = scope["state"]["request_id"]
        self._checking = Checking(
            parts,
            EVENT if wanted.form is Form.CLOUDEVENTS else NOTIFICATION,
            user=user,
            traceparent=place_in_trace(scope),
        )
        self.tally = Tally(parts.counters)
        self._appending = Appending(parts)
        self._results = Results(in_lines=wanted.answers_in_lines, is_minimal=wanted.is_minimal)

    async def store_each(self, records: Iterator[bytes]) -> Results:
        """Store what may be stored, and return what became of each record."""
        first = 0
        before: asyncio.Task[None] | None = None
        async with asyncio.TaskGroup() as tasks:
            for window in windows(records):
                checked = self._checking.check(window, first=first)
                first += len(window)
                if before is not None:
                    await before
                before = tasks.create_task(self._store_window(checked))
                # It is sent before the next one is made ready, and others are served in between.
                await asyncio.sleep(0)
        fault = self.tally.fault()
        if fault is not None:
            raise fault
        return self._results

    async def _store_window(self, checked: Sequence[Ready | Refused]) -> None:
        ready = [one for one in checked if isinstance(one, Ready)]
        stored = await self._appending.append(ready)
        self.tally.add_stored(ready, stored)
        if len(ready) < len(checked):
            refused = [one for one in checked if isinstance(one, Refused)]
            self.tally.add_refused(refused)
            stored = _in_order([*stored, *map(self._checking.result_of, refused)])
        self._results.add(stored)

    async def store_whole(self, records: Iterator[bytes]) -> Results:
        """Store all records or raise why none of them is."""
        checked = self._checking.check(list(records), first=0)
        ready = [one for one in checked if isinstance(one, Ready)]
        self.tally.add_refused([one for one in checked if isinstance(one, Refused)])
        stored: Sequence[Result] = ()
        try:
            fault = self.tally.fault()
            if fault is not None and not ready:
                raise fault
            stored = await append_atomically(self._parts, require_ready(checked))
        finally:
            if stored:
                self.tally.add_stored(ready, stored)
            else:
                self.tally.add_given_up(ready)
        self._results.add(stored)
        return self._results

    def refusal(self, error: AvisoError) -> Answer:
        """Return the answer to a request of which nothing is stored."""
        more = {}
        if isinstance(error, AtomicRefused):
            more["results"] = [self._checking.result_of(one) for one in error.refused]
        return self._parts.problems.answer(error, Endpoint.NOTIFICATION, self._request_id, **more)


def _in_order(results: list[Result]) -> list[Result]:
    return sorted(results, key=lambda result: result.index)


def place_in_trace(scope: Scope) -> str:
    """Return what is stored of the trace that a request belongs to."""
    place = scope["state"]["traceparent"]
    return "" if place is None else str(place)


async def _send_whole(send: Send, answer: Answer) -> None:
    """Send an answer and wait until the client has taken most of it: until then it is in our memory."""
    try:
        async with asyncio.timeout(_SENDING_SECONDS):
            await send_answer(send, answer, is_last=False)
            await send({"type": "http.response.body", "body": b"", "more_body": False})
    except TimeoutError as error:
        raise ClientGone("before it had read its answer") from error
