"""The listener for scrapers, over real sockets."""

from __future__ import annotations

import asyncio
import re
import socket
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import pytest

from aviso_core.errors import SettingsError
from aviso_core.settings.model import Metrics as MetricsSettings
from aviso_http.metrics.listener import open_metrics_listener
from support.event_logs import asynchronous

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

BODY = b"aviso_build_info 1.0\n"
UUID4 = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


@asynccontextmanager
async def _listening(*, body: bytes = BODY, connection_seconds: float = 3600.0) -> AsyncIterator[int]:
    settings = MetricsSettings(enabled=True, port=_free_port())
    assert settings.port is not None
    async with open_metrics_listener(settings, lambda: body, connection_seconds=connection_seconds):
        yield settings.port


async def _ask(port: int, *pieces: bytes) -> bytes:
    """Send a question in pieces and return all that comes back until the connection is closed."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for piece in pieces:
            writer.write(piece)
            await asyncio.sleep(0)
        return await _rest(reader)
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


async def _rest(reader: asyncio.StreamReader) -> bytes:
    """Return what comes until the other side closes, in whichever way it does."""
    received = b""
    try:
        while piece := await reader.read(1024 * 1024):
            received += piece
    except ConnectionError:
        return received
    return received


def _parts(answer: bytes) -> tuple[bytes, dict[bytes, bytes], bytes]:
    head, _, body = answer.partition(b"\r\n\r\n")
    status, *lines = head.split(b"\r\n")
    return status, dict(line.lower().split(b": ", 1) for line in lines), body


@asynchronous
async def test_metrics_are_read() -> None:
    async with _listening() as port:
        status, headers, body = _parts(await _ask(port, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"))
    assert status == b"HTTP/1.1 200 OK"
    assert headers[b"content-type"] == b"text/plain; version=0.0.4"
    assert headers[b"content-length"] == b"%d" % len(BODY)
    assert UUID4.fullmatch(headers[b"x-request-id"])
    assert body == BODY


@pytest.mark.parametrize(
    ("question", "status", "more"),
    [
        (b"HEAD /metrics HTTP/1.1\r\n\r\n", b"200 OK", {b"content-length": b"%d" % len(BODY)}),
        (b"GET /metrics?name[]=up HTTP/1.1\r\n\r\n", b"200 OK", {}),
        (b"GET http://host/metrics HTTP/1.1\r\n\r\n", b"200 OK", {}),
        (b"GET /metrics HTTP/1.0\r\n\r\n", b"200 OK", {}),
        (b"GET /metrics/ HTTP/1.1\r\n\r\n", b"404 Not Found", {b"content-length": b"0"}),
        (b"GET / HTTP/1.1\r\n\r\n", b"404 Not Found", {}),
        (b"POST /other HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", b"404 Not Found", {}),
        (b"OPTIONS * HTTP/1.1\r\n\r\n", b"404 Not Found", {}),
        (
            b"POST /metrics HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc",
            b"405 Method Not Allowed",
            {b"allow": b"get, head"},
        ),
        (b"OPTIONS /metrics HTTP/1.1\r\n\r\n", b"405 Method Not Allowed", {b"allow": b"get, head"}),
        (b"GET /metrics HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n", b"200 OK", {}),
    ],
)
def test_a_question_has_its_answer(question: bytes, status: bytes, more: dict[bytes, bytes]) -> None:
    """Each with an id of its own, and each is the last on its connection."""

    async def main() -> tuple[bytes, bytes]:
        async with _listening() as port:
            return await _ask(port, question), await _ask(port, question)

    answers = asyncio.run(main())
    ids = set()
    for answer in answers:
        line, headers, body = _parts(answer)
        assert line == b"HTTP/1.1 " + status
        assert headers.items() >= more.items()
        assert headers[b"connection"] == b"close"
        assert UUID4.fullmatch(headers[b"x-request-id"])
        assert (body == BODY) is (status == b"200 OK" and not question.startswith(b"HEAD"))
        ids.add(headers[b"x-request-id"])
    assert len(ids) == 2


@asynchronous
async def test_an_id_that_comes_along_is_not_echoed() -> None:
    mine = b"00000000-0000-4000-8000-000000000000"
    async with _listening() as port:
        answer = await _ask(port, b"GET /metrics HTTP/1.1\r\nX-Request-ID: " + mine + b"\r\n\r\n")
    assert mine not in answer


@pytest.mark.parametrize("noise", [b"\x16\x03\x01\x02\x00", b"hello\r\n\r\n", b"GET /" + b"a" * 20_000])
def test_bytes_that_are_no_question_are_refused_without_an_id(noise: bytes) -> None:
    async def main() -> bytes:
        async with _listening() as port:
            return await _ask(port, noise)

    status, headers, body = _parts(asyncio.run(main()))
    assert status == b"HTTP/1.1 400 Bad Request"
    assert b"x-request-id" not in headers
    assert body == b""


@asynchronous
async def test_a_question_may_come_in_pieces() -> None:
    question = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
    async with _listening() as port:
        answer = await _ask(port, *(question[index : index + 1] for index in range(len(question))))
    assert _parts(answer)[2] == BODY


@asynchronous
async def test_only_the_first_of_several_questions_is_answered() -> None:
    async with _listening() as port:
        answer = await _ask(port, b"GET /metrics HTTP/1.1\r\n\r\n" * 3)
    assert answer.count(b"HTTP/1.1") == 1


@asynchronous
async def test_a_client_that_says_nothing_is_cut_off() -> None:
    async with _listening(connection_seconds=0.05) as port:
        assert await _ask(port, b"GET /met") == b""


@asynchronous
async def test_a_client_that_does_not_read_is_cut_off() -> None:
    """Its answer is larger than what any socket holds, and it gets only what was on its way."""
    body = b"x" * 64 * 1024 * 1024
    closed = asyncio.Event()
    async with _listening(body=body, connection_seconds=0.2) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
        writer.write(b"GET /metrics HTTP/1.1\r\n\r\n")
        assert await reader.readexactly(4) == b"HTTP"
        asyncio.get_running_loop().call_later(0.5, closed.set)
        await closed.wait()
        assert len(await _rest(reader)) < len(body)
        writer.close()


@asynchronous
async def test_silent_clients_do_not_add_up() -> None:
    """Beyond a number, connections are closed as they come; there is room again when some have left."""
    question = b"GET /metrics HTTP/1.1\r\n\r\n"
    async with _listening() as port:
        silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(64)]
        assert await _ask(port, question) == b""
        for _, writer in silent:
            writer.close()
            await writer.wait_closed()
        answer = b""
        while not answer:
            # The other side hears of it a moment later; the deadline of the test ends this.
            answer = await _ask(port, question)
    assert _parts(answer)[2] == BODY


@asynchronous
async def test_closing_leaves_nobody_waiting() -> None:
    async with _listening() as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /met")
        await _ask(port, b"GET /metrics HTTP/1.1\r\n\r\n")
    assert await _rest(reader) == b""
    writer.close()
    with pytest.raises(OSError, match="Connect call failed"):
        await asyncio.open_connection("127.0.0.1", port)


@asynchronous
async def test_a_port_that_is_taken_is_refused_by_the_name_of_its_setting() -> None:
    async with _listening() as port:
        with pytest.raises(SettingsError, match=r"^metrics\.port: ") as caught:
            async with open_metrics_listener(MetricsSettings(enabled=True, port=port), lambda: BODY):
                pass
    assert caught.value.faults[0].remedy


@asynchronous
async def test_nothing_listens_where_metrics_are_not_enabled() -> None:
    port = _free_port()
    async with open_metrics_listener(MetricsSettings(port=port), lambda: BODY):
        with pytest.raises(OSError, match="Connect call failed"):
            await asyncio.open_connection("127.0.0.1", port)
