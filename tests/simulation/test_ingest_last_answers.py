"""The last answers of a service that is told to stop: they are taken by clients that read slowly, and then it ends."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import socket
import time
from contextlib import AsyncExitStack, closing
from typing import TYPE_CHECKING, Final

import pytest

from aviso_http.answers import Answer, send_answer
from aviso_http.draining import Draining
from aviso_http.server import Patience, open_server
from support.event_logs import asynchronous
from support.lines import get, post
from support.observed import in_memory, looking
from support.producers import BATCH, SINGLE
from support.services import HOST, running_avisod

if TYPE_CHECKING:
    from pathlib import Path

    from aviso_http.asgi import Receive, Scope, Send


@asynchronous
async def test_an_answer_is_read_to_its_end_however_slowly(tmp_path: Path) -> None:
    """And so is the one to the request behind it, which came before the process was told."""
    # More than the kernel takes for somebody who does not read.
    count = 30_000
    one = {"event_type": "mars", "identifier": {"producer": "slow"}, "payload": 1}
    records = [{**one, "id": f"{number:0128}"} for number in range(count)]
    with running_avisod(tmp_path, {**in_memory(), "ingest": {"batch_max_records": count}}) as program:
        with closing(socket.socket()) as slow:
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            slow.connect((HOST, program.port))
            reader, writer = await asyncio.open_connection(sock=slow, limit=4096)
            writer.write(post(BATCH, records) + post(SINGLE, one))
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            async with looking(program.port, "/ready") as looks:
                program.process.send_signal(signal.SIGTERM)
                await looks.wait(503)
                await looks.wait(None)
            answer = bytearray()
            while piece := await reader.read(4096):
                answer += piece
                # A modest line.
                await asyncio.sleep(0.001)
            writer.close()
        assert await asyncio.to_thread(program.process.wait, 30) == 0
    length = int(re.findall(r"content-length: (\d+)", head)[0])
    assert json.loads(answer[:length])["accepted"] == count
    assert answer[length:].startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"\r\nconnection: close\r\n" in answer[length:]
    assert b'"status":"success"' in answer[length:]


LARGE: Final = b"x" * 2**24


async def answer_much(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with more than the kernel takes for somebody who does not read, and be done."""
    await send_answer(send, Answer(200, LARGE))


@pytest.mark.parametrize("is_read", [True, False], ids=["read in the end", "never read"])
@asynchronous
async def test_the_server_stays_until_answers_are_taken(is_read: bool) -> None:
    """But no longer than for everything that was accepted."""
    patience = Patience(drain=0.1, grace=5.0 if is_read else 0.3)
    stack = AsyncExitStack()
    server = await stack.enter_async_context(
        open_server(answer_much, host=HOST, port=0, draining=Draining(), patience=patience)
    )
    reader, writer = await asyncio.open_connection(HOST, server.port)
    writer.write(get("/"))
    head = await reader.readuntil(b"\r\n\r\n")
    began = time.monotonic()
    stopping = asyncio.ensure_future(stack.aclose())
    if is_read:
        await asyncio.wait((stopping,), timeout=0.5)
        assert not stopping.done()
        body = await reader.readexactly(len(LARGE))
        assert body == LARGE
    await stopping
    assert time.monotonic() - began < 2.0
    writer.close()
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
