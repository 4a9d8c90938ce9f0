"""What routes ask of the event log: how often, with what outcome, and how long it took."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aviso_http.metrics.series import counters, histograms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aviso_http.metrics.series import AnyFamily

_OPERATIONS: Final = ("publish", "get_batch", "wipe_stream", "wipe_all", "delete_message")
_OUTCOMES: Final = {True: "ok", False: "error"}
_LABELS: Final = ("backend", "operation", "outcome")


class BackendMetrics:
    """All series begin at zero. `backend` is the configured kind of log."""

    def __init__(self, backend: str) -> None:
        self._operations = counters(
            "aviso_backend_operations_total", "Operations of the event log.", *_LABELS
        )
        self._durations = histograms(
            "aviso_backend_operation_duration_seconds", "How long operations of the event log took.", *_LABELS
        )
        self._series = {
            (operation, is_ok): (
                self._operations.of(backend, operation, outcome),
                self._durations.of(backend, operation, outcome),
            )
            for operation in _OPERATIONS
            for is_ok, outcome in _OUTCOMES.items()
        }

    def count(self, operation: str, *, is_ok: bool, seconds: float) -> None:
        """Count an operation. That something was not found is an outcome like any other, and no error."""
        counter, histogram = self._series[operation, is_ok]
        counter.value += 1
        histogram.observe(seconds)

    def families(self) -> Iterator[AnyFamily]:
        """Yield what is counted."""
        yield self._operations
        yield self._durations
