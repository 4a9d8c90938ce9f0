"""Letting go of what belongs to objects that are no more, on a real broker."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from aviso_core.errors import Unavailable
from aviso_core.registry.base import Owner, Published, Withdrawn
from aviso_operator.letting_go import read_owner
from support.appliers import EVENTS, produce, stored, wanted
from support.event_logs import asynchronous
from support.nats import Server, running_server
from support.operator_parts import Parts, open_parts
from support.registries import manifest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from aviso_operator.resources import Resource

STAMP = "1970-01-01T00:16:40Z"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with running_server(tmp_path) as server:
        yield server


def declare(parts: Parts, event_type: str, *, name: str | None = None, **spec: Any) -> Resource:
    """Create an object, and have the operator see it."""
    declared = manifest(event_type)["spec"] | {"eventType": event_type, **spec}
    resource = parts.kept.create(name or event_type, declared)
    parts.objects.see(resource)
    return resource


async def make_live(parts: Parts, event_type: str, *, uid: str = "u1") -> int:
    """Bring the broker to what an object wants; return the revision."""
    await parts.hands.converge(wanted(event_type, uid=uid))
    await parts.wait_heard(event_type, Published)
    return (await parts.hands.latest(event_type)).revision


@asynchronous
async def test_what_is_retained_is_withdrawn_and_says_since_when_nobody_owns_it(server: Server) -> None:
    async with open_parts(server.url) as parts:
        resource = declare(parts, "alert")
        revision = await make_live(parts, "alert")
        await produce(server.url, "alert", EVENTS)
        parts.metrics.published("alert", revision)
        parts.propagation.standings("alert", revision)
        parts.objects.see_gone(resource)
        await parts.letting_go.of_object("weather/alert")
        assert isinstance(await parts.hands.registry.get("alert"), Withdrawn)
        stream = await parts.hands.stream("alert")
        assert stream.stamps is not None
        assert (stream.stamps.owner, stream.stamps.orphaned_at) == ("weather/alert", STAMP)
        assert len(await stored(server.url, "alert")) == len(EVENTS)
        assert parts.objects.gone("weather/alert") is None, "there is nothing left to do about it"
        told = parts.metrics.render(ready={}, resync_age_seconds=0, requests=0).decode()
        assert 'event_type="alert"' not in told


@asynchronous
async def test_letting_go_twice_is_letting_go_once(server: Server) -> None:
    """Also of an object that this operator has never seen: what is published under its name tells enough."""
    async with open_parts(server.url) as parts:
        await make_live(parts, "alert")
        await parts.letting_go.of_object("weather/alert")
        before = await parts.hands.versions("alert"), await parts.hands.stream("alert")
        parts.clock.advance(60)
        await parts.wait_heard("alert", Withdrawn)
        await parts.letting_go.of_object("weather/alert")
        await parts.letting_go.of_stream(before[1])
        assert (await parts.hands.versions("alert"), await parts.hands.stream("alert")) == before


@asynchronous
async def test_what_belongs_to_others_is_not_touched(server: Server) -> None:
    async with open_parts(server.url) as parts:
        await make_live(parts, "alert")
        before = await parts.hands.versions("alert"), await parts.hands.stream("alert")
        stranger = parts.kept.create("alert", manifest("alert")["spec"], namespace="ocean")
        parts.objects.see(stranger)
        parts.objects.see_gone(stranger)
        await parts.letting_go.of_object("ocean/alert")
        await parts.letting_go.with_stream(stranger)
        await parts.letting_go.of_object("weather/never-there")
        assert (await parts.hands.versions("alert"), await parts.hands.stream("alert")) == before


@asynchronous
async def test_an_object_made_again_lets_go_of_what_it_declared_before(server: Server) -> None:
    """Its name now stands for another event type: the one that it had is withdrawn, and its stream says so."""
    async with open_parts(server.url) as parts:
        await parts.hands.converge(wanted("old", owner=Owner("weather", "alert")))
        await parts.wait_heard("old", Published)
        before = declare(parts, "old", name="alert")
        await parts.letting_go.of_former_event_types(before)
        assert isinstance(await parts.hands.registry.get("old"), Published), "that is what it declares"
        await parts.letting_go.of_former_event_types(declare(parts, "new", name="alert"))
        assert isinstance(await parts.hands.registry.get("old"), Withdrawn)
        stamps = (await parts.hands.stream("old")).stamps
        assert stamps is not None
        assert stamps.orphaned_at == STAMP


@asynchronous
async def test_a_stream_that_is_taken_along_goes_when_everybody_has_stopped(server: Server) -> None:
    """While one process has not acknowledged the withdrawal, its producers' events still have a place."""
    async with open_parts(server.url) as parts:
        resource = declare(parts, "alert", deletionPolicy="Delete")
        revision = await make_live(parts, "alert", uid=resource.uid)
        parts.report("ingest/a", alert=revision)
        going = asyncio.create_task(parts.letting_go.with_stream(resource))
        await parts.wait_heard("alert", Withdrawn)
        assert not going.done()
        await parts.hands.stream("alert")
        mark = await parts.hands.registry.get("alert")
        assert mark is not None
        parts.report("ingest/a", alert=mark.revision)
        async with asyncio.timeout(5):
            await going
        assert await parts.hands.streams.find("alert") is None


@asynchronous
async def test_a_process_that_never_answers_keeps_nothing_for_ever(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_parts(server.url) as parts:
        resource = declare(parts, "alert", deletionPolicy="Delete")
        parts.report("ingest/a", alert=await make_live(parts, "alert", uid=resource.uid))
        async with asyncio.timeout(10):
            await parts.letting_go.with_stream(resource)
        assert await parts.hands.streams.find("alert") is None
    assert "not waited for any longer" in caplog.text


@asynchronous
async def test_nothing_is_let_go_of_that_nobody_can_look_at(server: Server) -> None:
    async with open_parts(server.url) as parts:
        resource = declare(parts, "alert")
        await make_live(parts, "alert")
        parts.objects.see_gone(resource)
        server.kill()
        with pytest.raises(Unavailable):
            await parts.letting_go.of_object("weather/alert")
        assert parts.objects.gone("weather/alert") is not None, "it is still to be done"


@asynchronous
async def test_two_at_once_take_turns(server: Server) -> None:
    """Somebody who finds a stream without owner, and somebody who hears of the deletion, meet at the same one."""
    async with open_parts(server.url) as parts:
        resource = declare(parts, "alert")
        await make_live(parts, "alert")
        stream = await parts.hands.stream("alert")
        parts.objects.see_gone(resource)
        await asyncio.gather(parts.letting_go.of_object("weather/alert"), parts.letting_go.of_stream(stream))
        versions = await parts.hands.versions("alert")
        assert [type(one) for one in versions] == [Published, Withdrawn], "it is withdrawn once"


@pytest.mark.parametrize(
    ("key", "owner"), [("weather/alert", Owner("weather", "alert")), ("odd", Owner("odd", ""))]
)
def test_an_owner_is_read_from_its_key(key: str, owner: Owner) -> None:
    assert read_owner(key) == owner
