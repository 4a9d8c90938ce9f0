"""What every request for events goes through before it is answered: it is checked, let in and counted, or refused."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from aviso_core.errors import (
    AccessRefused,
    InvalidJson,
    InvalidRequestShape,
    Overloaded,
    Refusal,
    UnknownField,
)
from aviso_core.request import decode_body
from aviso_http.access.claims import LEEWAY_SECONDS
from aviso_http.answers import send_answer
from aviso_http.records.log import Log
from aviso_stream_gateway.limits import address_of
from aviso_stream_gateway.request import read_asked
from aviso_stream_gateway.session import Cause
from aviso_stream_gateway.setup import SetupFailed

if TYPE_CHECKING:
    from aviso_core.errors import AvisoError
    from aviso_http.access.user import User
    from aviso_http.asgi import Scope, Send
    from aviso_http.metrics.streams import StreamSeries
    from aviso_http.problems import Endpoint
    from aviso_stream_gateway.limits import Ticket
    from aviso_stream_gateway.parts import Parts
    from aviso_stream_gateway.request import Asked, Mode

log = Log("aviso_stream_gateway.opening")


async def check(parts: Parts, body: bytes, mode: Mode, scope: Scope) -> Asked:
    """Return what a body asks for, or raise the first thing that is wrong with it."""
    user = scope["state"]["user"]
    asked = read_asked(decode_body(body), mode, catalog=parts.catalog(), access=parts.access, user=user)
    await parts.plugins.check(asked.auth, user, asked.identifier)
    return asked


def admit(parts: Parts, scope: Scope) -> Ticket:
    """Let one more stream in, or raise why not."""
    if parts.streams.is_draining:
        raise Overloaded("This process is about to stop; connect anew", retry_after_seconds=1)
    return parts.limits.admit(scope["state"]["user"], address_in(parts, scope))


def address_in(parts: Parts, scope: Scope) -> str:
    """Return the address that a request counts for."""
    return address_of(scope, trusted_hops=parts.settings.streams.trusted_proxy_hops)


def count(parts: Parts, path: str, event_type: str, scope: Scope) -> StreamSeries:
    """Count a stream in."""
    user: User | None = scope["state"]["user"]
    return parts.metrics.open(path, event_type, None if user is None else user.name)


def lifetime(parts: Parts, user: User | None) -> tuple[float, Cause]:
    """Return after how many seconds a stream is over at the latest: not all at once, and never behind its caller's."""
    longest = parts.settings.watch_endpoint.connection_max_duration_sec
    jitter = random.uniform(0, parts.settings.streams.lifetime_jitter_percent / 100)  # noqa: S311
    seconds = longest * (1 - jitter)
    expires_at = None if user is None else user.expires_at
    if expires_at is not None:
        left = expires_at - parts.streams.timekeeper.unix_seconds()
        if left <= 0:
            # It was let in by the leeway. Ended at once, it would come again at once, as long as that lasts.
            left = max(0.0, left + LEEWAY_SECONDS)
        if left < seconds:
            return left, Cause.EXPIRED
    return seconds, Cause.MAX_DURATION


async def refuse(parts: Parts, error: AvisoError, endpoint: Endpoint, scope: Scope, send: Send) -> None:
    """Answer a request that comes to nothing."""
    _log_refusal(error, parts.problems.status_of(error))
    more = {"topic": error.topic} if isinstance(error, SetupFailed) else {}
    request_id = scope["state"]["request_id"]
    await send_answer(send, parts.problems.answer(error, endpoint, request_id, **more))


def _log_refusal(error: AvisoError, status: int) -> None:
    if isinstance(error, (InvalidJson, UnknownField, InvalidRequestShape)):
        log.warning("api.request.parse.failed", str(error), error=error)
    elif isinstance(error, Overloaded):
        log.warning("stream.sse.refused", str(error), error=error)
    elif isinstance(error, (Refusal, AccessRefused)) or status < 500:
        log.warning("api.request.validation.failed", str(error), error=error)
    else:
        log.error("stream.sse.initialization.failed", str(error), error=error)
