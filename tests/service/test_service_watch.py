"""`POST /api/v1/watch` over real HTTP, on both logs and in every way that a connection is carried (contract 7)."""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, Any, Final

import pytest

from support.event_logs import ask_broker, asynchronous
from support.nats import running_server
from support.recordings import SECOND, UUID
from support.services import IN_MEMORY, running_service
from support.sse import WATCH, Way, streaming
from support.tokens import SECRET, by_hand
from support.watching import configured, jetstream, numbers, of_storms, publish, storm

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

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


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[str]:
    """Run a broker for one test."""
    with running_server(tmp_path / "broker") as server:
        yield server.url


@pytest.fixture(params=["memory", "jetstream"])
def backend(request: pytest.FixtureRequest) -> Mapping[str, Any]:
    """Return the settings of an empty log."""
    return IN_MEMORY if request.param == "memory" else jetstream(request.getfixturevalue("broker"))


def kinds(frames: list[Frame]) -> list[str]:
    """Return what frames are."""
    return [frame.kind for frame in frames]


def lives(*numbers: int) -> list[str]:
    """Return what live events of these numbers are."""
    return [f"live-notification storms@{number}" for number in numbers]


def replays(*numbers: int) -> list[str]:
    """Return what events of history of these numbers are."""
    return [f"replay storms@{number}" for number in numbers]


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


# --- history and now -------------------------------------------------------------------------------------


STARTS: Final[dict[str, tuple[dict[str, object], int]]] = {
    "everything": ({"from_id": "0"}, 1),
    "from one on": ({"from_id": "2"}, 2),
    "far beyond": ({"from_id": "10000"}, 10_000),
    "long ago": ({"from_date": "2001-01-01T00:00:00Z"}, 1),
    "in the future": ({"from_date": "2999-01-01T00:00:00Z"}, 10_000),
}


@asynchronous
async def test_history_comes_first_then_what_is_stored_now(backend: Mapping[str, Any]) -> None:
    """A start that lies beyond everything holds back nothing of what comes next (7.4)."""
    found = []
    async with running_service(configured(backend)) as service:
        await publish(service, numbers(3))
        last = 3
        for way in Way:
            for name, (start, first) in STARTS.items():
                async with streaming(service.port, WATCH, of_storms(**start), way=way) as stream:
                    told = await stream.until("replay-control replay_completed")
                    await publish(service, [storm(4), storm(5)])
                    told += await stream.take(2)
                wanted = [
                    "replay-control replay_started",
                    *replays(*range(first, last + 1)),
                    "replay-control replay_completed",
                    *lives(last + 1, last + 2),
                ]
                last += 2
                if kinds(told) != wanted:
                    found.append(f"{way.name} {name}: {kinds(told)}, not {wanted}")
    assert not found, "\n".join(found)


@asynchronous
async def test_nothing_is_lost_or_sent_twice_while_others_publish(backend: Mapping[str, Any]) -> None:
    """Forty watches open one after the other with all of history, in every way, while three producers go on."""
    count = 300

    async def produce(service: Service, places: range) -> None:
        await publish(service, (storm(place) for place in places))

    async def follow(service: Service, way: Way) -> list[str]:
        async with streaming(service.port, WATCH, of_storms(from_id="1"), way=way) as stream:
            frames = await stream.take(count + 2)
        told = [frame.kind.rpartition(" ")[2] for frame in frames]
        seen = [one for one in told if one.startswith("storms@")]
        live_since = told.index("replay_completed")
        is_split = all(
            frame.event == ("replay" if place < live_since else "live-notification")
            for place, frame in enumerate(frames)
            if "id" in frame.data
        )
        is_whole = seen == [f"storms@{number}" for number in range(1, count + 1)]
        return [] if is_whole and is_split else [f"{way.name}: {told}"]

    async with running_service(configured(backend)) as service, asyncio.TaskGroup() as tasks:
        for producer in range(3):
            tasks.create_task(produce(service, range(producer, count, 3)))
        following = []
        for number in range(40):
            following.append(tasks.create_task(follow(service, list(Way)[number % 3])))
            await publish(service, ())
            await asyncio.sleep(0)
    found = [fault for task in following for fault in task.result()]
    assert not found, "\n".join(found)


