"""What became of each record, written as soon as it is known, and how often each of the four things happened."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import msgspec

from aviso_http.answers import JSON, Answer, encode
from aviso_ingest.batch.wanted import NDJSON

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aviso_core.errors import AvisoError
    from aviso_http.problems import Problems

Outcome: TypeAlias = Literal["accepted", "duplicate", "rejected", "failed"]

_OUTCOMES: Final[tuple[Outcome, ...]] = ("accepted", "duplicate", "rejected", "failed")
_STORED: Final[frozenset[Outcome]] = frozenset({"accepted", "duplicate"})
_PREFERENCE_APPLIED: Final = (b"preference-applied", b"return=minimal")
_OURS: Final = 500
# What somebody sent comes back in a refusal; so much of it is enough to know it again.
_LONGEST_ECHO: Final = 500


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """One record. `event_type` is null where the record did not say one that could be read."""

    index: int
    status: Outcome
    event_type: str | None
    sequence: int | msgspec.UnsetType = msgspec.UNSET
    id: str | msgspec.UnsetType = msgspec.UNSET
    code: str | msgspec.UnsetType = msgspec.UNSET
    message: str | msgspec.UnsetType = msgspec.UNSET
    field: str | msgspec.UnsetType = msgspec.UNSET


class Results:
    """The results of one request, in the order of its records; of what is stored there are none where it is minimal."""

    def __init__(self, *, in_lines: bool, is_minimal: bool = False) -> None:
        self._separator = b"\n" if in_lines else b","
        self._in_lines = in_lines
        self._is_minimal = is_minimal
        self._written = bytearray()
        self.counts: Counter[Outcome] = Counter()

    def add(self, results: Sequence[Result]) -> None:
        """Write results that follow those that were written before."""
        if not results:
            return
        self.counts.update([result.status for result in results])
        if self._is_minimal:
            results = [result for result in results if result.status not in _STORED]
            if not results:
                return
        if self._written:
            self._written += self._separator
        self._written += self._separator.join([encode(result) for result in results])

    def totals(self) -> dict[str, int]:
        """Return how often each thing happened."""
        return {outcome: self.counts[outcome] for outcome in _OUTCOMES}

    def answer(self, request_id: str) -> Answer:
        """Return the answer: the sums and the results, or the results line by line and then the sums."""
        totals = encode({**self.totals(), "request_id": request_id})
        more = (_PREFERENCE_APPLIED,) if self._is_minimal else ()
        if self._in_lines:
            last = b"\n" if self._written else b""
            return Answer(200, b"%s%s%s\n" % (self._written, last, totals), NDJSON, more)
        return Answer(200, b'%s,"results":[%s]}' % (totals[:-1], self._written), JSON, more)


def outcome_of(error: AvisoError, problems: Problems) -> Outcome:
    """Return whose fault it is that a record is not stored: its own, or ours."""
    return "rejected" if problems.status_of(error) < _OURS else "failed"


def shortened(text: str) -> str:
    """Return a text of which nobody needs more than the beginning."""
    return text if len(text) <= _LONGEST_ECHO else text[: _LONGEST_ECHO - 1] + "…"
