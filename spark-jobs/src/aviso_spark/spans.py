"""Which part of each log an archive still lacks: decided from what the log holds and what the archive has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark_aviso.positions import Held


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """Sequences of one log, both ends included."""

    event_type: str
    epoch: str
    first: int
    last: int
    # Sequences before `first` that the archive lacks and the log holds no more.
    lost: int = 0


def spans_to_archive(held: Mapping[str, Held | None], archived: Mapping[tuple[str, str], int]) -> list[Span]:
    """Return what is new since the archive was last written, by event type.

    What was archived is counted for each life of a log by itself: a log that was made anew begins at 1 again.
    """
    spans = []
    for event_type, log in sorted(held.items()):
        if log is None:
            continue
        done = archived.get((event_type, log.epoch), 0)
        first = max(done + 1, log.first)
        # Before an archive begins there is nothing that it could have lost.
        lost = first - done - 1 if done else 0
        if first <= log.last:
            spans.append(Span(event_type=event_type, epoch=log.epoch, first=first, last=log.last, lost=lost))
    return spans


def span_to_fill(event_type: str, log: Held, *, first: int | None, last: int | None) -> Span | None:
    """Return the part of a range that the log holds, or None where that is nothing."""
    begin = log.first if first is None else max(first, log.first)
    # A log that began later than the range ends has nothing of it, and its last sequence may then be 0.
    end = log.last if last is None else min(last, log.last)
    if begin > end:
        return None
    lost = begin - first if first is not None else 0
    return Span(event_type=event_type, epoch=log.epoch, first=begin, last=end, lost=lost)
