"""Streams over connections as they are: clients break off, vanish or read slowly, and thousands come and go."""

from __future__ import annotations

import asyncio
import gc
import os
import socket
import time
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Final

import pytest
import uvloop

from support.event_logs import asynchronous
from support.kernel import held_for
from support.services import HOST, IN_MEMORY
from support.sse import REPLAY, WATCH, Way, asked, streaming
from support.stored import running_with_log
from support.watching import configured, numbers, of_storms, publish, storm

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.sse import SseStream
    from support.stored import Stored

PATIENCE_SECONDS: Final = 10.0
# So long that nothing here is noticed because of it.
QUIET: Final = {"sse_heartbeat_interval_sec": 600}
LARGE: Final = "x" * 50_000


async def until(is_so: Callable[[], bool], what: str) -> None:
    """Wait until something is so that nobody tells."""
    latest = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < latest, what
        await asyncio.sleep(0.01)


def active(stored: Stored) -> float:
    """Return how many streams are open."""
    return stored.count("aviso_sse_connections_active")


async def opened(stored: Stored, count: int) -> None:
    """Wait until so many streams are open."""
    await until(lambda: active(stored) == count, f"{active(stored)} streams are open, not {count}")


# --- leaving ---------------------------------------------------------------------------------------------


@asynchronous
async def test_who_leaves_is_let_go_at_once() -> None:
    """By closing, by a reset, or by saying that nothing more comes; while live, and in the midst of history."""

    def close(stream: SseStream) -> None:
        stream.leave()

    def reset(stream: SseStream) -> None:
        stream.reset()

    def end(stream: SseStream) -> None:
        stream.end_sending()

    async with running_with_log(configured(watch_endpoint=QUIET), IN_MEMORY) as stored:
        await publish(stored.service, [storm(number, payload=LARGE) for number in range(100)])
        for leave in (close, reset, end):
            for way in Way:
                for path, members in ((WATCH, {}), (WATCH, {"from_id": "1"}), (REPLAY, {"from_id": "1"})):
                    async with streaming(
                        stored.service.port, path, of_storms(**members), way=way, is_slow=True
                    ) as stream:
                        await stream.next()
                        await opened(stored, 1)
                        leave(stream)
                        await opened(stored, 0)
        assert stored.count("aviso_sse_connections_total") == 27


@asynchronous
async def test_a_client_that_vanishes_is_asked_whether_it_is_there() -> None:
    """By the kernel, on every connection of a stream; what its silence costs is bounded there as well."""
    async with running_with_log(configured(watch_endpoint=QUIET), IN_MEMORY) as stored:
        port = stored.service.port
        await publish(stored.service, [storm(number, payload=LARGE) for number in range(100)])
        for way in Way:
            async with streaming(port, WATCH, of_storms(), way=way) as stream:
                await stream.frame()
                await stream.frame()

                def is_probed(stream: SseStream = stream) -> bool:
                    held = held_for(port, stream.port)
                    return held is not None and held.is_probed

                await until(is_probed, f"{way}: nobody asks")


@asynchronous
async def test_what_a_client_sends_on_an_open_stream_is_of_no_interest() -> None:
    """It neither ends the stream nor waits anywhere."""
    async with (
        running_with_log(configured(watch_endpoint=QUIET), IN_MEMORY) as stored,
        streaming(stored.service.port, WATCH, of_storms()) as stream,
    ):
        await stream.next()
        await opened(stored, 1)
        stream.send(b"GET / HTTP/1.1\r\n\r\n" + b"x" * 1_000_000)
        await until(
            lambda: (
                (held := held_for(stored.service.port, stream.port)) is not None and not held.unread_bytes
            ),
            "what came is not taken",
        )
        await publish(stored.service, numbers(2))
        assert [frame.kind for frame in await stream.take(2)] == [
            "live-notification storms@1",
            "live-notification storms@2",
        ]


