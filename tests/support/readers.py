"""Readers of streams within the loop: they take all that comes, a few bytes, or nothing, and may leave."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import msgspec

from support.connections import Connection, Pipe
from support.sse import Frame

if TYPE_CHECKING:
    from collections.abc import Callable

_decode: Final = msgspec.json.Decoder().decode


class Reader:
    """Somebody who asked for a stream. `on_frame` is told of each frame as it is complete."""

    def __init__(
        self,
        body: object,
        *,
        is_handed_over: bool,
        on_frame: Callable[[Frame], None] | None = None,
    ) -> None:
        self.frames: list[Frame] = []
        self.refusal = b""
        self.has_left = False
        # Whether everything was taken as it came, from the beginning.
        self.kept_up = True
        self.connection = Connection(
            json.dumps(body).encode(), Pipe(self._take), is_handed_over=is_handed_over
        )
        self._on_frame = on_frame or self.frames.append
        self._raw = b""
        self._text = b""

    @property
    def status(self) -> int:
        """The answer's status; 0 as long as there is none."""
        return self.connection.status

    @property
    def is_over(self) -> bool:
        """Whether nothing more comes."""
        connection = self.connection
        return self.has_left or connection.was_cut or (connection.is_ended and not len(connection.pipe))

    def stall(self) -> None:
        """Take nothing any more."""
        self.kept_up = False
        self.connection.pipe.takes_everything = False

    def take(self, count: int) -> None:
        """Take a few of the bytes that wait."""
        self.connection.pipe.take(count)

    def go_on(self) -> None:
        """Take everything from now on."""
        pipe = self.connection.pipe
        while len(pipe):
            pipe.take(len(pipe))
        pipe.takes_everything = True

    def leave(self) -> None:
        """Close the connection."""
        self.has_left = True
        self.connection.leave()

    def _take(self, data: bytes) -> None:
        if self.has_left:
            return
        if self.connection.status != 200:
            self.refusal += data
            return
        self._text += self._unchunked(data) if self.connection.is_chunked else data
        *frames, self._text = self._text.split(b"\n\n")
        for frame in frames:
            event, _, told = frame.partition(b"\ndata: ")
            assert event.startswith(b"event: "), f"no frame: {frame!r}"
            self._on_frame(Frame(event[7:].decode(), _decode(told), told.decode()))

    def _unchunked(self, data: bytes) -> bytes:
        self._raw += data
        found = bytearray()
        while True:
            size, line_end, rest = self._raw.partition(b"\r\n")
            length = int(size, 16) if line_end else -1
            if length < 0 or len(rest) < length + 2:
                return bytes(found)
            assert rest[length : length + 2] == b"\r\n"
            found += rest[:length]
            self._raw = rest[length + 2 :]
