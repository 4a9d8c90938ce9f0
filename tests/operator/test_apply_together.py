"""Two operators at once, by mistake: every step of one may fall between any two steps of the other.

What the broker is asked and told is one step each. A seed decides whose is next; it is printed with a failure, and
`AVISO_SIMULATION_SEED` takes it. However they fall together, both come to an end, with nothing left to do for either.
"""

from __future__ import annotations

import itertools
import os
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest

from aviso_core.planning.plan import Desired
from aviso_core.registry.base import Published
from support.appliers import (
    EVENTS,
    MOST_LOOKS,
    Hands,
    Wish,
    actions_of,
    apply_plan,
    gone,
    open_hands,
    produce,
    stored,
    wanted,
)
from support.event_logs import asynchronous
from support.nats import Server, running_server
from support.turns import Turns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_IS_LONG: Final = bool(os.environ.get("AVISO_LONG_TESTS"))
_GIVEN: Final = os.environ.get("AVISO_SIMULATION_SEED")
SEEDS: Final = [int(_GIVEN)] if _GIVEN else list(range(300 if _IS_LONG else 12))
# After so many looks, everybody knows the last word of the cluster.
_LOOKS_BEHIND: Final = 2
_names: Final = itertools.count()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Run a broker; every test has names of its own."""
    with running_server(tmp_path_factory.mktemp("broker")) as server:
        yield server


class Encounter(NamedTuple):
    """What there was, what is wanted now, and what one of the two thinks is wanted for a while."""

    before: Callable[[str], list[Wish]]
    now: Callable[[str], Wish]
    stale: Callable[[str], Wish]
    # How many versions there are more in the end, where both know what is wanted.
    versions: int | None = None


def _same(wish: Callable[[str], Wish], *before: Callable[[str], Wish], versions: int) -> Encounter:
    return Encounter(lambda name: [one(name) for one in before], wish, wish, versions)


def _another(**settings: Any) -> Callable[[str], Desired]:
    return lambda name: wanted(name, **settings)


ENCOUNTERS: Final = {
    "a new object": _same(wanted, versions=1),
    "an edited schema": _same(_another(description="edited"), wanted, versions=1),
    "an edited stream": _same(
        _another(retention_seconds=7200, max_messages=90),
        _another(retention_seconds=3600, max_messages=50),
        versions=1,
    ),
    "made anew, with another stream": _same(
        _another(uid="u2", max_messages=90), _another(max_messages=50), versions=1
    ),
    "declared again after it was retained": _same(wanted, wanted, gone, versions=1),
    "removed and retained": _same(gone, wanted, versions=1),
    "removed with its stream": _same(lambda name: gone(name, "Delete"), wanted, versions=1),
    "one is behind an edit": Encounter(
        lambda name: [wanted(name)],
        _another(description="second", retention_seconds=7200),
        _another(description="first", retention_seconds=3600),
    ),
    "one is behind a removal": Encounter(lambda name: [wanted(name)], gone, wanted),
    "one is behind a declaration": Encounter(lambda name: [wanted(name)], _another(uid="u2"), gone),
}


class Operator:
    """One of the two, with hands of its own; it looks until there is nothing left to do."""

    def __init__(self, hands: Hands, stale: Wish, now: Wish) -> None:
        self._hands = hands
        self._stale = stale
        self._now = now

    async def work(self) -> None:
        """Look and act."""
        for look in range(MOST_LOOKS):
            wish = self._stale if look < _LOOKS_BEHIND else self._now
            seen = await self._hands.see(wish)
            actions = actions_of(wish, seen)
            if actions:
                await apply_plan(actions, seen, self._hands.ports)
            elif wish == self._now:
                return
        raise AssertionError(f"still not as wanted after {MOST_LOOKS} looks")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("encounter", ENCOUNTERS.values(), ids=ENCOUNTERS.keys())
@asynchronous
async def test_two_operators_end_in_a_state_that_neither_changes(
    encounter: Encounter, seed: int, server: Server
) -> None:
    """One stream, all its events, and one more version where both wanted the same."""
    name = f"case{next(_names)}"
    turns = Turns(seed)
    async with open_hands(server.url) as judge:
        for wish in encounter.before(name):
            await judge.converge(wish)
        events, created = {}, None
        if (stream := await judge.streams.find(name)) is not None:
            created = stream.created
            events = await produce(server.url, name, EVENTS)
        versions = len(await judge.versions(name))

        now = encounter.now(name)
        await _together(server.url, turns, [(now, now), (encounter.stale(name), now)])

        assert await judge.plan(now) == (), turns.taken
        stream = await judge.streams.find(name)
        if isinstance(now, Desired):
            latest = await judge.latest(name)
            assert (latest.schema, latest.uid) == (now.schema, now.uid)
        else:
            assert not isinstance(await judge.registry.get(name), Published)
        if encounter.versions is not None:
            assert len(await judge.versions(name)) == versions + encounter.versions
        if isinstance(now, Desired) or now.policy == "Retain":
            assert stream is not None
            assert created in (None, stream.created), turns.taken
            assert await stored(server.url, name) == events
        else:
            assert stream is None


async def _together(url: str, turns: Turns, wishes: list[tuple[Wish, Wish]]) -> None:
    """Run an operator for each, all at the same time."""
    is_working = False
    async with AsyncExitStack() as stack:
        operators = []
        for place, (stale, now) in enumerate(wishes):

            async def take_turn(_: str, place: int = place) -> None:
                if is_working:
                    await turns.wait(f"operator {place}")

            hands = await stack.enter_async_context(open_hands(url, before=take_turn))
            operators.append(Operator(hands, stale, now))
        is_working = True
        try:
            await turns.work(*(one.work for one in operators))
        finally:
            is_working = False
