"""Looking at everything again, now and then: what was missed is found, and what was changed by hand is put right.

A resync lists the objects, has each looked at, and looks for what has lost its object while nobody saw it: schemas that
are still published, streams that nobody is said to own. It has finished when every object has been looked at. How long
ago that was is what the operator's health is judged by.
"""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Final

from aviso_core.errors import AvisoError, Unavailable
from aviso_core.registry.base import Withdrawn
from aviso_http.records.log import Log
from aviso_operator.letting_go import base_of, read_owner

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from aviso_core.clock import Clock
    from aviso_core.eventlog.jetstream.owned import FoundStream
    from aviso_operator.cluster import Cluster
    from aviso_operator.letting_go import LettingGo
    from aviso_operator.objects import Objects
    from aviso_operator.queue import WorkQueue
    from aviso_operator.steps import Broker

_RETRY_SECONDS: Final = 5.0
# Looks are spread over this part of the time between two resyncs.
_SPREAD: Final = 0.25
_INTERVALS_OF_PATIENCE: Final = 3

log = Log("aviso_operator.resync")


class Resync:
    """Has everything looked at."""

    def __init__(
        self,
        cluster: Cluster,
        broker: Broker,
        *,
        letting_go: LettingGo,
        objects: Objects,
        queue: WorkQueue,
        clock: Clock,
        seconds: float,
        chance: random.Random | None = None,
    ) -> None:
        self._cluster = cluster
        self._broker = broker
        self._letting_go = letting_go
        self._objects = objects
        self._queue = queue
        self._clock = clock
        self._seconds = seconds
        self._chance = chance or random.Random()  # noqa: S311 (spreads load, keeps no secret)
        self._finished_at = clock.monotonic()
        self._waited_for: set[str] = set()
        self._is_done = asyncio.Event()
        self.is_loaded = False

    @property
    def age_seconds(self) -> float:
        """How long ago a resync finished; before the first, how long it is being waited for."""
        return self._clock.monotonic() - self._finished_at

    @property
    def is_on_time(self) -> bool:
        """Whether resyncs finish as often as they should."""
        return self.age_seconds < self._seconds * _INTERVALS_OF_PATIENCE

    def looked(self, key: str) -> None:
        """Take note that an object was looked at."""
        self._waited_for.discard(key)
        if not self._waited_for:
            self._is_done.set()

    async def run_for_ever(self) -> None:
        """Resync now and then; the first time at once."""
        spread = 0.0
        while True:
            try:
                await self._resync(spread)
            except AvisoError as error:
                log.warning("operator.resync.failed", "not everything could be looked at", error=error)
                await asyncio.sleep(_RETRY_SECONDS)
                continue
            spread = self._seconds * _SPREAD
            await asyncio.sleep(self._seconds * self._chance.uniform(0.8, 1.0))

    async def _resync(self, spread: float) -> None:
        gone = await self._list()
        self._is_done.clear()
        self._waited_for = {resource.key for resource in self._objects}
        for resource in self._objects:
            self._queue.add(resource.key, seconds=self._chance.uniform(0.0, spread))
        for key in gone:
            self._queue.add(key)
        self.is_loaded = True
        if self._waited_for:
            await self._is_done.wait()
        if self._broker.is_there():
            await self._let_go_of_orphans()
        self._finished_at = self._clock.monotonic()
        log.debug("operator.resync.finished", "everything was looked at", objects=len(self._objects))

    async def _list(self) -> set[str]:
        namespaces: Iterable[str | None] = self._objects.watched.namespaces or (None,)
        gone: set[str] = set()
        for namespace in namespaces:
            listing = await self._cluster.list_all(namespace)
            for reason in listing.unreadable:
                log.error("operator.object.unreadable", "an object cannot be read", reason=reason)
            gone |= self._objects.see_all(listing.resources, at=listing.resource_version, namespace=namespace)
        self._objects.be_loaded()
        return gone

    async def _let_go_of_orphans(self) -> None:
        try:
            published, streams = await self._broker.registry.all(), await self._broker.streams.all()
        except Unavailable as error:
            # As where the broker is not there: objects say so themselves, and who lost theirs is found next time.
            log.warning("operator.orphans.not_sought", "nobody tells what has lost its object", error=error)
            return
        for version in published.values():
            if isinstance(version, Withdrawn) or version.owner is None:
                continue
            if not self._objects.is_alive(version.owner):
                self._queue.add(str(version.owner))
        for stream in streams:
            stamps = stream.stamps
            if stamps is None or stamps.orphaned_at is not None:
                continue
            resource = self._objects.get(stamps.owner)
            if not self._objects.is_alive(read_owner(stamps.owner)):
                await self._let_go_of(stream, self._letting_go.of_stream)
            elif resource is not None and base_of(resource).lower() != stream.base.lower():
                await self._let_go_of(stream, self._letting_go.of_former_stream)

    async def _let_go_of(self, stream: FoundStream, let_go: Callable[[FoundStream], Awaitable[None]]) -> None:
        """Let go of a stream. One that cannot be let go of must not keep everything else from being looked at."""
        try:
            await let_go(stream)
        except AvisoError as error:
            name = stream.configuration.name
            log.warning("operator.orphan.kept", "a stream cannot be let go of", error=error, stream=name)