# --- slow readers ----------------------------------------------------------------------------------------

SMALL: Final = {"max_waiting_bytes": 100_000, "send_buffer_bytes": 16_384, "stalled_seconds": 1}


@asynchronous
async def test_who_does_not_keep_up_is_closed_and_delays_nobody() -> None:
    """With a word that makes it resume, behind all that it was sent, without a gap; whoever reads gets all at once."""
    async with running_with_log(configured(watch_endpoint=QUIET, streams=SMALL), IN_MEMORY) as stored:
        port = stored.service.port
        async with AsyncExitStack() as stack:
            slow = [
                await stack.enter_async_context(streaming(port, WATCH, of_storms(), way=way, is_slow=True))
                for way in Way
            ]
            quick = [await stack.enter_async_context(streaming(port, WATCH, of_storms())) for _ in range(20)]
            for stream in (*slow, *quick):
                await stream.next()
            await opened(stored, 23)
            held = 0
            for number in range(1, 41):
                await publish(stored.service, [storm(number, payload=LARGE)])
                # Each has it before the next is stored, however many others do not read.
                assert {(await stream.next()).kind for stream in quick} == {
                    f"live-notification storms@{number}"
                }
                one = held_for(port, slow[0].port)
                held = max(held, one.unsent_bytes if one else 0)
            await opened(stored, 20)
            # The kernel counts twice what it was asked for, and was given all that it takes at a time.
            assert held < 4 * 16_384
            for stream in slow:
                *events, closing = await stream.rest()
                assert [frame.kind for frame in events] == [
                    f"live-notification storms@{number}" for number in range(1, len(events) + 1)
                ]
                assert len(events) < 20
                assert closing.kind == "connection-closing end_of_stream"


@asynchronous
async def test_who_takes_nothing_at_all_is_cut_off() -> None:
    """Live or in history, some seconds after its stream has ended; who takes a little now and then is not."""
    async with running_with_log(configured(watch_endpoint=QUIET, streams=SMALL), IN_MEMORY) as stored:
        port = stored.service.port
        await publish(stored.service, [storm(number, payload=LARGE) for number in range(30)])
        async with AsyncExitStack() as stack:
            stalled = [
                await stack.enter_async_context(
                    streaming(port, path, of_storms(**members), way=way, is_slow=True)
                )
                for path, members, way in (
                    (WATCH, {}, Way.PLAIN),
                    (WATCH, {}, Way.PIPELINED),
                    (WATCH, {"from_id": "1"}, Way.PLAIN),
                    (WATCH, {"from_id": "1"}, Way.PIPELINED),
                    (REPLAY, {"from_id": "1"}, Way.PLAIN),
                )
            ]
            steady = await stack.enter_async_context(
                streaming(port, REPLAY, of_storms(from_id="1"), is_slow=True)
            )
            kinds = [(await steady.next()).kind]
            await publish(stored.service, [storm(number, payload=LARGE) for number in range(30)])

            async def read_steadily() -> None:
                # Much slower than everything else here, and always before it would have stalled.
                for _ in range(10):
                    await asyncio.sleep(0.3)
                    kinds.extend([frame.kind for frame in await steady.take(2)])

            await read_steadily()
            kinds += [frame.kind for frame in await steady.rest()]
            assert kinds[-2:] == ["replay-control replay_completed", "connection-closing end_of_stream"]
            await opened(stored, 0)
            await until(
                lambda: all(held_for(port, stream.port) is None for stream in stalled),
                "a connection that nobody reads is still open",
            )


# --- coming and going ------------------------------------------------------------------------------------


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

            for number in range(10):
                await portion(stored, number)
            objects, resident = await settled()
            for number in range(40):
                await portion(stored, number)
            assert stored.count("aviso_sse_connections_total") == 10_000
            left = await settled()
            # Whoever served the last ones may still know them.
            assert left[0] <= objects + 20
            assert left[1] - resident < 4_000_000

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
