"""Batch reads from a service that runs, as Spark makes them but without Spark: planned, pickled, and read."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import pytest
import shapely
from pyspark.sql.datasource import InputPartition

from pyspark_aviso.offsets import LogReplaced
from pyspark_aviso.options import OptionError, read_options
from pyspark_aviso.positions import NoSuchEventType
from pyspark_aviso.ranges import HistoryRemoved, Range
from pyspark_aviso.reader import EventReader
from pyspark_aviso.replay import EventsNotShown
from pyspark_aviso.schema import EVENT_COLUMNS
from pyspark_aviso.source import AvisoDataSource
from pyspark_aviso.transport import Refused, TransportError
from support.gates import opened
from support.published import CuttingGate, published
from support.spark_types import sent_to_task, struct_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.published import Published

STORED: Final = 60
FORMS: Final = ("arrow", "ndjson", "auto")
COLUMNS: Final = ", ".join(f"{name} {kind}" for name, kind in EVENT_COLUMNS.items())


@pytest.fixture(scope="module")
def service() -> Iterator[Published]:
    """Return a service with all kinds of events, of which some are gone from the middle."""
    with published("maps", "runs", "empty") as running:
        running.publish("maps", range(STORED - 1))
        running.retract("maps", place="lisboa", step=3)
        running.delete("maps", 7, 8, 31)
        running.publish("runs", range(10))
        yield running


def reader_of(url: str, columns: str = COLUMNS, **options: Any) -> EventReader:
    """Return a reader as Spark makes it."""
    given = {"url": url, "deadlineSeconds": "5", **{name: str(value) for name, value in options.items()}}
    return EventReader(read_options(given, "read"), struct_of(columns))


def rows_of(reader: EventReader, partitions: list[InputPartition] | None = None) -> list[dict[str, Any]]:
    """Return what a reader reads, in the order of its partitions, having been sent to where it is done."""
    rows: list[dict[str, Any]] = []
    for partition in reader.partitions() if partitions is None else partitions:
        there, part = sent_to_task((reader, partition))
        for batch in there.read(part):
            rows += batch.to_pylist()
    return rows


def read(url: str, columns: str = COLUMNS, **options: Any) -> list[dict[str, Any]]:
    """Return what is read with these options."""
    return rows_of(reader_of(url, columns, **options))


def sequences(url: str, **options: Any) -> list[int]:
    """Return the sequences of what is read with these options."""
    return [row["sequence"] for row in read(url, "sequence bigint", **options)]


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
    (partition,) = (reader := reader_of(service.url, columns, eventTypes="runs", format=form)).partitions()
    (first, *_) = reader.read(partition)
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
    assert reader_of(service.url, eventTypes="empty").partitions() == []


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
        reader = reader_of(service.url, "sequence bigint", eventTypes="maps")
        partitions = reader.partitions()
        service.publish("maps", range(5, 9))
        for _ in range(2):
            assert [row["sequence"] for row in rows_of(reader, partitions)] == [1, 2, 3, 4, 5]


def test_a_partition_of_nothing_is_empty(service: Published) -> None:
    """Spark makes one up where there are none."""
    assert list(reader_of(service.url).read(InputPartition(None))) == []


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
        reader_of("http://127.0.0.1:1", columns, **options)


def test_an_unknown_event_type_is_told(service: Published) -> None:
    """With those that there are."""
    with pytest.raises(NoSuchEventType, match=r"'nope'.*empty, maps, runs"):
        reader_of(service.url, eventTypes="nope").partitions()


def test_the_columns_are_known_without_asking() -> None:
    """Those of an event, or the only one of the format `raw`."""
    assert AvisoDataSource({"url": "http://127.0.0.1:1"}).schema() == COLUMNS
    assert AvisoDataSource({"url": "http://127.0.0.1:1", "format": "raw"}).schema() == "value string"


# --- what goes wrong -------------------------------------------------------------------------------------


@contextmanager
def cutting(service: Published) -> Iterator[CuttingGate]:
    """Open a way to a service on which answers break off."""
    gate = CuttingGate(service.port)
    with opened(gate):
        yield gate


@pytest.fixture(scope="module")
def long_history() -> Iterator[Published]:
    """Return a service with more than fits into an answer's first piece."""
    with published("maps") as running:
        running.publish("maps", range(6000))
        yield running


@pytest.mark.parametrize("form", ["arrow", "ndjson", "raw"])
def test_an_answer_that_breaks_off_is_read_on_from_there(long_history: Published, form: str) -> None:
    """Wherever it breaks off, every row comes once."""
    columns = "value string" if form == "raw" else "sequence bigint"
    for sizes in ([1, 200, 1000], [70_001, 300_000, 90_007]):
        with cutting(long_history) as gate:
            reader = reader_of(gate.url, columns, eventTypes="maps", format=form)
            partitions = reader.partitions()
            gate.cut_after(*(size + 400 for size in sizes))
            rows = rows_of(reader, partitions)
            assert gate.cuts == len(sizes)
        found = [json.loads(row["value"])["sequence"] if form == "raw" else row["sequence"] for row in rows]
        assert found == list(range(1, 6001))


