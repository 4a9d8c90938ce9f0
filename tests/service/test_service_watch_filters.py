"""What a filter selects, on a watch and in its history, over real HTTP and on both logs."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from support.event_logs import asynchronous
from support.services import running_service
from support.sse import WATCH, streaming
from support.watching import configured, kinds, publish, storm

if TYPE_CHECKING:
    from collections.abc import Mapping

    from support.services import Service

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
