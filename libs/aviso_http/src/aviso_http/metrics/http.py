"""What is measured of every request, on every route: the front's observer.

Labels are never what somebody sent. Routes are the templates of our own table; a method that is no standard verb is
`other`, and is made so before anything is looked up by it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aviso_http.metrics.series import Counter, Gauge, Histogram, counters, gauges, histograms
from aviso_http.telemetry import VERBS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aviso_http.metrics.series import AnyFamily

_OTHER: Final = "other"


class HttpMetrics:
    """Requests by route, method and status, how long they took, and how many there are at the moment."""

    def __init__(self) -> None:
        self._requests = counters(
            "aviso_http_requests_total", "Requests answered.", "route", "method", "status_code"
        )
        self._durations = histograms(
            "aviso_http_request_duration_seconds",
            "Time until the headers of the answer were ready.",
            "route",
            "method",
        )
        self._in_flight = gauges("aviso_http_requests_in_flight", "Requests being served.", "method")
        self._gauges: dict[str, Gauge] = {}
        self._answers: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}

    def begin(self, method: str) -> None:
        """Count a request in."""
        self._gauge(method).value += 1

    def answer(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count an answer whose headers are ready."""
        series = self._answers.get((route, method, status))
        if series is None:
            series = self._resolve(route, method, status)
        counter, histogram = series
        counter.value += 1
        histogram.observe(seconds)

    def end(self, method: str) -> None:
        """Count a request out."""
        self._gauge(method).value -= 1

    def families(self) -> Iterator[AnyFamily]:
        """Yield what is measured."""
        yield self._requests
        yield self._durations
        yield self._in_flight

    def _gauge(self, method: str) -> Gauge:
        gauge = self._gauges.get(method)
        if gauge is None:
            label = _label(method)
            gauge = self._gauges[label] = self._in_flight.of(label)
        return gauge

    def _resolve(self, route: str, method: str, status: int) -> tuple[Counter, Histogram]:
        label = _label(method)
        key = (route, label, status)
        known = self._answers.get(key)
        if known is None:
            counter = self._requests.of(route, label, str(status))
            known = self._answers[key] = counter, self._durations.of(route, label)
        return known


def _label(method: str) -> str:
    return method if method in VERBS else _OTHER
