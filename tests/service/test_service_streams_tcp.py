"""Streams over connections as they are: clients break off, vanish, or say what nobody asked for."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Final

import pytest

from support.event_logs import asynchronous
from support.kernel import held_for
from support.services import IN_MEMORY
from support.sse import REPLAY, WATCH, Way, streaming
from support.stored import running_with_log
from support.watching import QUIET, configured, numbers, of_storms, opened, publish, storm, until
from support.wire import PATIENCE_SECONDS, Wire, listening, request

if TYPE_CHECKING:
    from support.sse import SseStream

LARGE: Final = "x" * 50_000


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


# --- places ----------------------------------------------------------------------------------------------

ONE_PLACE: Final = configured(watch_endpoint=QUIET, streams={"max_streams": 1})


def asking(path: str, **members: str) -> bytes:
    """Return a request for a stream."""
    return request("POST", path, body=json.dumps(of_storms(**members)).encode())


def wait_for_a_place(port: int) -> None:
    """Ask for a short stream until it is let in."""
    ends_at = time.monotonic() + PATIENCE_SECONDS
    while True:
        with Wire(port) as wire:
            wire.send(asking(REPLAY, from_id="1"))
            status = wire.response().status
        if status == 200:
            return
        assert status == 503
        assert time.monotonic() < ends_at, "the place is not given back"


@pytest.mark.parametrize(
    ("path", "members"), [(WATCH, {}), (WATCH, {"from_id": "1"}), (REPLAY, {"from_id": "1"})]
)
def test_who_left_before_there_was_an_answer_takes_no_place(
    path: str, members: dict[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    """Its request and its end come together; and nothing is wrong with that."""
    with listening(ONE_PLACE) as port:
        for _ in range(5):
            with Wire(port) as wire:
                wire.send(asking(path, **members))
                wire.end_sending()
                wire.read_until_closed()
        wait_for_a_place(port)
    assert "api.request.failed" not in capfd.readouterr().out


def test_who_leaves_with_more_to_be_answered_gives_the_place_back(capfd: pytest.CaptureFixture[str]) -> None:
    """The request behind the stream waits for its end, and is not the one that has to hear of it."""
    with listening(ONE_PLACE) as port:
        wire = Wire(port)
        wire.send(asking(WATCH) + request("GET", "/health"))
        while b"connection_established" not in wire.receive():
            continue
        wire.reset()
        wait_for_a_place(port)
    assert "api.request.failed" not in capfd.readouterr().out
