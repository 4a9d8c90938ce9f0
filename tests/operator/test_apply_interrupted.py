"""An operator that is stopped anywhere, or whose broker is: whoever looks next ends where it would have ended.

Every situation that a plan is made for is stopped after each of its actions, also by a broker that is killed there, and
before each single question and write. In the end it is as wanted, by exactly the revisions that it would have been, in
the same stream, with every event in it that was acknowledged.
"""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import msgspec
import pytest

from aviso_core.planning.actions import ChangeStream, CreateStream, Publish, StampStream
from aviso_core.schema.stamps import Stamps
from aviso_core.schema.stream import StreamConfiguration, differences
from aviso_operator.apply import Ports, apply, published_revision
from support.appliers import (
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
from support.event_logs import asynchronous
from support.nats import Server, running_server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aviso_operator.apply import Done

_names: Final = itertools.count()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Run a broker; every test has names of its own."""
    with running_server(tmp_path_factory.mktemp("broker")) as server:
        yield server


# --- the situations --------------------------------------------------------------------------------------

Prepare: TypeAlias = Callable[[Hands, str], Awaitable[None]]


class Situation(NamedTuple):
    """What there is, what is wanted, and what comes of it."""

    prepare: Prepare
    wish: Callable[[str], Wish]
    # The actions of the whole plan, by their names.
    actions: str
    # How many versions there are more in the end, marks of withdrawal included.
    versions: int
    # How many of the events stay; none where the stream goes.
    kept: int = len(EVENTS)


async def nothing(hands: Hands, name: str) -> None:
    """Prepare nothing."""


def declared(**wish: Any) -> Prepare:
    """Prepare what such a resource had wanted before."""

    async def prepare(hands: Hands, name: str) -> None:
        await hands.converge(wanted(name, **wish))

    return prepare


def there(stamps: Callable[[str], Stamps] | None = None, **settings: Any) -> Prepare:
    """Prepare a stream that somebody else made."""

    async def prepare(hands: Hands, name: str) -> None:
        configuration = StreamConfiguration(name=name.upper(), subjects=(f"{name}.>",), **settings)
        await hands.streams.create(configuration, stamps(name).metadata() if stamps else {})

    return prepare


async def retained(hands: Hands, name: str) -> None:
    """Prepare what is left of a resource that was removed."""
    await hands.converge(wanted(name))
    await hands.converge(gone(name))


async def half_removed(hands: Hands, name: str) -> None:
    """Prepare a resource whose stream was changed by hand."""
    await hands.converge(wanted(name, retention_seconds=3600))
    stream = await hands.stream(name)
    drifted = msgspec.structs.replace(stream.configuration, max_messages=1000, compression="s2")
    await hands.streams.change(drifted, differences(drifted, stream.configuration), created=stream.created)


async def overtaken(hands: Hands, name: str) -> None:
    """Prepare two resources that were published with one topic base, ours later."""
    await hands.converge(wanted(f"other{name}", base=name))
    ours = wanted(name)
    await hands.registry.publish(ours.schema, expected_revision=0, owner=ours.owner, uid=ours.uid)


def orphan(name: str) -> Stamps:
    """Return the stamps of somebody who is gone."""
    return Stamps(owner=f"sea/{name}", uid="u9", event_type=name, orphaned_at="2025-01-01T00:00:00Z")


SITUATIONS: Final = {
    "a new object": Situation(nothing, wanted, "CreateStream Publish", 1),
    "an edited schema": Situation(declared(), lambda name: wanted(name, description="edited"), "Publish", 1),
    "a longer retention": Situation(
        declared(retention_seconds=3600, max_messages=50),
        lambda name: wanted(name, retention_seconds=7200, max_messages=80, compression=True),
        "ChangeStream Publish",
        1,
    ),
    "a limit that may lose data": Situation(
        declared(), lambda name: wanted(name, max_messages=5, shrink="Allow"), "ChangeStream Publish", 1, 5
    ),
    "a limit that may not": Situation(declared(), lambda name: wanted(name, max_messages=5), "Publish", 1),
    "a foreign stream is adopted": Situation(
        there(max_messages=50, duplicate_window_seconds=10),
        lambda name: wanted(name, adopts=name.upper(), keep_all=True),
        "StampStream ChangeStream Publish",
        1,
    ),
    "an orphan is adopted": Situation(
        there(orphan), lambda name: wanted(name, adopts=name.upper(), keep_all=True), "StampStream Publish", 1
    ),
    "a foreign stream is left": Situation(there(), wanted, "", 0),
    "declared again after it was retained": Situation(retained, wanted, "StampStream Publish", 1),
    "made anew under its name": Situation(
        declared(), lambda name: wanted(name, uid="u2"), "StampStream Publish", 1
    ),
    "a stream that was changed by hand": Situation(
        half_removed, lambda name: wanted(name, retention_seconds=3600), "ChangeStream", 0
    ),
    "somebody else has the topic base": Situation(overtaken, wanted, "Withdraw", 1),
    "removed and retained": Situation(declared(), gone, "Withdraw StampStream", 1),
    "removed with its stream": Situation(
        declared(), lambda name: gone(name, "Delete"), "Withdraw AwaitWithdrawn DeleteStream", 1, 0
    ),
    "removed, and somebody's stream has its name": Situation(
        there(), lambda name: gone(name, "Delete"), "", 0
    ),
}
every_situation = pytest.mark.parametrize("situation", SITUATIONS.values(), ids=SITUATIONS.keys())


# --- the judge -------------------------------------------------------------------------------------------


class Case:
    """One situation under a name of its own, and what must be true of it in the end."""

    def __init__(self, url: str, situation: Situation) -> None:
        self.url = url
        self.name = f"case{next(_names)}"
        self.situation = situation
        self.wish = situation.wish(self.name)
        self._created: set[str] = set()
        self._told: dict[int, bytes] = {}
        self._versions = 0

    async def prepare(self) -> None:
        """Bring about what there is, with events in it."""
        async with open_hands(self.url) as hands:
            await self.situation.prepare(hands, self.name)
            self._versions = len(await hands.versions(self.name))
            if await hands.streams.find(self.name) is not None:
                self._told |= await produce(self.url, self.name, EVENTS)
            await self.note(hands)

    async def note(self, hands: Hands) -> None:
        """Note which stream there is now."""
        found = await hands.streams.find(self.name)
        if found is not None:
            self._created.add(found.created)

    async def judge(self) -> None:
        """Look for oneself, as the next operator does; then see that all is as it must be."""
        async with open_hands(self.url) as hands:
            await self.note(hands)
            await hands.converge(self.wish)
            assert await hands.plan(self.wish) == ()
            await self.note(hands)
            assert len(self._created) <= 1, "the stream was made again"
            assert len(await hands.versions(self.name)) == self._versions + self.situation.versions
            if self.situation.kept:
                await self._judge_events()
            else:
                assert await hands.streams.find(self.name) is None

    async def _judge_events(self) -> None:
        kept = dict(sorted(self._told.items())[-self.situation.kept :])
        assert await stored(self.url, self.name) == kept
        more = await produce(self.url, self.name, ["more"])
        assert list(more) == [len(self._told) + 1]


class Stopped(Exception):
    """The operator is no more."""


class Boundaries:
    """Ports of an operator, with something that happens after so many things were done through them."""

    def __init__(self, ports: Ports, after: int, happens: Callable[[], None]) -> None:
        self._left = after
        self._happens = happens
        self.ports = Ports(
            streams=_Wrapped(ports.streams, self),
            registry=_Wrapped(ports.registry, self),
            withdrawals=_Wrapped(ports.withdrawals, self),
            withdrawal_seconds=ports.withdrawal_seconds,
        )

    def passed(self) -> None:
        """Count one more thing that was done."""
        self._left -= 1
        if self._left == 0:
            self._happens()
            raise Stopped


class _Wrapped:
    """A port of which everything that was done is counted, before it is told."""

    def __init__(self, port: Any, boundaries: Boundaries) -> None:
        self._port = port
        self._boundaries = boundaries

    def __getattr__(self, name: str) -> Any:
        doing = getattr(self._port, name)

        async def counted(*arguments: Any, **named: Any) -> Any:
            outcome = await doing(*arguments, **named)
            self._boundaries.passed()
            return outcome

        return counted


# --- stopped ---------------------------------------------------------------------------------------------


@every_situation
@asynchronous
async def test_a_situation_that_nobody_disturbs_is_done_with_in_one_plan(
    situation: Situation, server: Server
) -> None:
    """Each action is told as it is done, and the revision of what was published."""
    case = Case(server.url, situation)
    await case.prepare()
    told: list[Done] = []
    async with open_hands(server.url) as hands:
        seen = await hands.see(case.wish)
        actions = actions_of(case.wish, seen)
        assert " ".join(type(one).__name__ for one in actions) == situation.actions
        done = await apply(actions, seen, hands.ports, tell=told.append)
        assert tuple(told) == done
        assert tuple(one.action for one in done) == actions
        if published_revision(done) is not None:
            assert published_revision(done) == (await hands.latest(case.name)).revision
        assert await hands.plan(case.wish) == ()
    await case.judge()


@every_situation
@pytest.mark.parametrize("is_killed", [False, True], ids=["operator", "broker and operator"])
@asynchronous
async def test_stopped_after_any_action(situation: Situation, is_killed: bool, server: Server) -> None:
    """What it did is not known to whoever looks next, but by looking."""

    def kill_broker() -> None:
        server.kill()
        server.start()

    for place in range(1, len(situation.actions.split()) + 1):
        case = Case(server.url, situation)
        await case.prepare()
        told: list[Done] = []
        async with open_hands(server.url) as hands:
            happens = kill_broker if is_killed else lambda: None
            ports = Boundaries(hands.ports, place, happens).ports
            with pytest.raises(Stopped):
                await hands.converge(case.wish, ports=ports, tell=told.append)
        assert len(told) == place - 1
        await case.judge()


@every_situation
@asynchronous
async def test_stopped_before_any_question_or_write(situation: Situation, server: Server) -> None:
    """Also within an action, and while it looks."""
    for place in itertools.count(1):
        case = Case(server.url, situation)
        await case.prepare()
        stop = StopBefore(place)
        is_stopped = False
        async with open_hands(server.url, before=stop) as hands:
            stop.is_counting = True
            try:
                await hands.converge(case.wish)
            except Stopped:
                is_stopped = True
        await case.judge()
        if not is_stopped:
            return


class StopBefore:
    """Stops an operator before so many of its questions and writes, from when it is told to count them."""

    def __init__(self, place: int) -> None:
        self.is_counting = False
        self._left = place

    async def __call__(self, subject: str) -> None:
        """Count one."""
        if self.is_counting:
            self._left -= 1
            if not self._left:
                raise Stopped


# --- done twice ------------------------------------------------------------------------------------------


@asynchronous
async def test_actions_on_streams_may_be_done_again(server: Server) -> None:
    """A plan whose beginning was done before, by somebody who did not live to tell, is as good."""
    case = Case(server.url, SITUATIONS["a foreign stream is adopted"])
    await case.prepare()
    async with open_hands(server.url) as hands:
        seen = await hands.see(case.wish)
        actions = actions_of(case.wish, seen)
        *on_streams, publish = actions
        assert isinstance(publish, Publish)
        assert {type(one) for one in on_streams} == {StampStream, ChangeStream}
        await apply(on_streams, seen, hands.ports, tell=lambda _: None)
        await apply(actions, seen, hands.ports, tell=lambda _: None)
    await case.judge()


@asynchronous
async def test_a_stream_that_was_made_before_is_not_made_again(server: Server) -> None:
    """With what was stored into it meanwhile."""
    case = Case(server.url, SITUATIONS["a new object"])
    async with open_hands(server.url) as hands:
        seen = await hands.see(case.wish)
        create, _ = actions = actions_of(case.wish, seen)
        assert isinstance(create, CreateStream)
        await apply((create,), seen, hands.ports, tell=lambda _: None)
        made = await hands.stream(case.name)
        told = await produce(server.url, case.name, EVENTS)
        await apply(actions, seen, hands.ports, tell=lambda _: None)
        assert (await hands.stream(case.name)).created == made.created
        assert await hands.plan(case.wish) == ()
    assert await stored(server.url, case.name) == told
