"""What was expected, said in a few words: values of fields, of which every combination should have been announced.

Values are compared as texts with the identifiers of events, so they are written as the event type writes them.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from aviso_spark.common.problems import NotUnderstood

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_DATES: Final = ("%Y%m%d", "%Y-%m-%d")
_RANGE: Final = re.compile(r"(?P<first>[\d-]+)\.\.(?P<last>[\d-]+)(/(?P<step>[1-9]\d*))?", re.ASCII)
# Every combination becomes a row.
MOST_VALUES: Final = 100_000
# What people call a field that holds a day.
_DAYS: Final = ("date", "day", "valid_date", "base_date")


def grid_of(given: Sequence[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """Return the values of each field; a field that is named twice has the values of both."""
    grid: dict[str, tuple[str, ...]] = {}
    for field, text in given:
        grid[field] = tuple(dict.fromkeys([*grid.get(field, ()), *values_of(field, text)]))
    return grid


def values_of(field: str, text: str) -> list[str]:
    """Return the values that a text names: `north,south`, `0..240/6`, `20300101..20300131`."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    values = [value for part in parts for value in _values(field, part)]
    if not values:
        raise NotUnderstood(f"--expect {field}= names no value")
    return values


def _values(field: str, part: str) -> Iterator[str]:
    found = _RANGE.fullmatch(part)
    if found is None:
        yield part
        return
    first, last, step = found["first"], found["last"], int(found["step"] or 1)
    form = _date_form(first)
    if form is not None and form == _date_form(last):
        yield from _days(first, last, step, form)
    elif first.isdigit() and last.isdigit():
        width = len(first) if first.startswith("0") else 0
        numbers = range(int(first), int(last) + 1, step)
        if len(numbers) > MOST_VALUES:
            raise NotUnderstood(
                f"--expect {field}: '{part}' has {len(numbers):,} values, at most {MOST_VALUES:,} can be expected"
            )
        yield from (f"{number:0{width}d}" for number in numbers)
    else:
        raise NotUnderstood(f"--expect {field}: '{part}' is a range of neither whole numbers nor days")


def _days(first: str, last: str, step: int, form: str) -> Iterator[str]:
    day, end = _parsed(first, form), _parsed(last, form)
    while day <= end:
        yield day.strftime(form)
        day += timedelta(days=step)


def _date_form(text: str) -> str | None:
    form = {8: _DATES[0], 10: _DATES[1]}.get(len(text))
    if form is None:
        return None
    try:
        _parsed(text, form)
    except ValueError:
        return None
    return form


def _parsed(text: str, form: str) -> datetime:
    return datetime.strptime(text, form).replace(tzinfo=UTC)


def day_field(fields: Sequence[str]) -> str | None:
    """Return the field that says which day a combination belongs to, by its name."""
    return next((name for name in _DAYS if name in fields), None)


def label_fields(distinct: Mapping[str, int], most: int) -> tuple[str, ...]:
    """Return as many fields as have at most so many combinations together: what a picture has rows for.

    There is always one, the one with the fewest values: of it, rows may have to be left out.
    """
    taken: list[str] = []
    product = 1
    for name, count in sorted(distinct.items(), key=lambda one: one[1]):
        if taken and product * count > most:
            break
        taken.append(name)
        product *= count
    return tuple(name for name in distinct if name in taken)
