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
    """A log was removed, and perhaps another has begun under its name."""

    def __init__(self, event_type: str, *, read: Mark, held: Held | None) -> None:
        now = "it has no log" if held is None else f"its log is {held.epoch!r}, which ends with {held.last}"
        super().__init__(
            f"EPOCH_CHANGED: {event_type!r} was read up to sequence {read.sequence} of the log {read.epoch!r}, and now "
            f"{now}. Begin with a new checkpoint, or go on with what there is by option failOnDataLoss=false"
        )


class LogBehind(Exception):
    """The service says that a log ends before what was read of it, and went on saying so."""

    def __init__(self, event_type: str, *, read: Mark, held: Held) -> None:
        super().__init__(
            f"POSITIONS_BEHIND: {event_type!r} was read up to sequence {read.sequence}, and the service says that the "
            f"same log {read.epoch!r} ends with {held.last}. An instance of the service that lags behind catches up: "
            "start again then. A log that has lost its end does not, nor was there ever what an option startingOffsets "
            "beyond the end names: begin with a new checkpoint, or go on by option failOnDataLoss=false"
        )


def decode(offset: object) -> Offset:
    """Return an offset as Spark hands it over."""
    return msgspec.convert(offset, dict[str, Mark])


def encode(offset: Mapping[str, Mark]) -> dict[str, dict[str, str | int]]:
    """Return an offset as Spark keeps it; what is the same is written the same."""
    return {name: {"epoch": mark.epoch, "sequence": mark.sequence} for name, mark in sorted(offset.items())}


def admit(start: Offset, head: Positions, *, most: int | None) -> Offset:
    """Return up to where a batch that begins behind `start` reads, which is at most so many sequences in all.

    An event type that the stream has not heard of is entered with where it begins, and read from the next batch on: a
    batch that is done again is then known by its offsets, whatever was removed meanwhile.
    """
    begins = {name: _begin(start.get(name, NOTHING), held) for name, held in head.items() if held is not None}
    waiting = {
        name: max(0, _last(head, name) - begin.sequence) if name in start else 0
        for name, begin in begins.items()
    }
    # It grows by `most` with every batch that does not take all, so the turn goes round.
    turn = sum(begin.sequence for begin in begins.values())
    taken = waiting if most is None else _shares(waiting, most, turn=turn)
    ends = {name: Mark(begin.epoch, begin.sequence + taken[name]) for name, begin in begins.items()}
    return {
        **start,
        **{name: end for name, end in ends.items() if taken[name] or _is_of_another(start.get(name), end)},
    }


def _is_of_another(read: Mark | None, now: Mark) -> bool:
    """Tell whether a log was not heard of, or is another one by now than that of which nothing was read.

    Either is kept though nothing of the log is taken: else the stream could never again be one that fails on a loss.
    """
    return read is None or (read.sequence == 0 and read.epoch not in ("", now.epoch))


def _shares(waiting: Mapping[str, int], most: int, *, turn: int) -> dict[str, int]:
    """Return how much of what waits is taken, which is one of each and of the rest as much as each has of it.

    So a flood of one event type delays others and never holds them up. Where there is not even one for each, they have
    it in turn.
    """
    if sum(waiting.values()) <= most:
        return dict(waiting)
    first = _in_turn(waiting, turn)[:most]
    taken = {name: int(name in first) for name in waiting}
    left = {name: count - taken[name] for name, count in waiting.items()}
    rest, total = most - len(first), sum(left.values())
    for name, count in left.items():
        taken[name] += rest * count // total
    # What rounding has left goes to those who wait with most.
    spare = most - sum(taken.values())
    for name in sorted(left, key=lambda one: (-left[one], one))[:spare]:
        taken[name] += 1
    return taken


def _in_turn(waiting: Mapping[str, int], turn: int) -> list[str]:
    names = sorted(waiting)
    begin = turn % len(names)
    return [name for name in names[begin:] + names[:begin] if waiting[name]]


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
    """Raise if this is not the log that was read, or one that ends before what was read."""
    if not read.epoch:
        return
    if held is None or held.epoch != read.epoch:
        raise LogReplaced(event_type, read=read, held=held)
    if held.last < read.sequence:
        raise LogBehind(event_type, read=read, held=held)


def is_behind(read: Mapping[str, Mark], head: Positions) -> bool:
    """Tell whether some log is the one that was read, and ends before what was read: then asking again may help."""
    return any(
        held.epoch == mark.epoch and held.last < mark.sequence
        for name, mark in read.items()
        if (held := head.get(name)) is not None
    )


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
        now = held.get(name)
        read = start.get(name, NOTHING)
        if through == read or (name not in start and _is_entry(through, now)):
            continue
        try:
            check_log(name, read, now)
            check_log(name, through, now)
        except (LogReplaced, LogBehind) as error:
            on_loss(error)
        if now is None or now.epoch != through.epoch:
            continue
        follows = read.epoch in ("", through.epoch)
        first = read.sequence + 1 if follows else now.first
        if first < now.first:
            on_loss(HistoryRemoved(name, wanted=first, first_held=now.first))
        begin = max(first, now.first)
        if begin <= through.sequence:
            ranges.append(Range(event_type=name, epoch=now.epoch, first=begin, last=through.sequence))
    return split_all(ranges, rows_per_partition)


def _is_entry(through: Mark, held: Held | None) -> bool:
    """Tell whether this is only where an event type begins, behind which nothing is read yet."""
    return held is not None and through.epoch == held.epoch and through.sequence < held.first
