"""Instants: whole nanoseconds since 1970 UTC, and their RFC 3339 text.

An instant is a plain `int`. Python's `datetime` holds microseconds and ends in the year 9999; the log stamps
nanoseconds, and the contract compares start dates with them at full precision and takes epoch milliseconds far
beyond that year. So the calendar is computed here.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

SECOND: Final = 1_000_000_000
MILLISECOND: Final = 1_000_000
_DAY_SECONDS: Final = 86_400

# What a nanosecond counter of 64 bits can hold, which is what the broker stamps: instants beyond are clamped there.
EARLIEST_STAMP: Final = -(2**63)
LATEST_STAMP: Final = 2**63 - 1

_MONTH_DAYS: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def is_leap_year(year: int) -> bool:
    """Tell whether a year of the Gregorian calendar has 366 days."""
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def days_in_month(year: int, month: int) -> int:
    """Return how many days a month has."""
    return 29 if month == 2 and is_leap_year(year) else _MONTH_DAYS[month - 1]


def days_from_date(year: int, month: int, day: int) -> int:
    """Return the days from 1970-01-01 to a date, by counting eras of 400 years that begin in March."""
    shifted = year - (month <= 2)
    era, year_of_era = divmod(shifted, 400)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719_468


def date_from_days(days: int) -> tuple[int, int, int]:
    """Return year, month and day: the inverse of `days_from_date`."""
    era, day_of_era = divmod(days + 719_468, 146_097)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted_month = (5 * day_of_year + 2) // 153
    month = (shifted_month + 2) % 12 + 1
    day = day_of_year - (153 * shifted_month + 2) // 5 + 1
    return era * 400 + year_of_era + (month <= 2), month, day


@lru_cache(maxsize=256)
def _to_the_second(seconds: int) -> str:
    days, rest = divmod(seconds, _DAY_SECONDS)
    year, month, day = date_from_days(days)
    sign = "+" if year > 9999 else "-" if year < 0 else ""
    return f"{sign}{abs(year):04}-{month:02}-{day:02}T{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"


def to_seconds_text(instant: int) -> str:
    """Render an instant in whole UTC seconds: `2026-03-04T10:00:00Z`."""
    return _to_the_second(instant // SECOND) + "Z"


def fraction_text(instant: int) -> str:
    """Render the part below the second as nothing, or a point and 3, 6 or 9 digits."""
    nanoseconds = instant % SECOND
    if not nanoseconds:
        return ""
    if nanoseconds % 1_000:
        return f".{nanoseconds:09}"
    if nanoseconds % 1_000_000:
        return f".{nanoseconds // 1_000:06}"
    return f".{nanoseconds // 1_000_000:03}"


def to_text(instant: int) -> str:
    """Render an instant at full precision: `2026-03-04T10:00:00.123456789Z`."""
    return _to_the_second(instant // SECOND) + fraction_text(instant) + "Z"


def to_offset_text(instant: int) -> str:
    """Render an instant as the contract's messages do: with `+00:00` instead of `Z`."""
    return _to_the_second(instant // SECOND) + fraction_text(instant) + "+00:00"
