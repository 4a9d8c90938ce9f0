"""What a query compares columns with → event types, sequences and instants outside of which nothing can be wanted.

Everything is compared by Spark as well, so what is kept here may be too much and must never be too little. Comparisons
are of `event_type`, `sequence` and `time`; others, and values of other types, narrow nothing. That instants go with
sequences is taken from the service, as it is by the options `fromTime` and `toTime`.
"""

from __future__ import annotations

from datetime import MAXYEAR, MINYEAR, UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import msgspec
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
    Not,
)

from pyspark_aviso.positions import seek

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark_aviso.positions import AsksService

# Spark compares whole microseconds, which the service's nanoseconds are cut to.
_TICK: Final = timedelta(microseconds=1)
_BEGINNING: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Narrowing(msgspec.Struct, frozen=True, kw_only=True):
    """What remains. None is no bound; `begin` belongs to what remains, and `end` does not."""

    only: frozenset[str] | None = None
    without: frozenset[str] = frozenset()
    first: int | None = None
    last: int | None = None
    begin: datetime | None = None
    end: datetime | None = None

    def has_event_type(self, name: str) -> bool:
        """Tell whether events of this type may be wanted."""
        return name not in self.without and (self.only is None or name in self.only)

    def sequences(self, client: AsksService, event_type: str) -> tuple[int | None, int | None]:
        """Return the first and the last sequence that may be wanted of an event type."""
        first, last = self.first, self.last
        if self.begin is not None and self.begin > _BEGINNING:
            first = _higher(first, _first_since(client, event_type, self.begin))
        if self.end is not None:
            # Nothing was stored before there were instants.
            before = _first_since(client, event_type, self.end) if self.end > _BEGINNING else 1
            last = _lower(last, before - 1)
        return first, last


def _first_since(client: AsksService, event_type: str, instant: datetime) -> int:
    found = seek(client, event_type, instant.astimezone(UTC).isoformat(timespec="microseconds")).at
    assert found is not None, "a date that was asked about has an answer"
    return found


def narrowing_of(filters: Iterable[Filter]) -> Narrowing:
    """Return what remains of everything where all of these are true."""
    remains = Narrowing()
    for one in filters:
        remains = _narrowed(remains, one)
    return remains


def _narrowed(remains: Narrowing, one: Filter) -> Narrowing:
    match one:
        case Not(child=EqualTo() | EqualNullSafe() | In() as child) if child.attribute == ("event_type",):
            without = remains.without | {name for name in _values(child) if isinstance(name, str)}
            return msgspec.structs.replace(remains, without=without)
        case EqualTo() | EqualNullSafe() | In() if one.attribute == ("event_type",):
            names = frozenset(name for name in _values(one) if isinstance(name, str))
            only = names if remains.only is None else remains.only & names
            return msgspec.structs.replace(remains, only=only)
        case _:
            return _within(remains, *_span_of(one))


def _values(one: EqualTo | EqualNullSafe | In) -> tuple[Any, ...]:
    return tuple(one.value) if isinstance(one, In) else (one.value,)


def _span_of(one: Filter) -> tuple[str, Any, Any]:
    """Return a column and the lowest and highest value that a comparison leaves of it, as whole steps."""
    match one:
        case EqualTo(attribute=(column,)) | EqualNullSafe(attribute=(column,)) | In(attribute=(column,)):
            values = [value for value in _values(one) if value is not None]
            if values and all(_is_of(column, value) for value in values):
                return column, min(values), max(values)
        case GreaterThan(attribute=(column,), value=value) if _is_of(column, value):
            return column, _next(value), None
        case GreaterThanOrEqual(attribute=(column,), value=value) if _is_of(column, value):
            return column, value, None
        case LessThan(attribute=(column,), value=value) if _is_of(column, value):
            return column, None, _previous(value)
        case LessThanOrEqual(attribute=(column,), value=value) if _is_of(column, value):
            return column, None, value
    return "", None, None


def _is_of(column: str, value: Any) -> bool:
    """Tell whether a value is one that this column has. Instants must have room for a step on either side."""
    if column == "sequence":
        return type(value) is int
    if column != "time" or not isinstance(value, datetime) or value.tzinfo is None:
        return False
    return MINYEAR < value.year < MAXYEAR


def _next(value: Any) -> Any:
    return value + (_TICK if isinstance(value, datetime) else 1)


def _previous(value: Any) -> Any:
    return value - (_TICK if isinstance(value, datetime) else 1)


def _within(remains: Narrowing, column: str, low: Any, high: Any) -> Narrowing:
    if column == "sequence":
        return msgspec.structs.replace(
            remains, first=_higher(remains.first, low), last=_lower(remains.last, high)
        )
    if column == "time":
        end = None if high is None else _next(high)
        return msgspec.structs.replace(
            remains, begin=_higher(remains.begin, low), end=_lower(remains.end, end)
        )
    return remains


def _higher(one: Any, other: Any) -> Any:
    return one if other is None else other if one is None else max(one, other)


def _lower(one: Any, other: Any) -> Any:
    return one if other is None else other if one is None else min(one, other)
