"""Which part of a log a job is about: by sequences, which count in one log, or by time, which all logs share.

A first and a last sequence both belong to the part. Of two times the second does not: days that follow each other have
nothing in common.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from aviso_spark.common.problems import NotUnderstood
from aviso_spark.spans import span_to_fill
from pyspark_aviso.positions import instant_of, seek

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Mapping
    from datetime import datetime

    from aviso_spark.spans import Span
    from pyspark_aviso.positions import AsksService, Held


class Within(msgspec.Struct, frozen=True, kw_only=True):
    """The ends that were named; None is as far as there is something."""

    from_sequence: int | None = None
    to_sequence: int | None = None
    from_time: str | None = None
    to_time: str | None = None

    @property
    def is_named(self) -> bool:
        """Tell whether any end was named."""
        return self != Within()

    @property
    def has_sequences(self) -> bool:
        """Tell whether an end counts in one log."""
        return (self.from_sequence, self.to_sequence) != (None, None)

    @property
    def begins(self) -> datetime | None:
        """Return the first instant."""
        return None if self.from_time is None else instant_of(self.from_time)

    @property
    def ends(self) -> datetime | None:
        """Return the instant that is the first one behind."""
        return None if self.to_time is None else instant_of(self.to_time)


def add_within(parser: ArgumentParser, *, what: str) -> None:
    """Add the arguments that name a part."""
    part = parser.add_argument_group("a part", f"{what}. Times as 2030-01-31, 2030-01-31T06:00:00Z")
    part.add_argument("--from-sequence", type=int, metavar="N", help="its first sequence")
    part.add_argument("--to-sequence", type=int, metavar="N", help="its last sequence")
    part.add_argument("--from-time", metavar="TIME", help="stored at this time or later")
    part.add_argument("--to-time", metavar="TIME", help="stored before this time")


def within_of(read: Mapping[str, Any], event_types: tuple[str, ...]) -> Within:
    """Return the part that a command line names, or say what of it does not go together."""
    names = ("from_sequence", "to_sequence", "from_time", "to_time")
    within = Within(**{name: read[name] for name in names})
    for name in names[:2]:
        _check_sequence(name, getattr(within, name))
    for name in names[2:]:
        _check_time(name, getattr(within, name))
    if within.has_sequences and len(event_types) != 1:
        raise NotUnderstood("sequences count in one log: name one event type with --event-types")
    return within


def _check_sequence(name: str, given: int | None) -> None:
    if given is not None and given < 1:
        raise NotUnderstood(f"--{name.replace('_', '-')} {given}: a log counts from 1 on")


def _check_time(name: str, text: str | None) -> None:
    try:
        if text is not None:
            instant_of(text)
    except (ValueError, OverflowError, OSError) as error:
        option = name.replace("_", "-")
        raise NotUnderstood(f"--{option} takes a time such as 2030-01-31T06:00:00Z, not '{text}'") from error


def spans_within(client: AsksService, held: Mapping[str, Held | None], within: Within) -> list[Span]:
    """Return the part of each log that is held; times are looked up in the log."""
    spans = (
        _span(client, event_type, log, within) for event_type, log in sorted(held.items()) if log is not None
    )
    return [span for span in spans if span is not None]


def _span(client: AsksService, event_type: str, log: Held, within: Within) -> Span | None:
    first, last = within.from_sequence, within.to_sequence
    if within.from_time is not None:
        at = seek(client, event_type, within.from_time).at
        if at is None:
            return None
        first = at if first is None else max(first, at)
    if within.to_time is not None:
        behind = seek(client, event_type, within.to_time).at
        before = log.last if behind is None else behind - 1
        last = before if last is None else min(last, before)
    return span_to_fill(event_type, log, first=first, last=last)
