"""A client that looks at what happens to its connection: an answer comes as a whole, or none begins.

Anything else, half an answer above all, fails the test.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from support.services import HOST

if TYPE_CHECKING:
    from collections.abc import Mapping


class BrokenOff(AssertionError):
    """An answer began and did not come to its end."""


class Reply(NamedTuple):
    """An answer, which came as a whole."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, decoded."""
        return json.loads(self.body)

    @property
    def closes(self) -> bool:
        """Whether the connection is said to be closed after it."""
        return self.headers.get("connection") == "close"


def post(path: str, body: object, **headers: str) -> bytes:
    """Return a request as bytes."""
    content = json.dumps(body).encode()
    lines = [
        f"POST {path} HTTP/1.1",
        "Host: x",
        "Content-Type: application/json",
        f"Content-Length: {len(content)}",
        *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items()),
    ]
    return "\r\n".join([*lines, "", ""]).encode() + content


def get(path: str) -> bytes:
    """Return a request without a body as bytes."""
    return f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()


class Line:
    """A connection to a service, for one request after the other; opened again when it was closed."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, request: bytes) -> Reply | None:
        """Return the whole answer, or None where the connection ended before one began."""
        try:
            if self._streams is None:
                self._streams = await asyncio.open_connection(HOST, self.port)
            reader, writer = self._streams
            writer.write(request)
            reply = await _read_reply(reader)
        except OSError:
            reply = None
        except BaseException:
            await self.close()
            raise
        if reply is None or reply.closes:
            await self.close()
        return reply

    async def close(self) -> None:
        """Close the connection, if there is one."""
        if self._streams is not None:
            _, writer = self._streams
            self._streams = None
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()


async def ask(port: int, request: bytes) -> Reply:
    """Return the answer to one request, which must come."""
    line = Line(port)
    try:
        reply = await line.ask(request)
    finally:
        await line.close()
    assert reply is not None, "the connection was closed without an answer"
    return reply


async def _read_reply(reader: asyncio.StreamReader) -> Reply | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise BrokenOff(f"an answer broke off: {error.partial!r}") from error
        return None
    first, *lines = head.rstrip("\r\n").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    length = int(headers.get("content-length", 0))
    try:
        body = await reader.readexactly(length)
    except (asyncio.IncompleteReadError, OSError) as error:
        raise BrokenOff(f"an answer of {length} bytes broke off: {head!r}") from error
    return Reply(int(first.split()[1]), headers, body)
