"""Streams to subscribers: how many there are, for how many users, what they were sent, how long they lasted.

A stream is counted as opened whether or not it can be set up. Who it is for matters only where somebody is known.
"""

from __future__ import annotations

from collections import Counter as Multiset
from typing import TYPE_CHECKING, Final

from aviso_http.metrics.notifications import GENERIC
from aviso_http.metrics.series import counters, gauges, histograms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from aviso_http.metrics.series import AnyFamily, Counter, Gauge

# Whose streams the contract counts. What has other streams counts them under routes of its own.
_ROUTES: Final = ("/api/v1/watch", "/api/v1/replay")
_CONNECTION_BUCKETS: Final = (
    *(1.0, 5.0, 15.0, 30.0, 60.0, 300.0, 900.0, 1800.0, 3600.0),
    *(7200.0, 14400.0, 28800.0, 43200.0, 86400.0),
)


class StreamMetrics:
    """Series of declared event types begin at zero; others when there is the first stream of theirs."""

    def __init__(self) -> None:
        self._active = gauges("aviso_sse_connections_active", "Streams that are open.", "route", "event_type")
        self._opened = counters(
            "aviso_sse_connections_total", "Streams that were asked for and allowed.", "route", "event_type"
        )
        self._users = gauges("aviso_sse_unique_users_active", "Different users with an open stream.", "route")
        self._sent = counters("aviso_sse_events_sent_total", "Events sent on streams.", "route", "event_type")
        self._errors = counters(
            "aviso_sse_stream_errors_total", "Errors told on open streams.", "route", "event_type"
        )
        self._durations = histograms(
            "aviso_sse_connection_duration_seconds",
            "How long streams lasted.",
            "route",
            bounds=_CONNECTION_BUCKETS,
        )
        self._ended = counters(
            "aviso_sse_connections_ended_total", "Streams that ended, by what ended them.", "route", "cause"
        )
        self._names: frozenset[str] = frozenset()
        self._streams_of: Multiset[tuple[str, str]] = Multiset()
        for route in _ROUTES:
            self._users.of(route)
            self._durations.of(route)

    def declare(self, names: Iterable[str]) -> None:
        """Follow the catalog. Streams that are still open keep what they count with, though nobody reads it."""
        self._names = frozenset(names)
        for family in (self._active, self._opened, self._sent, self._errors):
            family.forget(lambda labels: labels[1] not in self._names and labels[1] != GENERIC)
            for name in sorted(self._names):
                for route in _ROUTES:
                    family.of(route, name)

    def open(self, route: str, event_type: str, username: str | None) -> StreamSeries:
        """Count a stream in."""
        label = event_type if event_type in self._names else GENERIC
        self._opened.of(route, label).add()
        active = self._active.of(route, label)
        active.add()
        if username is not None:
            self._count_user(route, username, 1)
        return StreamSeries(
            self, route, username, active, self._sent.of(route, label), self._errors.of(route, label)
        )

    def close(self, route: str, username: str | None, seconds: float, cause: str | None) -> None:
        """Count a stream out; `StreamSeries` does."""
        self._durations.of(route).observe(seconds)
        if cause is not None:
            self._ended.of(route, cause).add()
        if username is not None:
            self._count_user(route, username, -1)

    def families(self) -> Iterator[AnyFamily]:
        """Yield what is counted."""
        yield self._active
        yield self._opened
        yield self._users
        yield self._sent
        yield self._errors
        yield self._durations
        yield self._ended

    def _count_user(self, route: str, username: str, change: int) -> None:
        key = route, username
        before = self._streams_of[key]
        after = before + change
        assert after >= 0
        if after:
            self._streams_of[key] = after
        else:
            del self._streams_of[key]
        self._users.of(route).add(bool(after) - bool(before))


class StreamSeries:
    """What one stream counts with."""

    __slots__ = ("_active", "_is_open", "_metrics", "_route", "_username", "errors", "sent")

    def __init__(
        self,
        metrics: StreamMetrics,
        route: str,
        username: str | None,
        active: Gauge,
        sent: Counter,
        errors: Counter,
    ) -> None:
        self._metrics = metrics
        self._route = route
        self._username = username
        self._active = active
        self._is_open = True
        self.sent = sent
        """Frames with an event; no others."""
        self.errors = errors
        """Frames that tell of an error."""

    def close(self, seconds: float, cause: str | None = None) -> None:
        """Count it out, once: it lasted so long, and ended for this, if it had begun."""
        if self._is_open:
            self._is_open = False
            self._active.add(-1)
            self._metrics.close(self._route, self._username, seconds, cause)
