"""Asking another service over HTTP in a way that it cannot abuse: there is an answer in time, or none.

One deadline covers connecting, waiting and reading. An answer has a largest size, and is not decompressed, since a few
bytes can become very many. Redirections are answers like any other: credentials go to the configured address and
nowhere else, not to a user's name in the address and not through a proxy. There are no cookies, because the next
request is somebody else's. Nothing that an address or a header holds gets into an error.

A client of our own, for these few rules and for its speed: the general one that we tried spends more on its pool than
on the question as soon as many callers ask at once, and leaves a connection open where one of them goes away.
"""

from __future__ import annotations

import asyncio
import re
import ssl
import time
from collections.abc import Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, cast
from urllib.parse import urlsplit

from aviso_core.settings.url import parse_url
from aviso_http.access.reply import Reply, ReplyReader, Unanswered

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

# Servers commonly drop an idle connection after 5 s.
_IDLE_SECONDS: Final = 4.0
_CONNECTIONS: Final = 256
_PORTS: Final = {"http": 80, "https": 443}
_FIELD: Final = re.compile(r"[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?")

Headers: TypeAlias = Mapping[str, str]


class _Origin(NamedTuple):
    """Where a connection leads."""

    scheme: str
    host: str
    port: int


class _Lost(Exception):
    """The connection ended before anything came."""


class Asker:
    """Connections to other services, and the limits of what is asked over them."""

    def __init__(
        self, *, seconds: float, largest_reply: int, connect_seconds: float | None, trust: ssl.SSLContext
    ) -> None:
        self._seconds = seconds
        self._largest_reply = largest_reply
        self._connect_seconds = connect_seconds
        self._trust = trust
        self._room = asyncio.Semaphore(_CONNECTIONS)
        self._idle: dict[_Origin, list[_Connection]] = {}

    async def ask(self, method: str, url: str, *, headers: Headers, content: bytes = b"") -> Reply:
        """Return the answer, or raise `Unanswered`."""
        origin, question = _question(method, url, headers, content)
        try:
            async with asyncio.timeout(self._seconds), self._room:
                reply = await self._ask(origin, question)
        except TimeoutError as error:
            raise Unanswered("did not answer in time") from error
        except (OSError, UnicodeError) as error:
            # UnicodeError: a host that no name server could be asked about.
            raise Unanswered(f"could not be reached: {type(error).__name__}") from error
        if (reply.header("content-encoding") or "identity").lower() != "identity":
            raise Unanswered("answered in an encoding that it was not asked for")
        return reply

    def close(self) -> None:
        """Drop all connections."""
        for connections in self._idle.values():
            for connection in connections:
                connection.abort()
        self._idle.clear()

    async def _ask(self, origin: _Origin, question: bytes) -> Reply:
        used = self._take_idle(origin)
        if used is not None:
            try:
                return await self._ask_over(used, origin, question)
            except _Lost:
                # It was dropped for being idle, just as it was used again: nobody has read the question.
                pass
        try:
            return await self._ask_over(await self._connect(origin), origin, question)
        except _Lost:
            raise Unanswered("closed the connection without an answer") from None

    async def _ask_over(self, connection: _Connection, origin: _Origin, question: bytes) -> Reply:
        try:
            reply = await connection.ask(question, ReplyReader(self._largest_reply))
        except BaseException:
            connection.abort()
            raise
        if connection.is_open:
            self._idle.setdefault(origin, []).append(connection)
        return reply

    def _take_idle(self, origin: _Origin) -> _Connection | None:
        connections = self._idle.get(origin, [])
        while connections:
            connection = connections.pop()
            if connection.is_open and time.monotonic() < connection.idle_since + _IDLE_SECONDS:
                return connection
            connection.abort()
        return None

    async def _connect(self, origin: _Origin) -> _Connection:
        async with asyncio.timeout(self._connect_seconds):
            _, connection = await asyncio.get_running_loop().create_connection(
                _Connection,
                origin.host,
                origin.port,
                ssl=self._trust if origin.scheme == "https" else None,
            )
        return connection


class _Connection(asyncio.Protocol):
    """A connection, over which one question is asked at a time."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._reader: ReplyReader | None = None
        self._answer: asyncio.Future[Reply] | None = None
        self.idle_since = 0.0

    @property
    def is_open(self) -> bool:
        """Whether something can be asked."""
        return self._transport is not None and not self._transport.is_closing()

    async def ask(self, question: bytes, reader: ReplyReader) -> Reply:
        """Return the answer, or raise `Unanswered`, or `_Lost` if the connection ended before anything came."""
        if self._transport is None or self._transport.is_closing():
            raise _Lost
        self._reader = reader
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(question)
        reply = await self._answer
        self._answer = None
        if not reader.may_go_on:
            self.abort()
        self.idle_since = time.monotonic()
        return reply

    def abort(self) -> None:
        """Drop the connection."""
        if self._transport is not None:
            self._transport.abort()

    # --- what the loop calls -----------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        # Not asserted: the transports of uvloop are none by their class.
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Read on; what comes unasked ends the connection."""
        reader, answer = self._reader, self._answer
        if reader is None or answer is None:
            self.abort()
            return
        try:
            reader.feed(data)
        except Unanswered as error:
            self._fail(error)
        else:
            self._deliver()

    def connection_lost(self, error: Exception | None) -> None:
        """Take what there is for the answer, if that is possible."""
        self._transport = None
        if self._reader is None:
            return
        if error is None:
            self._reader.end()
        self._deliver()
        self._fail(Unanswered("broke off") if self._reader.has_begun else _Lost())

    def _deliver(self) -> None:
        assert self._reader is not None
        if self._reader.reply is not None and self._answer is not None and not self._answer.done():
            self._answer.set_result(self._reader.reply)

    def _fail(self, error: Exception) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)
        self.abort()


def _question(method: str, url: str, headers: Headers, content: bytes) -> tuple[_Origin, bytes]:
    """Return where to ask and the bytes to send, or raise `Unanswered` if there are none that are safe."""
    known = parse_url(url)
    if known is None or not known.is_web or not url.isascii():
        raise Unanswered("has an address of no use")
    if not all(_FIELD.fullmatch(value) for value in headers.values()):
        raise Unanswered("cannot be sent such a header")
    parts = urlsplit(url)
    origin = _Origin(known.scheme, known.host.strip("[]"), parts.port or _PORTS[known.scheme])
    host = known.host if parts.port in (None, _PORTS[known.scheme]) else f"{known.host}:{parts.port}"
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    lines = [f"{method} {target} HTTP/1.1", f"host: {host}", "user-agent: aviso", "accept-encoding: identity"]
    if content:
        lines.append(f"content-length: {len(content)}")
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return origin, "\r\n".join([*lines, "", ""]).encode("ascii") + content


@asynccontextmanager
async def open_asker(
    *, seconds: float, largest_reply: int, connect_seconds: float | None = None, ca_file: str = ""
) -> AsyncIterator[Asker]:
    """Open a client. A `ca_file` that cannot be read raises `OSError`."""
    asker = Asker(
        seconds=seconds,
        largest_reply=largest_reply,
        connect_seconds=connect_seconds,
        trust=ssl.create_default_context(cafile=ca_file or None),
    )
    try:
        yield asker
    finally:
        asker.close()
