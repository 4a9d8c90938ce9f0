"""Notifications by event type and by what became of them.

Event types come and go with the catalog, and the series do as well. A name that no event type has at the moment is
counted as `generic`: labels are configured names and never what somebody sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aviso_http.metrics.series import counters

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from aviso_http.metrics.series import AnyFamily, Counter

UNKNOWN: Final = "unknown"
GENERIC: Final = "generic"
_STATUSES: Final = frozenset({"success", "error", "rejected"})


class NotificationMetrics:
    """Series of `unknown` and of every declared event type begin at zero; others when they are first counted."""

    def __init__(self) -> None:
        self._counters = counters(
            "aviso_notifications_total", "Notifications by what became of them.", "event_type", "status"
        )
        self._known: dict[tuple[str, str], Counter] = {}
        self._names: frozenset[str] = frozenset({UNKNOWN, GENERIC})
        for status in ("error", "rejected"):
            self._counters.of(UNKNOWN, status)

    def declare(self, names: Iterable[str]) -> None:
        """Follow the catalog: these are the event types that there are."""
        wanted = frozenset({UNKNOWN, GENERIC, *names})
        self._names = wanted
        self._counters.forget(lambda labels: labels[0] not in wanted)
        self._known.clear()
        for name in sorted(wanted - {UNKNOWN, GENERIC}):
            self._counters.of(name, "success")
            self._counters.of(name, "error")

    def count(self, event_type: str, status: str, amount: int) -> None:
        """Count notifications that came to an end."""
        counter = self._known.get((event_type, status))
        if counter is None:
            counter = self._resolve(event_type, status)
        counter.value += amount

    def families(self) -> Iterator[AnyFamily]:
        """Yield what is counted."""
        yield self._counters

    def _resolve(self, event_type: str, status: str) -> Counter:
        assert status in _STATUSES, status
        label = event_type if event_type in self._names else GENERIC
        counter = self._counters.of(label, status)
        if label == event_type:
            # A name from outside must not fill this.
            self._known[event_type, status] = counter
        return counter
