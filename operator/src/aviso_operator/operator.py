"""The operator at work: its parts, opened in the order in which they need each other, until it is told to stop."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from aviso_core.alongside import alongside
from aviso_core.broker.connection import open_connection
from aviso_core.broker.options import connection_options
from aviso_core.clock import SystemClock
from aviso_core.eventlog.jetstream.owned import OwnedStreams
from aviso_core.eventlog.open import stream_defaults
from aviso_core.registry.jetstream.acknowledgements import (
    acknowledgement_bucket,
    open_jetstream_acknowledgements,
)
from aviso_core.registry.jetstream.cluster_keys import cluster_keys_bucket, open_jetstream_cluster_keys
from aviso_core.registry.jetstream.registry import open_jetstream_registry, schema_bucket
from aviso_http.records.log import Log
from aviso_operator.announcements import Announcements
from aviso_operator.cluster import Cluster, ClusterRefused, Vanished, open_cluster
from aviso_operator.crd.installed import DOCUMENT, missing_members
from aviso_operator.endpoint import Health, open_endpoint
from aviso_operator.following import begin_following, until_one_ends
from aviso_operator.handlers import handlers
from aviso_operator.keys import copy_keys_for_ever
from aviso_operator.letting_go import LettingGo
from aviso_operator.locks import Locks
from aviso_operator.metrics import Metrics
from aviso_operator.objects import Objects
from aviso_operator.propagation import Propagation
from aviso_operator.queue import WorkQueue
from aviso_operator.reconcile import Reconciler
from aviso_operator.resync import Resync
from aviso_operator.status import StatusWriter
from aviso_operator.steps import Broker, Steps
from aviso_operator.waking import Waking

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from kubernetes.client import Configuration

    from aviso_core.broker.connection import Connection
    from aviso_core.registry.base import Version
    from aviso_core.registry.follower import Follower
    from aviso_core.settings.model import JetStream
    from aviso_operator.options import Run
    from aviso_operator.resources import Resource

WORKERS: Final = 8

log = Log("aviso_operator.operator")


class Wiring(NamedTuple):
    """What is not of this process: where the broker is and how streams are, how the cluster is reached, who we are."""

    jetstream: JetStream
    version: str
    pod: str
    cluster: Configuration | None = None


async def run(options: Run, wiring: Wiring, *, stop: asyncio.Event, on_ready: Callable[[int], None]) -> None:
    """Run until told to stop, or raise `AvisoError` for what keeps it from starting.

    `on_ready` is called with the endpoint's port as soon as objects are followed.
    """
    async with AsyncExitStack() as parts:
        cluster = await parts.enter_async_context(open_cluster(wiring.cluster))
        await _check_definition(cluster, options)
        connection = await parts.enter_async_context(open_connection(connection_options(wiring.jetstream)))
        await _Operator(options, wiring, cluster, connection, parts).work(stop, on_ready)


async def _check_definition(cluster: Cluster, options: Run) -> None:
    """Refuse to go on where objects cannot be listed, or would be cut by an older definition, and say why."""
    for namespace in options.watched.namespaces or (None,):
        try:
            await cluster.list_all(namespace)
        except Vanished as error:
            raise ClusterRefused(
                404,
                f"the cluster knows no EventSchema: install the definition (aviso-operator crd | kubectl apply -f -); "
                f"it says: {error}",
            ) from error
        except ClusterRefused as error:
            raise ClusterRefused(error.status, f"EventSchemas cannot be listed: {error}") from error
    try:
        missing = missing_members(await cluster.read(DOCUMENT))
    except (ClusterRefused, Vanished, msgspec.MsgspecError) as error:
        log.warning(
            "operator.definition.unknown",
            "the cluster does not tell what its definition of EventSchema is: an older one drops what it does not know",
            error=error,
        )
        return
    if missing:
        raise ClusterRefused(
            409,
            f"the cluster's definition of EventSchema is older than this operator and drops {', '.join(missing)}: "
            "apply the one of this release (aviso-operator crd | kubectl apply --server-side -f -)",
        )


class _Working(NamedTuple):
    """What does the work."""

    resync: Resync
    reconciler: Reconciler
    letting_go: LettingGo


class _Operator:
    """The parts of one operator."""

    def __init__(
        self, options: Run, wiring: Wiring, cluster: Cluster, connection: Connection, parts: AsyncExitStack
    ) -> None:
        self._options = options
        self._wiring = wiring
        self._cluster = cluster
        self._connection = connection
        self._parts = parts
        self._clock = SystemClock()
        self._metrics = Metrics(version=wiring.version)
        self._objects = Objects(options.watched)
        self._queue = WorkQueue()
        self._waking = Waking(self._objects, self._queue)
        self._propagation = Propagation(
            self._clock, on_news=self._waking.on_event_type, on_all=self._metrics.propagated
        )
        self._follower: Follower | None = None

    async def work(self, stop: asyncio.Event, on_ready: Callable[[int], None]) -> None:
        """Open what is missing, and follow the objects until told to stop."""
        self._connection.on_asked.append(self._metrics.asked)
        resync, reconciler, letting_go = await self._open()
        self._connection.on_back.append(self._waking.on_broker)
        port = await self._parts.enter_async_context(
            open_endpoint(
                self._options.host,
                self._options.port,
                healthy=lambda: _health(resync),
                ready=lambda: self._readiness(resync),
                metrics=lambda: self._render(resync),
            )
        )
        for _ in range(WORKERS):
            await self._parts.enter_async_context(
                alongside(self._queue.work_for_ever(self._looking(reconciler, resync)))
            )
        self._parts.callback(self._queue.close)
        await self._parts.enter_async_context(alongside(resync.run_for_ever()))
        following = await begin_following(
            handlers(self._objects, self._queue, reconciler, letting_go), self._options.watched, stop
        )
        log.info(
            "operator.started",
            "EventSchemas are followed",
            namespaces=str(self._options.watched),
            broker=self._connection.servers,
            port=port,
        )
        on_ready(port)
        await until_one_ends(following, stop)
        log.info("operator.stopped", "told to stop")

    async def _open(self) -> _Working:
        """Open what is on the broker: its buckets are ours to make."""
        enter, replicas = self._parts.enter_async_context, self._wiring.jetstream.replicas or 1
        registry = await enter(
            open_jetstream_registry(self._connection, schema_bucket(replicas=replicas), is_owner=True)
        )
        acknowledgements = await enter(
            open_jetstream_acknowledgements(
                self._connection, acknowledgement_bucket(replicas=replicas), is_owner=True
            )
        )
        keys = await enter(
            open_jetstream_cluster_keys(
                self._connection, cluster_keys_bucket(replicas=replicas), is_owner=True
            )
        )
        self._follower = await enter(registry.follow(self._waking.on_schemas))
        await self._follower.wait_loaded()
        await enter(acknowledgements.follow(self._propagation.take_call))
        await self._propagation.wait_loaded()
        keys_are_due = asyncio.Event()
        self._connection.on_back.append(keys_are_due.set)
        await enter(alongside(copy_keys_for_ever(self._cluster, keys, keys_are_due)))
        broker = Broker(
            streams=OwnedStreams(self._connection),
            registry=registry,
            known=self._known,
            is_there=lambda: self._connection.is_connected,
        )
        announcements = Announcements(self._cluster, self._clock, pod=self._wiring.pod)
        steps = Steps(
            broker,
            locks=Locks(),
            propagation=self._propagation,
            metrics=self._metrics,
            is_alive=self._objects.is_alive,
            find_object=self._cluster.find,
            withdrawal_seconds=self._options.withdrawal_seconds,
        )
        letting_go = LettingGo(
            steps,
            objects=self._objects,
            propagation=self._propagation,
            metrics=self._metrics,
            clock=self._clock,
        )
        reconciler = Reconciler(
            steps,
            letting_go,
            objects=self._objects,
            queue=self._queue,
            statuses=StatusWriter(self._cluster, self._objects, announcements, self._clock),
            propagation=self._propagation,
            metrics=self._metrics,
            defaults=stream_defaults(self._wiring.jetstream),
            clock=self._clock,
        )
        resync = Resync(
            self._cluster,
            broker,
            letting_go=letting_go,
            objects=self._objects,
            queue=self._queue,
            clock=self._clock,
            seconds=self._options.resync_seconds,
        )
        return _Working(resync, reconciler, letting_go)

    def _looking(self, reconciler: Reconciler, resync: Resync) -> Callable[[str], Awaitable[bool]]:
        async def look(key: str) -> bool:
            await self._objects.wait_loaded()
            try:
                return await reconciler.look(key)
            finally:
                resync.looked(key)

        return look

    def _known(self) -> Mapping[str, Version]:
        assert self._follower is not None, "opened before anybody looks"
        return {name: one.latest for name, one in self._follower.served.known.items()}

    # --- what is told ------------------------------------------------------------------------------------

    def _readiness(self, resync: Resync) -> Health:
        if not resync.is_loaded:
            return Health(False, "the objects of the cluster are not known yet")
        if not self._connection.is_connected:
            return Health(
                False, f"the broker at {self._connection.servers} is not there: {self._connection.last_error}"
            )
        return Health(True)

    def _render(self, resync: Resync) -> bytes:
        states = Counter(_ready_of(resource) for resource in self._objects)
        return self._metrics.render(
            ready=states, resync_age_seconds=resync.age_seconds, requests=self._cluster.requests
        )


def _health(resync: Resync) -> Health:
    if resync.is_on_time:
        return Health(True)
    return Health(False, f"not everything was looked at for {resync.age_seconds:.0f} s")


def _ready_of(resource: Resource) -> str:
    return next((one.status for one in resource.status.conditions if one.type == "Ready"), "Unknown")
