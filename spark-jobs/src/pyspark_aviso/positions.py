"""What the service's logs hold: of each event type the first and the last sequence, and in which life of its log.

A log that was removed and made anew begins again at 1; its `epoch` tells the two apart. Positions are sequences, and
sequences have holes: how many events there are between two of them only reading tells.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Protocol
from urllib.parse import quote

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

PATH: Final = "/api/v1/positions"


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """What one log holds. `first` is one more than `last` where that is nothing."""

    epoch: str
    first: int
    last: int
    messages: int = 0
    bytes: int = 0
    last_time: str | None = None
    # The first sequence stored at or after the date that was asked about.
    at: int | None = None

    def may_have_lost(self, date: str) -> bool:
        """Tell whether something may have been removed that was stored at that date or later, which `at` answers.

        Where all that is held is that young nobody can tell, unless nothing was ever removed or stored since.
        """
        if self.first == 1 or self.at is None or self.at > self.first:
            return False
        return self.last_time is None or instant_of(self.last_time) >= instant_of(date)


# None is an event type that has no log, or none any more.
Positions = Mapping[str, Held | None]


class AsksService(Protocol):
    """What is needed of a client."""

    def get_json(self, path: str) -> object:
        """Return the decoded answer to a GET."""
        ...


class NoSuchEventType(ValueError):
    """An event type that the service does not show to this caller."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        shown = ", ".join(sorted(known)) or "none"
        super().__init__(
            f"there is no event type {name!r} that these credentials may read; there are: {shown}"
        )


_MOST_DIGITS_OF_SECONDS: Final = 11
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def instant_of(text: str) -> datetime:
    """Return the instant of a date as the service takes them: by the calendar, or in seconds or milliseconds."""
    date = moment(text)
    if date.isascii() and date.isdigit():
        seconds = int(date) if len(date) <= _MOST_DIGITS_OF_SECONDS else int(date) / 1000
        return datetime.fromtimestamp(seconds, UTC)
    parsed = datetime.fromisoformat(date)
    return parsed.astimezone(UTC) if parsed.tzinfo is not None else parsed.replace(tzinfo=UTC)


def moment(text: str) -> str:
    """Return a date as the service takes it, which wants a time of day."""
    date = text.strip()
    return f"{date}T00:00:00Z" if _DAY.fullmatch(date) else date


def decode_positions(answer: object) -> dict[str, Held | None]:
    """Return positions as the service sends them."""
    return msgspec.convert(answer, dict[str, Held | None])


def read_positions(client: AsksService, event_types: Sequence[str] = ()) -> dict[str, Held | None]:
    """Return what the logs of these event types hold now, or of all that the caller may read."""
    found = decode_positions(client.get_json(PATH))
    for name in event_types:
        if name not in found:
            raise NoSuchEventType(name, list(found))
    return {name: found[name] for name in event_types or sorted(found)}


def read_position(client: AsksService, event_type: str) -> Held | None:
    """Return what one log holds now."""
    return decode_positions(client.get_json(f"{PATH}/{quote(event_type, safe='')}"))[event_type]


def seek(client: AsksService, event_type: str, date: str) -> Held:
    """Return what a log holds, with the first sequence that was stored at that date or later."""
    answer = client.get_json(f"{PATH}/{quote(event_type, safe='')}?at={quote(moment(date), safe='')}")
    held = decode_positions(answer)[event_type]
    assert held is not None, "a log that was found has a position"
    return held
