"""What became of records, counted from whichever thread it happens in; the metrics read it."""

from __future__ import annotations

import threading


class RecordCounts:
    """Only ever grows. It is made before records and metrics, and handed to both."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self.dropped = 0
        """Lines that found the buffer full or could not be written."""
        self.withheld = 0
        """Records that were not exported because something had to be taken out of them."""
        self.export_failures = 0
        """Batches that the collector did not take, and records that found the queue for it full."""

    def add_dropped(self, amount: int) -> None:
        """Count lines that are not on standard output."""
        with self._lock:
            self.dropped += amount

    def add_withheld(self) -> None:
        """Count a record that is kept from the collector."""
        with self._lock:
            self.withheld += 1

    def add_export_failure(self) -> None:
        """Count what the collector did not get."""
        with self._lock:
            self.export_failures += 1
