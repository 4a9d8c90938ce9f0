"""What live parts of the process say of themselves, asked in the moment in which somebody reads it.

Both are beside the contract: the one tells a broker that is away from one that nobody writes to, the other a schema
that was changed and is not in force.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aviso_http.metrics.series import gauges

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aviso_core.eventlog.base import EventLog
    from aviso_core.registry.follower import Follower
    from aviso_http.metrics.series import AnyFamily


class PartMetrics:
    """Series of the parts that are open; before there are any, there is nothing to tell."""

    def __init__(self, backend: str) -> None:
        self._backend = backend
        self._parts: tuple[EventLog, Follower] | None = None

    def ask(self, event_log: EventLog, follower: Follower) -> None:
        """Ask these from now on."""
        self._parts = event_log, follower

    def families(self) -> Iterator[AnyFamily]:
        """Yield what they say now."""
        connected = gauges("aviso_backend_connected", "Whether the event log answers now.", "backend")
        event_types = gauges(
            "aviso_event_types",
            "Event types in force, and those whose latest version was refused.",
            "state",
        )
        if self._parts is not None:
            event_log, follower = self._parts
            connected.of(self._backend).value = int(event_log.is_healthy)
            event_types.of("served").value = len(follower.catalog.event_types)
            event_types.of("refused").value = len(follower.refused)
        yield connected
        yield event_types
