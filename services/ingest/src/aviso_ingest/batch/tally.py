"""What one request adds up to: for the counters, for the log, and for the few faults that concern it as a whole."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from aviso_core.errors import AccessRefused, AvisoError, UnknownEventType
from aviso_http.records.log import Log

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from aviso_ingest.batch.checking import Ready, Refused
    from aviso_ingest.batch.results import Result, Results
    from aviso_ingest.parts import Counters, Status

log = Log("aviso_ingest.batch")

# So many refusals of one request are logged one by one.
_MOST_SAMPLES: Final = 5


class Tally:
    """The sums of one request."""

    def __init__(self, counters: Counters) -> None:
        self._counters = counters
        self._by_label: Counter[tuple[str, Status]] = Counter()
        self._records = 0
        self._samples: list[Refused] = []
        self._first_failed: Result | None = None
        self._unreadable = 0
        # Of many errors one is told, and each holds on to where it was raised.
        self._first_unreadable: AvisoError | None = None
        self._first_denial: AccessRefused | None = None
        self._has_permitted = False

    def add_refused(self, refused: Iterable[Refused]) -> None:
        """Count records that were refused before they were sent."""
        for one in refused:
            self._records += 1
            self._by_label[one.label, status_of(one.error)] += 1
            if len(self._samples) < _MOST_SAMPLES:
                self._samples.append(one)
            if one.is_unreadable:
                self._unreadable += 1
                self._first_unreadable = self._first_unreadable or one.error
            self._has_permitted |= one.is_permitted
            self._first_denial = self._first_denial or one.denial

    def add_stored(self, ready: Sequence[Ready], results: Sequence[Result]) -> None:
        """Count records that were sent, with what became of each."""
        self._records += len(results)
        self._has_permitted |= bool(results)
        for one, result in zip(ready, results, strict=True):
            is_stored = result.status in ("accepted", "duplicate")
            self._by_label[one.label, "success" if is_stored else "error"] += 1
            if result.status == "failed" and self._first_failed is None:
                self._first_failed = result

    def add_given_up(self, ready: Iterable[Ready]) -> None:
        """Count records that were good and are not stored because others were not."""
        for one in ready:
            self._records += 1
            self._has_permitted = True
            self._by_label[one.label, "error"] += 1

    def fault(self) -> AvisoError | None:
        """Return what is wrong with the request as a whole: nothing in it can be read, or nothing is permitted."""
        if self._unreadable == self._records:
            return self._first_unreadable
        return None if self._has_permitted else self._first_denial

    def tell(self, results: Results | None, *, size: int, is_atomic: bool) -> None:
        """Count and log the request."""
        for (label, status), count in self._by_label.items():
            self._counters.notification(label, status, count)
        for one in self._samples:
            event = "api.request.parse.failed" if one.event_type is None else "api.request.validation.failed"
            log.warning(event, str(one.error), error=one.error, index=one.place, event_type=one.label)
        if self._first_failed is not None:
            log.error(
                "api.request.processing.failed",
                str(self._first_failed.message),
                index=self._first_failed.index,
                event_type=self._first_failed.event_type,
            )
        if results is None:
            return
        log.info(
            "api.notifications.processed",
            "batch of notifications processed",
            event_types=sorted({label for label, _ in self._by_label}),
            size=size,
            is_atomic=is_atomic,
            **results.totals(),
        )


def status_of(error: AvisoError) -> Status:
    """Return how a refusal is counted."""
    return "rejected" if isinstance(error, (UnknownEventType, AccessRefused)) else "error"
