"""The floor of every rate: an ASGI application that reads the body and answers a constant, on the server we use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping

    Message = MutableMapping[str, Any]

# As long as the answer to a notification is.
_ANSWER: Final = (
    b'{"status":"success","request_id":"00000000-0000-4000-8000-000000000000",'
    b'"processed_at":"2025-01-01T00:00:00Z"}'
)
_HEAD: Final = {
    "type": "http.response.start",
    "status": 200,
    "headers": [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(_ANSWER))],
}
_BODY: Final = {"type": "http.response.body", "body": _ANSWER}


async def application(
    scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
) -> None:
    """Answer whatever is asked."""
    assert scope["type"] == "http"
    message = await receive()
    body = [message.get("body", b"")]
    while message.get("more_body"):
        message = await receive()
        body.append(message.get("body", b""))
    b"".join(body)
    await send(_HEAD)
    await send(_BODY)
