"""Users' destinations for a while, so that a server is not asked about every stream.

Only what servers really said is kept: a failure is asked again by the next one who comes. Several who come at once
for the same user wait for one answer. The size is bounded by users; the one that was put in first goes first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from aviso_http.access.ecpds.destinations import Destinations, Failure, Word
from aviso_http.access.flights import Flights

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from aviso_core.clock import Clock


class CountCache(Protocol):
    """Counts how the cache does."""

    def hit(self) -> None:
        """Count that somebody was found in it."""

    def miss(self) -> None:
        """Count that somebody was not."""

    def size(self, users: int) -> None:
        """Note how many users are in it now."""


class _Entry(NamedTuple):
    destinations: Destinations
    until: float


class DestinationCache:
    """Destinations by user."""

    def __init__(self, *, ttl_seconds: float, max_entries: int, clock: Clock, count: CountCache) -> None:
        self._ttl_seconds = ttl_seconds
        self._max_entries = max_entries
        self._clock = clock
        self._count = count
        self._entries: dict[str, _Entry] = {}
        self._flights: Flights[Word] = Flights()

    async def get(self, user: str, look_up: Callable[[], Awaitable[Word]]) -> Word:
        """Return what is known of the user, or what looking it up finds."""
        entry = self._entries.get(user)
        if entry is not None and self._clock.monotonic() < entry.until:
            self._count.hit()
            return entry.destinations
        self._count.miss()

        async def look_up_and_keep() -> Word:
            word = await look_up()
            if not isinstance(word, Failure):
                self._keep(user, word)
            return word

        return await self._flights.join(user, look_up_and_keep)

    def _keep(self, user: str, destinations: Destinations) -> None:
        self._entries.pop(user, None)
        while len(self._entries) >= self._max_entries:
            del self._entries[next(iter(self._entries))]
        self._entries[user] = _Entry(destinations, self._clock.monotonic() + self._ttl_seconds)
        self._count.size(len(self._entries))
