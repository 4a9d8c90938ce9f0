"""`/health` and `/ready` (contract 1.2): whether the process lives, and whether it can do its work now.

Neither touches the data path: readiness is what the parts know of themselves without asking anybody.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aviso_http.answers import JSON, Answer, send_answer
from aviso_http.routes import Hot

if TYPE_CHECKING:
    from collections.abc import Callable

    from aviso_http.asgi import Receive, Scope, Send

_ALIVE: Final = Answer(200, b'{"status":"ok"}', JSON)
_READY: Final = Answer(200, b'{"status":"ready","backend_connected":true}', JSON)
_DISCONNECTED: Final = Answer(503, b'{"status":"not_ready","backend_connected":false}', JSON)
_NOT_READY: Final = Answer(503, b'{"status":"not_ready","backend_connected":true}', JSON)


def health_routes(*, is_connected: Callable[[], bool], is_ready: Callable[[], bool]) -> tuple[Hot, Hot]:
    """Return both routes. `is_ready` is what else must hold: schemas loaded, not on the way out."""

    async def health(scope: Scope, receive: Receive, send: Send) -> None:
        await send_answer(send, _ALIVE)

    async def ready(scope: Scope, receive: Receive, send: Send) -> None:
        if not is_connected():
            await send_answer(send, _DISCONNECTED)
        else:
            await send_answer(send, _READY if is_ready() else _NOT_READY)

    return Hot("GET", "/health", health), Hot("GET", "/ready", ready)
