"""Letting go of what belongs to objects that are no more, or that declare something else now.

What is retained is withdrawn, and its stream says since when nobody owns it. Only an object that is held back by our
finalizer takes its stream along, and before it may go.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from aviso_core.errors import AvisoError
from aviso_core.planning.removal import Removed, plan_removal
from aviso_core.registry.base import Owner, Published, Unreadable
from aviso_operator.steps import Overtaken

if TYPE_CHECKING:
    from collections.abc import Callable

    from aviso_core.clock import Clock
    from aviso_core.eventlog.jetstream.owned import FoundStream
    from aviso_core.schema.manifest_parts import DeletionPolicy
    from aviso_operator.metrics import Metrics
    from aviso_operator.objects import Objects
    from aviso_operator.propagation import Propagation
    from aviso_operator.resources import Resource
    from aviso_operator.steps import Steps


class LetGoRefused(AvisoError):
    """The broker does not let a stream go."""

    code = "LET_GO_REFUSED"


class LettingGo:
    """Withdraws, stamps and deletes."""

    def __init__(
        self, steps: Steps, *, objects: Objects, propagation: Propagation, metrics: Metrics, clock: Clock
    ) -> None:
        self._steps = steps
        self._objects = objects
        self._propagation = propagation
        self._metrics = metrics
        self._clock = clock

    async def of_object(self, key: str) -> None:
        """Let go of everything that belongs to an object which is no more."""
        owner = read_owner(key)
        gone = self._objects.gone(key)
        places = {} if gone is None else {gone.event_type: base_of(gone)}
        for event_type, base in (places | self._published_for(owner)).items():
            await self._remove(owner, event_type, base, "Retain", is_meant=_is_no_more)
        self._objects.forget(key)

    async def of_former_event_types(self, resource: Resource) -> None:
        """Let go of what an object of this name declared before it was made again."""
        owner = Owner(resource.namespace, resource.name)
        for event_type, base in self._published_for(owner).items():
            if event_type != resource.event_type:
                await self._remove(
                    *(owner, event_type, base, "Retain"),
                    is_meant=lambda now: now is not None and now.uid == resource.uid,
                )

    async def of_stream(self, stream: FoundStream) -> None:
        """Let go of a stream whose owner is no more."""
        assert stream.stamps is not None, "only what was stamped has had an owner"
        stamps = stream.stamps
        await self._remove(
            read_owner(stamps.owner), stamps.event_type, stream.base, "Retain", is_meant=_is_no_more
        )

    async def of_former_stream(self, stream: FoundStream) -> None:
        """Let go of the stream of a base that its owner had before it was made again; what it declares now stays."""
        assert stream.stamps is not None, "only what was stamped has had an owner"
        stamps = stream.stamps
        removed = Removed(owner=read_owner(stamps.owner), event_type=stamps.event_type)
        async with self._steps.alone(stamps.event_type, stream.base):
            now = self._now()
            # Where it is declared again by now, it is not what is let go of.
            with suppress(Overtaken):
                await self._steps.carry_out(
                    stamps.event_type,
                    stream.base,
                    lambda seen: plan_removal(removed, msgspec.structs.replace(seen, latest=None), now=now),
                    owner=removed.owner,
                    is_meant=lambda now: now is None or base_of(now).lower() != stream.base.lower(),
                )

    async def with_stream(self, resource: Resource) -> None:
        """Do what has to be done before an object may go that takes its stream along."""
        owner = Owner(resource.namespace, resource.name)
        await self._remove(
            *(owner, resource.event_type, base_of(resource), "Delete"),
            uid=resource.uid,
            is_meant=lambda now: now is None or now.uid == resource.uid,
        )

    def _published_for(self, owner: Owner) -> dict[str, str]:
        """Return the event types that are published for an owner, each with its base, as far as it can be read."""
        return {
            name: version.schema.base if isinstance(version, Published) else name
            for name, version in self._steps.heard().items()
            if isinstance(version, Published | Unreadable) and version.owner == owner
        }

    async def _remove(
        self,
        owner: Owner,
        event_type: str,
        base: str,
        policy: DeletionPolicy,
        *,
        is_meant: Callable[[Resource | None], bool],
        uid: str = "",
    ) -> None:
        removed = Removed(owner=owner, event_type=event_type, uid=uid, policy=policy)
        async with self._steps.alone(event_type, base):
            now = self._now()
            try:
                outcome = await self._steps.carry_out(
                    event_type,
                    base,
                    lambda seen: plan_removal(removed, seen, now=now),
                    owner=owner,
                    is_meant=is_meant,
                )
            except Overtaken:
                # There is an object of this name again, so what was to be let go of may be its own.
                return
        if outcome.refused is not None:
            raise LetGoRefused(outcome.refused.message)
        if not isinstance(outcome.seen.latest, Published):
            self._propagation.forget(event_type)
            self._metrics.withdrawn(event_type)

    def _now(self) -> str:
        now = datetime.fromtimestamp(self._clock.now_ns() // 1_000_000_000, UTC)
        return now.strftime("%Y-%m-%dT%H:%M:%SZ")


def _is_no_more(now: Resource | None) -> bool:
    return now is None


def read_owner(key: str) -> Owner:
    """Return the owner that is written `namespace/name`."""
    namespace, _, name = key.partition("/")
    return Owner(namespace, name)


def base_of(resource: Resource) -> str:
    """Return the topic base that an object declares; the API server has seen to it that it is there."""
    topic = resource.spec["topic"]
    assert isinstance(topic, dict), "the definition says so"
    return str(topic["base"])
