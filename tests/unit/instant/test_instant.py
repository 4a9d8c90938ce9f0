"""Instants as text: whole seconds in frames, 0, 3, 6 or 9 digits in CloudEvents (contract sections 7.1 and 8)."""

from __future__ import annotations

from typing import Final

import pytest

from aviso_core.instant import (
    EARLIEST_STAMP,
    LATEST_STAMP,
    SECOND,
    date_from_days,
    days_from_date,
    days_in_month,
    is_leap_year,
    to_offset_text,
    to_seconds_text,
    to_text,
)

NOON: Final = 1_772_618_400 * SECOND  # 2026-03-04T10:00:00Z

TEXTS: Final = [
    # instant, whole seconds, full precision
    (0, "1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z"),
    (NOON, "2026-03-04T10:00:00Z", "2026-03-04T10:00:00Z"),
    (NOON + 123_456_789, "2026-03-04T10:00:00Z", "2026-03-04T10:00:00.123456789Z"),
    (NOON + 123_456_000, "2026-03-04T10:00:00Z", "2026-03-04T10:00:00.123456Z"),
    (NOON + 123_000_000, "2026-03-04T10:00:00Z", "2026-03-04T10:00:00.123Z"),
    (NOON + 100_000_000, "2026-03-04T10:00:00Z", "2026-03-04T10:00:00.100Z"),
    (NOON + 120_000, "2026-03-04T10:00:00Z", "2026-03-04T10:00:00.000120Z"),
    (NOON + 1, "2026-03-04T10:00:00Z", "2026-03-04T10:00:00.000000001Z"),
    (NOON + 999_999_999, "2026-03-04T10:00:00Z", "2026-03-04T10:00:00.999999999Z"),
    # before 1970 a second is rounded down, never towards zero
    (-1, "1969-12-31T23:59:59Z", "1969-12-31T23:59:59.999999999Z"),
    (-SECOND // 2, "1969-12-31T23:59:59Z", "1969-12-31T23:59:59.500Z"),
    (-SECOND, "1969-12-31T23:59:59Z", "1969-12-31T23:59:59Z"),
    # the ends of the broker's clock
    (EARLIEST_STAMP, "1677-09-21T00:12:43Z", "1677-09-21T00:12:43.145224192Z"),
    (LATEST_STAMP, "2262-04-11T23:47:16Z", "2262-04-11T23:47:16.854775807Z"),
    # the ends of other calendars
    (253_402_300_799 * SECOND, "9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"),
    (253_402_300_800 * SECOND, "+10000-01-01T00:00:00Z", "+10000-01-01T00:00:00Z"),
    (-62_135_596_800 * SECOND, "0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
    (-62_167_219_200 * SECOND, "0000-01-01T00:00:00Z", "0000-01-01T00:00:00Z"),
    (-62_167_219_201 * SECOND, "-0001-12-31T23:59:59Z", "-0001-12-31T23:59:59Z"),
    (951_782_400 * SECOND, "2000-02-29T00:00:00Z", "2000-02-29T00:00:00Z"),
]


@pytest.mark.parametrize(("instant", "seconds", "full"), TEXTS, ids=repr)
def test_an_instant_is_written(instant: int, seconds: str, full: str) -> None:
    assert to_seconds_text(instant) == seconds
    assert to_text(instant) == full
    assert to_offset_text(instant) == f"{full.removesuffix('Z')}+00:00"


@pytest.mark.parametrize(
    ("year", "leap"), [(2024, True), (2025, False), (1900, False), (2000, True), (0, True), (-4, True)]
)
def test_leap_years_are_those_of_gregory(year: int, leap: bool) -> None:
    assert is_leap_year(year) is leap
    assert days_in_month(year, 2) == (29 if leap else 28)


def test_months_have_their_days() -> None:
    days = [days_in_month(2025, month) for month in range(1, 13)]
    assert days == [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]


@pytest.mark.parametrize(
    ("date", "days"),
    [
        ((1970, 1, 1), 0),
        ((1969, 12, 31), -1),
        ((2000, 3, 1), 11_017),
        ((1, 1, 1), -719_162),
        ((0, 3, 1), -719_468),
        ((-1, 12, 31), -719_529),
        ((262142, 12, 31), 95_026_236),
    ],
)
def test_dates_are_counted(date: tuple[int, int, int], days: int) -> None:
    assert days_from_date(*date) == days
    assert date_from_days(days) == date
