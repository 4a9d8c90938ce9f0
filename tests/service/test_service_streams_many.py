"""Thousands of streams that come and go, and the bounds of how many there may be."""

from __future__ import annotations

import asyncio
import gc
import os
import socket
from typing import TYPE_CHECKING, Any, Final

import pytest
import uvloop

from support.event_logs import asynchronous
from support.services import HOST, IN_MEMORY
from support.sse import REPLAY, WATCH, Way, asked, streaming
from support.stored import running_with_log
from support.watching import QUIET, configured, numbers, of_storms, opened, publish, until

if TYPE_CHECKING:
    from support.stored import Stored

PATIENCE_SECONDS: Final = 10.0


def _come_and_go(port: int, count: int, *, is_reset: bool, way: Way, path: str, body: dict[str, Any]) -> None:
    """Open streams at the same time, read until each has begun, and leave them all."""
    data = asked(path, body, way=way)
    connections = [socket.create_connection((HOST, port), timeout=PATIENCE_SECONDS) for _ in range(count)]
    for connection in connections:
        connection.sendall(data)
    for connection in connections:
        said = b""
        while b"\n\n" not in said:
            said += connection.recv(4096)
        assert said.startswith(b"HTTP/1.1 200 OK\r\n"), said
    for connection in connections:
        if is_reset:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        connection.close()


def _objects() -> int:
    """Return how many things of the gateway and of its server there are."""
    gc.collect()
    modules = ("aviso_stream_gateway", "aviso_http.protocol", "uvicorn.protocols")
    return sum(type(one).__module__.startswith(modules) for one in gc.get_objects())


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def _resident_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_ten_thousand_come_and_go_and_nothing_is_left() -> None:
    """Of descriptors, tasks, objects and memory there are as many as before, in whatever way they came and went."""
    kinds: list[tuple[str, dict[str, Any], Way]] = [
        (WATCH, of_storms(), Way.PLAIN),
        (WATCH, of_storms(identifier={"basin": "b"}), Way.PIPELINED),
        (WATCH, of_storms(from_id="1"), Way.PLAIN),
        (WATCH, of_storms(), Way.OLD),
        (REPLAY, of_storms(from_id="1"), Way.PLAIN),
    ]

    async def portion(stored: Stored, number: int) -> None:
        path, body, way = kinds[number % len(kinds)]
        await asyncio.to_thread(
            _come_and_go, stored.service.port, 200, is_reset=number % 2 == 0, way=way, path=path, body=body
        )
        await opened(stored, 0)

    async def over() -> None:
        async with running_with_log(configured(watch_endpoint=QUIET), IN_MEMORY) as stored:
            await publish(stored.service, numbers(10))
            descriptors, tasks = _descriptors(), len(asyncio.all_tasks())
            # The tail of the one event type stays for a while.
            tasks += 1

            async def settled() -> tuple[int, int]:
                await until(lambda: _descriptors() <= descriptors, "there are more descriptors than before")
                more = f"more tasks than {tasks}: {asyncio.all_tasks()}"
                await until(lambda: len(asyncio.all_tasks()) <= tasks, more)
                return _objects(), _resident_bytes()

            async def round_of_two_thousand() -> tuple[int, int]:
                for number in range(10):
                    await portion(stored, number)
                return await settled()

            rounds = [await round_of_two_thousand() for _ in range(5)]
            assert stored.count("aviso_sse_connections_total") == 10_000
            # The allocator takes its time to have all the room it needs; what leaks grows in every round.
            while rounds[-1][1] - rounds[-2][1] >= 500_000 and len(rounds) < 15:
                rounds.append(await round_of_two_thousand())
            assert rounds[-1][1] - rounds[-2][1] < 500_000, rounds
            # Whoever served the last ones may still know them.
            assert rounds[-1][0] <= rounds[0][0] + 20, rounds

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(over())


# --- how many --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", Way)
@asynchronous
async def test_no_more_are_open_than_may_be(way: Way) -> None:
    """Who is one too many is told when to come again; those that are open stay, and each that leaves makes room."""
    for limit, status, code in (
        ("max_streams", 503, "OVERLOADED"),
        ("max_streams_per_address", 429, "TOO_MANY_STREAMS"),
    ):
        async with running_with_log(
            configured(watch_endpoint=QUIET, streams={limit: 2}), IN_MEMORY
        ) as stored:
            port = stored.service.port
            async with (
                streaming(port, WATCH, of_storms(), way=way) as first,
                streaming(port, WATCH, of_storms(), way=way) as second,
            ):
                for path in (WATCH, REPLAY):
                    async with streaming(port, path, of_storms(from_id="1")) as third:
                        assert third.status == status
                        assert (await third.refusal())["code"] == code
                        assert third.headers["retry-after"] == ["5"]
                await publish(stored.service, numbers(1))
                for stream in (first, second):
                    assert (await stream.take(2))[1].kind == "live-notification storms@1"
                first.leave()
                await opened(stored, 1)
                async with streaming(port, WATCH, of_storms(), way=way) as third:
                    assert third.status == 200
