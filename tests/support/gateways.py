"""A stream gateway within the loop: its own parts over a log and a registry, and no sockets.

It is put together by the service's own function, so what a test talks to is the service behind its routes. Whose
connection it is given is the test's.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Final
from uuid import UUID

from aviso_core.fields.choice import ChoiceField
from aviso_core.fields.integer import IntegerField
from aviso_core.schema.event_type import EventType
from aviso_core.schema.model import Schema, Topic
from aviso_http.access.open import OpenAccess
from aviso_http.access.plugins import ReadPlugins
from aviso_http.body import ClientGone
from aviso_http.draining import Draining
from aviso_http.metrics.metrics import Metrics
from aviso_http.process import Process
from aviso_http.protocol import HAND_OVER
from aviso_http.records.counts import RecordCounts
from aviso_http.telemetry import PassingOn
from aviso_stream_gateway.app import assemble
from support.readers import Reader
from support.services import settings_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from random import Random

    from aviso_core.clock import Clock
    from aviso_core.eventlog.base import EventLog
    from aviso_core.registry.follower import Follower
    from aviso_core.registry.memory import MemoryRegistry
    from aviso_core.schema.catalog import Catalog
    from aviso_core.settings.model import Settings
    from aviso_http.asgi import Application, Scope
    from support.connections import Connection
    from support.sse import Frame

WATCH: Final = "/api/v1/watch"
REPLAY: Final = "/api/v1/replay"

CLASSES: Final = ("od", "rd", "ea")
MARS: Final = Schema(
    event_type="mars",
    topic=Topic(base="mars", key_order=("class", "step")),
    fields=(
        ChoiceField(name="class", values=CLASSES),
        IntegerField(name="step", minimum=0, maximum=1_000_000),
    ),
)
MARS_EVENTS: Final = EventType(MARS)


class Gateway:
    """A gateway at work. Made by `running_gateway`."""

    def __init__(self, process: Process, routes: dict[str, Application]) -> None:
        self._process = process
        self._routes = routes
        self._requests: set[asyncio.Task[None]] = set()
        self._readers: list[Reader] = []
        # What requests ended with that the service does not mean to raise.
        self.bugs: list[BaseException | None] = []
        self._count = 0

    def ask(
        self,
        path: str,
        body: object,
        *,
        is_handed_over: bool = True,
        on_frame: Callable[[Frame], None] | None = None,
    ) -> Reader:
        """Ask for a stream, and return who reads it before there is any answer."""
        self._count += 1
        reader = Reader(body, is_handed_over=is_handed_over, on_frame=on_frame)
        self._readers.append(reader)
        connection = reader.connection
        scope: Scope = {
            "type": "http",
            "method": "POST",
            "path": path,
            "headers": [],
            "client": ("127.0.0.1", 1),
            "state": {"request_id": str(UUID(int=self._count)), "user": None, "traceparent": None},
            "extensions": {HAND_OVER: connection.hand_over},
        }
        request = asyncio.create_task(self._serve(path, scope, connection))
        self._requests.add(request)

        def answered(request: asyncio.Task[None]) -> None:
            self._answered(request)
            connection.answered()

        request.add_done_callback(answered)
        return reader

    async def _serve(self, path: str, scope: Scope, connection: Connection) -> None:
        await self._routes[path](scope, connection.receive, connection.send)

    def _answered(self, request: asyncio.Task[None]) -> None:
        self._requests.discard(request)
        if not request.cancelled() and not isinstance(request.exception(), ClientGone | None):
            self.bugs.append(request.exception())

    def drain(self) -> None:
        """Tell it to stop."""
        self._process.draining.begin()

    def lose_connections(self) -> None:
        """Break every connection, as when the process is killed."""
        for reader in self._readers:
            if not reader.is_over:
                reader.connection.abort()
        self._readers.clear()

    def lose_a_connection(self, chance: Random) -> None:
        """Break one of the connections, if there are any."""
        self._readers = [reader for reader in self._readers if not reader.is_over]
        if self._readers:
            chance.choice(self._readers).connection.abort()

    async def wait_answered(self) -> None:
        """Wait until no request is being answered."""
        while self._requests:
            await asyncio.wait(self._requests)


def settings(*, watch: dict[str, int] | None = None, streams: dict[str, int] | None = None) -> Settings:
    """Return the settings of a gateway; what is not named is as it usually is."""
    return settings_of({"watch_endpoint": watch or {}, "streams": streams or {}})


@asynccontextmanager
async def running_gateway(
    event_log: EventLog, registry: MemoryRegistry, clock: Clock, settings: Settings
) -> AsyncIterator[Gateway]:
    """Run a gateway for as long as the block runs; its streams are drained behind it."""
    metrics = Metrics(version="0", backend="in_memory", records=RecordCounts())
    on_catalog: list[Callable[[Catalog], None]] = []

    def tell(follower: Follower) -> None:
        metrics.declare_event_types(follower.catalog.event_types)
        for one in on_catalog:
            one(follower.catalog)

    async with AsyncExitStack() as parts:
        process = Process(
            settings=settings,
            version="0",
            clock=clock,
            follower=await parts.enter_async_context(registry.follow(tell)),
            event_log=event_log,
            access=OpenAccess(),
            plugins=ReadPlugins({}),
            metrics=metrics,
            traces=PassingOn(),
            draining=Draining(),
            on_catalog=on_catalog,
        )
        routes = assemble(process)
        for kept in routes.keeps:
            await parts.enter_async_context(kept)
        gateway = Gateway(process, {hot.path: hot.application for hot in routes.hot})
        try:
            yield gateway
        finally:
            gateway.drain()
            await gateway.wait_answered()
            assert not gateway.bugs, gateway.bugs
