"""A stream through the server's interface: for connections that cannot be taken over, and for short replays.

What is sent is queued here and passed on by the request's own task, so sending never waits. The task ends when the
stream does.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Final

from aviso_http.body import ClientGone

if TYPE_CHECKING:
    from collections.abc import Callable

    from aviso_http.asgi import Receive, Send
    from aviso_stream_gateway.outlet import Piece

_LOW_BYTES: Final = 65_536
_PIECE_BYTES: Final = 65_536


class ThroughServer:
    """The outlet of a stream that an ASGI server carries."""

    def __init__(
        self,
        receive: Receive,
        send: Send,
        connection: asyncio.Transport | None = None,
        *,
        most_before_live_bytes: int = _LOW_BYTES,
    ) -> None:
        self._low_bytes = min(_LOW_BYTES, most_before_live_bytes)
        self.on_gone: Callable[[], None] | None = None
        self._connection = connection
        self._receive = receive
        self._send = send
        self._queue: deque[bytes] = deque()
        self._waiting = 0
        self._taken = 0
        self._is_finished = False
        self._cut: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._is_gone = False
        # Something is to be passed on, or the end is; little is waiting, or nobody is there any more.
        self._work = asyncio.Event()
        self._room = asyncio.Event()

    @property
    def waiting(self) -> int:
        """How many bytes were not passed on."""
        return self._waiting

    @property
    def taken(self) -> int:
        """How many bytes were passed on."""
        return self._taken

    @property
    def is_gone(self) -> bool:
        """Whether the reader has left."""
        return self._is_gone

    def send(self, piece: Piece) -> None:
        """Send bytes after those that wait."""
        self._queue.append(piece.data)
        self._waiting += len(piece.data)
        self._work.set()

    async def drained(self) -> None:
        """Wait until little is waiting, or the reader has gone."""
        if self._waiting <= self._low_bytes or self._is_gone:
            await asyncio.sleep(0)
            return
        self._room.clear()
        await self._room.wait()

    def finish(self) -> None:
        """End the answer behind what waits."""
        self._is_finished = True
        self._work.set()

    def cut(self) -> None:
        """End the connection now, whatever waits."""
        if self._connection is not None:
            # The server would wait until what it holds is read.
            self._connection.abort()
        if not self._cut.done():
            self._cut.set_result(None)

    async def carry(self) -> None:
        """Pass everything on until the stream has ended; raises `ClientGone` where it is cut, or its reader left."""
        passing = asyncio.create_task(self._pass_on())
        leaving = asyncio.create_task(self._wait_left())
        try:
            await asyncio.wait((passing, leaving, self._cut), return_when=asyncio.FIRST_COMPLETED)
            if not passing.done():
                raise ClientGone("while it was sent a stream")
            await passing
        finally:
            passing.cancel()
            leaving.cancel()
            await asyncio.gather(passing, leaving, return_exceptions=True)
            self._leave()

    async def _pass_on(self) -> None:
        while True:
            await self._work.wait()
            self._work.clear()
            while self._queue:
                data = b"".join(self._queue)
                self._queue.clear()
                # The server takes one piece at any rate, whatever its size, so what it holds is bounded by pieces.
                for place in range(0, len(data), _PIECE_BYTES):
                    await self._pass_piece_on(data[place : place + _PIECE_BYTES])
            if self._is_finished:
                return await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _pass_piece_on(self, piece: bytes) -> None:
        await self._send({"type": "http.response.body", "body": piece, "more_body": True})
        self._waiting -= len(piece)
        self._taken += len(piece)
        if self._waiting <= self._low_bytes:
            self._room.set()

    async def _wait_left(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            continue

    def _leave(self) -> None:
        if not self._is_gone:
            self._is_gone = True
            self._room.set()
            if self.on_gone is not None:
                self.on_gone()
