"""Streaming reads from a service that runs, driven as Spark drives them: offsets as JSON, partitions read elsewhere."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from pyspark.sql.streaming.datasource import ReadMaxRows

from pyspark_aviso.options import OptionError
from pyspark_aviso.positions import NoSuchEventType
from support.event_tables import ALL, following, maps, next_batch, rows_between, sent
from support.published import published

if TYPE_CHECKING:
    from pathlib import Path

    from support.published import Published


# --- from where on ---------------------------------------------------------------------------------------


def test_a_stream_begins_where_it_is_told(service: Published) -> None:
    """Before everything, behind everything, at a date, or with each event type elsewhere."""
    time_of_four = service.cloud_events("maps")[3]["time"]
    cases: list[tuple[str, tuple[int, int]]] = [
        ("earliest", (0, 0)),
        ("latest", (10, 0)),
        (time_of_four, (3, 0)),
        ('{"maps": 5, "runs": "earliest"}', (4, 0)),
        (json.dumps({"maps": time_of_four, "runs": "latest"}), (3, 0)),
        ("2100-01-01", (10, 0)),
    ]
    for text, wanted in cases:
        with following(service.url, startingOffsets=text, eventTypes="maps,runs") as reader:
            offset = reader.initialOffset()
            assert (offset["maps"]["sequence"], offset["runs"]["sequence"]) == wanted, text
            assert offset["maps"]["epoch"] == service.position("maps")["epoch"]


def test_a_name_that_is_new_and_wrong_is_told_where_a_query_goes_on(service: Published) -> None:
    """Rather than passed over for ever; one that is right is read from its beginning on."""
    with following(service.url, startingOffsets="earliest", eventTypes="maps") as reader:
        offset = reader.initialOffset()
    wrong = following(service.url, eventTypes="maps,tpyo")
    with wrong as reader, pytest.raises(NoSuchEventType, match=r"'tpyo'.*maps, runs"):
        reader.latestOffset(offset, ALL)
    with following(service.url, eventTypes="maps,runs") as reader:
        assert set(reader.latestOffset(offset, ALL)) == {"maps", "runs"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("newest", r"'newest' is neither earliest nor latest nor a date"),
        ("{", r"'startingOffsets' must be earliest, latest, a date, or a JSON object"),
        ("5", r'5 is a sequence, which counts in one log: name the event type, as in {"maps": 5}'),
        ('{"maps": 0}', r"the first sequence that there is is 1, not 0"),
        ('{"maps": "soon"}', r"'soon' is neither earliest nor latest"),
        ('{"maps": [1]}', r"must be earliest, latest, a date, or a JSON object"),
    ],
)
def test_a_beginning_that_is_none_is_refused(text: str, told: str) -> None:
    """Before anybody is asked."""
    with pytest.raises(OptionError, match=told), following("http://127.0.0.1:1", startingOffsets=text):
        pass


@pytest.mark.parametrize(
    ("text", "told"),
    [('{"maps": 1}', "says nothing of: runs"), ('{"maps": 1, "runs": 1, "x": 1}', "not read: x")],
)
def test_a_beginning_names_every_event_type_and_no_other(service: Published, text: str, told: str) -> None:
    """What is not named has no beginning that would be the obvious one."""
    with following(service.url, startingOffsets=text) as reader, pytest.raises(OptionError, match=told):
        reader.initialOffset()


# --- batches ---------------------------------------------------------------------------------------------


def test_batches_follow_each_other_without_a_hole(service: Published) -> None:
    """And an end is the same again as long as nothing new has come."""
    with following(service.url, startingOffsets="earliest", waitSeconds=0.05) as reader:
        first = reader.initialOffset()
        end, rows = next_batch(reader, first)
        assert rows == maps(*range(1, 11))
        assert json.dumps(reader.latestOffset(sent(end), ALL)) == json.dumps(end)
        assert reader.partitions(end, end) == []
        service.publish("maps", range(10, 13))
        service.publish("runs", range(2))
        found: list[tuple[str, int]] = []
        while len(found) < 5:
            start, (end, rows) = end, next_batch(reader, end)
            assert end != start or not rows
            found += rows
        assert sorted(found) == [*maps(11, 12, 13), ("runs", 1), ("runs", 2)]
        assert reader.reportLatestOffset() == end


def test_a_batch_takes_no_more_than_it_may(service: Published) -> None:
    """Except where Spark asks for all there is."""
    options = {"startingOffsets": "earliest", "maxNotificationsPerTrigger": 4, "rowsPerPartition": 3}
    with following(service.url, **options) as reader:
        assert reader.getDefaultReadLimit() == ReadMaxRows(4)
        start = reader.initialOffset()
        one, rows = next_batch(reader, start)
        assert rows == maps(1, 2, 3, 4)
        two, rows = next_batch(reader, one)
        assert rows == maps(5, 6, 7, 8)
        assert next_batch(reader, two)[1] == maps(9, 10)
        assert rows_between(reader, start, reader.latestOffset(start, ALL)) == maps(*range(1, 11))


def test_a_query_that_ends_by_itself_ends_with_what_was_there(service: Published) -> None:
    """Whatever comes meanwhile, and however many batches it takes."""
    with following(service.url, startingOffsets="earliest", maxNotificationsPerTrigger=4) as reader:
        reader.prepareForTriggerAvailableNow()
        offset, found = reader.initialOffset(), list[tuple[str, int]]()
        while True:
            service.publish("maps", range(1000, 1003))
            end, rows = next_batch(reader, offset)
            if end == offset:
                break
            offset, found = end, found + rows
        assert found == maps(*range(1, 11))
        assert reader.reportLatestOffset() == end


def test_a_batch_that_is_planned_again_is_the_same(service: Published) -> None:
    """By another reader, after more has come: so it is after a restart."""
    options = {"startingOffsets": "earliest", "maxNotificationsPerTrigger": 6}
    with following(service.url, **options) as reader:
        start = reader.initialOffset()
        end, rows = next_batch(reader, start)
    service.publish("maps", range(10, 20))
    for rows_per_partition in (1, 2, 100):
        with following(service.url, rowsPerPartition=rows_per_partition, **options) as another:
            assert rows_between(another, start, end) == rows


def test_an_event_type_that_gets_its_first_event_is_read_from_there(tmp_path: Path) -> None:
    """Its log did not exist when the stream began."""
    with published("maps", folder=tmp_path) as service, following(service.url) as reader:
        start = reader.initialOffset()
        service.publish("maps", range(3))
        found: list[tuple[str, int]] = []
        while len(found) < 3:
            start, rows = next_batch(reader, start)
            found += rows
        assert found == maps(1, 2, 3)
