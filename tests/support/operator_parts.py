"""The operator's parts without kopf and without a process: on a real broker, before a stand-in for the API server.

Nobody works at the queue here: what was put into it is what the tests look at, or they look themselves.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from aviso_core.registry.acknowledgements import Answer, RollCall
from aviso_operator.letting_go import LettingGo
from aviso_operator.locks import Locks
from aviso_operator.metrics import Metrics
from aviso_operator.objects import Objects
from aviso_operator.options import Watched
from aviso_operator.propagation import Propagation
from aviso_operator.queue import WorkQueue
from aviso_operator.steps import Broker, Steps
from support.appliers import open_hands
from support.registries import ManualClock
from support.stand_in_cluster import StandInCluster, standing_in

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from aviso_core.registry.base import Owner, Version
    from aviso_core.registry.follower import Follower
    from aviso_operator.cluster import Cluster
    from aviso_operator.resources import Resource
    from aviso_operator.steps import FindObject
    from support.appliers import Hands
    from support.asking import BeforeAsking

WITHDRAWAL_SECONDS: Final = 0.3
PATIENCE_SECONDS: Final = 10.0


class Parts(NamedTuple):
    """What there is."""

    kept: StandInCluster
    cluster: Cluster
    hands: Hands
    broker: Broker
    objects: Objects
    queue: WorkQueue
    propagation: Propagation
    metrics: Metrics
    letting_go: LettingGo
    clock: ManualClock
    follower: Follower

    def report(self, process: str, **revisions: int) -> None:
        """Have one process say which revisions it serves; all others are gone."""
        call = RollCall()
        call.reports = {process: {name: Answer(revision=number) for name, number in revisions.items()}}
        call.is_loaded = True
        self.propagation.take_call(call)

    async def wait_heard(self, event_type: str, kind: type[Version]) -> None:
        """Wait until the operator has heard of such a version of an event type."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not isinstance(self.broker.known().get(event_type), kind):
                await self.follower.wait_changed(self.follower.served)


def as_seen(objects: Objects) -> FindObject:
    """Return what finds objects where nothing happens to them but what the operator has seen."""

    async def find(owner: Owner) -> Resource | None:
        return objects.get(str(owner))

    return find


@asynccontextmanager
async def open_parts(
    url: str, *, watched: Watched | None = None, before: BeforeAsking | None = None
) -> AsyncIterator[Parts]:
    """Put the parts together for as long as the block runs; `before` is told of each question to the broker."""
    kept, clock, metrics = StandInCluster(), ManualClock(), Metrics(version="0")
    objects = Objects(watched or Watched(None))
    propagation = Propagation(clock, on_news=lambda _: None, on_all=lambda _: None)
    async with AsyncExitStack() as stack:
        cluster = await stack.enter_async_context(standing_in(kept))
        hands = await stack.enter_async_context(open_hands(url, before=before))
        follower = await stack.enter_async_context(hands.registry.follow(lambda _: None))
        await follower.wait_loaded()
        broker = Broker(
            streams=hands.streams,
            registry=hands.registry,
            known=lambda: {name: one.latest for name, one in follower.served.known.items()},
            is_there=lambda: hands.connection.is_connected,
        )
        steps = Steps(
            broker,
            locks=Locks(),
            propagation=propagation,
            metrics=metrics,
            is_alive=objects.is_alive,
            find_object=as_seen(objects),
            withdrawal_seconds=WITHDRAWAL_SECONDS,
        )
        letting_go = LettingGo(steps, objects=objects, propagation=propagation, metrics=metrics, clock=clock)
        yield Parts(
            kept,
            cluster,
            hands,
            broker,
            objects,
            WorkQueue(),
            propagation,
            metrics,
            letting_go,
            clock,
            follower,
        )
