"""`Date`: a day, as year-month-day or as day of the year."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Final, Literal, Self, TypeAlias

from aviso_core import instant
from aviso_core.errors import InvalidIdentifier
from aviso_core.fields.base import Field, JsonSchema, Samples

if TYPE_CHECKING:
    from collections.abc import Iterator

DateFormat: TypeAlias = Literal["%Y%m%d", "%Y-%m-%d"]

_FORMS: Final = re.compile(
    r"([0-9]{4})(?:([0-9]{2})([0-9]{2})|-([0-9]{1,2})-([0-9]{1,2})|-([0-9]{3}))", re.ASCII
)


# Days repeat: most notifications of an hour carry the same few. Only accepted texts are kept, and those are short.
@lru_cache(maxsize=4096)
def _canonical_day(text: str, canonical_format: DateFormat) -> str:
    year, month, day = _read_day(text)
    if canonical_format == "%Y%m%d":
        return f"{year:04}{month:02}{day:02}"
    return f"{year:04}-{month:02}-{day:02}"


def _read_day(text: str) -> tuple[int, int, int]:
    """Return year, month and day of an accepted form that names a day of the calendar."""
    match = _FORMS.fullmatch(text)
    if match is None:
        raise _NoDayError
    year_text, month_text, day_text, loose_month, loose_day, day_of_year = match.groups()
    year = int(year_text)
    if day_of_year is not None:
        return _day_of_year(year, int(day_of_year))
    month, day = int(month_text or loose_month), int(day_text or loose_day)
    if 1 <= month <= 12 and 1 <= day <= instant.days_in_month(year, month):
        return year, month, day
    raise _NoDayError


class _NoDayError(ValueError):
    pass


def _day_of_year(year: int, day: int) -> tuple[int, int, int]:
    if 1 <= day <= (366 if instant.is_leap_year(year) else 365):
        return instant.date_from_days(instant.days_from_date(year, 1, 1) + day - 1)
    raise _NoDayError


class DateField(Field, frozen=True, kw_only=True, tag="Date"):
    """A day of the calendar; canonical is the one format that the schema names."""

    kind: ClassVar[str] = "Date"

    canonical_format: DateFormat = "%Y%m%d"

    def canonical(self, text: str) -> str:
        """Return the day in the canonical format."""
        try:
            return _canonical_day(text, self.canonical_format)
        except _NoDayError as error:
            raise InvalidIdentifier(
                f"Failed to parse date value for field '{self.name}'",
                details=f"Field '{self.name}' contains invalid date '{text}'. "
                "Expected: YYYY-MM-DD, YYYYMMDD, or YYYY-DDD",
                field=self.name,
            ) from error

    def comparable(self, token: str) -> str | None:
        """Return the token."""
        return token

    def options(self) -> dict[str, object]:
        """Return `canonical_format`."""
        return {"canonical_format": self.canonical_format}

    def json_schema(self) -> JsonSchema:
        """Describe the three forms, and the one that is also a number."""
        return {
            "anyOf": [
                {
                    "type": "string",
                    "pattern": "^[0-9]{4}(-?[0-9]{2}-?[0-9]{2}|-[0-9]{1,2}-[0-9]{1,2}|-[0-9]{3})$",
                },
                {"type": "integer", "minimum": 10000101, "maximum": 99991231},
            ]
        }

    def narrowings(self, older: Self) -> Iterator[str]:
        """Yield another format: stored topics spell the day in the old one."""
        if self.canonical_format != older.canonical_format:
            yield f"canonicalFormat {self.canonical_format} is not the {older.canonical_format} of stored topics"

    @classmethod
    def samples(cls) -> Iterator[tuple[DateField, Samples]]:
        """Yield a field of each format."""
        yield (
            cls(name="x"),
            Samples(
                accepted=(
                    ("2025-07-06", "20250706"),
                    ("20250706", "20250706"),
                    (20250706, "20250706"),
                    ("2025-7-6", "20250706"),
                    ("2025-359", "20251225"),
                    ("2024-366", "20241231"),
                    ("2024-02-29", "20240229"),
                    ("0001-01-01", "00010101"),
                ),
                refused=tuple(
                    (text, "Failed to parse date value for field 'x'")
                    for text in (
                        "", "*", "2025-02-30", "20250230", "2025187", "2025-366", "2025-000", "2025-00-01",
                        "2025-13-01", "25-01-01", "2025-12", "2025-1", "+2025-01-01", " 2025-01-01",
                        "2025-01-01 ", "20250706T12", "today", "٢٠٢٥٠٧٠٦", "2025-0706",
                    )
                ),
            ),
        )  # fmt: skip
        yield (
            cls(name="x", canonical_format="%Y-%m-%d"),
            Samples(
                accepted=(("20250706", "2025-07-06"), ("2025-187", "2025-07-06")),
                refused=(("2025-07-32", "Failed to parse date value for field 'x'"),),
            ),
        )
