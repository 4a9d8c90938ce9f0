"""Where the bytes of a stream go. There are two ways: straight to the connection, and through the server's interface.

What waits to be taken by the kernel is the subscriber's mailbox. Nobody here bounds it: whoever sends asks how much
waits, and decides (`stream`).
"""

from __future__ import annotations

from typing import Protocol


class Piece:
    """Bytes that go to many streams; how a connection wants them is worked out once."""

    __slots__ = ("_chunk", "data")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._chunk: bytes | None = None

    @property
    def chunk(self) -> bytes:
        """The same as one chunk of HTTP/1.1."""
        chunk = self._chunk
        if chunk is None:
            chunk = self._chunk = b"%x\r\n%s\r\n" % (len(self.data), self.data)
        return chunk


class Outlet(Protocol):
    """Where one stream's bytes go."""

    @property
    def waiting(self) -> int:
        """How many bytes are ours still because the reader has not taken those before them."""
        ...

    @property
    def taken(self) -> int:
        """How many bytes the reader has taken in all."""
        ...

    @property
    def is_gone(self) -> bool:
        """Whether the reader has left."""
        ...

    def send(self, piece: Piece) -> None:
        """Send bytes after those that wait."""
        ...

    async def drained(self) -> None:
        """Wait until little is waiting, or the reader has gone."""
        ...

    def finish(self) -> None:
        """End the answer behind what waits."""
        ...

    def cut(self) -> None:
        """End the connection now, whatever waits."""
        ...