@asynchronous
async def test_what_is_deleted_tells_no_watch(backend: Mapping[str, Any]) -> None:
    """A watch stays open, hears nothing of it, and the numbers go on."""
    async with (
        running_service(configured(backend)) as service,
        streaming(service.port, WATCH, of_storms()) as stream,
    ):
        assert (await stream.next()).data["type"] == "connection_established"
        await publish(service, numbers(3))
        deleted = await service.ask("DELETE", "/api/v1/admin/notification/storms@2")
        wiped = await service.ask(
            "DELETE",
            "/api/v1/admin/wipe/stream",
            {"stream_name": "storms"},
            headers={"Content-Type": "application/json"},
        )
        assert (deleted.status, wiped.status) == (200, 200)
        await publish(service, numbers(1))
        assert kinds(await stream.take(4)) == lives(1, 2, 3, 4)


@asynchronous
async def test_what_is_taken_back_is_told(backend: Mapping[str, Any]) -> None:
    """As an event of its topic with an operation and without a payload, on a watch and in history."""
    async with (
        running_service(configured(backend)) as service,
        streaming(service.port, WATCH, of_storms()) as stream,
    ):
        await stream.next()
        await publish(service, [storm(1, payload={"name": "x"})])
        body = {"event_type": "storms", "identifier": {"basin": "atlantic", "number": 1}}
        assert (await service.ask("DELETE", "/api/v1/notification", body)).status == 200
        announced, taken_back = [frame.data for frame in await stream.take(2)]
        async with streaming(service.port, WATCH, of_storms(from_id="1")) as again:
            assert [frame.data for frame in (await again.take(3))[1:]] == [announced, taken_back]
    assert "operation" not in announced
    assert taken_back["operation"] == "delete"
    assert taken_back["data"] == {"identifier": {"basin": "atlantic", "number": "1"}, "payload": None}
    assert taken_back["id"] == "storms@2"


# --- filters ---------------------------------------------------------------------------------------------

NEAR: Final = "(12,22,12,24,14,24,14,22,12,22)"
FAR: Final = "(50,50,50,60,60,60,60,50,50,50)"
FILTERED: Final[dict[str, tuple[str, dict[str, object], list[int]]]] = {
    "all": ("storms", {}, [1, 2, 3, 4]),
    "a value": ("storms", {"basin": "atlantic"}, [1, 3, 4]),
    "a number as text": ("storms", {"number": "2"}, [2]),
    "two values": ("storms", {"basin": "atlantic", "number": 3}, [3]),
    "a star": ("storms", {"basin": "*", "number": 2}, [2]),
    "nothing of the kind": ("storms", {"basin": "baltic"}, []),
    "a constraint": ("storms", {"number": {"between": [2, 3]}}, [2, 3]),
    "one of several": ("storms", {"number": {"in": [1, 4]}}, [1, 4]),
    "a constraint and a value": ("storms", {"basin": "atlantic", "number": {"gt": 1}}, [3, 4]),
    "an area": ("storms", {"polygon": NEAR}, [1, 2]),
    "an area elsewhere": ("storms", {"polygon": FAR}, [4]),
    "an area and a value": ("storms", {"polygon": NEAR, "basin": "atlantic"}, [1]),
    "a point within": ("storms", {"point": "13,23"}, [1, 2]),
    "a point as a list": ("storms", {"point": [55, 55]}, [4]),
    "a point on the edge": ("storms", {"point": "10,25"}, []),
    "clouds": ("buoys", {}, [1, 2]),
    "clouds within": ("buoys", {"polygon": NEAR}, [1]),
    "clouds of a net": ("buoys", {"net": "b"}, [2]),
}
PUBLISHED: Final = (
    storm(1),
    storm(2, basin="pacific"),
    {
        "event_type": "storms",
        "identifier": {"basin": "atlantic", "number": 3, "polygon": "(0,0,0,1,1,1,1,0,0,0)"},
    },
    {"event_type": "storms", "identifier": {"basin": "atlantic", "number": 4, "polygon": FAR}},
    {"event_type": "buoys", "identifier": {"net": "a", "point_cloud": [[0, 0], [13, 23]]}},
    {"event_type": "buoys", "identifier": {"net": "b", "point_cloud": [[1, 1]]}},
)


