"""How far published revisions have come: the processes that serve event types, and what each of them has taken.

The roll is called by the registry's acknowledgements. What is added here is whose status has to be looked at when an
answer comes, and waiting until nobody serves something that was withdrawn.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from aviso_core.errors import Unavailable
from aviso_core.registry.acknowledgements import RollCall, Standing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from aviso_core.clock import Clock


class _Expected(NamedTuple):
    """A revision that is waited for, and how everybody stood to it when that was told last."""

    revision: int
    since: float
    standings: Mapping[str, Standing]


class Propagation:
    """What became of each published revision. `on_news` is told of every event type whose revision moved on."""

    def __init__(self, clock: Clock, on_news: Callable[[str], None], on_all: Callable[[float], None]) -> None:
        self._clock = clock
        self._on_news = on_news
        self._on_all = on_all
        self._call = RollCall()
        self._expected: dict[str, _Expected] = {}
        self._changed = asyncio.Event()

    def take_call(self, call: RollCall) -> None:
        """Take the reports that are alive now."""
        self._call = call
        self._changed.set()
        self._changed = asyncio.Event()
        for event_type, expected in tuple(self._expected.items()):
            standings = call.acknowledged(event_type, expected.revision)
            if standings != expected.standings:
                self._note(event_type, expected._replace(standings=standings))
                self._on_news(event_type)

    def standings(self, event_type: str, revision: int) -> Mapping[str, Standing]:
        """Return how every living process stands to a revision, and tell of it when that changes."""
        standings = self._call.acknowledged(event_type, revision)
        expected = self._expected.get(event_type)
        since = self._clock.monotonic()
        if expected is not None and expected.revision == revision:
            since = expected.since
        self._note(event_type, _Expected(revision, since, standings))
        return standings

    def waited_seconds(self, event_type: str) -> float:
        """Return how long ago the revision of an event type was asked about first."""
        expected = self._expected.get(event_type)
        return 0.0 if expected is None else self._clock.monotonic() - expected.since

    def forget(self, event_type: str) -> None:
        """Tell no more of an event type."""
        self._expected.pop(event_type, None)

    async def wait_withdrawn(self, event_type: str, revision: int, *, seconds: float) -> tuple[str, ...]:
        """Wait until every process has taken the withdrawal; return who has not, when the time is over.

        `Unavailable` where nobody could tell within the time who is there at all.
        """
        try:
            async with asyncio.timeout(seconds):
                while not self._call.is_loaded or self._behind(event_type, revision):
                    await self._changed.wait()
        except TimeoutError:
            if not self._call.is_loaded:
                raise Unavailable("which processes serve event types is not known yet") from None
            return self._behind(event_type, revision)
        return ()

    async def wait_loaded(self) -> None:
        """Wait until the roll was called once."""
        while not self._call.is_loaded:
            await self._changed.wait()

    def _behind(self, event_type: str, revision: int) -> tuple[str, ...]:
        standings = self._call.acknowledged(event_type, revision)
        return tuple(name for name, standing in standings.items() if standing.state == "behind")

    def _note(self, event_type: str, expected: _Expected) -> None:
        before = self._expected.get(event_type)
        self._expected[event_type] = expected
        # What everybody had when it was first asked about may have been so for days: nobody has waited for it.
        was_all = before is None or (before.revision == expected.revision and _all(before.standings))
        if _all(expected.standings) and not was_all:
            self._on_all(self._clock.monotonic() - expected.since)


def _all(standings: Mapping[str, Standing]) -> bool:
    return bool(standings) and all(standing.state == "current" for standing in standings.values())
