"""What a query's comparisons leave to read: never less than what they select, and for ranges no more."""

from __future__ import annotations

import operator
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringStartsWith,
)

from pyspark_aviso.narrowing import Narrowing, narrowing_of
from pyspark_aviso.positions import instant_of
from support.event_tables import read, reader, rows_of
from support.published import published

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql.datasource import Filter

    from support.published import Published

BEGINNING: Final = datetime(2030, 1, 1, tzinfo=UTC)
RANGES: Final[dict[Any, Callable[[Any, Any], bool]]] = {
    EqualTo: operator.eq,
    GreaterThan: operator.gt,
    GreaterThanOrEqual: operator.ge,
    LessThan: operator.lt,
    LessThanOrEqual: operator.le,
}


class Event(NamedTuple):
    """An event as it is stored: when, in nanoseconds since the beginning."""

    event_type: str
    sequence: int
    nanoseconds: int

    @property
    def time(self) -> datetime:
        """When, as Spark has it."""
        return BEGINNING + timedelta(microseconds=self.nanoseconds // 1000)


class Log:
    """A service's answers about one event type, which has events at these instants."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._events = events

    def get_json(self, path: str) -> object:
        """Return the first sequence that was stored at a date or later."""
        (date,) = parse_qs(urlsplit(path).query)["at"]
        since = (instant_of(date) - BEGINNING) // timedelta(microseconds=1) * 1000
        following = self._events[-1].sequence + 1
        at = next((event.sequence for event in self._events if event.nanoseconds >= since), following)
        name = self._events[0].event_type
        return {name: {"epoch": "a", "first": 1, "last": following - 1, "at": at}}


def is_selected(event: Event, one: Filter) -> bool:
    """Tell whether a comparison is true of an event: what Spark does with rows."""
    if isinstance(one, Not):
        return not is_selected(event, one.child)
    value = getattr(event, one.attribute[0])  # type: ignore[attr-defined]  # all that are drawn have one
    if isinstance(one, In):
        return value in one.value
    if isinstance(one, EqualNullSafe):
        return bool(value == one.value)
    return RANGES[type(one)](value, one.value)  # type: ignore[attr-defined]  # as above


def is_kept(event: Event, remains: Narrowing, log: Log) -> bool:
    """Tell whether an event is still read."""
    first, last = remains.sequences(log, event.event_type)
    return (
        remains.has_event_type(event.event_type)
        and (first is None or event.sequence >= first)
        and (last is None or event.sequence <= last)
    )


@st.composite
def _logs(draw: st.DrawFn) -> list[Event]:
    """Draw the events of one type, with holes, several of them in one microsecond or in one nanosecond."""
    name = draw(st.sampled_from("abc"))
    steps = draw(st.lists(st.tuples(st.integers(1, 3), st.sampled_from([0, 1, 400, 1000, 1001])), min_size=1))
    events, sequence, instant = list[Event](), 0, 0
    for gap, later in steps:
        sequence, instant = sequence + gap, instant + later
        events.append(Event(name, sequence, instant))
    return events


_zones = st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30))])
_times = st.builds(
    lambda ticks, zone: (BEGINNING + timedelta(microseconds=ticks)).astimezone(zone),
    st.integers(-2, 12),
    _zones,
)
_sequences = st.integers(-1, 20)
_ranges = st.one_of(
    st.builds(lambda kind, value: kind(("sequence",), value), st.sampled_from([*RANGES]), _sequences),
    st.builds(lambda kind, value: kind(("time",), value), st.sampled_from([*RANGES]), _times),
)
_names = st.sampled_from("abcd")
_of_names = st.one_of(
    st.builds(lambda name: EqualTo(("event_type",), name), _names),
    st.builds(lambda name: EqualNullSafe(("event_type",), name), _names),
    st.builds(lambda names: In(("event_type",), tuple(names)), st.lists(_names, min_size=1)),
)
_others = st.one_of(
    _of_names.map(Not),
    _ranges.map(Not),
    st.builds(lambda value: EqualNullSafe(("sequence",), value), _sequences),
    st.builds(lambda values: In(("sequence",), tuple(values)), st.lists(_sequences, min_size=1)),
    st.builds(lambda values: In(("time",), tuple(values)), st.lists(_times, min_size=1)),
)


@given(events=_logs(), filters=st.lists(_ranges | _of_names | _others, max_size=4))
def test_everything_that_is_selected_is_read(events: list[Event], filters: list[Filter]) -> None:
    """Whatever is compared, and however often."""
    remains = narrowing_of(filters)
    for event in events:
        if all(is_selected(event, one) for one in filters):
            assert is_kept(event, remains, Log(events)), (event, remains)


@given(events=_logs(), filters=st.lists(_ranges | _of_names, max_size=4))
def test_of_ranges_and_names_nothing_else_is_read(events: list[Event], filters: list[Filter]) -> None:
    """Every comparison narrows; only lists of sequences or times and negations leave something to Spark."""
    remains = narrowing_of(filters)
    for event in events:
        if is_kept(event, remains, Log(events)):
            assert all(is_selected(event, one) for one in filters), (event, remains)


@pytest.mark.parametrize(
    "one",
    [
        IsNotNull(("sequence",)),
        IsNull(("operation",)),
        EqualTo(("id",), "maps@1"),
        EqualTo(("identifier", "place"), "a"),
        GreaterThan(("sequence",), 1.5),
        EqualTo(("sequence",), None),
        LessThan(("time",), datetime(2030, 1, 1)),  # noqa: DTZ001 (that it has no zone is the case)
        LessThan(("time",), datetime.max.replace(tzinfo=UTC)),
        StringStartsWith(("event_type",), "m"),
        Not(GreaterThan(("sequence",), 5)),
    ],
)
def test_what_is_not_understood_narrows_nothing(one: Filter) -> None:
    """Spark does it, as without push-down."""
    assert narrowing_of([one]) == Narrowing()


@pytest.fixture(scope="module")
def service() -> Iterator[Published]:
    """Return a service with events of two types, of which some are gone."""
    with published("maps", "runs") as running:
        running.publish("maps", range(30))
        running.publish("runs", range(5))
        running.delete("maps", 1, 2, 15)
        yield running


@pytest.mark.parametrize(
    ("filters", "wanted"),
    [
        ([GreaterThan(("sequence",), 27)], [("maps", 28), ("maps", 29), ("maps", 30)]),
        ([EqualTo(("event_type",), "runs"), LessThan(("sequence",), 3)], [("runs", 1), ("runs", 2)]),
        ([EqualTo(("sequence",), 5), GreaterThan(("sequence",), 6)], []),
        ([EqualTo(("event_type",), "nope")], []),
        ([LessThan(("time",), datetime(1900, 1, 1, tzinfo=UTC))], []),
        ([GreaterThan(("time",), datetime(9000, 1, 1, tzinfo=UTC))], []),
        # Nobody asked for what is gone, so that is no loss.
        ([LessThan(("sequence",), 5), In(("event_type",), ("maps",))], [("maps", 3), ("maps", 4)]),
        ([GreaterThan(("sequence",), 28), GreaterThan(("time",), BEGINNING - timedelta(days=36500))], None),
    ],
)
def test_a_reader_plans_what_remains(
    service: Published, filters: list[Filter], wanted: list[tuple[str, int]] | None
) -> None:
    """And gives all comparisons back to Spark."""
    one = reader(service.url, "event_type string, sequence bigint", pushDown="true", rowsPerPartition=7)
    assert list(one.pushFilters(filters)) == filters
    found = [(row["event_type"], row["sequence"]) for row in rows_of(one)]
    assert found == ([("maps", 29), ("maps", 30)] if wanted is None else wanted)


def test_comparisons_narrow_what_the_options_leave(service: Published) -> None:
    """Neither takes the place of the other."""
    one = reader(
        service.url, "sequence bigint", pushDown="true", eventTypes="maps", fromSequence=10, toSequence=20
    )
    one.pushFilters([GreaterThan(("sequence",), 5), LessThanOrEqual(("sequence",), 12)])
    assert [row["sequence"] for row in rows_of(one)] == [10, 11, 12]


def test_an_instant_of_an_event_is_compared_to_the_microsecond(service: Published) -> None:
    """Which are those that rows have."""
    rows = read(service.url, "sequence bigint, time timestamp", eventTypes="maps")
    third = rows[2]
    same = [row["sequence"] for row in rows if row["time"] == third["time"]]
    one = reader(service.url, "sequence bigint", pushDown="true", eventTypes="maps")
    one.pushFilters([EqualTo(("time",), third["time"])])
    assert [row["sequence"] for row in rows_of(one)] == same


def test_only_a_reader_that_was_asked_to_has_what_spark_looks_for(service: Published) -> None:
    """Spark refuses the other, unless a setting of the session allows it."""
    from pyspark.sql.datasource import DataSourceReader

    plain, narrowed = (type(reader(service.url, pushDown=value)) for value in ("false", "true"))
    assert plain.pushFilters is DataSourceReader.pushFilters
    assert narrowed.pushFilters is not DataSourceReader.pushFilters