@asynchronous
async def test_a_watch_is_sent_what_its_filter_selects(backend: Mapping[str, Any]) -> None:
    """Live, and the same again from history."""
    configuration = configured(backend, watch_endpoint={"connection_max_duration_sec": 2})
    found: list[str] = []

    async def follow(service: Service, name: str, opened: asyncio.Barrier) -> None:
        event_type, identifier, selected = FILTERED[name]
        body = {"event_type": event_type, "identifier": identifier}
        async with streaming(service.port, WATCH, body) as stream:
            await stream.next()
            await opened.wait()
            told = kinds(await stream.rest())[:-1]
        if told != [f"live-notification {event_type}@{number}" for number in selected]:
            found.append(f"{name}: {told}")
        async with streaming(service.port, WATCH, {**body, "from_id": "1"}) as stream:
            told = kinds(await stream.until("replay-control replay_completed"))[1:-1]
        if told != [f"replay {event_type}@{number}" for number in selected]:
            found.append(f"{name} in history: {told}")

    async with running_service(configuration) as service:
        opened = asyncio.Barrier(len(FILTERED) + 1)
        async with asyncio.TaskGroup() as following:
            for name in FILTERED:
                following.create_task(follow(service, name, opened))
            await opened.wait()
            await publish(service, PUBLISHED)
    assert not found, "\n".join(found)


# --- the end ---------------------------------------------------------------------------------------------

GUARDED: Final = {
    "enabled": True,
    "mode": "trusted_proxy",
    "jwt_secret": SECRET,
    "admin_roles": {"main": ["operator"]},
}


def bearer(*, lasts: float) -> dict[str, str]:
    """Return the header of somebody whose token lasts so many seconds."""
    claims = {"sub": "ann", "realm": "main", "exp": int(time.time() + lasts)}
    return {"Authorization": f"Bearer {by_hand(claims)}"}


@asynchronous
async def test_a_watch_ends_with_the_token_of_its_caller() -> None:
    """Its first frame tells when, and the reason is that of its longest duration, so that clients come again."""
    async with running_service(configured(auth=GUARDED)) as service:
        headers = bearer(lasts=2)
        async with streaming(service.port, WATCH, of_storms(), headers=headers) as stream:
            first = await stream.next()
            assert first.data["connection_will_close_in_seconds"] <= 2
            (closing,) = await stream.rest()
        assert closing.data["reason"] == "max_duration_reached"
        async with streaming(service.port, WATCH, of_storms(), headers=bearer(lasts=7200)) as stream:
            assert (await stream.next()).data["connection_will_close_in_seconds"] == 3600


@asynchronous
async def test_watches_that_open_together_do_not_end_together() -> None:
    """Each lasts up to a tenth less than the longest, and says how long."""
    async with running_service(configured(streams={"lifetime_jitter_percent": 10})) as service:
        told = set()
        for _ in range(20):
            async with streaming(service.port, WATCH, of_storms()) as stream:
                told.add((await stream.next()).data["connection_will_close_in_seconds"])
    assert len(told) > 5
    assert min(told) >= 3240
    assert max(told) <= 3600


@pytest.mark.parametrize("way", Way)
def test_a_log_that_begins_anew_ends_its_watches(way: Way, broker: str) -> None:
    """With a word that makes clients resume: what they were sent has other numbers now."""

    @asynchronous
    async def over() -> None:
        async with (
            running_service(configured(jetstream(broker))) as service,
            streaming(service.port, WATCH, of_storms(), way=way) as stream,
        ):
            await stream.next()
            await publish(service, numbers(1))
            assert kinds(await stream.take(1)) == lives(1)
            deleted = await ask_broker(broker, "STREAM.DELETE.CYCLONES")
            assert deleted["success"], json.dumps(deleted)
            await service.notify(storm(1))
            assert kinds(await stream.rest())[-1] == "connection-closing end_of_stream"

    over()
