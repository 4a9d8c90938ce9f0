"""Refusing a request as a whole, whether or not its body was read to the end."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from aviso_core.errors import Overloaded
from aviso_http.answers import CLOSE, send_answer
from aviso_http.problems import Endpoint
from aviso_http.records.log import Log
from aviso_ingest.intake import UNKNOWN

if TYPE_CHECKING:
    from aviso_core.errors import AvisoError
    from aviso_http.answers import Answer
    from aviso_http.asgi import Scope, Send
    from aviso_ingest.batch.reading import Tracked
    from aviso_ingest.parts import Parts

_LINGERING_SECONDS: Final = 5.0

log = Log("aviso_ingest.batch")


def refusal(parts: Parts, error: AvisoError, scope: Scope) -> Answer:
    """Count and log a request of which no record was looked at, and return its answer."""
    parts.counters.notification(UNKNOWN, "error")
    if isinstance(error, Overloaded):
        log.warning("api.request.processing.failed", str(error), error=error)
    else:
        log.warning("api.request.parse.failed", str(error), error=error)
    return parts.problems.answer(error, Endpoint.NOTIFICATION, scope["state"]["request_id"])


async def refuse_unread(answer: Answer, receive: Tracked, send: Send, *, most_bytes: int) -> None:
    """Answer a request whose body may not have been read to its end, and read on for a moment, dropping what comes.

    Most clients send all of a body before they look at the answer, and one whose connection is closed over unread
    bytes never sees it. A body that is too large ends the connection, however much of it had come.
    """
    if receive.is_complete and answer.status != 413:
        return await send_answer(send, answer)
    closing = answer._replace(headers=(*answer.headers, CLOSE))
    await send_answer(send, closing, is_last=False)
    await _drop_what_comes(receive, most_bytes)
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _drop_what_comes(receive: Tracked, most_bytes: int) -> None:
    dropped = 0
    try:
        async with asyncio.timeout(_LINGERING_SECONDS):
            while not receive.is_complete and dropped < most_bytes:
                dropped += len((await receive()).get("body", b""))
    except TimeoutError:
        # Whoever takes longer than that sees a closed connection.
        return
