"""What keeps a plan from being carried out: it is overtaken, refused by the broker, or there is nobody to ask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
import pytest

from aviso_core.errors import Unavailable
from aviso_core.planning.actions import (
    Action,
    AwaitWithdrawn,
    ChangeStream,
    CreateStream,
    Publish,
    Withdraw,
)
from aviso_core.registry.base import LARGEST_SCHEMA, Published
from aviso_core.schema.stamps import Stamps
from aviso_core.schema.stream import StreamConfiguration, differences, wanted_stream
from aviso_operator.apply import Done, LookAgain, Refused, apply
from support.appliers import (
    DEFAULTS,
    EVENTS,
    Hands,
    Wish,
    actions_of,
    gone,
    open_hands,
    produce,
    stored,
    wanted,
)
from support.event_logs import ask_broker, asynchronous
from support.nats import Server, running_server

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

    from aviso_core.planning.plan import Desired

SEA: Final = Stamps(owner="sea/mars", uid="u9", event_type="mars")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """Run a broker for one test."""
    with running_server(tmp_path) as server:
        yield server


async def refusal(hands: Hands, desired: Desired) -> tuple[Refused, list[Done]]:
    """Apply a plan that the broker refuses; return what it says, and what was done all the same."""
    seen = await hands.see(desired)
    told: list[Done] = []
    with pytest.raises(Refused) as refused:
        await apply(actions_of(desired, seen), seen, hands.ports, tell=told.append)
    return refused.value, told


# --- refused by the broker -------------------------------------------------------------------------------


@asynchronous
async def test_a_stream_whose_subjects_another_one_has_is_an_overlap(server: Server) -> None:
    """Nothing is published without a stream."""
    await ask_broker(server.url, "STREAM.CREATE.OTHER", {"name": "OTHER", "subjects": ["mars.a.>"]})
    async with open_hands(server.url) as hands:
        refused, told = await refusal(hands, wanted("mars"))
        assert (refused.concern, refused.reason, told) == ("stream", "SubjectOverlap", [])
        assert "cannot create stream MARS: stream 'MARS': " in str(refused)
        assert "overlap" in str(refused)
        assert await hands.registry.get("mars") is None


@asynchronous
async def test_more_replicas_than_servers_are_insufficient_replicas(server: Server) -> None:
    """For a new stream; one that is there goes on as it is, and what its schema says else comes into force."""
    async with open_hands(server.url) as hands:
        refused, told = await refusal(hands, wanted("mars", replicas=3))
        assert (refused.reason, told) == ("InsufficientReplicas", [])
        await hands.converge(wanted("mars"))
        desired = wanted("mars", description="edited", replicas=3)
        refused, [done] = await refusal(hands, desired)
        assert (refused.concern, refused.reason) == ("stream", "InsufficientReplicas")
        assert "cannot change stream MARS: replicas: 1 → 3" in str(refused)
        assert isinstance(done.action, Publish)
        assert (await hands.latest("mars")).schema == desired.schema
        assert [type(one) for one in await hands.plan(desired)] == [ChangeStream]


@asynchronous
async def test_a_change_that_no_stream_takes_is_of_an_immutable_field(server: Server) -> None:
    """As far as no plan leaves it out."""
    async with open_hands(server.url) as hands:
        await hands.converge(wanted("mars"))
        seen = await hands.see(wanted("mars"))
        assert seen.stream is not None
        now = seen.stream.configuration
        memory = msgspec.structs.replace(now, medium="memory")
        with pytest.raises(Refused) as refused:
            await apply(
                (ChangeStream(memory, differences(memory, now)),), seen, hands.ports, tell=lambda _: None
            )
        assert (refused.value.concern, refused.value.reason) == ("stream", "ImmutableStreamField")


@asynchronous
async def test_what_else_the_broker_refuses_is_told_in_its_words(server: Server) -> None:
    """A number that nobody had a word for."""
    server.stop()
    server.configure(["jetstream { max_file_store: 1MB }"])
    server.start()
    async with open_hands(server.url) as hands:
        refused, told = await refusal(hands, wanted("mars", max_bytes=10**9))
        assert (refused.concern, refused.reason, told) == ("stream", "RefusedByBroker", [])
        assert "insufficient storage" in str(refused)


@asynchronous
async def test_a_schema_that_nobody_can_serve_concerns_the_resource(server: Server) -> None:
    """Its faults are told; the stream is there already."""
    small = wanted("mars")
    large = msgspec.structs.replace(small.schema, description="x" * LARGEST_SCHEMA)
    async with open_hands(server.url) as hands:
        refused, [done] = await refusal(hands, msgspec.structs.replace(small, schema=large))
        assert (refused.concern, refused.reason) == ("accepted", "InvalidSchema")
        assert "shorten" in str(refused)
        assert isinstance(done.action, CreateStream)


# --- overtaken -------------------------------------------------------------------------------------------


async def somebody_publishes(hands: Hands) -> None:
    """Publish another version."""
    latest = await hands.registry.get("mars")
    revision = latest.revision if latest else 0
    await hands.registry.publish(wanted("mars", description="theirs").schema, expected_revision=revision)


async def somebody_makes_the_stream(hands: Hands) -> None:
    """Make a stream of that name for somebody else."""
    await hands.streams.create(stream_of(wanted("mars")), SEA.metadata())


async def somebody_makes_the_stream_again(hands: Hands) -> None:
    """Remove the stream, and make it again in another way."""
    await hands.streams.delete("MARS", (await hands.stream("mars")).created)
    await hands.streams.create(stream_of(wanted("mars")), SEA.metadata())


async def somebody_widens_the_stream(hands: Hands) -> None:
    """Let the stream keep more than anybody had wanted."""
    stream = await hands.stream("mars")
    wider = msgspec.structs.replace(stream.configuration, max_messages=10_000)
    await hands.streams.change(wider, differences(wider, stream.configuration), created=stream.created)


async def somebody_takes_the_stream(hands: Hands) -> None:
    """Stamp the stream for somebody else."""
    stream = await hands.stream("mars")
    await hands.streams.stamp("MARS", SEA, created=stream.created, before=stream.stamps)


def stream_of(desired: Desired) -> StreamConfiguration:
    """Return the stream that a resource wants."""
    return wanted_stream(desired.schema, DEFAULTS)


class Overtaken(NamedTuple):
    """What was wanted before and is wanted now, what somebody else does between look and act, and what comes of it."""

    before: Wish | None
    wish: Wish
    meanwhile: Callable[[Hands], Awaitable[None]]
    reason: str
    # The actions that are done before that is noticed.
    done: tuple[type[Action], ...] = ()


_OVERTAKEN: Final = {
    "published meanwhile": Overtaken(
        wanted("mars"), wanted("mars", description="ours"), somebody_publishes, "expected at revision"
    ),
    "published first": Overtaken(
        None, wanted("mars"), somebody_publishes, "expected at revision 0", (CreateStream,)
    ),
    "withdrawn over another": Overtaken(
        wanted("mars"), gone("mars"), somebody_publishes, "expected at revision"
    ),
    "made meanwhile": Overtaken(None, wanted("mars"), somebody_makes_the_stream, "made by somebody else"),
    "made again before a change": Overtaken(
        wanted("mars", max_messages=50),
        wanted("mars", max_messages=90),
        somebody_makes_the_stream_again,
        "removed and made again",
    ),
    "made again before it is deleted": Overtaken(
        wanted("mars"),
        gone("mars", "Delete"),
        somebody_makes_the_stream_again,
        "removed and made again",
        (Withdraw, AwaitWithdrawn),
    ),
    "widened before a change": Overtaken(
        wanted("mars", max_messages=50),
        wanted("mars", max_messages=90),
        somebody_widens_the_stream,
        "max_messages of stream 'MARS' is 10000 by now",
    ),
    "taken before a stamp": Overtaken(
        wanted("mars"), wanted("mars", uid="u2"), somebody_takes_the_stream, "it is of sea/mars"
    ),
}


@pytest.mark.parametrize("story", _OVERTAKEN.values(), ids=_OVERTAKEN.keys())
@asynchronous
async def test_a_plan_that_was_overtaken_is_looked_at_again(story: Overtaken, server: Server) -> None:
    """What somebody else did meanwhile stays, and nothing comes after what could not be done."""
    async with open_hands(server.url) as hands:
        if story.before is not None:
            await hands.converge(story.before)
        seen = await hands.see(story.wish)
        await story.meanwhile(hands)
        theirs = await hands.streams.find("mars")
        told: list[Done] = []
        with pytest.raises(LookAgain, match=story.reason):
            await apply(actions_of(story.wish, seen), seen, hands.ports, tell=told.append)
        assert tuple(type(one.action) for one in told) == story.done
        if theirs is not None:
            assert await hands.streams.find("mars") == theirs


@asynchronous
async def test_widened_meanwhile_nothing_is_lost(server: Server) -> None:
    """What would have kept more than before would now keep less, and nobody allowed that."""
    async with open_hands(server.url) as hands:
        await hands.converge(wanted("mars", max_messages=10))
        desired = wanted("mars", max_messages=15)
        seen = await hands.see(desired)
        await somebody_widens_the_stream(hands)
        events = await produce(server.url, "mars", EVENTS)
        with pytest.raises(LookAgain):
            await apply(actions_of(desired, seen), seen, hands.ports, tell=lambda _: None)
        await hands.converge(desired)
        assert await stored(server.url, "mars") == events


# --- nobody to ask ---------------------------------------------------------------------------------------


@asynchronous
async def test_a_broker_that_is_away_is_told_as_such(server: Server) -> None:
    """Before and after it did something; then it is looked at again, when it is back."""
    desired = wanted("mars")
    async with open_hands(server.url) as hands:
        seen = await hands.see(desired)
        told: list[Done] = []

        def go_away(done: Done) -> None:
            told.append(done)
            server.kill()

        with pytest.raises(Unavailable):
            await apply(actions_of(desired, seen), seen, hands.ports, tell=go_away)
        assert [type(one.action) for one in told] == [CreateStream]
        server.start()
    async with open_hands(server.url) as hands:
        assert [type(one) for one in await hands.plan(desired)] == [Publish]
        await hands.converge(desired)
        assert isinstance(await hands.registry.get("mars"), Published)
