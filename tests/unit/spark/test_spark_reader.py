"""Batch reads from a service that runs, as Spark makes them but without Spark: planned, pickled, and read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pytest
import shapely
from pyspark.sql.datasource import InputPartition

from pyspark_aviso.options import OptionError
from pyspark_aviso.positions import NoSuchEventType
from pyspark_aviso.transport import Refused
from support.event_tables import COLUMNS, FORMS, read, reader, rows_of, sequences
from support.published import published

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.published import Published

STORED: Final = 60


@pytest.fixture(scope="module")
def service() -> Iterator[Published]:
    """Return a service with all kinds of events, of which some are gone from the middle."""
    with published("maps", "runs", "empty") as running:
        running.publish("maps", range(STORED - 1))
        running.retract("maps", place="lisboa", step=3)
        running.delete("maps", 7, 8, 31)
        running.publish("runs", range(10))
        yield running


def as_row(event: dict[str, Any]) -> dict[str, Any]:
    """Return a CloudEvent as the row that it should be: its payload decoded, its shape as GeoJSON."""
    identifier = dict(event["data"]["identifier"])
    ring = identifier.pop("polygon", None)
    geometry = event["data"].get("geometry")
    if geometry is None and ring is not None:
        geometry = {"type": "Polygon", "coordinates": [[[lon, lat] for lat, lon in ring]]}
    return {
        "event_type": event["type"].rpartition(".")[2],
        "sequence": event["sequence"],
        "time": event["time"][:26].rstrip("Z"),
        "id": event["id"],
        "identifier": sorted(identifier.items()),
        "geometry": geometry,
        "payload": event["data"]["payload"],
        "operation": event.get("operation"),
    }


def as_compared(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row as `as_row` makes them."""
    time = row["time"].replace(tzinfo=None).isoformat(timespec="microseconds")
    shape = row["geometry"]
    geometry = None if shape is None else json.loads(shapely.to_geojson(shapely.from_wkb(shape)))
    return {**row, "time": time, "payload": json.loads(row["payload"]), "geometry": geometry}


# --- what is read ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_rows_are_the_events_that_the_service_shows(service: Published, form: str) -> None:
    """Retractions too, whichever way they are fetched."""
    rows = read(service.url, eventTypes="maps", format=form, rowsPerPartition=7)
    assert list(map(as_compared, rows)) == list(map(as_row, service.cloud_events("maps")))
    assert [row["operation"] for row in rows] == [None] * (STORED - 4) + ["delete"]


def test_raw_rows_are_the_lines_as_they_are_sent(service: Published) -> None:
    """One column, one event in each."""
    rows = read(service.url, "value string", eventTypes="maps", format="raw", rowsPerPartition=25)
    assert [json.loads(row["value"]) for row in rows] == service.cloud_events("maps")


@pytest.mark.parametrize("form", FORMS)
def test_columns_are_those_of_the_schema_in_its_order(service: Published, form: str) -> None:
    """A schema of fewer columns is a projection."""
    columns = "payload string, sequence bigint, time timestamp, geometry binary"
    (partition,) = (made := reader(service.url, columns, eventTypes="runs", format=form)).partitions()
    (first, *_) = made.read(partition)
    assert first.schema.names == ["payload", "sequence", "time", "geometry"]
    assert str(first.schema.field("time").type) == "timestamp[us, tz=UTC]"


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({"fromSequence": 5, "toSequence": 10}, [5, 6, 9, 10]),
        ({"fromSequence": 59}, [59, 60]),
        ({"toSequence": 2}, [1, 2]),
        ({"fromSequence": 7, "toSequence": 8}, []),
        ({"fromSequence": 55, "toSequence": 9999}, list(range(55, 61))),
        ({"fromSequence": 61}, []),
        ({"fromSequence": 9, "toSequence": 3}, []),
    ],
)
@pytest.mark.parametrize("form", FORMS)
def test_a_range_has_both_of_its_ends(
    service: Published, form: str, options: dict[str, Any], wanted: list[int]
) -> None:
    """As far as there are such events."""
    for rows in (1, 3, 100):
        assert (
            sequences(service.url, eventTypes="maps", format=form, rowsPerPartition=rows, **options) == wanted
        )


