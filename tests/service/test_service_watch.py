"""`POST /api/v1/watch` over real HTTP, on both logs and in every way that a connection is carried (contract 7)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from support.event_logs import asynchronous
from support.recordings import SECOND, UUID
from support.services import running_service
from support.sse import WATCH, Way, streaming
from support.watching import configured, kinds, of_storms, publish, storm

if TYPE_CHECKING:
    from collections.abc import Mapping

    from support.services import Service
    from support.sse import Frame, SseStream

HEADERS: Final = {
    "content-type": ["text/event-stream"],
    "cache-control": ["no-cache"],
    "access-control-allow-origin": ["*"],
    "x-accel-buffering": ["no"],
}
# How an answer of unknown length is framed, by the version of HTTP.
FRAMING: Final = {
    Way.PLAIN: {"transfer-encoding": ["chunked"]},
    Way.PIPELINED: {"transfer-encoding": ["chunked"]},
    Way.OLD: {"connection": ["close"]},
}


def lives(*numbers: int) -> list[str]:
    """Return what live events of these numbers are."""
    return [f"live-notification storms@{number}" for number in numbers]


async def all_of(stream: SseStream) -> list[Frame]:
    """Return all frames, heartbeats too, of a stream that the service ends."""
    frames = [await stream.frame()]
    while not frames[-1].event.startswith("connection-closing"):
        frames.append(await stream.frame())
    assert await stream.rest() == []
    return frames


# --- frames ----------------------------------------------------------------------------------------------


def faults_of_head(stream: SseStream, way: Way) -> list[str]:
    """Return in what the head of an answer is not the contract's."""
    found = [] if stream.status == 200 else [f"status {stream.status}"]
    told = {name: value for name, value in stream.headers.items() if name not in ("date", "x-request-id")}
    if told != HEADERS | FRAMING[way]:
        found.append(f"headers {told}")
    if UUID.fullmatch(stream.headers["x-request-id"][0]) is None:
        found.append("no request id")
    return found


def faults_of(frame: Frame, request_id: str, topic: str) -> list[str]:
    """Return in what a frame is not as all frames are."""
    data = frame.data
    found = [] if list(data) == sorted(data) else [f"order of {frame.text}"]
    if "specversion" not in data:
        if SECOND.fullmatch(data["timestamp"]) is None or data["topic"] != topic:
            found.append(frame.text)
        has_id = frame.event == "connection-closing" or data.get("type") in (
            "connection_established",
            "replay_started",
        )
        if data.get("request_id") != (request_id if has_id else None):
            found.append(f"request id of {frame.text}")
    return found


@asynchronous
async def test_a_watch_opens_lives_and_ends_as_the_contract_says(backend: Mapping[str, Any]) -> None:
    """Headers and first frame at once, a heartbeat, events, a heartbeat each second, and the reason at the end."""
    configuration = configured(backend, watch_endpoint={"connection_max_duration_sec": 2})

    async def follow(service: Service, way: Way, opened: asyncio.Barrier) -> list[str]:
        body = of_storms(identifier={"basin": "atlantic"})
        async with streaming(service.port, WATCH, body, way=way) as stream:
            found = faults_of_head(stream, way)
            first = await stream.frame()
            frames = [first, await stream.frame()]
            await opened.wait()
            frames += await all_of(stream)
        request_id = stream.headers["x-request-id"][0]
        if first.data != {
            "connection_will_close_in_seconds": 2,
            "request_id": request_id,
            "timestamp": first.data["timestamp"],
            "topic": "cyclones.atlantic.*",
            "type": "connection_established",
        }:
            found.append(first.text)
        if frames[-1].data["message"] != "Connection reached maximum duration":
            found.append(frames[-1].text)
        expected = [
            "live-notification connection_established",
            "heartbeat",
            *lives(1, 3),
            "heartbeat",
            "connection-closing max_duration_reached",
        ]
        found += [] if kinds(frames) == expected else [f"{kinds(frames)}"]
        found += [fault for frame in frames for fault in faults_of(frame, request_id, "cyclones.atlantic.*")]
        return [f"{way.name}: {fault}" for fault in found]

    async with running_service(configuration) as service:
        opened = asyncio.Barrier(len(Way) + 1)
        async with asyncio.TaskGroup() as following:
            tasks = [following.create_task(follow(service, way, opened)) for way in Way]
            await opened.wait()
            await publish(service, [storm(1), storm(2, basin="pacific"), storm(3)])
    found = [fault for task in tasks for fault in task.result()]
    assert not found, "\n".join(found)


@asynchronous
async def test_what_stands_behind_a_watch_is_answered_when_it_has_ended() -> None:
    """On the same connection: the request that was sent too early waits for its turn."""
    configuration = configured(watch_endpoint={"connection_max_duration_sec": 1})
    async with (
        running_service(configuration) as service,
        streaming(service.port, WATCH, of_storms(), way=Way.PIPELINED) as stream,
    ):
        await stream.rest()
        stream.send(b"TP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        answer = await stream.read_behind()
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert answer.endswith(b'{"status":"ok"}')
