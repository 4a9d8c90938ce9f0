"""A body that is refused as a whole for the records in it: it is posted in halves, until it is one record alone.

The service answers for each record, but not where a body is too large to be looked at, or where not one of its records
can be read: then nobody has said what becomes of each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from pyspark_aviso.results import Result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark_aviso.transport import Refused

_TOO_LARGE: Final = 413
_NO_JSON: Final = "INVALID_JSON"


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


def is_about_records(refusal: Refused) -> bool:
    """Tell whether a body was refused for what its records are, and not for what the request is."""
    return refusal.status == _TOO_LARGE or refusal.code == _NO_JSON


def rejected(line: bytes, refusal: Refused) -> Result:
    """Return what becomes of a record that was refused alone, as the service would say it, and what to do."""
    try:
        known = _decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        known = _Known()
    code, message = _NO_JSON, refusal.reason
    if refusal.status == _TOO_LARGE:
        code = "PAYLOAD_TOO_LARGE"
        message = (
            f"the notification of {len(line)} bytes is larger than the service takes, so let its payload say where the "
            f"data is ({refusal})"
        )
    return Result(
        index=0,
        status="rejected",
        event_type=known.event_type,
        id=known.id,
        code=code,
        message=message,
    )
