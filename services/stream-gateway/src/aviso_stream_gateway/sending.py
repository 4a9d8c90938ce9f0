"""An answer that the request's own task sends piece by piece, as fast as its reader takes it.

Sending waits for the reader, so nothing heaps up here. A reader that left, or takes nothing for too long, ends it; and
whatever ends it before its end cuts the connection, so that half an answer never looks like a whole one.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, cast

from aviso_core.alongside import alongside
from aviso_http.body import ClientGone
from aviso_http.protocol import HAND_OVER

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from aviso_http.answers import HeaderLine
    from aviso_http.asgi import Receive, Scope, Send

# The server holds one piece behind what the kernel has; a reader shows that it lives by making room for another.
PIECE_BYTES: Final = 65_536
_LINGER_NOT: Final = struct.pack("ii", 1, 0)


class Sending:
    """One answer. Made by `sending`."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, *, stalled_seconds: float) -> None:
        self._scope = scope
        self._receive = receive
        self._send = send
        self._stalled_seconds = stalled_seconds
        self._has_left = False
        # Who is to look up when the reader has left, because they are waiting for something else.
        self.on_left: Callable[[], None] | None = None

    async def begin(self, headers: list[HeaderLine]) -> None:
        """Send the head."""
        await self._send({"type": "http.response.start", "status": 200, "headers": headers})

    async def send(self, data: bytes) -> None:
        """Send bytes, waiting until what was sent before has room; raises `ClientGone`."""
        view = memoryview(data)
        for place in range(0, len(data), PIECE_BYTES):
            await self._pass_on(bytes(view[place : place + PIECE_BYTES]), is_last=False)

    async def finish(self) -> None:
        """End the answer: it is whole."""
        await self._pass_on(b"", is_last=True)

    async def _pass_on(self, piece: bytes, *, is_last: bool) -> None:
        self.check_there()
        try:
            async with asyncio.timeout(self._stalled_seconds):
                await self._send({"type": "http.response.body", "body": piece, "more_body": not is_last})
        except TimeoutError as error:
            self._take_over(_break_off)
            raise ClientGone("it took nothing of what it was sent") from error
        # Who left while it was waited for got nothing of it.
        self.check_there()

    def check_there(self) -> None:
        """Raise `ClientGone` where the reader has left."""
        if self._has_left:
            raise ClientGone("while it was sent an answer")

    def cut(self) -> None:
        """End the connection behind what was sent, without the end of the answer."""
        self._take_over(asyncio.Transport.close)

    def _take_over(self, end: Callable[[asyncio.Transport], None]) -> None:
        """Take the connection over from the server to end it; where that cannot be, the server itself will."""
        hand_over = self._scope.get("extensions", {}).get(HAND_OVER)
        transport = None if hand_over is None else hand_over(asyncio.Protocol())
        if transport is not None:
            end(cast("asyncio.Transport", transport))

    async def notice_leaving(self) -> None:
        """Wait until the reader has left."""
        while (await self._receive())["type"] != "http.disconnect":
            continue
        self._has_left = True
        if self.on_left is not None:
            self.on_left()


def _break_off(transport: asyncio.Transport) -> None:
    """End a connection so that the kernel keeps nothing for it, either: it would wait for a reader that has stalled."""
    connection = cast("socket.socket | None", transport.get_extra_info("socket"))
    if connection is not None and connection.family in (socket.AF_INET, socket.AF_INET6):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NOT)
    transport.abort()


@asynccontextmanager
async def sending(
    scope: Scope, receive: Receive, send: Send, *, stalled_seconds: float
) -> AsyncIterator[Sending]:
    """Send an answer in the block, whose request was read to its end."""
    answer = Sending(scope, receive, send, stalled_seconds=stalled_seconds)
    async with alongside(answer.notice_leaving()):
        yield answer
