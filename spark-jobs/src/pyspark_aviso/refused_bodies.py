"""A body that the service finds too large: it is posted in halves, until what is too large is one record alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from pyspark_aviso.results import Result

if TYPE_CHECKING:
    from collections.abc import Sequence

TOO_LARGE: Final = 413


class _Known(msgspec.Struct):
    """By what its owner finds a record, as far as it says so."""

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


def rejected(line: bytes, reason: str) -> Result:
    """Return what becomes of a record that is too large alone, as the service would say it, and what to do."""
    try:
        known = _decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        known = _Known()
    return Result(
        index=0,
        status="rejected",
        event_type=known.event_type,
        id=known.id,
        code="PAYLOAD_TOO_LARGE",
        message=(
            f"the notification of {len(line)} bytes is larger than the service takes, so let its payload say where the "
            f"data is ({reason})"
        ),
    )
