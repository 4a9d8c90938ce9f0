"""A watch with a start over real HTTP: history first, then now, and nothing between them lost (contract 7.4)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from support.event_logs import asynchronous
from support.services import running_service
from support.sse import WATCH, Way, streaming
from support.watching import configured, kinds, numbers, of_storms, publish, storm

if TYPE_CHECKING:
    from collections.abc import Mapping

    from support.services import Service


def lives(*numbers: int) -> list[str]:
    """Return what live events of these numbers are."""
    return [f"live-notification storms@{number}" for number in numbers]


def replays(*numbers: int) -> list[str]:
    """Return what events of history of these numbers are."""
    return [f"replay storms@{number}" for number in numbers]


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
