"""What is remembered of a stream that was found or made, so that an append does not ask the broker about it."""

from __future__ import annotations

import msgspec

from aviso_core.eventlog.base import Record, RecordRefused
from aviso_core.schema.stream import StreamConfiguration


class Bound(msgspec.Struct, frozen=True):
    """A stream as it was found or made."""

    wanted: StreamConfiguration | None
    epoch: str
    # What its subjects begin with, as it is spelt there.
    prefix: str
    duplicate_window_seconds: float
    # Whether a record may replace another one of its subject.
    is_bounded_per_subject: bool
    # How often the connection had been lost by then.
    seen: int

    def is_for(self, wanted: StreamConfiguration | None) -> bool:
        """Tell whether that is the stream that is wanted now."""
        return self.wanted is wanted or self.wanted == wanted

    def spelt(self, subject: str) -> str:
        """Return a subject or pattern with the base spelt as the stream's subjects have it."""
        prefix = self.prefix
        return subject if subject.startswith(prefix) else prefix + subject[len(prefix) :]

    def spelt_pattern(self, pattern: str | None) -> str | None:
        """Return a pattern, if there is one, in the stream's spelling."""
        return None if pattern is None else self.spelt(pattern)

    def stored_form(self, record: Record) -> Record:
        """Return a record with its subject in the stream's spelling."""
        if record.subject.startswith(self.prefix):
            return record
        if "." not in record.subject:
            raise RecordRefused(
                f"JetStream cannot store '{record.subject}': there is nothing behind the base"
            )
        return msgspec.structs.replace(record, subject=self.spelt(record.subject))
