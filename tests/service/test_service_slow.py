"""Who sends half a request and then waits: the server ends it, and everybody else's goes on meanwhile.

The server is the one that services run on, with less patience than they have, and in front of it an application that
does nothing but read a body.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from aviso_http.answers import Answer, send_answer
from aviso_http.body import BodyTooLarge, BodyTooSlow, ClientGone, read_body, refuse_body
from aviso_http.draining import Draining
from aviso_http.server import Patience, open_server
from support.event_logs import asynchronous
from support.services import HOST
from support.wire import chunk, request

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from aviso_http.asgi import Receive, Scope, Send

PATIENCE: Final = Patience(head=0.2, unread=0.2, drain=0.1)
BODY_SECONDS: Final = 0.2
GOOD: Final = request("POST", "/", body=b"abc")
TOO_SLOW: Final = b"the body of the request did not arrive in time"


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """Read a body, and answer with it."""
    try:
        body = await read_body(scope["headers"], receive, seconds=BODY_SECONDS)
    except (BodyTooLarge, BodyTooSlow) as error:
        await refuse_body(error, receive, send)
    except ClientGone:
        return
    else:
        await send_answer(send, Answer(200, body))


class Connection:
    """A connection of a client that takes its time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._is_answered = False

    async def answer(self) -> tuple[int, bytes]:
        """Return status and body of the next answer."""
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode()
        self._is_answered = True
        first, *lines = head.lower().strip().split("\r\n")
        lengths = [int(line.partition(":")[2]) for line in lines if line.startswith("content-length:")]
        return int(first.split()[1]), await self._reader.readexactly(lengths[0])

    async def rest(self) -> bytes:
        """Return what comes until the server closes; who was still sending then may be told of it by a reset."""
        try:
            return await self._reader.read()
        except ConnectionResetError:
            return b""

    def send(self, data: bytes) -> None:
        """Send bytes."""
        self._writer.write(data)

    async def drip(self, data: bytes) -> None:
        """Send a byte now and then, until the server has heard enough and says so."""
        for byte in data:
            if self._is_answered or self._writer.is_closing():
                return
            self._writer.write(bytes([byte]))
            await asyncio.sleep(BODY_SECONDS / 10)

    def close(self) -> None:
        """Close it."""
        self._writer.close()


async def answers(connections: Sequence[Connection]) -> list[tuple[int, bytes]]:
    """Return the next answer of each."""
    return await asyncio.gather(*(connection.answer() for connection in connections))


@asynccontextmanager
async def connections(*sent: bytes) -> AsyncIterator[list[Connection]]:
    """Run the server, and open a connection for each of these beginnings."""
    async with open_server(application, host=HOST, port=0, draining=Draining(), patience=PATIENCE) as server:
        opened = [Connection(*await asyncio.open_connection(HOST, server.port)) for _ in sent]
        try:
            for connection, data in zip(opened, sent, strict=True):
                connection.send(data)
            yield opened
        finally:
            for connection in opened:
                connection.close()


@asynchronous
async def test_half_a_head_is_told_that_it_is_too_slow() -> None:
    """On a new connection and on one that was used; who has sent nothing at all is told nothing."""
    half = GOOD[:30]
    async with connections(half, b"", GOOD, GOOD, GOOD, b"") as (new, silent, used, blank, idle, dripping):
        for connection in (used, blank, idle):
            assert await connection.answer() == (200, b"abc")
        used.send(half)
        blank.send(b"\r\n")
        drops = asyncio.ensure_future(dripping.drip(request("GET", "/", f"X: {'y' * 10_000}")))
        # All are read at once: who goes on sending to a connection that is closed loses what it has not read yet.
        slow = (new, used, blank, dripping)
        assert await answers(slow) == [(408, b"")] * 4
        for connection in slow:
            assert await connection.rest() == b""
        assert await silent.rest() == b""
        # It owes nothing: a client may keep a connection that it has used.
        idle.send(GOOD)
        assert await idle.answer() == (200, b"abc")
        await drops


@asynchronous
async def test_half_a_body_is_told_that_it_is_too_slow() -> None:
    """Whether nothing more comes of it or too little at a time, with and without a length."""
    announced = request("POST", "/", "Content-Length: 10000")
    chunked = request("POST", "/", "Transfer-Encoding: chunked")
    sent = (announced, announced + b"abc", chunked, chunked + chunk(b"abc"), chunked + b"fff\r\nabc")
    async with connections(*sent, announced, GOOD) as opened:
        nothing, half, no_chunk, one_chunk, half_a_chunk, dripping, good = opened
        drops = asyncio.ensure_future(dripping.drip(b"x" * 5000))
        assert await good.answer() == (200, b"abc")
        slow = (half, one_chunk, half_a_chunk, dripping)
        assert await answers(slow) == [(408, TOO_SLOW)] * 4
        for connection in (nothing, no_chunk):
            assert await connection.answer() == (408, b"")
            assert await connection.rest() == b""
        for connection in opened:
            connection.close()
        await drops


@asynchronous
async def test_who_was_answered_without_a_body_is_not_answered_again() -> None:
    """What was announced and never came only costs the connection."""
    refused = request("POST", "/", "Content-Length: 300000")
    async with connections(refused) as (connection,):
        status, _ = await connection.answer()
        assert status == 413
        assert await connection.rest() == b""


@asynchronous
async def test_a_body_that_comes_in_time_is_taken_however_it_is_cut() -> None:
    """Byte by byte."""
    async with connections(GOOD[:-3]) as (connection,):
        await connection.drip(b"abc")
        assert await connection.answer() == (200, b"abc")


@asynchronous
async def test_who_reads_nothing_of_its_answer_is_let_go_of() -> None:
    """More than the buffers on the way hold waits for it, and then neither the answer nor the connection does."""
    left = asyncio.Event()

    async def much(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send_answer(send, Answer(200, bytes(64 * 1024 * 1024)), is_last=False)
        assert (await receive())["type"] == "http.disconnect"
        left.set()

    async with open_server(much, host=HOST, port=0, draining=Draining(), patience=PATIENCE) as server:
        _, writer = await asyncio.open_connection(HOST, server.port)
        writer.write(request("GET", "/"))
        async with asyncio.timeout(15):
            await left.wait()
        writer.close()
