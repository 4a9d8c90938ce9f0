"""A stream is deleted when nobody serves its event type any more, or when that has taken too long."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

import pytest

from aviso_core.clock import SystemClock
from aviso_core.planning.actions import AwaitWithdrawn, CreateStream, DeleteStream, Withdraw
from aviso_core.registry.acknowledgements import Answer, reporting
from aviso_core.registry.jetstream.acknowledgements import (
    JetStreamAcknowledgements,
    acknowledgement_bucket,
    open_jetstream_acknowledgements,
)
from aviso_operator.apply import Ports
from support.appliers import gone, nobody_serves, open_hands, wanted
from support.event_logs import asynchronous
from support.nats import Server, running_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from aviso_core.registry.acknowledgements import RollCall
    from aviso_operator.apply import Done
    from support.appliers import Hands

REMOVED: Final = gone("mars", "Delete")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """Run a broker for one test."""
    with running_server(tmp_path) as server:
        yield server


class Roll(NamedTuple):
    """Ports that wait for the reports of processes, where those report, and when the first was heard of."""

    ports: Ports
    acknowledgements: JetStreamAcknowledgements
    heard: asyncio.Event


@asynccontextmanager
async def roll(hands: Hands, *, seconds: float) -> AsyncIterator[Roll]:
    """Follow the reports of processes."""
    heard = asyncio.Event()
    propagation = nobody_serves()

    def take_call(call: RollCall) -> None:
        propagation.take_call(call)
        if call.reports:
            heard.set()

    async with (
        open_jetstream_acknowledgements(
            hands.connection, acknowledgement_bucket(), is_owner=True
        ) as acknowledgements,
        acknowledgements.follow(take_call),
    ):
        ports = Ports(hands.streams, hands.registry, propagation, withdrawal_seconds=seconds)
        yield Roll(ports, acknowledgements, heard)


@asynchronous
async def test_a_stream_is_deleted_after_every_process_has_taken_the_withdrawal(server: Server) -> None:
    """One that serves the event type has stopped by then, for it says so itself."""
    async with (
        open_hands(server.url) as process,
        open_hands(server.url) as hands,
        roll(hands, seconds=15) as (ports, acknowledgements, heard),
    ):
        await hands.converge(wanted("mars"))
        async with (
            process.registry.follow(lambda _: None) as follower,
            reporting(acknowledgements, follower, process="ingest/one", clock=SystemClock()),
        ):
            await heard.wait()
            done = await hands.converge(REMOVED, ports=ports)
            assert [type(one.action) for one in done] == [Withdraw, AwaitWithdrawn, DeleteStream]
            assert done[1].behind == ()
            assert follower.served.catalog.get("mars") is None
        assert await hands.streams.find("mars") is None


@asynchronous
async def test_the_stream_is_still_there_while_it_is_waited(server: Server) -> None:
    """A process that is behind gets its time; what it says last ends the waiting."""
    async with open_hands(server.url) as hands, roll(hands, seconds=15) as (ports, acknowledgements, heard):
        await hands.converge(wanted("mars"))
        await acknowledgements.report("gateway/one", {"mars": Answer(revision=1)})
        await heard.wait()
        told: asyncio.Queue[Done] = asyncio.Queue()
        removing = asyncio.ensure_future(hands.converge(REMOVED, ports=ports, tell=told.put_nowait))
        withdrawal = (await told.get()).revision
        assert withdrawal is not None
        assert await hands.streams.find("mars") is not None
        await acknowledgements.report("gateway/one", {"mars": Answer(revision=withdrawal - 1)})
        assert await hands.streams.find("mars") is not None
        assert told.empty()
        await acknowledgements.report("gateway/one", {"mars": Answer(revision=withdrawal)})
        await removing
        assert (await told.get()).behind == ()
        assert await hands.streams.find("mars") is None


@asynchronous
async def test_who_does_not_stop_in_time_is_named_and_not_waited_for(server: Server) -> None:
    """A process that hangs does not keep the resource from going."""
    async with open_hands(server.url) as hands, roll(hands, seconds=0.2) as (ports, acknowledgements, heard):
        await hands.converge(wanted("mars"))
        await acknowledgements.report("gateway/slow", {"mars": Answer(revision=1)})
        await heard.wait()
        _, waited, deleted = await hands.converge(REMOVED, ports=ports)
        assert waited.behind == ("gateway/slow",)
        assert isinstance(deleted.action, DeleteStream)
        assert await hands.streams.find("mars") is None


@asynchronous
async def test_whoever_goes_on_waits_for_the_withdrawal_that_was_written_before(server: Server) -> None:
    """An operator that was stopped after it withdrew is not done with waiting."""
    async with open_hands(server.url) as hands, roll(hands, seconds=0.2) as (ports, acknowledgements, heard):
        await hands.converge(wanted("mars"))
        published = await hands.latest("mars")
        await hands.registry.withdraw("mars", expected_revision=published.revision)
        await acknowledgements.report("gateway/slow", {"mars": Answer(revision=published.revision)})
        await heard.wait()
        waited, deleted = await hands.converge(REMOVED, ports=ports)
        assert isinstance(waited.action, AwaitWithdrawn)
        assert waited.behind == ("gateway/slow",)
        assert isinstance(deleted.action, DeleteStream)


@asynchronous
async def test_what_was_never_published_is_not_waited_for(server: Server) -> None:
    """Its stream goes at once: every process would be behind a revision that is none."""
    async with open_hands(server.url) as hands, roll(hands, seconds=15) as (ports, acknowledgements, heard):
        create, _ = await hands.plan(wanted("mars"))
        assert isinstance(create, CreateStream)
        await hands.streams.create(create.configuration, create.stamps.metadata())
        await acknowledgements.report("gateway/one", {})
        await heard.wait()
        waited, deleted = await hands.converge(REMOVED, ports=ports)
        assert isinstance(waited.action, AwaitWithdrawn)
        assert waited.behind == ()
        assert isinstance(deleted.action, DeleteStream)
