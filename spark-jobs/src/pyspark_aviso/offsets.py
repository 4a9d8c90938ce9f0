"""How far a stream has read, as the checkpoint keeps it: of each event type its last sequence, and the log's epoch.

What comes next is decided here, over values: how much of what is there one batch takes, and whether something is
missing between where the last one ended and what is still held.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import msgspec

from pyspark_aviso.ranges import HistoryRemoved, Range, split_all

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark_aviso.positions import Held, Positions


class Mark(msgspec.Struct, frozen=True):
    """Where reading of one event type has come to; the epoch is empty as long as there was no log."""

    epoch: str
    sequence: int


Offset: TypeAlias = "dict[str, Mark]"

NOTHING = Mark("", 0)


class LogReplaced(Exception):
    """A log was removed, and another has begun under its name."""

    def __init__(self, event_type: str, *, read: Mark, held: Held | None) -> None:
        now = "it has no log" if held is None else f"its log is {held.epoch!r}, which ends with {held.last}"
        super().__init__(
            f"EPOCH_CHANGED: {event_type!r} was read up to sequence {read.sequence} of the log {read.epoch!r}, and now "
            f"{now}. Begin with a new checkpoint, or go on with what there is by option failOnDataLoss=false"
        )


def decode(offset: object) -> Offset:
    """Return an offset as Spark hands it over."""
    return msgspec.convert(offset, dict[str, Mark])


def encode(offset: Mapping[str, Mark]) -> dict[str, dict[str, str | int]]:
    """Return an offset as Spark keeps it; what is the same is written the same."""
    return {name: {"epoch": mark.epoch, "sequence": mark.sequence} for name, mark in sorted(offset.items())}


def admit(start: Offset, head: Positions, *, most: int | None) -> Offset:
    """Return up to where a batch that begins behind `start` reads, which is at most so many sequences in all.

    Each event type is given as much of it as it has of all that waits, so that none is left behind.
    """
    begins = {name: _begin(start.get(name, NOTHING), held) for name, held in head.items() if held is not None}
    waiting = {name: max(0, _last(head, name) - begin.sequence) for name, begin in begins.items()}
    total = sum(waiting.values())
    taken = dict(waiting)
    if most is not None and total > most:
        taken = {name: most * one // total for name, one in waiting.items()}
        # What rounding has left goes to those who wait with most.
        spare = most - sum(taken.values())
        for name in sorted(waiting, key=lambda one: (-waiting[one], one))[:spare]:
            taken[name] += 1
    ends = {name: Mark(begin.epoch, begin.sequence + taken[name]) for name, begin in begins.items()}
    return {**start, **{name: ends[name] for name in ends if taken[name] or name not in start}}


def _begin(read: Mark, held: Held) -> Mark:
    """Return where reading goes on in the log that there is: in another one, before all that it holds."""
    if read.epoch not in ("", held.epoch):
        return Mark(held.epoch, held.first - 1)
    # What is not held any more takes no room in a batch.
    return Mark(held.epoch, max(read.sequence, held.first - 1))


def _last(head: Positions, name: str) -> int:
    held = head[name]
    return 0 if held is None else held.last


def check_log(event_type: str, read: Mark, held: Held | None) -> None:
    """Raise `LogReplaced` if this is not the log that was read, or has gone back behind where it was read."""
    if not read.epoch:
        return
    if held is None or held.epoch != read.epoch or held.last < read.sequence:
        raise LogReplaced(event_type, read=read, held=held)


def between(
    start: Offset,
    end: Offset,
    held: Positions,
    *,
    rows_per_partition: int,
    on_loss: Callable[[Exception], None],
) -> list[Range]:
    """Return the ranges between two offsets. What is missing of them goes to `on_loss`, which may raise it."""
    ranges: list[Range] = []
    for name, through in sorted(end.items()):
        # What the stream had not heard of is read from where it begins.
        now = held.get(name)
        read = start.get(name) or (NOTHING if now is None else Mark(now.epoch, now.first - 1))
        if through == read:
            continue
        try:
            check_log(name, read, now)
            check_log(name, through, now)
        except LogReplaced as error:
            on_loss(error)
        if now is None or now.epoch != through.epoch:
            continue
        follows = read.epoch in ("", through.epoch)
        first = read.sequence + 1 if follows else now.first
        if first < now.first:
            on_loss(HistoryRemoved(name, wanted=first, first_held=now.first))
        ranges.append(
            Range(event_type=name, epoch=now.epoch, first=max(first, now.first), last=through.sequence)
        )
    return split_all(ranges, rows_per_partition)