def test_ranges_by_time_that_follow_each_other_have_nothing_in_common(service: Published) -> None:
    """An event at the very instant belongs to what begins there."""
    events = service.cloud_events("maps")
    time = events[20]["time"]
    before = sequences(service.url, eventTypes="maps", toTime=time)
    behind = sequences(service.url, eventTypes="maps", fromTime=time)
    assert before == [event["sequence"] for event in events if event["time"] < time]
    assert behind == [event["sequence"] for event in events if event["time"] >= time]
    assert sequences(service.url, eventTypes="maps", fromTime=time, toTime=time) == []


def test_several_event_types_are_read_together(service: Published) -> None:
    """All that there are, where none is named; those without events have no partitions."""
    columns = "event_type string, sequence bigint"
    both = read(service.url, columns, eventTypes="runs, maps,runs")
    assert [row["event_type"] for row in both] == ["runs"] * 10 + ["maps"] * (STORED - 3)
    assert sorted(map(str, read(service.url, columns))) == sorted(map(str, both))
    assert reader(service.url, eventTypes="empty").partitions() == []


def test_a_filter_is_the_services_own(service: Published) -> None:
    """Any constraint that it knows; the sequences in between are no rows."""
    wanted = [
        event["sequence"]
        for event in service.cloud_events("maps", identifier={"place": "zürich", "step": {"gte": 30}})
    ]
    constraints = '{"place": "zürich", "step": {"gte": 30}}'
    for form in FORMS:
        assert sequences(service.url, eventTypes="maps", filter=constraints, format=form) == wanted
    with pytest.raises(Refused, match="colour"):
        sequences(service.url, eventTypes="maps", filter='{"colour": "red"}')


def test_the_end_is_fixed_when_a_read_is_planned() -> None:
    """What comes afterwards is not read, however often the plan is."""
    with published("maps") as service:
        service.publish("maps", range(5))
        made = reader(service.url, "sequence bigint", eventTypes="maps")
        partitions = made.partitions()
        service.publish("maps", range(5, 9))
        for _ in range(2):
            assert [row["sequence"] for row in rows_of(made, partitions)] == [1, 2, 3, 4, 5]


def test_a_partition_of_nothing_is_empty(service: Published) -> None:
    """Spark makes one up where there are none."""
    assert list(reader(service.url).read(InputPartition(None))) == []


# --- what is refused -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "columns", "told"),
    [
        ({"filter": "[1]"}, COLUMNS, r"'filter' must be a JSON object"),
        ({"filter": "{"}, COLUMNS, r"'filter' must be a JSON object"),
        (
            {"fromSequence": 5, "eventTypes": "maps,runs"},
            COLUMNS,
            r"name one event type in option 'eventTypes'",
        ),
        ({"toSequence": 5}, COLUMNS, r"name one event type in option 'eventTypes'"),
        (
            {"eventTypes": "maps", "fromSequence": 5, "fromTime": "0"},
            COLUMNS,
            r"'fromSequence' and 'fromTime'",
        ),
        ({"fromTime": "yesterday"}, COLUMNS, r"'fromTime' must be a date.*'yesterday'"),
        ({"toTime": "2030-13-01"}, COLUMNS, r"'toTime' must be a date"),
        ({}, "sequence bigint, colour string", r"no column 'colour'.*event_type, sequence"),
        ({}, "sequence int", r"column 'sequence' is bigint, not int"),
        ({"format": "raw"}, "payload string", r"no column 'payload' in the format 'raw'.*value"),
    ],
)
def test_what_cannot_be_read_is_refused_before_anybody_is_asked(
    options: dict[str, Any], columns: str, told: str
) -> None:
    """By the name of the option or column, and with what to do."""
    with pytest.raises(OptionError, match=told):
        reader("http://127.0.0.1:1", columns, **options)


def test_an_unknown_event_type_is_told(service: Published) -> None:
    """With those that there are."""
    with pytest.raises(NoSuchEventType, match=r"'nope'.*empty, maps, runs"):
        reader(service.url, eventTypes="nope").partitions()
