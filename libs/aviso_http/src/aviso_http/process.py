"""A service as a process: every part that all services have, opened in the order in which they need each other.

What differs from one service to the next is a function from these parts to its routes. The order matters twice: what
is needed first is opened first, and everything is closed the other way round, so that the log goes only after the last
request was answered.

Nothing here reads the environment or catches a signal; that is the `__main__` of each service.
"""

from __future__ import annotations

import gc
import resource as limits
from contextlib import AsyncExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from litestar import Litestar, Request, Response
from litestar.exceptions import HTTPException
from litestar.response.base import ASGIResponse

from aviso_core.clock import SystemClock
from aviso_core.errors import AvisoError
from aviso_core.eventlog.open import open_event_log
from aviso_core.registry.acknowledgements import process_name, reporting
from aviso_core.registry.open import open_registry
from aviso_core.settings.dump import dump
from aviso_core.startup import configured_catalog
from aviso_http.access.key_sources import from_registry
from aviso_http.access.open import open_access, open_read_plugins
from aviso_http.access.unmet import UnmetDemands
from aviso_http.cors import CrossOrigin
from aviso_http.draining import Draining
from aviso_http.front import Front
from aviso_http.health import health_routes
from aviso_http.metrics.listener import open_metrics_listener
from aviso_http.metrics.metrics import Metrics
from aviso_http.problems import Problems, internal_error
from aviso_http.records.counts import RecordCounts
from aviso_http.records.log import Log
from aviso_http.records.open import open_records
from aviso_http.records.resource import describe_process, describe_replica
from aviso_http.routes import RouteTable
from aviso_http.server import Patience, open_server
from aviso_http.signals import ToldToStop, given_up_on
from aviso_http.telemetry import open_traces

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from litestar.types import ControllerRouterHandler

    from aviso_core.clock import Clock
    from aviso_core.eventlog.base import EventLog
    from aviso_core.registry.follower import Follower
    from aviso_core.schema.catalog import Catalog
    from aviso_core.settings.model import Settings
    from aviso_http.access.base import Access
    from aviso_http.access.plugins import ReadPlugins
    from aviso_http.routes import Hot
    from aviso_http.telemetry import Traces

# How many objects come into being before the collector looks through them.
_YOUNG_OBJECTS: Final = 10_000

log = Log("aviso_http.process")


class Process(NamedTuple):
    """The live parts of a process."""

    settings: Settings
    version: str
    clock: Clock
    follower: Follower
    event_log: EventLog
    access: Access
    plugins: ReadPlugins
    metrics: Metrics
    traces: Traces
    draining: Draining
    # Who is told of every change of event types.
    on_catalog: list[Callable[[Catalog], None]]


class Routes(NamedTuple):
    """What a service answers: routes of the framework, and hot ones of its own.

    What else it has to keep is opened before anything is answered, and closed after the last answer.
    """

    handlers: Sequence[ControllerRouterHandler]
    hot: Sequence[Hot] = ()
    keeps: Sequence[AbstractAsyncContextManager[object]] = ()


class Assemble(Protocol):
    """A service: from the parts of a process to its routes."""

    def __call__(self, process: Process) -> Routes:
        """Put the routes together."""
        ...


async def run(
    settings: Settings,
    *,
    assemble: Assemble,
    service: str,
    environ: Mapping[str, str],
    version: str,
    stop: asyncio.Event,
    on_ready: Callable[[int], None],
) -> None:
    """Run a service until it is told to stop, or raise `AvisoError` for what keeps it from starting.

    `service` is its name, under which it says which revisions of event types it serves.

    `on_ready` is called with the port as soon as requests are answered.
    """
    _allow_open_files()
    configured = configured_catalog(settings)
    counts = RecordCounts()
    metrics = Metrics(version=version, backend=settings.notification_backend.kind, records=counts)
    resource = describe_process(environ, version=version)
    async with AsyncExitStack() as parts:
        parts.enter_context(open_records(settings.logging, resource=resource, counts=counts))
        parts.enter_context(_failure_told())
        log.info("startup.configuration.dumped", "effective configuration", configuration=dump(settings))
        traces = parts.enter_context(open_traces(settings.tracing, resource=resource))
        try:
            async with given_up_on(stop):
                identity = process_name(service, describe_replica(environ))
                process = await _open(settings, configured, version, identity, metrics, traces, parts)
        except ToldToStop:
            log.info("startup.server.stopping", "told to stop before it had started")
            return
        await parts.enter_async_context(open_metrics_listener(settings.metrics, metrics.render))
        routes = assemble(process)
        for kept in routes.keeps:
            await parts.enter_async_context(kept)
        server = await parts.enter_async_context(
            open_server(
                application_of(process, routes),
                host=settings.application.host,
                port=settings.application.port,
                draining=process.draining,
                patience=_patience(settings),
                reuse_port=settings.application.reuse_port,
            )
        )
        # What is there now stays: the collector need not look through it again and again.
        gc.collect()
        gc.freeze()
        # A page of history and a batch of records are thousands of objects without a cycle among them, which it would
        # look through time and again: a tenth of all work, where it looks as often as it does by itself.
        gc.set_threshold(_YOUNG_OBJECTS)
        log.info("startup.server.listening", "requests are answered", port=server.port)
        on_ready(server.port)
        await stop.wait()
        log.info("startup.server.stopping", "told to stop")


