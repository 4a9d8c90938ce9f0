"""What the service is made of: live parts that somebody else opens and closes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from aviso_core.eventlog.base import EventLog
    from aviso_core.schema.catalog import Catalog
    from aviso_core.settings.model import Settings
    from aviso_http.access.base import Access
    from aviso_http.access.plugins import ReadPlugins
    from aviso_http.metrics.streams import StreamMetrics
    from aviso_http.problems import Problems
    from aviso_stream_gateway.bounds import FreshBounds
    from aviso_stream_gateway.explaining.dry_run import DryRuns
    from aviso_stream_gateway.hub import Hub
    from aviso_stream_gateway.limits import StreamLimits
    from aviso_stream_gateway.playback import Playback
    from aviso_stream_gateway.positions.following import Following
    from aviso_stream_gateway.runs import Runs
    from aviso_stream_gateway.streams import Streams


class Parts(NamedTuple):
    """The parts."""

    settings: Settings
    log: EventLog
    catalog: Callable[[], Catalog]
    access: Access
    plugins: ReadPlugins
    problems: Problems
    metrics: StreamMetrics
    bounds: FreshBounds
    hub: Hub
    runs: Runs
    playback: Playback
    streams: Streams
    limits: StreamLimits
    following: Following
    dry_runs: DryRuns
