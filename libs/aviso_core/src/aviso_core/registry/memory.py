"""A registry and its acknowledgements within the process: for tests, and for a process that is all there is.

The registry of a folder keeps what it has read in one of these, and what a configuration declares lies in one.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeAlias

from aviso_core.alongside import alongside
from aviso_core.registry.acknowledgements import (
    TIME_TO_LIVE_SECONDS,
    RollCall,
    seconds_between_renewals,
    take_roll,
)
from aviso_core.registry.base import (
    KEPT_VERSIONS,
    Conflict,
    Owner,
    Published,
    Version,
    Withdrawn,
    check_publishable,
    hash_of,
)
from aviso_core.registry.follower import Follower
from aviso_core.schema.model import encode_schema

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    from aviso_core.clock import Clock
    from aviso_core.registry.acknowledgements import OnRollCall, Report
    from aviso_core.registry.base import OnChange
    from aviso_core.schema.model import Schema

    # What to write under the revision that it is given.
    Writing: TypeAlias = Callable[[int], Version]


class MemoryRegistry:
    """A `WritableRegistry` in this process. Followers have a change by the time that the write returns.

    `is_configured` is the catalog's, for as long as there is no event type.
    """

    def __init__(self, *, is_configured: bool = True) -> None:
        self._is_configured = is_configured
        self._revision = 0
        self._versions: dict[str, deque[Version]] = {}
        self._followers: list[Follower] = []

    async def publish(
        self, schema: Schema, *, expected_revision: int, owner: Owner | None = None, uid: str | None = None
    ) -> int:
        """Publish a schema over the latest revision."""
        check_publishable(schema)
        self._check_latest(schema.event_type, expected_revision)
        return self.write([publication(schema, owner=owner, uid=uid)])

    async def withdraw(self, event_type: str, *, expected_revision: int) -> int:
        """Withdraw an event type at its latest revision."""
        self._check_latest(event_type, expected_revision)
        return self.write([lambda revision: Withdrawn(event_type=event_type, revision=revision)])

    def _check_latest(self, event_type: str, expected: int) -> None:
        latest = self.latest(event_type)
        revision = latest.revision if latest else 0
        if revision != expected:
            owner = None if latest is None or isinstance(latest, Withdrawn) else latest.owner
            raise Conflict(event_type, expected=expected, revision=revision, owner=owner)

    def latest(self, event_type: str) -> Version | None:
        """Return the latest version, or None."""
        versions = self._versions.get(event_type)
        return versions[-1] if versions else None

    def latest_of_all(self) -> dict[str, Version]:
        """Return the latest version of each event type."""
        return {event_type: versions[-1] for event_type, versions in self._versions.items()}

    def write(self, writings: Sequence[Writing]) -> int:
        """Write some versions, which followers get as one change; return the last revision."""
        written: list[Version] = []
        for writing in writings:
            self._revision += 1
            version = writing(self._revision)
            self._versions.setdefault(version.event_type, deque(maxlen=KEPT_VERSIONS)).append(version)
            written.append(version)
        for follower in list(self._followers):
            follower.take_in(written)
        return self._revision

    async def get(self, event_type: str) -> Version | None:
        """Return the latest version, or None."""
        return self.latest(event_type)

    async def all(self) -> Mapping[str, Version]:
        """Return the latest version of each event type."""
        return self.latest_of_all()

    async def history(self, event_type: str) -> Sequence[Version]:
        """Return the versions that are kept."""
        return tuple(self._versions.get(event_type, ()))

    @asynccontextmanager
    async def follow(self, on_change: OnChange, *, strict: bool | None = None) -> AsyncIterator[Follower]:
        """Follow for as long as the block runs; the follower is loaded from the beginning."""
        follower = Follower(on_change, strict=strict, is_configured=self._is_configured)
        follower.take_all(version for versions in self._versions.values() for version in versions)
        self._followers.append(follower)
        try:
            yield follower
        finally:
            self._followers.remove(follower)


def publication(schema: Schema, *, owner: Owner | None = None, uid: str | None = None) -> Writing:
    """Return what writes a schema, whatever it is called and whether it can be served or not."""
    spec_hash = hash_of(encode_schema(schema))
    return lambda revision: Published(
        event_type=schema.event_type,
        revision=revision,
        schema=schema,
        spec_hash=spec_hash,
        owner=owner,
        uid=uid,
    )


class MemoryAcknowledgements:
    """`Acknowledgements` in this process."""

    def __init__(self, clock: Clock, *, time_to_live_seconds: float = TIME_TO_LIVE_SECONDS) -> None:
        self.time_to_live_seconds = time_to_live_seconds
        self._clock = clock
        self._reports: dict[str, tuple[float, Report]] = {}
        self._calls: list[tuple[RollCall, OnRollCall]] = []

    async def report(self, process: str, report: Report) -> None:
        """Put a process's report in the place of its last one."""
        self._reports[process] = (self._clock.monotonic() + self.time_to_live_seconds, dict(report))
        self._tell()

    def leave(self, process: str) -> None:
        """Take a process off the roll."""
        self._reports.pop(process, None)
        self._tell()

    def _tell(self) -> None:
        now = self._clock.monotonic()
        self._reports = {process: kept for process, kept in self._reports.items() if kept[0] > now}
        for call, on_change in list(self._calls):
            take_roll(call, {process: report for process, (_, report) in self._reports.items()}, on_change)

    @asynccontextmanager
    async def follow(self, on_change: OnRollCall) -> AsyncIterator[RollCall]:
        """Follow the reports for as long as the block runs."""
        following = (RollCall(), on_change)
        self._calls.append(following)
        try:
            self._tell()
            async with alongside(self._tell_for_ever()):
                yield following[0]
        finally:
            self._calls.remove(following)

    async def _tell_for_ever(self) -> None:
        while True:
            await asyncio.sleep(seconds_between_renewals(self.time_to_live_seconds))
            self._tell()
