"""Start and end points of reading: `from_id`, `from_date`, `to_id`, `to_date` (contract sections 9 and 16.6)."""

from __future__ import annotations

import re
from typing import Final, NoReturn

from aviso_core import instant
from aviso_core.errors import InvalidSpan
from aviso_core.event import EndAt, FromInstant, FromSequence, Now, StartAt, ToInstant, ToSequence

_LARGEST_SEQUENCE: Final = 2**64 - 1
_MOST_SEQUENCE_DIGITS: Final = 20
_LARGEST_SECONDS: Final = 2**63 - 1
# The last millisecond of the calendar that the reference computes with, 31 December 262142.
_LARGEST_MILLISECONDS: Final = 8_210_266_876_799_999

# Leading zeros are taken off afterwards: a pattern that tells them from the rest would try every boundary.
_SEQUENCE: Final = re.compile(r"\+?([0-9]+)", re.ASCII)
_EPOCH: Final = re.compile(r"([+-]?)([0-9]+)", re.ASCII)
_MOST_SECONDS_DIGITS: Final = 11

# RFC 3339, the same with a space, and both without an offset, which then is UTC (and has no small letters).
_DATE_TIME: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt ]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?"
    r"(?:([Zz])|([+-])([0-9]{2}):([0-9]{2}))?",
    re.ASCII,
)
_NO_DATE: Final = (
    "expected ISO-8601 datetime (RFC3339/space-separated with optional timezone) "
    "or unix epoch seconds/milliseconds"
)
_DATE_EXAMPLES: Final = (
    "'2025-06-09T13:15:00Z', '2025-06-09 13:15:00+00:00', '2025-06-09 13:15:00', "
    "'1740509903', '1740509903710'"
)


def read_sequence(text: str, *, name: str) -> int:
    """Return the number of `from_id` or `to_id`."""
    if not text.strip():
        raise InvalidSpan(
            f"{name} cannot be empty. Provide a valid sequence number or omit the field", field=name
        )
    match = _SEQUENCE.fullmatch(text)
    if match is not None:
        digits = _significant(match[1])
        if len(digits) <= _MOST_SEQUENCE_DIGITS and int(digits) <= _LARGEST_SEQUENCE:
            return int(digits)
    raise InvalidSpan(
        f"{name} must be a valid positive integer. Got: '{text}'. Valid examples: '1', '123', '9999'",
        field=name,
    )


def _significant(digits: str) -> str:
    return digits.lstrip("0") or "0"


def read_date(text: str, *, name: str) -> int:
    """Return the instant of `from_date` or `to_date`."""
    trimmed = text.strip()
    if not trimmed:
        raise InvalidSpan(
            f"{name} cannot be empty. Provide a valid datetime/timestamp or omit the field", field=name
        )
    try:
        return _read_instant(trimmed)
    except _NoInstant as reason:
        raise InvalidSpan(
            f"{name} must be a valid datetime/timestamp. Got: '{trimmed}'. Error: {reason}. "
            f"Valid examples: {_DATE_EXAMPLES}",
            field=name,
        ) from reason


class _NoInstant(ValueError):
    pass


def _read_instant(text: str) -> int:
    digits = _EPOCH.fullmatch(text)
    if digits is not None:
        return _read_epoch(text, sign=digits[1], digits=_significant(digits[2]))
    match = _DATE_TIME.fullmatch(text)
    if match is None or ("t" in text and not (match[8] or match[9])):
        raise _NoInstant(_NO_DATE)
    return _from_calendar(match)


def _read_epoch(text: str, *, sign: str, digits: str) -> int:
    if sign == "-":
        raise _NoInstant(f"negative unix timestamps are not supported: '{text}'")
    if len(digits) > 19 or int(digits) > _LARGEST_SECONDS:
        raise _NoInstant(f"failed to parse unix timestamp '{text}': number too large to fit in target type")
    if len(digits) <= _MOST_SECONDS_DIGITS:
        return int(digits) * instant.SECOND
    if int(digits) > _LARGEST_MILLISECONDS:
        raise _NoInstant(f"invalid unix milliseconds timestamp '{text}'")
    return int(digits) * instant.MILLISECOND


def _from_calendar(match: re.Match[str]) -> int:
    year, month, day, hour, minute, second = (int(match[group]) for group in range(1, 7))
    if not (1 <= month <= 12 and 1 <= day <= instant.days_in_month(year, month)):
        _refuse_date()
    if hour > 23 or minute > 59 or second > 59:
        _refuse_date()
    seconds = instant.days_from_date(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second
    nanoseconds = int((match[7] or "0")[:9].ljust(9, "0"))
    return (seconds - _offset_seconds(match)) * instant.SECOND + nanoseconds


def _offset_seconds(match: re.Match[str]) -> int:
    if match[9] is None:
        return 0
    hours, minutes = int(match[10]), int(match[11])
    if hours > 23 or minutes > 59:
        _refuse_date()
    return (hours * 3600 + minutes * 60) * (-1 if match[9] == "-" else 1)


def _refuse_date() -> NoReturn:
    raise _NoInstant(_NO_DATE)


def read_start(from_id: str | None, from_date: str | None) -> StartAt:
    """Return where reading begins; the sequence is looked at before the date, and both before their clash."""
    sequence = None if from_id is None else read_sequence(from_id, name="from_id")
    date = None if from_date is None else read_date(from_date, name="from_date")
    if sequence is not None and date is not None:
        raise InvalidSpan(
            "Cannot specify both from_id and from_date. Please provide only one replay parameter. "
            "Use from_id for sequence-based replay or from_date for time-based replay.",
            field="from_date",
        )
    if sequence is not None:
        return FromSequence(sequence)
    return Now() if date is None else FromInstant(date)


def require_start(start: StartAt) -> FromSequence | FromInstant:
    """Return the start of a replay, which must have one."""
    if isinstance(start, Now):
        raise InvalidSpan(
            "Replay endpoint requires either from_id or from_date parameter. "
            "Use from_id for sequence-based replay or from_date for time-based replay.",
            field="from_id",
        )
    return start


def read_end(to_id: str | None, to_date: str | None, *, start: FromSequence | FromInstant) -> EndAt | None:
    """Return where a replay ends, or None where it ends with the log."""
    sequence = None if to_id is None else read_sequence(to_id, name="to_id")
    date = None if to_date is None else read_date(to_date, name="to_date")
    if sequence is not None and date is not None:
        raise InvalidSpan(
            "Cannot specify both to_id and to_date. Please provide only one replay end parameter. "
            "Use to_id for a sequence-based end or to_date for a time-based end.",
            field="to_date",
        )
    if sequence is not None:
        return _end_at_sequence(sequence, start)
    return None if date is None else _end_at_instant(date, start)


def _end_at_sequence(sequence: int, start: FromSequence | FromInstant) -> ToSequence:
    if isinstance(start, FromSequence) and sequence < start.sequence:
        raise InvalidSpan(
            f"to_id ({sequence}) must not be lower than from_id ({start.sequence})", field="to_id"
        )
    return ToSequence(sequence)


def _end_at_instant(date: int, start: FromSequence | FromInstant) -> ToInstant:
    if isinstance(start, FromInstant) and date < start.instant:
        raise InvalidSpan(
            f"to_date ({instant.to_offset_text(date)}) must not be earlier than "
            f"from_date ({instant.to_offset_text(start.instant)})",
            field="to_date",
        )
    return ToInstant(date)
