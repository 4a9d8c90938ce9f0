"""A body that the service finds too large: it is posted in halves, until what is too large is one record alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

TOO_LARGE: Final = 413


class _Known(msgspec.Struct):
    event_type: str | None = None
    id: str | None = None


_decode: Final = msgspec.json.Decoder(_Known).decode


def rows_of(lines: bytes) -> list[bytes]:
    """Return the records of a body, each with its line end."""
    return [line + b"\n" for line in lines.split(b"\n") if line]


def halves(lines: bytes) -> tuple[Sequence[bytes], Sequence[bytes]]:
    """Return the first and the second half of the records of a body."""
    rows = rows_of(lines)
    middle = len(rows) // 2
    return rows[:middle], rows[middle:]


def known_of(line: bytes) -> tuple[str | None, str | None]:
    """Return the event type and the id of a record, by which its owner finds it, as far as it says them."""
    try:
        known = _decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None, None
    return known.event_type, known.id


def told(line: bytes, reason: str) -> str:
    """Return why a record is rejected, and what to do."""
    return (
        f"the notification of {len(line)} bytes is larger than the service takes, so let its payload say where the "
        f"data is ({reason})"
    )
