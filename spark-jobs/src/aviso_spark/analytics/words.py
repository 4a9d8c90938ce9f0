"""Numbers, durations and dates as people read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from datetime import datetime

NOTHING: Final = "–"
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
_SHORT_SECONDS: Final = 10
_MOST_CHARACTERS: Final = 160


def number(value: int) -> str:
    """Return a count with its thousands apart."""
    return f"{value:,}"


def percent(share: float | None) -> str:
    """Return a share. It is 100 % only when nothing is missing, and 0 % only when nothing is there."""
    if share is None:
        return NOTHING
    if share in (0, 1):
        return f"{share:.0%}".replace("%", " %")
    return f"{min(max(share * 100, 0.1), 99.9):.1f} %"


def duration(seconds: float | None) -> str:
    """Return a duration in its two largest units."""
    if seconds is None:
        return NOTHING
    if seconds < 0:
        return f"−{duration(-seconds)}"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < _SHORT_SECONDS:
        return f"{seconds:.1f}".removesuffix(".0") + " s"
    whole = round(seconds)
    for size, name, smaller, part in (
        (_DAY, "d", _HOUR, "h"),
        (_HOUR, "h", _MINUTE, "min"),
        (_MINUTE, "min", 1, "s"),
    ):
        if whole >= size:
            rest = whole % size // smaller
            return f"{whole // size} {name} {rest} {part}" if rest else f"{whole // size} {name}"
    return f"{whole} s"


def instant(at: datetime | None) -> str:
    """Return an instant to the second. All instants here are UTC."""
    return NOTHING if at is None else f"{at:%Y-%m-%d %H:%M:%S}"


def clipped(text: str) -> str:
    """Return a text that a cell of a table has room for."""
    return text if len(text) <= _MOST_CHARACTERS else f"{text[: _MOST_CHARACTERS - 1]}…"
