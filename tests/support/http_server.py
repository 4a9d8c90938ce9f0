"""A server that answers as a test wants it to: also slowly, half, much too much, or not at all."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from support.listening import listening

if TYPE_CHECKING:
    import ssl


class Asked(NamedTuple):
    """A request as it came."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


Behaviour: TypeAlias = Callable[[Asked, asyncio.StreamWriter], Awaitable[None]]


class HttpServer:
    """A running server. `behaviour` may be changed at any time; `asked` is what came so far."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        self.asked: list[Asked] = []
        self.connections = 0
        self.port = 0
        self.is_encrypted = False
        self._changed = asyncio.Condition()

    @property
    def url(self) -> str:
        """Where it is."""
        return f"{'https' if self.is_encrypted else 'http'}://127.0.0.1:{self.port}"

    async def wait_asked(self, count: int) -> None:
        """Wait until so many requests have come."""
        async with self._changed:
            await self._changed.wait_for(lambda: len(self.asked) >= count)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        self.connections += 1
        try:
            while not reader.at_eof():
                asked = await _read(reader)
                self.asked.append(asked)
                async with self._changed:
                    self._changed.notify_all()
                await self.behaviour(asked, writer)
                await writer.drain()
                if writer.is_closing():
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


async def _read(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.rstrip("\r\n").split("\r\n")
    method, target, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Asked(method, target, headers, body)


@asynccontextmanager
async def running_http_server(
    behaviour: Behaviour, *, tls: ssl.SSLContext | None = None
) -> AsyncIterator[HttpServer]:
    """Run a server on this machine for the length of the block; what still hangs is ended with it."""
    server = HttpServer(behaviour)
    server.is_encrypted = tls is not None
    async with listening(server.serve, tls=tls) as listener:
        server.port = listener.port
        yield server


# --- behaviours ------------------------------------------------------------------------------------------


def answering(status: int = 200, body: bytes | object = b"", **headers: str) -> Behaviour:
    """Answer properly. A body that is not bytes is sent as JSON; `_` in the name of a header is `-`."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    head = "\r\n".join([f"HTTP/1.1 {status} X", f"content-length: {len(content)}", *lines, "", ""])

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(head.encode("latin-1") + content)

    return answer


def sending(data: bytes) -> Behaviour:
    """Send these bytes, and close."""

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        await writer.drain()
        writer.close()

    return answer


def hanging(data: bytes = b"") -> Behaviour:
    """Send these bytes, and then nothing for as long as the server runs."""

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        await writer.drain()
        await asyncio.Event().wait()

    return answer


def dripping(data: bytes) -> Behaviour:
    """Send an endless body in small pieces, so that there is always something just before a pause is too long."""

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\n")
        while True:
            writer.write(b"%x\r\n%b\r\n" % (len(data), data))
            await writer.drain()
            await asyncio.sleep(0.02)

    return answer


def waiting_for(gate: asyncio.Event, then: Behaviour) -> Behaviour:
    """Answer when the gate is opened."""

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        await gate.wait()
        await then(asked, writer)

    return answer


BROKEN: dict[str, Behaviour] = {
    "hangs": hanging(),
    "hangs in the headers": hanging(b"HTTP/1.1 200 OK\r\ncontent-le"),
    "hangs in the body": hanging(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabc"),
    "drips for ever": dripping(b" "),
    "closes at once": sending(b""),
    "closes in the body": sending(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabc"),
    "is not HTTP": sending(b"SSH-2.0-OpenSSH_9.6\r\n"),
    "sends too much": answering(200, b" " * 10_000_000),
    "sends endless headers": sending(b"HTTP/1.1 200 OK\r\n" + b"x: " + b"y" * 500_000),
    "redirects": answering(302, location="http://127.0.0.1:1/elsewhere"),
    "redirects for good": answering(308, location="/elsewhere"),
    "fails": answering(500),
    "is overloaded": answering(503),
    "does not know the path": answering(404),
    "compresses unasked": answering(200, b"\x1f\x8b", content_encoding="gzip"),
}
"""Ways for a server to be of no use."""
