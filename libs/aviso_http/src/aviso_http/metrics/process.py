"""Threads of the process: the one number of the contract that the client library does not read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prometheus_client.core import Metric

_STATUS: Final = Path("/proc/self/stat")
# Counted from behind the name of the program, which may itself contain blanks.
_THREADS_FIELD: Final = 17


class ThreadCollector(Collector):
    """Reads it from Linux; elsewhere there is nothing, as for all numbers of the process."""

    def collect(self) -> Iterable[Metric]:
        """Return the number as a family of its own."""
        try:
            fields = _STATUS.read_text().rpartition(")")[2].split()
        except OSError:
            return []
        return [
            GaugeMetricFamily(
                "process_threads", "Number of threads of the process.", value=int(fields[_THREADS_FIELD])
            )
        ]