def _allow_open_files() -> None:
    """Let the process have as many files open as it may: each stream is one, and the usual bound is a thousand."""
    _, most = limits.getrlimit(limits.RLIMIT_NOFILE)
    # Some systems say that there is no bound, and refuse to be taken at their word.
    with suppress(ValueError):
        limits.setrlimit(limits.RLIMIT_NOFILE, (most, most))


def _patience(settings: Settings) -> Patience:
    """Return how long connections may take: requests that are streams at least for as long as streams take to end."""
    usual = Patience()
    return usual._replace(grace=max(usual.grace, settings.streams.drain_seconds + 5.0))


@contextmanager
def _failure_told() -> Iterator[None]:
    """Leave a record of what keeps the process from starting: who reads records may not see what a command prints."""
    try:
        yield
    except (AvisoError, ExceptionGroup) as error:
        log.error("startup.failed", str(error), error=error)
        raise


async def _open(
    settings: Settings,
    configured: Catalog,
    version: str,
    identity: str,
    metrics: Metrics,
    traces: Traces,
    parts: AsyncExitStack,
) -> Process:
    clock = SystemClock()
    is_operators = settings.registry.kind == "jetstream"
    unmet = UnmetDemands(settings)
    on_catalog: list[Callable[[Catalog], None]] = []

    def on_change(follower: Follower) -> None:
        metrics.declare_event_types(follower.catalog.event_types)
        log.info(
            "configuration.schemas.changed",
            "event types are in force",
            served=len(follower.catalog.event_types),
            refused=len(follower.refused),
        )
        _tell_refused(follower)
        unmet.tell(follower.catalog)
        for tell in on_catalog:
            tell(follower.catalog)

    opened = await parts.enter_async_context(open_registry(settings, configured=configured, clock=clock))
    strict = settings.notification_schema_strict
    if is_operators and strict is None:
        # Nobody but the operator makes streams, so there is none for an event type that it does not know.
        strict = True
    follower = await parts.enter_async_context(opened.registry.follow(on_change, strict=strict))
    await parts.enter_async_context(
        reporting(opened.acknowledgements, follower, process=identity, clock=clock)
    )
    if not is_operators:
        # The broker's registry may be away for longer than a start may take; readiness waits for it instead.
        await follower.wait_loaded()
    event_log = await parts.enter_async_context(
        open_event_log(
            settings.notification_backend,
            # Where the operator declares event types, it alone makes and changes their streams.
            owner_of=None if is_operators else lambda: follower.catalog,
            clock=clock,
        )
    )
    metrics.parts.ask(event_log, follower)
    count = metrics.access.counter(settings.auth.mode)
    cluster_keys = None if opened.cluster_keys is None else from_registry(opened.cluster_keys)
    access = await parts.enter_async_context(
        open_access(settings, count=count, clock=clock, cluster_keys=cluster_keys)
    )
    plugins = await parts.enter_async_context(
        open_read_plugins(settings, access=access, count=metrics.ecpds, clock=clock)
    )
    return Process(
        settings=settings,
        version=version,
        clock=clock,
        follower=follower,
        event_log=event_log,
        access=access,
        plugins=plugins,
        metrics=metrics,
        traces=traces,
        draining=Draining(),
        on_catalog=on_catalog,
    )


def _tell_refused(follower: Follower) -> None:
    for refused in follower.refused.values():
        log.warning(
            "configuration.schema.refused",
            refused.reason,
            event_type=refused.event_type,
            revision=refused.revision,
        )


# --- the application ---------------------------------------------------------------------------------------


def application_of(process: Process, routes: Routes) -> Front:
    """Return the whole application: the service's routes, those of every service, and what holds for all of them."""
    framework = Litestar(
        list(routes.handlers),
        openapi_config=None,
        logging_config=None,
        exception_handlers={Exception: answer_unexpected},
    )
    health = health_routes(
        is_connected=lambda: process.event_log.is_healthy,
        is_ready=lambda: process.follower.is_loaded and not process.draining.has_begun,
    )
    return Front(
        RouteTable(framework, [*health, *routes.hot]),
        access=process.access,
        problems=Problems(challenges=process.access.challenges),
        observer=process.metrics.http,
        cross_origin=CrossOrigin(process.settings.application.cors),
        draining=process.draining,
        traces=process.traces,
    )


class _Nothing(Response[bytes]):
    """An answer without a body, and so without a type of one, which the framework would give it all the same."""

    def to_asgi_response(self, *arguments: Any, **named: Any) -> ASGIResponse:
        """Return what is sent."""
        made = super().to_asgi_response(*arguments, **named)
        assert isinstance(made, ASGIResponse), "the answer is not streamed"
        del made.headers["content-type"]
        return made


def answer_unexpected(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    """Answer what no route of the framework answered itself: a request that it refuses, or a bug."""
    if isinstance(error, HTTPException) and error.status_code < 500:
        return _Nothing(b"", status_code=error.status_code, headers=error.headers)
    log.error("api.request.failed", "a request met a bug", error=error)
    answer = internal_error(request.scope["state"]["request_id"])
    return Response(answer.body, status_code=answer.status, media_type="application/json")
