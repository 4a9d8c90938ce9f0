"""Waiting for an installation: what is ready is told as it gets so, and what is not is told with its reason."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
import urllib3

from aviso_core.errors import Unavailable
from aviso_operator.installation.__main__ import main
from aviso_operator.installation.readiness import Address, wait_ready
from aviso_operator.installation.round_trip import frames_of
from support.event_logs import asynchronous
from support.http_server import running_http_server

if TYPE_CHECKING:
    from collections.abc import Sequence

    from support.http_server import Asked


def answer(status: int, body: bytes = b"") -> bytes:
    head = f"HTTP/1.1 {status} Whatever\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def waited(addresses: Sequence[Address], *, seconds: float) -> list[str]:
    """Wait in a thread, and return what was told."""
    told: list[str] = []
    with urllib3.PoolManager(retries=False) as http:
        await asyncio.to_thread(wait_ready, http, addresses, seconds=seconds, tell=told.append)
    return told


@asynchronous
async def test_a_part_that_is_not_ready_yet_is_asked_again() -> None:
    async def behaviour(asked: Asked, writer: asyncio.StreamWriter) -> None:
        is_first = len(server.asked) == 1
        writer.write(answer(503, b"starting") if is_first else answer(200))

    async with running_http_server(behaviour) as server:
        assert await waited([Address("ingest", f"{server.url}/ready")], seconds=30) == ["ingest: ready"]
        assert [asked.target for asked in server.asked] == ["/ready", "/ready"]


@asynchronous
async def test_what_does_not_get_ready_is_told_with_the_last_reason() -> None:
    async def behaviour(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(200) if asked.target == "/good" else answer(503, b"no broker"))

    async with running_http_server(behaviour) as server:
        addresses = [
            Address("schema", f"{server.url}/good"),
            Address("gateway", f"{server.url}/bad"),
            Address("ingest", "http://127.0.0.1:9/ready"),
        ]
        with pytest.raises(Unavailable) as caught:
            await waited(addresses, seconds=0)
    told = str(caught.value)
    assert "gateway: 503 no broker" in told
    assert "ingest: " in told
    assert "schema" not in told


def test_the_command_fails_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ready", "--seconds=0", "edge=http://127.0.0.1:9/ready"]) == 1
    told = capsys.readouterr().err
    assert "not ready after 0 s" in told
    assert "edge: " in told


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["ready", "http://127.0.0.1:9"], "is not NAME=URL"),
        (["ready"], "NAME=URL"),
        (["round-trip", "--name=x"], "--publish-at"),
        ([], "COMMAND"),
    ],
)
def test_a_command_line_that_makes_no_sense_is_refused(
    arguments: list[str], names: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert names in capsys.readouterr().err


@asynchronous
async def test_frames_are_given_as_they_come_and_only_those_with_data() -> None:
    pieces = [
        b'event: live-notification\nid: a\ndata: {"id"',
        b': "1"}\n\n: heartbeat\n\ndata: {"id": "2"}\n\nevent: x\n',
    ]

    async def behaviour(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        writer.close()

    def read(url: str) -> list[tuple[str, object]]:
        with urllib3.PoolManager(retries=False) as http:
            stream = http.request("GET", url, preload_content=False, timeout=10)
            return list(frames_of(stream))

    async with running_http_server(behaviour) as server:
        assert await asyncio.to_thread(read, server.url) == [
            ("live-notification", {"id": "1"}),
            ("", {"id": "2"}),
        ]
