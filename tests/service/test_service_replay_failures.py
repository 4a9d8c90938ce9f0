"""Events that cannot be shown and history that cannot be read, over real HTTP (contract 7.2 and 7.4)."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from aviso_core.eventlog.base import Record
from support.event_logs import asynchronous
from support.nats import running_server
from support.services import running_service
from support.sse import REPLAY, WATCH, Way, streaming
from support.stored import running_with_log
from support.watching import configured, jetstream, kinds, numbers, of_storms, publish, storm

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    from support.services import Service
    from support.sse import Frame, SseStream
    from support.stored import Stored

STARTED: Final = "replay-control replay_started"
COMPLETED: Final = "replay-control replay_completed"
CLOSED: Final = "connection-closing end_of_stream"


async def all_frames(
    service: Service, body: object, *, path: str = REPLAY, way: Way = Way.PLAIN
) -> list[Frame]:
    """Return all frames of a stream that the service ends; no replay has heartbeats."""
    async with streaming(service.port, path, body, way=way) as stream:
        assert stream.status == 200, await stream.refusal()
        frames = await stream.rest()
        assert path == WATCH or b"event: heartbeat" not in b"".join(stream.pieces)
    return frames


@asynccontextmanager
async def with_unreadable(backend: Mapping[str, Any]) -> AsyncIterator[Stored]:
    """Run a service whose log holds three storms, and between them two whose areas nobody can read."""
    async with running_with_log(configured(), configured(backend)["notification_backend"]) as stored:
        await publish(stored.service, numbers(1))
        await stored.log.append_all("cyclones", [_unreadable(2)])
        await publish(stored.service, [storm(3)])
        await stored.log.append_all("cyclones", [_unreadable(4)])
        await publish(stored.service, [storm(5)])
        yield stored


def _unreadable(number: int) -> Record:
    headers = {"spatial_bbox": "0,0,1,1", "spatial_geometry": "no polygon"}
    return Record(subject=f"cyclones.atlantic.{number}", payload=b"null", headers=headers)


@asynchronous
async def test_what_cannot_be_shown_leaves_a_word_in_its_place(backend: Mapping[str, Any]) -> None:
    """The stream goes on, it counts for no limit, and the metrics know; live as in history."""
    error = "error CloudEvent creation failed"
    async with with_unreadable(backend) as stored:
        frames = await all_frames(stored.service, of_storms(from_id="1"))
        async with streaming(stored.service.port, WATCH, of_storms()) as live:
            await live.next()
            await stored.log.append_all("cyclones", [_unreadable(6)])
            await publish(stored.service, [storm(7)])
            now = await live.take(2)
        assert stored.count("aviso_sse_stream_errors_total", route=REPLAY) == 2
        assert stored.count("aviso_sse_stream_errors_total", route=WATCH) == 1
        assert stored.count("aviso_sse_events_sent_total", route=REPLAY) == 3
        assert stored.count("aviso_sse_events_sent_total", route=WATCH) == 1
    storms = [f"replay storms@{number}" for number in (1, 3, 5)]
    assert kinds(frames) == [STARTED, storms[0], error, storms[1], error, storms[2], COMPLETED, CLOSED]
    assert frames[2].data == {
        "error": "CloudEvent creation failed",
        "message": "Failed to parse stored polygon metadata",
        "request_id": frames[0].data["request_id"],
        "sequence": 2,
        "topic": "cyclones.atlantic.2",
    }
    assert kinds(now) == [error, "live-notification storms@7"]
    assert now[0].data["sequence"] == 6


@asynchronous
async def test_events_of_no_schema_are_published_and_cannot_be_shown(backend: Mapping[str, Any]) -> None:
    """Their place is taken by a word that names their topic (8)."""
    configuration = {"notification_backend": backend, "logging": {"level": "warn"}}
    async with running_service(configuration) as service:
        await publish(service, [{"event_type": "anything", "identifier": {"a": "1", "b": "x y"}}])
        frames = await all_frames(
            service, {"event_type": "anything", "identifier": {"a": "1", "b": "x y"}, "from_id": "1"}
        )
    assert kinds(frames) == [STARTED, "error CloudEvent creation failed", COMPLETED, CLOSED]
    assert frames[1].data["message"] == "Failed to determine event type from topic"
    assert frames[1].data["topic"] == "anything.1.x y"


def test_a_broker_that_goes_away_ends_history_and_opens_no_stream(tmp_path: Path) -> None:
    """History ends with a word for it, before `replay_completed`; a stream that cannot be set up is a 500."""
    with running_server(tmp_path / "broker") as server:
        backend = jetstream(server.url)
        backend["jetstream"]["timeout_seconds"] = 1

        @asynchronous
        async def over() -> None:
            async with running_with_log(configured(backend), backend) as stored:
                service = stored.service
                # Much more than is sent ahead of a reader.
                await publish(service, [storm(number, payload="x" * 200_000) for number in range(40)])
                async with AsyncExitStack() as open_streams:
                    # Each reads by itself, and is carried in another way.
                    streams = [
                        await open_streams.enter_async_context(
                            streaming(
                                service.port,
                                path,
                                of_storms(from_id="1", identifier=identifier),
                                is_slow=True,
                            )
                        )
                        for path, identifier in ((REPLAY, {}), (WATCH, {"basin": "atlantic"}))
                    ]
                    for stream in streams:
                        await stream.next()
                    await asyncio.to_thread(server.kill)
                    await asyncio.gather(
                        *(history_fails(stream) for stream in streams),
                        setup_fails(stored, WATCH),
                    )

        over()


async def history_fails(stream: SseStream) -> None:
    """Read a stream to its end, which must be a failure."""
    frames = await stream.rest()
    assert kinds(frames)[-2:] == ["error stream_processing_failed", CLOSED]
    assert COMPLETED not in kinds(frames)
    assert len(frames) < 42
    assert frames[-2].data["topic"] == frames[-1].data["topic"]
    assert frames[-2].data["request_id"] == frames[-1].data["request_id"] == stream.headers["x-request-id"][0]


async def setup_fails(stored: Stored, path: str) -> None:
    """Ask for a stream that cannot be, and which counts as one that was asked for."""
    before = stored.count("aviso_sse_connections_total", route=path, event_type="storms")
    active = stored.count("aviso_sse_connections_active", route=path, event_type="storms")
    answer = await stored.service.ask("POST", path, of_storms(from_id="1", identifier={"basin": "x.y"}))
    assert answer.status == 500
    assert list(answer.json) == ["code", "details", "error", "message", "request_id", "topic"]
    assert answer.json["code"] == "SSE_STREAM_INITIALIZATION_FAILED"
    assert answer.json["error"] == "SSE stream creation failed"
    assert answer.json["topic"] == "cyclones.x.y.*"
    assert answer.json["request_id"] == answer.headers["x-request-id"]
    assert stored.count("aviso_sse_connections_total", route=path, event_type="storms") == before + 1
    assert stored.count("aviso_sse_connections_active", route=path, event_type="storms") <= active
