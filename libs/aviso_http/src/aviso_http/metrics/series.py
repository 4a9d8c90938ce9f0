"""Counters, gauges and histograms that cost next to nothing to move.

The client library's own take a lock at every step and look a series up by its labels, which together is more than the
rest of our bookkeeping for a request. Here a series is an object with a number, found once and kept by whoever moves
it. The library still does what is read and written down: families are handed to its registry as it reads them.

Everything is moved from the event loop's thread only, and read there too.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from typing import TYPE_CHECKING, Final, Generic, TypeAlias, TypeVar

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.utils import floatToGoString

if TYPE_CHECKING:
    from collections.abc import Callable

    from prometheus_client.core import Metric

LATENCY_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

S = TypeVar("S")


class Counter:
    """A number that only grows."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0

    def add(self, amount: int = 1) -> None:
        """Count."""
        self.value += amount


class Gauge:
    """A number that is what it is now."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0

    def add(self, amount: int = 1) -> None:
        """Change by an amount, which may be negative."""
        self.value += amount


class Histogram:
    """How often something took how long."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...] = LATENCY_BUCKETS) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        """Count one that took so long."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value


class Family(Generic[S]):
    """All series of one name, by the values of their labels."""

    def __init__(
        self,
        name: str,
        text: str,
        labels: tuple[str, ...],
        *,
        make: Callable[[], S],
        read: Callable[[Family[S]], Metric],
    ) -> None:
        self.name = name
        self.text = text
        self.labels = labels
        self.series: dict[tuple[str, ...], S] = {}
        self._make = make
        self._read = read

    def of(self, *values: str) -> S:
        """Return the series with these values, which begins at zero. Keep it: finding it is the expensive part."""
        assert len(values) == len(self.labels), f"{self.name} has the labels {self.labels}"
        series = self.series.get(values)
        if series is None:
            series = self.series[values] = self._make()
        return series

    def forget(self, is_gone: Callable[[tuple[str, ...]], bool]) -> None:
        """Drop series by the values of their labels."""
        self.series = {values: series for values, series in self.series.items() if not is_gone(values)}

    def read(self) -> Metric:
        """Return all of it in the form of the client library."""
        return self._read(self)


AnyFamily: TypeAlias = Family[Counter] | Family[Gauge] | Family[Histogram]


def counters(name: str, text: str, *labels: str) -> Family[Counter]:
    """Return a family of counters."""
    return Family(name, text, labels, make=Counter, read=_read_counters)


def gauges(name: str, text: str, *labels: str) -> Family[Gauge]:
    """Return a family of gauges."""
    return Family(name, text, labels, make=Gauge, read=_read_gauges)


def histograms(
    name: str, text: str, *labels: str, bounds: tuple[float, ...] = LATENCY_BUCKETS
) -> Family[Histogram]:
    """Return a family of histograms."""
    return Family(name, text, labels, make=lambda: Histogram(bounds), read=_read_histograms)


def _read_counters(family: Family[Counter]) -> Metric:
    metric = CounterMetricFamily(family.name, family.text, labels=family.labels)
    for values, counter in family.series.items():
        metric.add_metric(values, counter.value)
    return metric


def _read_gauges(family: Family[Gauge]) -> Metric:
    metric = GaugeMetricFamily(family.name, family.text, labels=family.labels)
    for values, gauge in family.series.items():
        metric.add_metric(values, gauge.value)
    return metric


def _read_histograms(family: Family[Histogram]) -> Metric:
    metric = HistogramMetricFamily(family.name, family.text, labels=family.labels)
    for values, histogram in family.series.items():
        names = [*map(floatToGoString, histogram.bounds), "+Inf"]
        metric.add_metric(
            values, list(zip(names, accumulate(histogram.counts), strict=True)), histogram.total
        )
    return metric
