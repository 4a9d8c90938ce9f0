"""Everything that a process counts and measures (contract 13), in a registry of its own.

There is no registry for all: two processes in one test, or two services in one process, count for themselves. Series
whose labels are known beforehand are there from the start at zero, so that an alert on a rate has something to begin
with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.registry import Collector

from aviso_http.metrics.access import AccessMetrics, EcpdsMetrics
from aviso_http.metrics.backend import BackendMetrics
from aviso_http.metrics.http import HttpMetrics
from aviso_http.metrics.notifications import NotificationMetrics
from aviso_http.metrics.parts import PartMetrics
from aviso_http.metrics.process import ThreadCollector
from aviso_http.metrics.series import counters, gauges
from aviso_http.metrics.streams import StreamMetrics

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from prometheus_client.core import Metric

    from aviso_http.metrics.series import AnyFamily
    from aviso_http.records.counts import RecordCounts


class Metrics:
    """The metrics of a process."""

    def __init__(self, *, version: str, backend: str, records: RecordCounts) -> None:
        self.http = HttpMetrics()
        self.backend = BackendMetrics(backend)
        self.notifications = NotificationMetrics()
        self.streams = StreamMetrics()
        self.access = AccessMetrics()
        self.ecpds = EcpdsMetrics()
        self.parts = PartMetrics(backend)
        self._records = records
        self._build = gauges("aviso_build_info", "The version that runs.", "version")
        self._build.of(version).value = 1
        self._registry = CollectorRegistry()
        self._registry.register(_Families(self))
        # It registers itself.
        ProcessCollector(registry=self._registry)
        self._registry.register(ThreadCollector())

    def declare_event_types(self, names: Iterable[str]) -> None:
        """Follow the catalog: these are the event types that there are. Counts of those that left are gone."""
        known = tuple(names)
        self.notifications.declare(known)
        self.streams.declare(known)

    def notification(self, event_type: str, status: str, count: int = 1) -> None:
        """Count notifications that came to an end."""
        self.notifications.count(event_type, status, count)

    def operation(self, operation: str, *, is_ok: bool, seconds: float) -> None:
        """Count something that the event log was asked for."""
        self.backend.count(operation, is_ok=is_ok, seconds=seconds)

    def render(self) -> bytes:
        """Return everything as Prometheus reads it."""
        return generate_latest(self._registry)

    def families(self) -> Iterator[AnyFamily]:
        """Yield all families but those of the operating system."""
        yield self._build
        yield from self.http.families()
        yield from self.backend.families()
        yield from self.notifications.families()
        yield from self.streams.families()
        yield from self.access.families()
        yield from self.ecpds.families()
        yield from self.parts.families()
        yield from self._record_families()

    def _record_families(self) -> Iterator[AnyFamily]:
        """Yield what is counted from other threads, as it stands."""
        for name, text, value in (
            (
                "aviso_otlp_export_failures_total",
                "Batches of log records that the collector did not take, and records without room to wait.",
                self._records.export_failures,
            ),
            (
                "aviso_otlp_suppressed_log_records_total",
                "Log records withheld from export because they hold something secret.",
                self._records.withheld,
            ),
            (
                "aviso_log_records_dropped_total",
                "Log records missing on standard output because nobody read it fast enough.",
                self._records.dropped,
            ),
        ):
            family = counters(name, text)
            family.of().value = value
            yield family


class _Families(Collector):
    """Our families in the form of the client library."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        """Return them all."""
        return [family.read() for family in self._metrics.families()]
