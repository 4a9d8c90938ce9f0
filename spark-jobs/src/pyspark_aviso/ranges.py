"""Which sequences are read by which task: what was asked for and what is held → ranges, as values.

The end is fixed when a read is planned: what is published afterwards belongs to the next read, and a range that is read
twice gives the same rows. Sequences have holes, so the rows of a range are at most as many as its sequences.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark_aviso.positions import Held


# The driver of a query keeps them all, and a task takes longer to start than thousands of rows to read.
MOST_PARTITIONS: Final = 10_000


class Range(msgspec.Struct, frozen=True, kw_only=True):
    """Sequences of one event type, first and last included, in one life of its log."""

    event_type: str
    epoch: str
    first: int
    last: int

    @property
    def size(self) -> int:
        """How many sequences there are."""
        return self.last - self.first + 1


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """The first and the last sequence that are asked for; None is whatever is held."""

    first: int | None = None
    last: int | None = None


class HistoryRemoved(Exception):
    """Some of what is to be read is held no more."""

    def __init__(self, event_type: str, *, wanted: int | str, first_held: int) -> None:
        self.event_type = event_type
        self.wanted = wanted
        self.first_held = first_held
        super().__init__(
            f"RANGE_REMOVED: {event_type!r} was to be read from {wanted}, and what is held begins with "
            f"{first_held}. Read from there, or accept what is missing with option failOnDataLoss=false"
        )


def plan(
    wanted: Mapping[str, Bounds],
    held: Mapping[str, Held | None],
    *,
    fail_on_data_loss: bool = True,
) -> list[Range]:
    """Return the ranges that together are everything asked for and held, one of each event type."""
    return [
        _whole(event_type, bounds, now, fail_on_data_loss=fail_on_data_loss)
        for event_type, bounds in wanted.items()
        if (now := held[event_type]) is not None
    ]


def _whole(event_type: str, bounds: Bounds, held: Held, *, fail_on_data_loss: bool) -> Range:
    last = held.last if bounds.last is None else min(bounds.last, held.last)
    # There is no sequence 0: who asks for it means whatever there is.
    first = bounds.first or held.first
    if first < held.first and first <= last and fail_on_data_loss:
        raise HistoryRemoved(event_type, wanted=first, first_held=held.first)
    return Range(event_type=event_type, epoch=held.epoch, first=max(first, held.first), last=last)


def narrowed(whole: Range, first: int | None, last: int | None) -> Range:
    """Return what of a range lies between two sequences, of which either may be missing."""
    return msgspec.structs.replace(
        whole,
        first=whole.first if first is None else max(whole.first, first),
        last=whole.last if last is None else min(whole.last, last),
    )


def split_all(ranges: Sequence[Range], rows_per_partition: int) -> list[Range]:
    """Return ranges in parts of no more than so many sequences, or of more where there would be too many parts."""
    total = sum(max(0, one.size) for one in ranges)
    size = max(rows_per_partition, -(-total // MOST_PARTITIONS))
    return [part for one in ranges for part in split(one, size)]


def split(whole: Range, rows_per_partition: int) -> Iterator[Range]:
    """Yield a range in parts of about the same size, none of them larger than that; of an empty one there are none."""
    if whole.size <= 0:
        return
    count = -(-whole.size // rows_per_partition)
    for number in range(count):
        yield msgspec.structs.replace(
            whole,
            first=whole.first + whole.size * number // count,
            last=whole.first + whole.size * (number + 1) // count - 1,
        )
