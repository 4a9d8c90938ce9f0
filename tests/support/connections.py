"""A connection between a service and a reader, within the loop.

It is modelled as the two ways in which a service is given one: as a transport that it takes over, and as the functions
of the server's interface. Behind either there is a pipe of bytes from which the reader takes what it wants, when it
wants.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from aviso_http.asgi import Message

# What a server lets wait before it holds back whoever sends.
_SERVER_HIGH_BYTES: Final = 65_536
_SERVER_LOW_BYTES: Final = 16_384


class Pipe:
    """The bytes between a service and a reader. Nothing is in it for long while the reader takes everything."""

    def __init__(self, take: Callable[[bytes], None]) -> None:
        self.takes_everything = True
        self.most = 0
        self._take = take
        self._bytes = bytearray()
        self.on_taken: Callable[[], None] = lambda: None

    def __len__(self) -> int:
        """Return how much waits."""
        return len(self._bytes)

    def write(self, data: bytes) -> None:
        """Put bytes in."""
        if self.takes_everything and not self._bytes:
            self._take(data)
            return
        self._bytes += data
        self.most = max(self.most, len(self._bytes))

    def take(self, count: int) -> None:
        """Take some of what waits."""
        taken = bytes(self._bytes[:count])
        del self._bytes[:count]
        if taken:
            self._take(taken)
        self.on_taken()

    def clear(self) -> None:
        """Lose what waits."""
        self._bytes.clear()


class Connection(asyncio.Transport):
    """One connection that carries one answer."""

    def __init__(self, body: bytes, pipe: Pipe, *, is_handed_over: bool) -> None:
        super().__init__()
        self.pipe = pipe
        pipe.on_taken = self._flow
        # The answer's status and what came behind it are the reader's; so is how the answer ended.
        self.status = 0
        self.headers: dict[bytes, bytes] = {}
        self.is_chunked = False
        self.is_ended = False
        self.was_cut = False
        # Set when nothing more is put into the pipe.
        self.over = asyncio.Event()
        self._body = body
        self._may_be_handed_over = is_handed_over
        self._lost = asyncio.Event()
        self._may_write = asyncio.Event()
        self._may_write.set()
        self._heir: asyncio.Protocol | None = None
        self._is_paused = False
        self._is_closing = False
        self._high = _SERVER_HIGH_BYTES
        self._low = _SERVER_LOW_BYTES

    # --- the server's interface --------------------------------------------------------------------------

    async def receive(self) -> Message:
        """Return the request, and then that the reader has left."""
        if self._body:
            body, self._body = self._body, b""
            return {"type": "http.request", "body": body, "more_body": False}
        await self._lost.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """Take a part of the answer, as soon as there is room for more."""
        await self._may_write.wait()
        if self._lost.is_set():
            return
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], dict(message["headers"])
            return
        self.write(message.get("body", b""))
        if not message.get("more_body", False):
            self.is_ended = True
            self.over.set()

    def hand_over(self, heir: asyncio.Protocol) -> asyncio.Transport | None:
        """Give the connection away, if it may be."""
        if not self._may_be_handed_over or self._lost.is_set():
            return None
        self.is_chunked = True
        self._heir = heir
        self._may_write.set()
        return self

    def answered(self) -> None:
        """End the connection where its request is over and the answer is not, as a server does."""
        if self._heir is None and not self.is_ended:
            self.abort()

    # --- the transport -----------------------------------------------------------------------------------

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        """Send bytes after those that wait."""
        if data and not self._lost.is_set():
            self.pipe.write(bytes(data))
            self._flow()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Set how much may wait until whoever sends is told."""
        assert high is not None
        assert low is not None
        self._high, self._low = high, low
        self._flow()

    def get_write_buffer_size(self) -> int:
        """Return how much waits."""
        return len(self.pipe)

    def is_closing(self) -> bool:
        """Tell whether it ends."""
        return self._is_closing or self._lost.is_set()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return nothing: there is no socket below."""
        return default

    def close(self) -> None:
        """End behind what waits."""
        self._is_closing = True
        self._flow()

    def abort(self) -> None:
        """End at once."""
        if not self._lost.is_set():
            self.was_cut = True
            self.pipe.clear()
            self._lose()

    def leave(self) -> None:
        """End from the reader's side."""
        self.pipe.clear()
        self._lose()

    def _flow(self) -> None:
        waiting = len(self.pipe)
        if not self._is_paused and waiting > self._high:
            self._is_paused = True
            if self._heir is None:
                self._may_write.clear()
            else:
                self._heir.pause_writing()
        elif self._is_paused and waiting <= self._low:
            self._is_paused = False
            self._may_write.set()
            if self._heir is not None:
                self._heir.resume_writing()
        if self._is_closing and not waiting:
            self.is_ended = True
            self._lose()

    def _lose(self) -> None:
        if self._lost.is_set():
            return
        self._lost.set()
        self.over.set()
        self._may_write.set()
        if self._heir is not None:
            asyncio.get_running_loop().call_soon(self._heir.connection_lost, None)
