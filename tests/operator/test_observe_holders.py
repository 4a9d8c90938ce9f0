"""What an operator sees: the stream and the version as they are now, and who holds what somebody else wants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from aviso_core.planning.plan import make_plan
from aviso_core.registry.base import Owner, Published, Unreadable, Version, Withdrawn
from aviso_operator.observe import observe
from support.appliers import DEFAULTS, Hands, open_hands, owner_of, produce, wanted
from support.event_logs import ask_broker, asynchronous
from support.nats import Server, running_server

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from aviso_core.planning.plan import Desired, Seen

NOBODY: Final[Mapping[str, Version]] = {}
SEA: Final = Owner("sea", "mars")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """Run a broker for one test."""
    with running_server(tmp_path) as server:
        yield server


async def see(
    hands: Hands,
    event_type: str = "mars",
    *,
    base: str | None = None,
    known: Mapping[str, Version] | None = None,
    gone: frozenset[Owner] = frozenset(),
) -> Seen:
    """Look at an event type; without more, everything was heard of and everybody is alive."""
    return await observe(
        hands.streams,
        hands.registry,
        event_type=event_type,
        base=base or event_type,
        known=await hands.registry.all() if known is None else known,
        is_alive=lambda owner: owner not in gone,
    )


async def publish(hands: Hands, desired: Desired, *, owner: Owner | None) -> int:
    """Publish what somebody wants, whoever owns it."""
    latest = await hands.registry.get(desired.schema.event_type)
    return await hands.registry.publish(
        desired.schema, expected_revision=latest.revision if latest else 0, owner=owner, uid="u1"
    )


# --- the stream and the version --------------------------------------------------------------------------


@asynchronous
async def test_where_there_is_nothing_nothing_is_seen(server: Server) -> None:
    """Neither a stream nor a version; the first revision goes over 0."""
    async with open_hands(server.url) as hands:
        seen = await see(hands)
        assert (seen.stream, seen.latest, seen.held, seen.revision) == (None, None, {}, 0)


@asynchronous
async def test_a_stream_is_seen_with_its_stamps_and_what_it_holds(server: Server) -> None:
    """As the broker tells it now."""
    async with open_hands(server.url) as hands:
        await hands.converge(wanted("mars"))
        await produce(server.url, "mars", ["a", "b", "c"])
        found = await hands.stream("mars")
        stream = (await see(hands)).stream
        assert stream is not None
        assert (stream.configuration, stream.created) == (found.configuration, found.created)
        assert stream.stamps is not None
        assert stream.stamps.owner == str(owner_of("mars"))
        assert (stream.messages, stream.first_sequence, stream.last_sequence) == (3, 1, 3)
        assert stream.bytes == found.bytes > 0


@asynchronous
async def test_the_version_is_asked_for_whatever_was_heard(server: Server) -> None:
    """A write goes over the revision that there is."""
    async with open_hands(server.url) as hands:
        await hands.converge(wanted("mars"))
        heard = await hands.registry.all()
        await hands.converge(wanted("mars", description="edited"))
        latest = await hands.latest("mars")
        for known in (heard, NOBODY):
            seen = await see(hands, known=known)
            assert (seen.latest, seen.held, seen.revision) == (latest, {"mars": latest}, latest.revision)


@asynchronous
async def test_what_was_withdrawn_or_cannot_be_read_is_held_by_nobody(server: Server) -> None:
    """But its revision is the one to write over."""
    async with open_hands(server.url) as hands:
        await hands.converge(wanted("mars"))
        heard = await hands.registry.all()
        revision = await hands.registry.withdraw(
            "mars", expected_revision=(await hands.latest("mars")).revision
        )
        seen = await see(hands, known=heard)
        assert (seen.latest, seen.held) == (Withdrawn(event_type="mars", revision=revision), {})
        async with open_hands(server.url) as other:
            await other.registry._bucket.put("mars", b"no schema", expected=revision)
        seen = await see(hands, known=heard)
        assert isinstance(seen.latest, Unreadable)
        assert (seen.held, seen.revision) == ({}, seen.latest.revision)
        assert seen.revision > revision


# --- who holds it ----------------------------------------------------------------------------------------


@asynchronous
async def test_what_belongs_to_nobody_alive_is_held_by_nobody(server: Server) -> None:
    """What has no owner at all was put there by somebody else, and stays theirs."""
    async with open_hands(server.url) as hands:
        await publish(hands, wanted("mars"), owner=SEA)
        await publish(hands, wanted("diss"), owner=None)
        await publish(hands, wanted("waves"), owner=owner_of("waves"))
        assert set((await see(hands)).held) == {"mars", "diss", "waves"}
        assert set((await see(hands, gone=frozenset({SEA}))).held) == {"diss", "waves"}
        assert (await see(hands, gone=frozenset({SEA}))).latest is not None


@asynchronous
async def test_who_stands_in_the_way_by_hearsay_is_asked_for(server: Server) -> None:
    """Nobody is refused a topic base for the sake of one who has it no more."""
    async with open_hands(server.url) as hands:
        other = wanted("other", base="mars")
        revision = await publish(hands, other, owner=SEA)
        heard = await hands.registry.all()
        seen = await see(hands, known=heard)
        assert make_plan(wanted("mars"), seen, DEFAULTS).obstacle("accepted") is not None
        for change in ("moved", "withdrawn"):
            if change == "moved":
                revision = await publish(hands, wanted("other", base="elsewhere"), owner=SEA)
            else:
                await hands.registry.withdraw("other", expected_revision=revision)
            seen = await see(hands, known=heard)
            assert make_plan(wanted("mars"), seen, DEFAULTS).obstacle("accepted") is None, change


@asynchronous
async def test_who_was_not_heard_of_is_met_at_their_stream(server: Server) -> None:
    """A topic base is never taken from somebody whose publication is news that did not arrive yet."""
    async with open_hands(server.url) as hands:
        await hands.converge(wanted("other", base="mars", owner=SEA))
        seen = await see(hands, known=NOBODY)
        plan = make_plan(wanted("mars"), seen, DEFAULTS)
        obstacle = plan.obstacle("stream")
        assert (plan.actions, obstacle and obstacle.reason) == ((), "ForeignStream")
        assert obstacle is not None
        assert str(SEA) in obstacle.message


@asynchronous
async def test_the_same_event_type_of_another_is_seen_without_hearing_of_it(server: Server) -> None:
    """It is the version that is asked for."""
    async with open_hands(server.url) as hands:
        await hands.converge(wanted("mars", owner=SEA))
        plan = make_plan(wanted("mars"), await see(hands, known=NOBODY), DEFAULTS)
        obstacle = plan.obstacle("accepted")
        assert obstacle is not None
        assert (obstacle.reason, plan.actions) == ("Conflicted", ())
        assert str(SEA) in obstacle.message


@asynchronous
async def test_a_look_asks_the_broker_twice(server: Server) -> None:
    """For the version and the stream, however many others there are; who stands in the way is one more."""
    async with open_hands(server.url) as judge:
        for number in range(10):
            await judge.converge(wanted(f"other{number}"))
        known = await judge.registry.all()
        await publish(judge, wanted("more", base="mars"), owner=SEA)
        more = await judge.registry.all()
    asked: list[str] = []

    async def note(subject: str) -> None:
        asked.append(subject)

    async with open_hands(server.url, before=note) as hands:
        asked.clear()
        await see(hands, known=known)
        assert len(asked) == 2
        asked.clear()
        await see(hands, known=more)
        assert len(asked) == 3


@asynchronous
async def test_a_stream_of_that_name_that_is_bound_otherwise_is_seen(server: Server) -> None:
    """It is foreign: nothing can be made under its name."""
    await ask_broker(server.url, "STREAM.CREATE.MARS", {"name": "MARS", "subjects": ["orders.new", "x.*"]})
    async with open_hands(server.url) as hands:
        seen = await see(hands)
        assert seen.stream is not None
        assert seen.stream.configuration.subjects == ("orders.new", "x.*")
        assert isinstance(seen.latest, Published | None)
        obstacle = make_plan(wanted("mars"), seen, DEFAULTS).obstacle("stream")
        assert obstacle is not None
        assert obstacle.reason == "ForeignStream"
