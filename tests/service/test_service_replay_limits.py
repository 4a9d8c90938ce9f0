"""How much of history one request is sent (contract 7.5), over real HTTP and on both logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from support.event_logs import asynchronous
from support.services import running_service
from support.sse import REPLAY, WATCH, Way, streaming
from support.watching import configured, kinds, numbers, of_storms, publish

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from support.services import Service
    from support.sse import Frame

STARTED: Final = "replay-control replay_started"
COMPLETED: Final = "replay-control replay_completed"
LIMITED: Final = "replay-control notification_replay_limit_reached"
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


def few(number: int) -> dict[str, Any]:
    """Return a notification of the event type of which one request may replay three."""
    return {"event_type": "few", "identifier": {"n": number}}


@asynchronous
async def test_one_request_is_sent_no_more_than_it_may(backend: Mapping[str, Any]) -> None:
    """What is counted is sent, not looked at; exactly as many as it may have are all there are (7.5)."""
    rows: dict[str, tuple[dict[str, object], list[int], bool]] = {
        "all": ({"from_id": "1"}, [1, 2, 3], False),
        "from the third on": ({"from_id": "3"}, [3, 4, 5], True),
        "all that a filter leaves": (
            {"from_id": "1", "identifier": {"n": {"in": [1, 3, 5]}}},
            [1, 3, 5],
            True,
        ),
        "most that a filter leaves": ({"from_id": "1", "identifier": {"n": {"gte": 2}}}, [2, 3, 4], False),
        "up to an end": ({"from_id": "1", "to_id": "3"}, [1, 2, 3], True),
        "beyond an end": ({"from_id": "1", "to_id": "4"}, [1, 2, 3], False),
        "none": ({"from_id": "1", "identifier": {"n": 9}}, [], True),
    }
    found = []
    async with running_service(configured(backend, watch_endpoint={"replay_batch_size": 1})) as service:
        await publish(service, (few(number) for number in range(1, 6)))
        for name, (members, sent, is_all) in rows.items():
            events = [f"replay few@{number}" for number in sent]
            body = {"event_type": "few", "identifier": {}, **members}
            frames = await all_frames(service, body)
            if kinds(frames) != [STARTED, *events, COMPLETED if is_all else LIMITED, CLOSED]:
                found.append(f"{name}: {kinds(frames)}")
            if "to_id" in members or is_all:
                continue
            watched = await all_frames(service, body, path=WATCH)
            if kinds(watched) != [STARTED, *events, LIMITED, CLOSED]:
                found.append(f"{name} on a watch: {kinds(watched)}")
    limited = {name: value for name, value in frames_of(watched, LIMITED).items() if name != "timestamp"}
    assert limited == {
        "max_allowed": 3,
        "message": "Historical replay limited to 3 messages. "
        "Additional historical messages may be available but were not retrieved.",
        "topic": "few.*",
        "type": "notification_replay_limit_reached",
    }
    assert not found, "\n".join(found)


def frames_of(frames: Iterable[Frame], kind: str) -> dict[str, Any]:
    """Return the data of the only frame of a kind."""
    (one,) = [frame.data for frame in frames if frame.kind == kind]
    return dict(one)


@asynchronous
async def test_a_limit_of_the_service_holds_where_the_schema_has_none(backend: Mapping[str, Any]) -> None:
    configuration = configured(backend, watch_endpoint={"max_historical_notifications": 2})
    async with running_service(configuration) as service:
        await publish(service, numbers(3))
        await publish(service, [few(number) for number in range(3)])
        assert kinds(await all_frames(service, of_storms(from_id="1")))[-2] == LIMITED
        assert kinds(await all_frames(service, of_storms(from_id="2")))[-2] == COMPLETED
        few_of_all = await all_frames(service, {"event_type": "few", "identifier": {}, "from_id": "1"})
        assert kinds(few_of_all)[-2] == COMPLETED