@pytest.mark.parametrize("form", ["arrow", "ndjson"])
def test_an_answer_that_always_breaks_off_is_an_error_and_not_a_short_read(
    form: str,
) -> None:
    """After the deadline, which begins anew with every row."""
    with published("maps") as service, cutting(service) as gate:
        service.publish_large("maps", 2, payload_bytes=5000)
        options = {"eventTypes": "maps", "format": form, "deadlineSeconds": 1}
        reader = reader_of(gate.url, "sequence bigint", **options)
        partitions = reader.partitions()
        gate.cut_after(*[2000] * 1000)
        with pytest.raises(
            TransportError, match="from sequence 1 to 2, which is stored: the answer was cut off"
        ):
            rows_of(reader, partitions)


@pytest.mark.parametrize("form", FORMS)
def test_an_answer_that_ends_before_the_range_is_asked_for_again(form: str) -> None:
    """Whoever gave it may not know yet of all that is stored; and if nobody ever does, that is an error."""
    with published("maps") as service:
        service.publish("maps", range(3))
        options = {"eventTypes": "maps", "format": form, "deadlineSeconds": 1}
        reader = reader_of(service.url, "sequence bigint", **options)
        epoch = service.position("maps")["epoch"]
        ahead = [InputPartition(Range(event_type="maps", epoch=epoch, first=1, last=5))]
        with pytest.raises(
            TransportError, match="from sequence 4 to 5, which is stored: the answer ends with 3"
        ):
            rows_of(reader, ahead)
        publisher = threading.Timer(0.3, service.publish, ("maps", range(3, 7)))
        publisher.start()
        assert [row["sequence"] for row in rows_of(reader, ahead)] == [1, 2, 3, 4, 5]
        publisher.join()


@pytest.mark.parametrize("form", FORMS)
def test_removed_history_is_an_error_or_left_out(form: str) -> None:
    """When the read is planned, and when it is made."""
    with published("maps") as service:
        service.publish("maps", range(20))
        options = {"eventTypes": "maps", "format": form}
        strict = reader_of(service.url, "sequence bigint", **options)
        lenient = reader_of(service.url, "sequence bigint", failOnDataLoss="false", **options)
        partitions = strict.partitions()
        service.delete("maps", *range(1, 6))
        with pytest.raises(HistoryRemoved, match=r"from 1, .* begins with 6.*failOnDataLoss=false"):
            rows_of(strict, partitions)
        assert [row["sequence"] for row in rows_of(lenient, partitions)] == list(range(6, 21))
        for start in ({"fromSequence": 3}, {"fromTime": "2020-01-01"}):
            with pytest.raises(HistoryRemoved, match="begins with 6"):
                sequences(service.url, **options, **start)
            found = sequences(service.url, failOnDataLoss="false", **options, **start)
            assert found == list(range(6, 21))
        assert sequences(service.url, **options) == list(range(6, 21))
        service.wipe("maps")
        with pytest.raises(HistoryRemoved, match=r"begins with 21"):
            rows_of(strict, partitions)
        assert rows_of(lenient, partitions) == []


@pytest.mark.parametrize("form", FORMS)
def test_events_that_cannot_be_shown_are_an_error_or_left_out(form: str) -> None:
    """The service counts them, and nothing is left out in silence."""
    place = {"place": {"type": "StringHandler", "required": False}}
    without_topic = {"plain": {"identifier": place, "payload": {"required": False}}}
    with published(notification_schema=without_topic) as service:
        for place_name in ("a", "b"):
            service.notify({"event_type": "plain", "identifier": {"place": place_name}})
        with pytest.raises(EventsNotShown, match=r"2 events of 'plain' .* failOnDataLoss=false"):
            sequences(service.url, eventTypes="plain", format=form)
        assert sequences(service.url, eventTypes="plain", format=form, failOnDataLoss="false") == []


def test_a_log_that_was_replaced_is_never_taken_for_the_one_of_the_plan(tmp_path: Path) -> None:
    """Its events have the same sequences, and are others."""
    with published("maps", folder=tmp_path) as service:
        service.publish("maps", range(20))
        for form in FORMS:
            reader = reader_of(service.url, "sequence bigint", eventTypes="maps", format=form)
            partitions = reader.partitions()
            service.replace("maps")
            service.publish("maps", range(100, 130))
            with pytest.raises(LogReplaced, match=r"EPOCH_CHANGED.*'maps'"):
                rows_of(reader, partitions)
        assert sequences(service.url, eventTypes="maps") == list(range(1, 31))
