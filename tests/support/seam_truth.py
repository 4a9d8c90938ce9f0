"""What a stream had to show: the plain answer, from what was stored and what was asked for.

A log may live several lives, one after the other, whose sequences have nothing to do with each other; events say in
their payload of which they are. A stream belongs to one life. Where its history ends and now begins is the service's
to choose among the places that the log was at while the stream was opened, so a stream is right if one of them
explains it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from aviso_core import instant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from support.sse import Frame


class Happened(NamedTuple):
    """An event that was stored: what filters look at, when, and when it was removed, if it was."""

    sequence: int
    kind: str
    step: int
    instant: int


class Life:
    """One life of a log."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.events: dict[int, Happened] = {}
        # How many streams had been asked for when an event was removed on purpose.
        self.deleted: dict[int, int] = {}
        # What is still there at the end of its life, or of the test.
        self.kept: set[int] = set()

    @property
    def last(self) -> int:
        """The last sequence that was given."""
        return max(self.events, default=0)


Selects: TypeAlias = Callable[[Happened], bool]

FILTERS: Final[Sequence[tuple[dict[str, object], Selects]]] = (
    ({}, lambda event: True),
    ({"class": "od"}, lambda event: event.kind == "od"),
    ({"step": {"gte": 2}}, lambda event: event.step >= 2),
    ({"class": "rd", "step": {"in": [0, 1]}}, lambda event: event.kind == "rd" and event.step in (0, 1)),
    ({"step": 3}, lambda event: event.step == 3),
)


class Span(NamedTuple):
    """From where to where: a sequence, an instant, or neither."""

    first_sequence: int | None = None
    first_instant: int | None = None
    last_sequence: int | None = None
    last_instant: int | None = None

    @property
    def is_live_only(self) -> bool:
        """Whether no history is wanted."""
        return self.first_sequence is None and self.first_instant is None

    @property
    def members(self) -> dict[str, str]:
        """The members of a request that say so."""
        members = {
            "from_id": self.first_sequence,
            "from_date": self.first_instant,
            "to_id": self.last_sequence,
            "to_date": self.last_instant,
        }
        return {
            name: instant.to_text(value) if name.endswith("date") else str(value)
            for name, value in members.items()
            if value is not None
        }

    def holds(self, event: Happened) -> bool:
        """Tell whether an event of history is within."""
        return (
            event.sequence >= (self.first_sequence or 0)
            and event.instant >= (self.first_instant or 0)
            and (self.last_sequence is None or event.sequence <= self.last_sequence)
            and (self.last_instant is None or event.instant <= self.last_instant)
        )


class Seen(NamedTuple):
    """What a reader was shown: sequences of history and of now, of which life, and how far it must have got."""

    history: list[int]
    now: list[int]
    life: int | None
    is_history_complete: bool
    is_level: bool


def explain(
    seen: Seen,
    span: Span,
    selects: Selects,
    lives: Mapping[int, range],
    life_of: Sequence[Life],
    asked: int,
) -> str:
    """Return "" if the places at which the log was in each life explain what was seen, or else why not."""
    reasons = []
    for number, places in lives.items():
        if seen.life in (None, number):
            for place in places:
                reason = _contradiction(seen, span, selects, life_of[number], place, asked)
                if not reason:
                    return ""
                reasons.append(f"life {number}, history up to {place}: {reason}")
    return "\n".join(reasons) or f"events of life {seen.life}, of which it cannot be"


def _contradiction(seen: Seen, span: Span, selects: Selects, life: Life, place: int, asked: int) -> str:
    selected = [event for event in life.events.values() if selects(event)]
    there = {event.sequence for event in selected if life.deleted.get(event.sequence, asked) >= asked}
    history = {
        event.sequence
        for event in selected
        if event.sequence <= place and not span.is_live_only and span.holds(event)
    }
    now = {event.sequence for event in selected if event.sequence > place}
    return _differs(
        seen.history, history & there, history & life.kept, is_all=seen.is_history_complete
    ) or _differs(seen.now, now & there, now & life.kept, is_all=seen.is_level)


def _differs(shown: list[int], allowed: set[int], needed: set[int], *, is_all: bool) -> str:
    """Compare what was shown with what may and what must have been, up to where it got."""
    if any(one >= another for one, another in itertools.pairwise(shown)):
        return f"out of order, or twice: {shown}"
    strange = [one for one in shown if one not in allowed]
    if strange:
        return f"{strange} shown, which it does not select, which are not of its span, or which were removed before"
    reached = shown[-1] if shown else 0
    missing = sorted(one for one in needed - set(shown) if is_all or one <= reached)
    return f"{missing} missing in {shown}" if missing else ""


# --- the order of frames ---------------------------------------------------------------------------------

_LETTERS: Final = {
    "live-notification connection_established": "E",
    "replay-control replay_started": "S",
    "replay-control replay_completed": "C",
    "replay-control notification_replay_limit_reached": "L",
    "error stream_processing_failed": "x",
    "heartbeat": "h",
}
_EVENTS: Final = {"replay": "r", "live-notification": "l", "connection-closing": "c"}
# A stream may be looked at before its end.
_LEGAL: Final = {
    "now": re.compile("E[hl]*c?"),
    "watch": re.compile("S[hr]*(C[hl]*c?|Lc?|xc?|c)?"),
    "replay": re.compile("Sr*(Cc?|Lc?|xc?|c)?"),
}


def letters(frames: Sequence[Frame]) -> str:
    """Return a stream's frames, a letter for each."""
    return "".join(_LETTERS.get(frame.kind, "") or _EVENTS[frame.event] for frame in frames)


def is_legal(frames: Sequence[Frame], *, is_watch: bool, has_start: bool) -> bool:
    """Tell whether frames come in an order that the contract knows (7.3)."""
    if not frames:
        return True
    kind = "replay" if not is_watch else "watch" if has_start else "now"
    return _LEGAL[kind].fullmatch(letters(frames)) is not None
