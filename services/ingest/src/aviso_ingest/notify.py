"""`POST /api/v1/notification`: the one hot route, an ASGI function that is called before the framework.

It answers what the framework would, through the same checks, table and counters; what it saves is a router, a request
object and a response object, which together cost more than all of the work (`benchmarks/bench_ingest.py`). What takes
a notification back goes the same way (`retraction`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from aviso_core.errors import (
    AccessRefused,
    AvisoError,
    InvalidJson,
    InvalidRequest,
    InvalidRequestShape,
    Overloaded,
    Refusal,
    UnknownEventType,
    UnknownField,
)
from aviso_core.eventlog.entry import Origin
from aviso_core.instant import to_seconds_text
from aviso_core.request import decode_body
from aviso_http.answers import JSON, Answer, send_answer
from aviso_http.body import (
    BodyTooLarge,
    BodyTooSlow,
    ClientGone,
    read_body,
    refuse_body,
)
from aviso_http.problems import Endpoint
from aviso_http.records.log import Log
from aviso_ingest.intake import ANNOUNCE, UNKNOWN, check_identity, label_of, message_id, take
from aviso_ingest.storing import store

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aviso_http.asgi import Receive, Scope, Send
    from aviso_ingest.intake import Act, Taken
    from aviso_ingest.parts import Parts

Headers: TypeAlias = "Iterable[tuple[bytes, bytes]]"

log = Log("aviso_ingest.notify")

_KEY: Final = "Idempotency-Key"
_SUCCESS: Final = b'{"status":"success","request_id":"%s","processed_at":"%s"}'


class Notify:
    """The route."""

    def __init__(self, parts: Parts, act: Act = ANNOUNCE) -> None:
        self._parts = parts
        self._act = act
        self._second = -1
        self._processed_at = b""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        headers, state = scope["headers"], scope["state"]
        request_id: str = state["request_id"]
        try:
            await self._take(headers, receive, state)
        except (BodyTooLarge, BodyTooSlow) as error:
            self._refuse_unread(error)
            return await refuse_body(error, receive, send)
        except ClientGone:
            raise
        except AvisoError as error:
            return await send_answer(
                send, self._parts.problems.answer(error, Endpoint.NOTIFICATION, request_id)
            )
        success = Answer(200, _SUCCESS % (request_id.encode(), self._now()), JSON)
        return await send_answer(send, success)

    async def _take(self, headers: Headers, receive: Receive, state: dict[str, Any]) -> None:
        # Room is asked for what came, not for what was announced: who announces much and sends little holds little.
        body = await read_body(headers, receive)
        try:
            held = await self._parts.pressure.enter(len(body))
        except Overloaded as error:
            self._refuse_unread(error)
            raise
        try:
            await self._store(body, headers, state)
        finally:
            self._parts.pressure.leave(held)

    async def _store(self, data: bytes, headers: Headers, state: dict[str, Any]) -> None:
        parts = self._parts
        label = UNKNOWN
        try:
            body = decode_body(data)
            catalog = parts.catalog()
            label = label_of(body.event_type, catalog)
            taken = take(
                body,
                catalog=catalog,
                access=parts.access,
                user=state["user"],
                origin=_origin(headers, state, source=self._act.source),
                act=self._act,
            )
            label = taken.label
            appended = await store(parts.log, taken.base, taken.record, parts.counters)
        except AvisoError as error:
            is_rejected = isinstance(error, (UnknownEventType, AccessRefused))
            parts.counters.notification(label, "rejected" if is_rejected else "error")
            log_failure(error, label)
            raise
        parts.counters.notification(label, "success")
        log_success(self._act, taken, appended.sequence)

    def _refuse_unread(self, error: AvisoError) -> None:
        """Count and log a request of which nothing was looked at."""
        self._parts.counters.notification(UNKNOWN, "error")
        is_ours = isinstance(error, Overloaded)
        event = "api.request.processing.failed" if is_ours else "api.request.parse.failed"
        log.warning(event, str(error), error=error)

    def _now(self) -> bytes:
        second = self._parts.clock.now_ns() // 1_000_000_000
        if second != self._second:
            self._second = second
            self._processed_at = to_seconds_text(second * 1_000_000_000).encode()
        return self._processed_at


def _origin(headers: Headers, state: dict[str, Any], *, source: str) -> Origin:
    user, place = state["user"], state["traceparent"]
    identity = _identity(headers)
    return Origin(
        actor="" if user is None else user.name,
        traceparent="" if place is None else str(place),
        message_id=None if identity is None else message_id(identity, user=user, source=source),
    )


def _identity(headers: Headers) -> str | None:
    sent = [value for name, value in headers if name == b"idempotency-key"]
    if not sent:
        return None
    if len(sent) > 1:
        raise InvalidRequest("Idempotency-Key is there twice: send one", field=_KEY)
    return check_identity(sent[0].decode("latin-1"), field=_KEY)


def log_success(act: Act, taken: Taken, sequence: int) -> None:
    """Log a notification that is stored."""
    log.info(
        act.event_name,
        act.event_text,
        event_type=taken.label,
        topic=taken.record.subject,
        sequence=sequence,
        param_count=taken.parameters,
        payload_kind=_kind(taken.record.payload),
        payload_size=len(taken.record.payload),
        spatial_enabled=taken.is_spatial,
    )


def log_failure(error: AvisoError, label: str) -> None:
    """Log why one is not, and whose fault that is."""
    if isinstance(error, (InvalidJson, UnknownField, InvalidRequestShape)):
        log.warning("api.request.parse.failed", str(error), error=error)
    elif isinstance(error, (Refusal, AccessRefused)):
        log.warning("api.request.validation.failed", str(error), event_type=label, error=error)
    else:
        # Of a bug, the bug itself is told.
        log.error(
            "api.request.processing.failed", str(error), event_type=label, error=error.__cause__ or error
        )


_KINDS: Final = {
    ord("{"): "object",
    ord("["): "array",
    ord('"'): "string",
    ord("t"): "boolean",
    ord("f"): "boolean",
    ord("n"): "null",
}


def _kind(payload: bytes) -> str:
    return _KINDS.get(payload[0], "number")
