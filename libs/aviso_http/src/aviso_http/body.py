"""Reading the body of a request: bounded in bytes and in time while it is read, not after.

A length that is announced and too large is refused before a byte is read; without an announcement the refusal comes
with the byte that is too many. What a client still sends then is read and dropped for a moment, since a connection
that is closed over unread bytes is reset, and the client would never see why.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from aviso_core.errors import AvisoError
from aviso_http.answers import CLOSE, Answer, send_answer, text_answer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aviso_http.asgi import Receive, Send

LARGEST_NOTIFICATION: Final = 262_144
_READING_SECONDS: Final = 30.0
_LINGERING_SECONDS: Final = 2.0
# Twice the largest body that any route takes by default.
_LINGERING_BYTES: Final = 16 * 1024 * 1024


class BodyTooLarge(AvisoError):
    """The body is larger than the endpoint takes."""

    code = "PAYLOAD_TOO_LARGE"

    def __init__(self, message: str = "payload reached size limit") -> None:
        super().__init__(message)
        self.message = message


class BodyTooSlow(AvisoError):
    """The body did not arrive in time."""

    code = "REQUEST_TIMEOUT"

    def __init__(self) -> None:
        super().__init__("the body of the request did not arrive in time")
        self.message = str(self)


class ClientGone(AvisoError):
    """The client left before its request was complete: there is nobody to answer."""

    code = "CLIENT_GONE"


def header(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> bytes | None:
    """Return the value of the first header of that name, which is given in lower case."""
    for key, value in headers:
        if key == name:
            return value
    return None


def whole_header(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> bytes | None:
    """Return the value of a header that is a list, which may stand in several lines."""
    values = [value for key, value in headers if key == name]
    return b", ".join(values) if values else None


def announced_length(headers: Iterable[tuple[bytes, bytes]]) -> int | None:
    """Return how long the body is said to be, or None where that is not said."""
    value = header(headers, b"content-length")
    return int(value) if value is not None and value.isdigit() else None


async def read_body(
    headers: Iterable[tuple[bytes, bytes]],
    receive: Receive,
    *,
    limit: int = LARGEST_NOTIFICATION,
    seconds: float = _READING_SECONDS,
) -> bytes:
    """Return the body of a request, or refuse it for its size or its slowness."""
    length = announced_length(headers)
    if length is not None and length > limit:
        raise BodyTooLarge
    message = await receive()
    if message["type"] == "http.disconnect":
        raise ClientGone("before its request was complete")
    first: bytes = message.get("body", b"")
    if len(first) > limit:
        raise BodyTooLarge
    if not message.get("more_body", False):
        return first
    return await _read_on(first, receive, limit=limit, seconds=seconds)


async def _read_on(first: bytes, receive: Receive, *, limit: int, seconds: float) -> bytes:
    body = bytearray(first)
    more = True
    try:
        async with asyncio.timeout(seconds):
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientGone("before its request was complete")
                body += message.get("body", b"")
                if len(body) > limit:
                    raise BodyTooLarge
                more = message.get("more_body", False)
    except TimeoutError as error:
        raise BodyTooSlow from error
    return bytes(body)


async def refuse_body(
    error: BodyTooLarge | BodyTooSlow, receive: Receive, send: Send, *, answer: Answer | None = None
) -> None:
    """Answer a body that was not read to its end, and close the connection without a reset if the client lets us."""
    if answer is None:
        status = 413 if isinstance(error, BodyTooLarge) else 408
        answer = text_answer(status, error.message, CLOSE)
    await send_unread(answer, receive, send)


async def send_unread(answer: Answer, receive: Receive, send: Send) -> None:
    """Answer a request whose body nobody wants, and drop what comes of it for a moment."""
    await send_answer(send, answer, is_last=False)
    await _drop_what_comes(receive)
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _drop_what_comes(receive: Receive) -> None:
    dropped = 0
    try:
        async with asyncio.timeout(_LINGERING_SECONDS):
            while dropped < _LINGERING_BYTES:
                message = await receive()
                if message["type"] == "http.disconnect" or not message.get("more_body", False):
                    return
                dropped += len(message.get("body", b""))
    except TimeoutError:
        return
