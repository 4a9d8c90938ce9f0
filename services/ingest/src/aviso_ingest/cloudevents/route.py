"""`POST /api/v1/events`: notifications as CloudEvents, one in a request or many (extensions §6).

How an event is sent is said as the HTTP binding says it: by the content type for the structured and the batch mode, and
by its `ce-` headers for the binary one. A batch is answered as a batch of notifications is; a single event as a single
notification, with what only the log knows of it: its sequence, and whether it had been stored before.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from aviso_core.errors import AvisoError
from aviso_core.instant import to_seconds_text
from aviso_http.answers import JSON, Answer, encode, send_answer
from aviso_http.body import LARGEST_NOTIFICATION, ClientGone
from aviso_http.problems import Endpoint
from aviso_ingest.batch.checking import Checking, Refused
from aviso_ingest.batch.reading import Extent, Tracked, held_body
from aviso_ingest.batch.record import Notation
from aviso_ingest.batch.refusing import refusal, refuse_unread
from aviso_ingest.batch.route import place_in_trace
from aviso_ingest.batch.tally import status_of
from aviso_ingest.batch.wanted import CLOUDEVENTS_BATCH, UnsupportedMediaType, media_type
from aviso_ingest.cloudevents.attributes import part_at_fault
from aviso_ingest.cloudevents.binary import is_binary, read_binary
from aviso_ingest.cloudevents.structured import EVENT
from aviso_ingest.intake import ANNOUNCE
from aviso_ingest.notify import log_failure, log_success
from aviso_ingest.storing import store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aviso_core.eventlog.base import Appended
    from aviso_http.asgi import Receive, Scope, Send
    from aviso_ingest.batch.checking import Ready
    from aviso_ingest.batch.route import Notifications
    from aviso_ingest.parts import Parts

PATH: Final = "/api/v1/events"

_STRUCTURED: Final = b"application/cloudevents+json"
_EXTENT: Final = Extent(LARGEST_NOTIFICATION)


class Events:
    """The route. `batches` is the one that it hands many events in one request to."""

    def __init__(self, parts: Parts, batches: Notifications) -> None:
        self._parts = parts
        self._batches = batches

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if media_type(scope["headers"]) == CLOUDEVENTS_BATCH:
            return await self._batches(scope, receive, send)
        parts, coming = self._parts, Tracked(receive)
        try:
            notation = _notation_of(scope["headers"])
            async with held_body(scope["headers"], coming, extent=_EXTENT, pressure=parts.pressure) as body:
                await send_answer(send, await self._answer(bytes(body), notation, scope))
        except ClientGone:
            raise
        except AvisoError as error:
            await refuse_unread(
                refusal(parts, error, scope), coming, send, most_bytes=2 * LARGEST_NOTIFICATION
            )

    async def _answer(self, data: bytes, notation: Notation, scope: Scope) -> Answer:
        parts, state = self._parts, scope["state"]
        checking = Checking(parts, notation, user=state["user"], traceparent=place_in_trace(scope))
        (checked,) = checking.check([data], first=0)
        try:
            if isinstance(checked, Refused):
                raise checked.error
            taken = checked.taken
            appended = await store(parts.log, taken.base, taken.record, parts.counters)
        except AvisoError as error:
            parts.counters.notification(checked.label, status_of(error))
            log_failure(error, checked.label)
            part = checking.field_of(error)
            more = {} if part is None else {"field": part}
            return parts.problems.answer(error, Endpoint.NOTIFICATION, state["request_id"], **more)
        parts.counters.notification(checked.label, "success")
        log_success(ANNOUNCE, taken, appended.sequence)
        return self._success(checked, appended, state["request_id"])

    def _success(self, stored: Ready, appended: Appended, request_id: str) -> Answer:
        second = self._parts.clock.now_ns() // 1_000_000_000
        members = {
            "status": "success",
            "request_id": request_id,
            "processed_at": to_seconds_text(second * 1_000_000_000),
            "event_type": stored.event_type,
            "sequence": appended.sequence,
            "id": stored.identity,
            "duplicate": appended.is_duplicate,
        }
        return Answer(200, encode(members), JSON)


def _notation_of(headers: Sequence[tuple[bytes, bytes]]) -> Notation:
    """Return how the event of a request is written, or refuse what is no event at all."""
    media = media_type(headers)
    if media == _STRUCTURED:
        return EVENT
    if is_binary(headers) and (media in (b"", JSON) or media.endswith(b"+json")):
        return Notation(partial(read_binary, headers), part_at_fault)
    raise UnsupportedMediaType(
        "Content-Type must be application/cloudevents+json (one event), application/cloudevents-batch+json "
        "(an array of events), or that of the data, application/json, with the attributes in ce- headers"
    )
