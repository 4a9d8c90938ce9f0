"""`GET /api/v1/positions` and what is below it, over real HTTP, with a log in memory and on a broker."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import pytest

from aviso_all_in_one.serving import assemble
from aviso_core.instant import to_text
from support.event_logs import asynchronous
from support.nats import running_server
from support.recordings import GUARDED, token
from support.services import IN_MEMORY, running_service
from support.stored import running_with_log

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping
    from pathlib import Path

    from aviso_http.draining import Draining
    from aviso_http.process import Process, Routes
    from support.services import Answered, Service

PATH: Final = "/api/v1/positions"


def keyed(base: str, **more: object) -> dict[str, Any]:
    """Return an event type with one key."""
    return {
        "topic": {"base": base, "key_order": ["k"]},
        "identifier": {"k": {"type": "StringHandler", "required": False}},
        "payload": {"required": False},
        **more,
    }


CONFIGURATION: Final[dict[str, Any]] = {
    "notification_schema": {"maps": keyed("maps"), "runs": keyed("runs"), "a/b c": keyed("odd")}
}


@pytest.fixture(params=["memory", "jetstream"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Mapping[str, Any]]:
    """Return the settings of an empty log."""
    if request.param == "memory":
        yield IN_MEMORY
        return
    with running_server(tmp_path / "broker") as server:
        yield {"kind": "jetstream", "jetstream": {"nats_url": server.url, "storage_type": "memory"}}


async def publish(service: Service, event_type: str = "maps", count: int = 1) -> None:
    """Store notifications."""
    for n in range(count):
        answer = await service.notify({"event_type": event_type, "identifier": {"k": f"{n}"}})
        assert answer.status == 200, answer.body


async def positions(service: Service, below: str = "", who: str | None = None) -> Answered:
    """Ask where logs are."""
    headers = {} if who is None else {"Authorization": f"Bearer {token(who)}"}
    return await service.ask("GET", f"{PATH}{below}", headers=headers)


# --- asked once ------------------------------------------------------------------------------------------


@asynchronous
async def test_positions_are_what_the_logs_hold(backend: Mapping[str, Any]) -> None:
    """Of all event types, and of one."""
    async with running_with_log(CONFIGURATION, backend) as stored:
        service = stored.service
        await publish(service, count=3)
        await service.ask("DELETE", "/api/v1/admin/notification/maps@1")
        found = (await positions(service)).json
        assert list(found) == ["a/b c", "maps", "runs"]
        assert found["maps"].keys() == {"epoch", "first", "last", "messages", "bytes", "last_time"}
        assert [found["maps"][name] for name in ("first", "last", "messages")] == [2, 3, 2]
        (event,) = [one for one in await stored.events("maps") if one.sequence == 3]
        bounds = await stored.log.bounds("maps")
        assert (found["maps"]["epoch"], found["maps"]["bytes"]) == (bounds.epoch, bounds.bytes)
        assert [found["runs"][name] for name in ("first", "last", "messages", "last_time")] == [1, 0, 0, None]
        assert (await positions(service, "/maps")).json == {"maps": found["maps"]}
        assert event.instant == bounds.last_instant


@asynchronous
async def test_a_position_may_be_asked_for_by_date(backend: Mapping[str, Any]) -> None:
    """The first that was stored at that instant or later, or the next to come."""
    async with running_with_log(CONFIGURATION, backend) as stored:
        service = stored.service
        await publish(service, count=3)
        first = (await positions(service, "/maps?at=0")).json["maps"]
        assert first.pop("at") == 1
        assert first == (await positions(service, "/maps")).json["maps"]
        for event in await stored.events("maps"):
            at = await positions(service, f"/maps?at={to_text(event.instant)}")
            behind = await positions(service, f"/maps?at={to_text(event.instant + 1)}")
            assert at.json["maps"]["at"] == event.sequence
            assert behind.json["maps"]["at"] == event.sequence + 1
        assert (await positions(service, "/maps?at=2100-01-01T00:00:00%2B00:00")).json["maps"]["at"] == 4
        assert (await positions(service, "/runs?at=2020-01-01T00:00:00Z")).json["runs"]["at"] == 1


@pytest.mark.parametrize(
    ("below", "status", "code"),
    [
        ("/nope", 404, "UNKNOWN_EVENT_TYPE"),
        ("/Maps", 404, "UNKNOWN_EVENT_TYPE"),
        ("/a%2Fb%20c", 200, None),
        ("/a/b%20c", 404, None),
        ("/", 404, None),
        ("/maps/", 404, None),
        ("/maps?at=", 400, "INVALID_POSITIONS_REQUEST"),
        ("/maps?at=yesterday", 400, "INVALID_POSITIONS_REQUEST"),
        ("/maps?at=1&at=x", 400, "INVALID_POSITIONS_REQUEST"),
        ("?at=1", 400, "INVALID_POSITIONS_REQUEST"),
        ("/nope?at=x", 404, "UNKNOWN_EVENT_TYPE"),
    ],
)
@asynchronous
async def test_what_is_asked_for_must_be_there(below: str, status: int, code: str | None) -> None:
    """A name as it is declared, and a date that can be read."""
    async with running_with_log(CONFIGURATION, IN_MEMORY) as stored:
        answer = await positions(stored.service, below)
        assert answer.status == status
        if code is not None:
            assert answer.json["code"] == code
            assert answer.json["request_id"] == answer.headers["x-request-id"]


@pytest.mark.parametrize(
    ("who", "visible"),
    [
        (None, ["free"]),
        ("reader", ["desk", "free", "members"]),
        ("writer", ["free", "members"]),
        ("reader of another realm", ["desk", "free", "members"]),
        ("reader of an unknown realm", ["free", "members"]),
        ("operator", ["desk", "free", "members"]),
    ],
)
@asynchronous
async def test_only_what_may_be_read_is_told(who: str | None, visible: list[str]) -> None:
    """Of the rest not even that there is a log; on the stream, too."""
    async with running_with_log(GUARDED, IN_MEMORY) as stored:
        service = stored.service
        assert list((await positions(service, who=who)).json) == visible
        refused = 401 if who is None else 403
        for name in ("desk", "free", "members"):
            wanted = 200 if name in visible else refused
            assert (await positions(service, f"/{name}", who)).status == wanted
            assert (await positions(service, f"/{name}?at=1", who)).status == wanted
        async with following(service, who) as frames:
            assert list((await frames.next())[1]) == visible


@asynchronous
async def test_credentials_that_are_no_good_are_refused() -> None:
    """Before anything is told."""
    async with running_with_log(GUARDED, IN_MEMORY) as stored:
        for below in ("", "/free", "/stream"):
            assert (await positions(stored.service, below, "expired")).status == 401


# --- followed --------------------------------------------------------------------------------------------


class Frames:
    """A stream of positions, read frame by frame."""

    def __init__(self, lines: AsyncIterator[str]) -> None:
        self._lines = lines

    async def next(self) -> tuple[str, Any]:
        """Return the name and the data of the next frame."""
        event = (await anext(self._lines)).removeprefix("event: ")
        data = json.loads((await anext(self._lines)).removeprefix("data: "))
        assert await anext(self._lines) == ""
        return event, data

    async def until(self, **wanted: int | None) -> list[dict[str, Any]]:
        """Return what was shown until each of these event types had come so far."""
        shown: list[dict[str, Any]] = []
        missing = dict(wanted)
        while missing:
            event, data = await self.next()
            assert event == "positions"
            shown.append(data)
            for name, one in data.items():
                last = None if one is None else one["last"]
                if name in missing and missing[name] == last:
                    del missing[name]
        return shown

    async def rest(self) -> list[tuple[str, Any]]:
        """Return all that still comes; the answer must come to its end."""
        frames = []
        try:
            while True:
                frames.append(await self.next())
        except StopAsyncIteration:
            return frames


@asynccontextmanager
async def following(service: Service, who: str | None = None) -> AsyncIterator[Frames]:
    """Follow where logs are."""
    headers = {} if who is None else {"Authorization": f"Bearer {token(who)}"}
    async with service.client.stream("GET", f"{PATH}/stream", headers=headers) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "text/event-stream"
        yield Frames(aiter(answer.aiter_lines()))


@asynchronous
async def test_the_stream_shows_all_and_then_what_changes(backend: Mapping[str, Any]) -> None:
    """What was stored before, and after, by whomever."""
    async with running_with_log(CONFIGURATION, backend) as stored:
        service = stored.service
        await publish(service)
        async with following(service) as frames:
            assert await frames.next() == ("positions", (await positions(service)).json)
            await publish(service, "runs")
            (shown,) = await frames.until(runs=1)
            assert shown == {"runs": (await positions(service)).json["runs"]}
            await publish(service, "maps", count=5)
            await publish(service, "runs", count=3)
            shown_then = await frames.until(maps=6, runs=4)
            assert all(one.keys() <= {"maps", "runs"} for one in shown_then)


@asynchronous
async def test_changes_are_told_together(backend: Mapping[str, Any]) -> None:
    """Many in a row make few frames, at most one in 50 ms."""
    async with running_with_log(CONFIGURATION, backend) as stored:
        service = stored.service
        async with following(service) as frames:
            await frames.next()
            loop = asyncio.get_running_loop()
            began = loop.time()
            await publish(service, count=200)
            shown = await frames.until(maps=200)
            # The first one waits for nothing, and the last one may have been due in between.
            assert len(shown) <= (loop.time() - began) / 0.05 + 2
            assert [one["maps"]["last"] for one in shown] == sorted({one["maps"]["last"] for one in shown})


@asynchronous
async def test_what_is_removed_is_shown_too(backend: Mapping[str, Any]) -> None:
    """Not at once, but soon."""
    async with running_with_log(CONFIGURATION, backend) as stored:
        service = stored.service
        await publish(service, count=3)
        async with following(service) as frames:
            await frames.next()
            assert (await service.ask("DELETE", "/api/v1/admin/wipe/all")).status == 200
            _, shown = await frames.next()
            assert [shown["maps"][name] for name in ("first", "last", "messages")] == [4, 3, 0]


@asynchronous
async def test_the_stream_shows_that_it_lives() -> None:
    """Where nothing changes there are heartbeats."""
    beating = {**CONFIGURATION, "watch_endpoint": {"sse_heartbeat_interval_sec": 1}}
    async with running_with_log(beating, IN_MEMORY) as stored, following(stored.service) as frames:
        assert (await frames.next())[0] == "positions"
        event, data = await frames.next()
        assert (event, set(data)) == ("heartbeat", {"timestamp", "topic"})


@asynchronous
async def test_the_stream_ends_in_time() -> None:
    """As other streams do, with the reason."""
    short = {**CONFIGURATION, "watch_endpoint": {"connection_max_duration_sec": 1}}
    async with running_with_log(short, IN_MEMORY) as stored:
        async with following(stored.service) as frames:
            told = await frames.rest()
        assert [event for event, _ in told] == ["positions", "connection-closing"]
        assert told[-1][1]["reason"] == "max_duration_reached"


@asynchronous
async def test_the_stream_ends_with_the_process() -> None:
    """It is told so, and does not hold the process up."""
    draining: list[Draining] = []

    def assembled(process: Process) -> Routes:
        draining.append(process.draining)
        return assemble(process)

    soon = {**CONFIGURATION, "streams": {"drain_seconds": 1}}
    async with running_service(soon, assembled=assembled) as service:
        async with following(service) as frames:
            await frames.next()
            draining[0].begin()
            ((event, data),) = await frames.rest()
            assert (event, data["reason"]) == ("connection-closing", "server_shutdown")
        refused = await positions(service, "/stream")
        assert (refused.status, refused.json["code"]) == (503, "OVERLOADED")


@asynchronous
async def test_streams_of_positions_are_counted_and_limited() -> None:
    """Among all streams of the process, under a route of their own."""
    async with running_with_log({**CONFIGURATION, "streams": {"max_streams": 1}}, IN_MEMORY) as stored:
        async with following(stored.service) as frames:
            await frames.next()
            assert stored.count("aviso_sse_connections_active", route=f"{PATH}/stream") == 1
            assert (await positions(stored.service, "/stream")).status == 503
            watch = await stored.service.ask(
                "POST", "/api/v1/watch", {"event_type": "maps", "identifier": {}}
            )
            assert watch.status == 503
        while stored.count("aviso_sse_connections_active", route=f"{PATH}/stream"):
            await stored.service.ask("GET", "/health")
        async with following(stored.service) as frames:
            await frames.next()


@asynchronous
async def test_the_head_of_a_stream_comes_to_an_end() -> None:
    """Whoever asks for it alone does not wait for the rest."""
    async with running_with_log(CONFIGURATION, IN_MEMORY) as stored:
        answer = await stored.service.ask("HEAD", f"{PATH}/stream")
        assert (answer.status, answer.headers["content-type"]) == (200, "text/event-stream")
        assert (await stored.service.ask("HEAD", PATH)).status == 200
