"""HTTP as bytes, for what no client library would send: over a plain socket, read with a parser of others.

A service runs in a thread of its own (`listening`), so that a test can write its bytes step by step and wait for what
comes back without a loop. Its loop is the one that services run on, which is not Python's own.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

import httptools
import uvloop

from support.services import HOST, running_service

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

PATIENCE_SECONDS: Final = 15.0


class Response(NamedTuple):
    """An answer as it came; `headers` in the order in which they came, their names in lower case."""

    status: int
    headers: Sequence[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        """Return the value of the only header of that name."""
        values = [value for key, value in self.headers if key == name]
        assert len(values) < 2, f"{name} is there {len(values)} times"
        return values[0] if values else None

    @property
    def json(self) -> Any:
        """The body, decoded."""
        return json.loads(self.body)

    @property
    def closes(self) -> bool:
        """Whether the connection is said to be closed after it."""
        return self.header("connection") == "close"


class _Reading:
    """What the parser tells."""

    def __init__(self) -> None:
        self.complete: list[Response] = []
        self._headers: list[tuple[str, str]] = []
        self._body = b""
        self.parser = httptools.HttpResponseParser(self)

    def on_message_begin(self) -> None:
        self._headers, self._body = [], b""

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name.decode("latin-1").lower(), value.decode("latin-1")))

    def on_body(self, data: bytes) -> None:
        self._body += data

    def on_message_complete(self) -> None:
        self.complete.append(Response(self.parser.get_status_code(), self._headers, self._body))


class Wire:
    """A connection to a service."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection((HOST, port), timeout=PATIENCE_SECONDS)
        self._reading = _Reading()
        self._taken = 0

    def __enter__(self) -> Self:
        """Return itself: it is closed at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self._socket.close()

    def send(self, data: bytes) -> None:
        """Send bytes; that the other side has closed is found out when reading."""
        try:
            self._socket.sendall(data)
        except ConnectionError:
            return

    def send_all_or_fail(self, data: bytes) -> None:
        """Send bytes, or raise what sending raises."""
        self._socket.sendall(data)

    def end_sending(self) -> None:
        """Tell the other side that nothing more comes."""
        self._socket.shutdown(socket.SHUT_WR)

    def reset(self) -> None:
        """Break the connection off, as a client does that dies."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._socket.close()

    def receive(self) -> bytes:
        """Return what comes next, as bytes, which must not be the end."""
        data = self._socket.recv(65536)
        assert data, "closed"
        return data

    def response(self) -> Response:
        """Return the next answer, which must come."""
        while len(self._reading.complete) <= self._taken:
            data = self._socket.recv(65536)
            assert data, f"closed after {self._taken} answers"
            self._reading.parser.feed_data(data)
        self._taken += 1
        return self._reading.complete[self._taken - 1]

    def read_until_closed(self) -> bytes:
        """Return all that still comes, as bytes; the other side must close, and not by a reset."""
        pieces = []
        while piece := self._socket.recv(65536):
            pieces.append(piece)
        return b"".join(pieces)

    def responses_until_closed(self) -> list[Response]:
        """Return all answers that still come until the other side closes."""
        data = self.read_until_closed()
        if data:
            self._reading.parser.feed_data(data)
        answers = self._reading.complete[self._taken :]
        self._taken += len(answers)
        return answers


def request(method: str, path: str, *lines: str, body: bytes | None = None, version: str = "1.1") -> bytes:
    """Return a request as bytes; with a body, its length is among the headers."""
    lines = (f"{method} {path} HTTP/{version}", "Host: x", *lines)
    if body is not None:
        lines = (*lines, f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + (body or b"")


def chunk(data: bytes) -> bytes:
    """Return a piece of a chunked body."""
    return b"%x\r\n%b\r\n" % (len(data), data)


@contextmanager
def listening(configuration: Mapping[str, Any]) -> Iterator[int]:
    """Run a service in a thread for as long as the block runs, and give its port."""
    found: list[int] = []
    ready = threading.Event()
    loop = uvloop.new_event_loop()
    stop = asyncio.Event()

    async def serve() -> None:
        async with running_service(configuration) as service:
            found.append(service.port)
            ready.set()
            await stop.wait()

    def run() -> None:
        try:
            loop.run_until_complete(serve())
        finally:
            loop.close()
            ready.set()

    thread = threading.Thread(target=run)
    thread.start()
    ready.wait(PATIENCE_SECONDS)
    assert found, "the service did not start"
    try:
        yield found[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(PATIENCE_SECONDS)
        assert not thread.is_alive(), "the service did not stop"
