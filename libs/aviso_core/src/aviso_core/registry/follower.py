"""One reader of a registry: holds what is served now, and tells when it is another.

How versions arrive differs from registry to registry; what is made of them is `served`, and here it is kept.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from aviso_core.registry.served import Served, nothing_served, take_all, take_in
from aviso_core.registry.telling import tell

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from aviso_core.registry.base import OnChange, Refused, Version
    from aviso_core.schema.catalog import Catalog


class Follower:
    """What a registry's reader knows. Requests take `catalog` once and work with it to their end."""

    def __init__(self, on_change: OnChange, *, strict: bool | None, is_configured: bool = True) -> None:
        self.served: Served = nothing_served(strict, is_configured=is_configured)
        self.is_loaded = False
        self._on_change = on_change
        self._changed = asyncio.Event()

    @property
    def catalog(self) -> Catalog:
        """The event types in force."""
        return self.served.catalog

    @property
    def refused(self) -> Mapping[str, Refused]:
        """Why the latest version of some event types is not in force."""
        return self.served.refused

    def revision_of(self, event_type: str) -> int | None:
        """Return the revision in force, or None where there is none."""
        return self.served.revision_of(event_type)

    async def wait_loaded(self) -> None:
        """Wait until everything that there was has been seen once."""
        while not self.is_loaded:
            await self._changed.wait()

    async def wait_changed(self, since: Served) -> Served:
        """Wait until something else is served, and return that."""
        while self.served is since:
            await self._changed.wait()
        return self.served

    # --- for registries ----------------------------------------------------------------------------------

    def take_all(self, everything: Iterable[Version]) -> None:
        """Take everything that the registry has, the kept history of each event type, ascending."""
        is_first, self.is_loaded = not self.is_loaded, True
        self._become(take_all(self.served, everything), is_news=is_first)

    def take_in(self, news: Iterable[Version]) -> None:
        """Take versions that were added, ascending."""
        self._become(take_in(self.served, news), is_news=False)

    def _become(self, served: Served, *, is_news: bool) -> None:
        if served.known == self.served.known and not is_news:
            return
        self.served = served
        # Whoever waits looks at what is served, so a new event is only there for the next change.
        self._changed.set()
        self._changed = asyncio.Event()
        tell(self._on_change, self)
