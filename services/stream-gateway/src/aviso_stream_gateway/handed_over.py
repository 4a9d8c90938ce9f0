"""A connection that was taken over from the server: nothing stands between a stream and its socket.

The server's protocol, its parser, the request and its task are gone by then, so an idle stream costs little more than
its socket. What they did for the connection is done here: chunks, the last of them, and noticing that the reader left.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, Protocol

from aviso_stream_gateway.socket_options import set_options

if TYPE_CHECKING:
    from aviso_stream_gateway.outlet import Piece

LAST_CHUNK: Final = b"0\r\n\r\n"

# Below so much waiting, history goes on.
_LOW_BYTES: Final = 32_768
_HIGH_BYTES: Final = 131_072


class Left(Protocol):
    """Who is told that the reader has left."""

    def gone(self) -> None:
        """Take note of it."""
        ...


class HandedOver(asyncio.Protocol):
    """The outlet of a stream on a connection of its own."""

    __slots__ = ("_is_paused", "_resumed", "_sent", "_transport", "stream")

    def __init__(self) -> None:
        # Who is to know when the reader has left. A method of it instead would be one more object for each stream.
        self.stream: Left | None = None
        self._transport: asyncio.Transport | None = None
        self._is_paused = False
        self._resumed: asyncio.Future[None] | None = None
        self._sent = 0

    def take(
        self, transport: asyncio.Transport, *, send_buffer_bytes: int, most_before_live_bytes: int
    ) -> None:
        """Begin with a connection. No more waits than told when history is over for a reader."""
        self._transport = transport
        transport.set_write_buffer_limits(
            high=min(_HIGH_BYTES, most_before_live_bytes), low=min(_LOW_BYTES, most_before_live_bytes)
        )
        set_options(transport, send_buffer_bytes=send_buffer_bytes)

    # --- the stream's side -------------------------------------------------------------------------------

    @property
    def waiting(self) -> int:
        """How many bytes the kernel has not taken."""
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    @property
    def taken(self) -> int:
        """How many bytes the kernel has taken."""
        return self._sent - self.waiting

    @property
    def is_gone(self) -> bool:
        """Whether the reader has left."""
        return self._transport is None

    def send(self, piece: Piece) -> None:
        """Send bytes after those that wait."""
        if self._transport is not None:
            chunk = piece.chunk
            self._sent += len(chunk)
            self._transport.write(chunk)

    async def drained(self) -> None:
        """Wait until little is waiting, or the reader has gone."""
        if not self._is_paused:
            # A reader that keeps up must not keep the loop from everybody else.
            await asyncio.sleep(0)
            return
        self._resumed = asyncio.get_running_loop().create_future()
        await self._resumed

    def finish(self) -> None:
        """End the answer behind what waits."""
        if self._transport is not None:
            self._sent += len(LAST_CHUNK)
            self._transport.write(LAST_CHUNK)
            self._transport.close()

    def cut(self) -> None:
        """End the connection now, whatever waits."""
        if self._transport is not None:
            self._transport.abort()

    # --- the connection's side ---------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        """Drop what comes: whoever reads a stream has nothing more to ask on its connection."""

    def eof_received(self) -> None:
        """Let a client go that says nothing more: with what waits it would be waited for until it has read that."""
        self.cut()

    def pause_writing(self) -> None:
        """Note that much is waiting."""
        self._is_paused = True

    def resume_writing(self) -> None:
        """Note that little is waiting."""
        self._is_paused = False
        self._resume()

    def connection_lost(self, exc: Exception | None) -> None:
        """Let go of the connection."""
        del exc
        self._transport = None
        self._is_paused = False
        self._resume()
        stream, self.stream = self.stream, None
        if stream is not None:
            stream.gone()

    def _resume(self) -> None:
        resumed, self._resumed = self._resumed, None
        if resumed is not None and not resumed.done():
            resumed.set_result(None)
