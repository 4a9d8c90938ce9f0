"""Where metrics are read: a listener of its own, with one path, in the same event loop.

It speaks just enough HTTP for a scraper, and closes after every answer. Whoever reaches the port may be anybody, so
all is bounded: connections at a time, bytes of a question, and the time from the first byte to the last, both ways. The
service's own server would bring its limits, its access check and its counting along, none of which is wanted here.
"""

from __future__ import annotations

import asyncio
import uuid
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, cast

import httptools

from aviso_http.records.log import Log
from aviso_http.server import listen

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from aviso_core.settings.model import Metrics

CONTENT_TYPE: Final = "text/plain; version=0.0.4"

_PATH: Final = b"/metrics"
_METHODS: Final = (b"GET", b"HEAD")
_MOST_CONNECTIONS: Final = 64
_LONGEST_HEAD: Final = 16 * 1024
_CONNECTION_SECONDS: Final = 10.0
_REASONS: Final = {200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed"}

log = Log("aviso_http.metrics")


@asynccontextmanager
async def open_metrics_listener(
    settings: Metrics, render: Callable[[], bytes], *, connection_seconds: float = _CONNECTION_SECONDS
) -> AsyncIterator[None]:
    """Answer scrapers for as long as the block runs; nothing where metrics are not enabled."""
    if not settings.enabled:
        yield
        return
    assert settings.port is not None, "refused at startup"
    connections: set[_Connection] = set()
    listener = listen(settings.host, settings.port, setting="metrics")
    server = await asyncio.get_running_loop().create_server(
        lambda: _Connection(connections, render, connection_seconds), sock=listener
    )
    log.info(
        "startup.metrics.listening",
        "metrics can be read",
        host=settings.host,
        port=listener.getsockname()[1],
    )
    try:
        yield
    finally:
        server.close()
        for connection in tuple(connections):
            connection.abort()


class _Connection(asyncio.Protocol):
    """One question and its answer. The parser calls the methods that begin with `on_`."""

    def __init__(
        self, connections: set[_Connection], render: Callable[[], bytes], connection_seconds: float
    ) -> None:
        self._connections = connections
        self._render = render
        self._connection_seconds = connection_seconds
        self._parser = httptools.HttpRequestParser(self)
        self._target = b""
        self._head_bytes = 0
        self._has_answered = False

    # --- the connection ----------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Not asserted: the transports of uvloop are none by their class.
        self._transport = cast("asyncio.Transport", transport)
        self._deadline = asyncio.get_running_loop().call_later(
            self._connection_seconds, self._transport.abort
        )
        if len(self._connections) >= _MOST_CONNECTIONS:
            self._transport.abort()
        else:
            self._connections.add(self)

    def connection_lost(self, error: Exception | None) -> None:
        self._deadline.cancel()
        self._connections.discard(self)

    def abort(self) -> None:
        """Close at once, whatever was not sent yet."""
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        # After the answer, what still comes is read and thrown away: closing with unread bytes would take the
        # answer from whoever is still sending.
        if self._has_answered:
            return
        self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            pass
        except httptools.HttpParserError:
            self._answer_malformed()
        if self._head_bytes > _LONGEST_HEAD:
            self._answer_malformed()

    # --- the question ------------------------------------------------------------------------------------

    def on_url(self, part: bytes) -> None:
        """Take a part of the target; it may come in several."""
        self._target += part

    def on_headers_complete(self) -> None:
        """Answer. A body is nothing that we would look at."""
        method = self._parser.get_method()
        if self._path() != _PATH:
            self._answer(404, method)
        elif method not in _METHODS:
            self._answer(405, method, b"", "Allow: GET, HEAD")
        else:
            self._answer(200, method, self._render(), f"Content-Type: {CONTENT_TYPE}")

    def _path(self) -> bytes | None:
        try:
            path: bytes | None = httptools.parse_url(self._target).path
        except httptools.HttpParserInvalidURLError:
            return None
        return path

    # --- the answer --------------------------------------------------------------------------------------

    def _answer(self, status: int, method: bytes, body: bytes = b"", *lines: str) -> None:
        # Whatever is pipelined behind a question is left out: the answer says that the connection closes.
        if not self._has_answered:
            head = (f"X-Request-ID: {uuid.uuid4()}", *lines)
            self._send(status, b"" if method == b"HEAD" else body, len(body), *head)

    def _answer_malformed(self) -> None:
        if not self._has_answered:
            self._send(400, b"", 0)

    def _send(self, status: int, body: bytes, length: int, *lines: str) -> None:
        self._has_answered = True
        head = "\r\n".join(
            [
                f"HTTP/1.1 {status} {_REASONS[status]}",
                *lines,
                f"Content-Length: {length}",
                "Connection: close",
                "\r\n",
            ]
        )
        self._transport.write(head.encode() + body)
        if self._transport.can_write_eof():
            self._transport.write_eof()
        else:
            self._transport.close()
