"""The service as an application: a function of its parts."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from aviso_core.eventlog.base import EpochChanged, StreamMissing
from aviso_http.problems import Problems, Row
from aviso_http.process import Routes
from aviso_http.routes import Hot
from aviso_stream_gateway.bounds import FreshBounds
from aviso_stream_gateway.explaining import route as explaining
from aviso_stream_gateway.explaining.dry_run import DryRuns, TooManyDryRuns
from aviso_stream_gateway.explaining.found import NotHeld
from aviso_stream_gateway.hub import Hub, open_hub
from aviso_stream_gateway.limits import StreamLimits, TooManyStreams
from aviso_stream_gateway.machines.held import RangeRemoved
from aviso_stream_gateway.machines.replay import Replay
from aviso_stream_gateway.moment import Timekeeper
from aviso_stream_gateway.opening import PATHS, Open
from aviso_stream_gateway.parts import Parts
from aviso_stream_gateway.playback import Playback
from aviso_stream_gateway.positions import stream
from aviso_stream_gateway.positions.following import Following, open_following
from aviso_stream_gateway.positions.routes import NoSuchEventType, position_handlers
from aviso_stream_gateway.request import Mode
from aviso_stream_gateway.runs import Runs
from aviso_stream_gateway.setup import SetupFailed
from aviso_stream_gateway.stream import Limits
from aviso_stream_gateway.streams import Streams, open_streams
from aviso_stream_gateway.wheel import Wheel

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from aviso_http.process import Process

ROWS: Final = (
    Row(SetupFailed, 500, SetupFailed.code, "SSE stream creation failed"),
    Row(StreamMissing, 503, "SERVICE_UNAVAILABLE", "service_unavailable"),
    Row(EpochChanged, 503, "SERVICE_UNAVAILABLE", "service_unavailable"),
    Row(NoSuchEventType, 404, NoSuchEventType.code, "unknown_event_type"),
    Row(NotHeld, 404, NotHeld.code, "event_not_found"),
    Row(RangeRemoved, 410, RangeRemoved.code, "range_removed"),
    Row(TooManyDryRuns, 429, TooManyDryRuns.code, "too_many_dry_runs"),
    Row(TooManyStreams, 429, TooManyStreams.code, "too_many_streams"),
)


def assemble(process: Process) -> Routes:
    """Return the routes of the service in a process."""
    parts = parts_of(process)
    process.on_catalog.append(parts.hub.catalog_changed)
    process.on_catalog.append(parts.following.catalog_changed)
    return routes(parts)


def parts_of(process: Process) -> Parts:
    """Return the service's parts, of those that every process has."""
    settings = process.settings
    timekeeper = Timekeeper(process.clock)
    bounds = FreshBounds(process.event_log)
    runs = Runs(process.event_log)
    streams = Streams(
        Wheel(timekeeper),
        timekeeper,
        limits=Limits(
            heartbeat_seconds=settings.watch_endpoint.sse_heartbeat_interval_sec,
            most_waiting_bytes=settings.streams.max_waiting_bytes,
            stalled_seconds=settings.streams.stalled_seconds,
        ),
        drain_seconds=settings.streams.drain_seconds,
        draining=process.draining,
    )
    return Parts(
        settings=settings,
        log=process.event_log,
        catalog=lambda: process.follower.catalog,
        access=process.access,
        plugins=process.plugins,
        problems=Problems(*ROWS, challenges=process.access.challenges),
        metrics=process.metrics.streams,
        bounds=bounds,
        hub=Hub(
            process.event_log,
            bounds,
            base_url=settings.application.base_url,
        ),
        runs=runs,
        playback=Playback(
            runs,
            timekeeper,
            delay_seconds=settings.watch_endpoint.replay_batch_delay_ms / 1000,
        ),
        streams=streams,
        limits=StreamLimits(settings.streams),
        following=Following(process.event_log, bounds),
        dry_runs=DryRuns(timekeeper),
    )


def routes(parts: Parts) -> Routes:
    """Return the routes over the parts."""
    hot = [
        Hot("POST", PATHS[Mode.WATCH], Open(parts, Mode.WATCH)),
        Hot("GET", stream.PATH, stream.PositionStream(parts)),
        Hot("HEAD", stream.PATH, stream.answer_head),
        Hot("POST", explaining.PATH, explaining.Explain(parts)),
        Hot("POST", PATHS[Mode.REPLAY], Replay(parts, frames=Open(parts, Mode.REPLAY))),
    ]
    return Routes(handlers=position_handlers(parts), hot=hot, keeps=(_kept(parts),))


@asynccontextmanager
async def _kept(parts: Parts) -> AsyncIterator[None]:
    async with open_hub(parts.hub), open_following(parts.following), open_streams(parts.streams):
        yield
