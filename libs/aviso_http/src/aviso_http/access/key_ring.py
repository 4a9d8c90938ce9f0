"""The keys of one issuer as they are now, kept current.

They are read anew every so often beside the requests, and at once when a token names a key that is not among them: that
is how a rotation looks from here. Anybody can make up such a name, so it is looked for at most every few seconds, and
everybody who asks meanwhile waits for the same answer. While the source cannot be read the keys that are there go on
being used, for a day: longer than that, a key which was withdrawn would be believed for as long as the source is down.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from aviso_core.errors import AccessUnavailable
from aviso_http.access.auth_service import UNAVAILABLE
from aviso_http.access.flights import Flights
from aviso_http.access.public_keys import UnfitKey, read_key_set
from aviso_http.access.reply import Unanswered
from aviso_http.records.log import Log

if TYPE_CHECKING:
    from aviso_core.clock import Clock
    from aviso_http.access.key_sources import LoadKeys, PublishedKeys
    from aviso_http.access.public_keys import KeySet, PublicKey

PAUSE_SECONDS: Final = 10.0
TRUSTED_SECONDS: Final = 86_400.0
# Without a name all keys are tried, and each try costs as much as a valid token.
_MOST_TRIES: Final = 8

log = Log("aviso_http.access")


class KeyRing:
    """The keys of an issuer. `name` is for the log; `issuer` is whose they are, from the source if it is empty."""

    def __init__(self, load: LoadKeys, *, name: str, issuer: str, clock: Clock) -> None:
        self._load = load
        self._name = name
        self._configured_issuer = issuer
        self._clock = clock
        self._flights: Flights[None] = Flights()
        self._document: PublishedKeys | None = None
        self._keys: KeySet | None = None
        self._read_at = 0.0
        self._asked_at = float("-inf")
        self._failed = False

    @property
    def issuer(self) -> str | None:
        """Whose keys these are; None as long as only the source knows and was not read."""
        published = self._document.issuer if self._document else None
        return self._configured_issuer or published

    async def candidates(self, algorithm: str, key_id: str | None) -> tuple[PublicKey, ...]:
        """Return the keys that a token may be signed with, after looking for new ones if there is none."""
        found = self._candidates(algorithm, key_id)
        if not found and await self.look_again():
            found = self._candidates(algorithm, key_id)
        if not found and (self._usable() is None or self._failed):
            # The key may exist: nobody knows.
            raise AccessUnavailable(UNAVAILABLE)
        return found

    async def look_again(self) -> bool:
        """Read the source, unless that was done a moment ago; tell whether it was read."""
        if self._clock.monotonic() < self._asked_at + PAUSE_SECONDS and not self._flights.under_way(self):
            return False
        await self.refresh()
        return True

    async def refresh(self) -> None:
        """Read the source. If that fails the keys stay as they are, and the log has why."""
        await self._flights.join(self, self._refresh)

    async def keep_fresh(self, *, every_seconds: float) -> None:
        """Read the source now and every so often, for as long as this runs."""
        while True:
            await self.refresh()
            await asyncio.sleep(min(every_seconds, PAUSE_SECONDS) if self._failed else every_seconds)

    def _candidates(self, algorithm: str, key_id: str | None) -> tuple[PublicKey, ...]:
        keys = self._usable()
        return keys.candidates(algorithm, key_id)[:_MOST_TRIES] if keys else ()

    def _usable(self) -> KeySet | None:
        return self._keys if self._clock.monotonic() <= self._read_at + TRUSTED_SECONDS else None

    async def _refresh(self) -> None:
        self._asked_at = self._clock.monotonic()
        # Until it is known better, also for those who come while this waits and is given up.
        self._failed = True
        try:
            published = await self._load()
            if published != self._document:
                self._take(published)
        except (Unanswered, UnfitKey) as error:
            log.warning(
                "auth.keys.refresh.failed", "a key set cannot be read", issuer=self._name, reason=str(error)
            )
        else:
            self._failed = False
            self._read_at = self._clock.monotonic()

    def _take(self, published: PublishedKeys) -> None:
        self._keys = read_key_set(published.document)
        self._document = published
        log.info(
            "auth.keys.refreshed",
            "a key set was read",
            issuer=self._name,
            keys=len(self._keys.keys),
            left_out="; ".join(self._keys.left_out),
        )
