"""Streams as a client reads them: over a connection of their own, frame by frame, with a parser of others.

What stands between the bytes and a frame is read strictly: one `event:` line, one `data:` line of JSON, an empty line.
A stream is asked for in one of several ways, because the service carries them in two: it takes the connection over, or
it leaves it to the server where something else may follow on it.
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
from collections import deque
from contextlib import asynccontextmanager
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import httptools

from support.services import HOST
from support.wire import request

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

WATCH: Final = "/api/v1/watch"
REPLAY: Final = "/api/v1/replay"

_FRAME: Final = re.compile(rb"event: ([a-z-]+)\ndata: ([^\r\n]+)")
# What the test's own side of a connection holds of a stream that is not read.
_SMALL_BYTES: Final = 4096


class Way(Enum):
    """How a stream is asked for, which decides how the service carries it."""

    PLAIN = "a request with nothing behind it"
    PIPELINED = "a request with the beginning of another behind it"
    OLD = "a request of HTTP/1.0"


class Frame(NamedTuple):
    """A frame: its name, its data decoded, and its data as it came."""

    event: str
    data: Any
    text: str

    @property
    def is_heartbeat(self) -> bool:
        """Whether it only shows that the stream lives."""
        return self.event == "heartbeat"

    @property
    def kind(self) -> str:
        """What it is, in a word: its type, the id of its event, its reason, or its name."""
        data = self.data
        told = data.get("id") or data.get("type") or data.get("reason") or data.get("error") or ""
        return f"{self.event} {told}".rstrip()


class Ended(Exception):
    """The stream was over where a frame was awaited."""


class SseStream:
    """An answer that is read as it comes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.status = 0
        self.headers: dict[str, list[str]] = {}
        # Whether the answer came to its end, and how many pieces it came in.
        self.is_complete = False
        self.pieces: list[bytes] = []
        self._reader = reader
        self._writer = writer
        self._parser = httptools.HttpResponseParser(self)
        self._has_headers = False
        self._buffer = b""
        self._frames: deque[Frame] = deque()

    # --- what the parser tells ---------------------------------------------------------------------------

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a line of the head."""
        self.headers.setdefault(name.decode().lower(), []).append(value.decode("latin-1"))

    def on_headers_complete(self) -> None:
        """Note that the head is there."""
        self.status = self._parser.get_status_code()
        self._has_headers = True

    def on_body(self, body: bytes) -> None:
        """Take a piece of the answer, and the frames that it completes."""
        self.pieces.append(body)
        self._buffer += body
        if self.status != 200:
            return
        *frames, self._buffer = self._buffer.split(b"\n\n")
        for frame in frames:
            match = _FRAME.fullmatch(frame)
            assert match, f"no frame: {frame!r}"
            text = match[2].decode()
            self._frames.append(Frame(match[1].decode(), json.loads(text), text))

    def on_message_complete(self) -> None:
        """Note that the answer is at its end."""
        self.is_complete = True

    # --- reading -----------------------------------------------------------------------------------------

    async def read_head(self) -> None:
        """Read until the status and the headers are there."""
        while not self._has_headers:
            assert await self._read_more(), "closed before anything was answered"

    async def refusal(self) -> Any:
        """Return the body of an answer that is no stream, decoded."""
        assert self.status != 200
        length = int(self.headers["content-length"][0])
        while len(self._buffer) < length:
            assert await self._read_more(), "closed within the answer"
        return json.loads(self._buffer) if self._buffer else None

    async def frame(self) -> Frame:
        """Return the next frame; raises `Ended`."""
        while not self._frames:
            if self.is_complete or not await self._read_more():
                raise Ended
        return self._frames.popleft()

    async def next(self) -> Frame:
        """Return the next frame that is no heartbeat."""
        while (frame := await self.frame()).is_heartbeat:
            continue
        return frame

    async def take(self, count: int) -> list[Frame]:
        """Return so many frames, heartbeats not counted."""
        return [await self.next() for _ in range(count)]

    async def rest(self) -> list[Frame]:
        """Return all frames that still come but heartbeats; the answer must come to its end."""
        frames = []
        try:
            while True:
                frames.append(await self.next())
        except Ended:
            assert self.is_complete, "the connection ended, and the answer had not"
        return frames

    async def until(self, kind: str) -> list[Frame]:
        """Return all frames but heartbeats, up to one of a kind."""
        frames = [await self.next()]
        while not frames[-1].kind.startswith(kind):
            frames.append(await self.next())
        return frames

    async def read_behind(self) -> bytes:
        """Return what comes behind the answer, as bytes, until the other side closes."""
        assert self.is_complete
        return await self._reader.read()

    async def wait_closed(self) -> None:
        """Wait until the other side has closed; what still comes is of no interest."""
        try:
            while await self._reader.read(65_536):
                continue
        except ConnectionError:
            return

    async def _read_more(self) -> bool:
        try:
            data = await self._reader.read(65_536)
        except ConnectionError:
            return False
        if not data:
            if self._has_headers and "transfer-encoding" not in self.headers:
                # An answer without a length, of HTTP/1.0, ends with its connection.
                self.is_complete = True
            return False
        self._parser.feed_data(data)
        return True

    # --- leaving -----------------------------------------------------------------------------------------

    @property
    def port(self) -> int:
        """This end's own port."""
        port: int = self._writer.get_extra_info("sockname")[1]
        return port

    def send(self, data: bytes) -> None:
        """Send something behind the request."""
        self._writer.write(data)

    def end_sending(self) -> None:
        """Tell the other side that nothing more comes from here."""
        self._writer.write_eof()

    def leave(self) -> None:
        """Close the connection."""
        self._writer.close()

    def reset(self) -> None:
        """Break the connection off, as a client does that dies."""
        connection = self._writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        self._writer.transport.abort()


def asked(
    path: str, body: object, *, headers: Mapping[str, str] | None = None, way: Way = Way.PLAIN
) -> bytes:
    """Return the request for a stream, as bytes."""
    lines = [f"{name}: {value}" for name, value in (headers or {}).items()]
    version = "1.0" if way is Way.OLD else "1.1"
    data = request("POST", path, *lines, body=json.dumps(body).encode(), version=version)
    return data + b"GET /health HT" if way is Way.PIPELINED else data


@asynccontextmanager
async def streaming(
    port: int,
    path: str,
    body: object,
    *,
    headers: Mapping[str, str] | None = None,
    way: Way = Way.PLAIN,
    is_slow: bool = False,
) -> AsyncIterator[SseStream]:
    """Ask for a stream, and leave it at the end of the block; of one that is slow little is held on this side."""
    connection = socket.socket()
    if is_slow:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _SMALL_BYTES)
    connection.setblocking(False)
    try:
        await asyncio.get_running_loop().sock_connect(connection, (HOST, port))
    except BaseException:
        connection.close()
        raise
    limit = _SMALL_BYTES if is_slow else 2**20
    reader, writer = await asyncio.open_connection(sock=connection, limit=limit)
    try:
        writer.write(asked(path, body, headers=headers, way=way))
        stream = SseStream(reader, writer)
        await stream.read_head()
        yield stream
    finally:
        writer.close()
