"""Streaming reads from a service that runs, driven as Spark drives them: offsets as JSON, partitions read elsewhere."""

from __future__ import annotations

import json
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from pyspark_aviso.offsets import LogReplaced
from pyspark_aviso.options import OptionError, read_options
from pyspark_aviso.ranges import HistoryRemoved
from pyspark_aviso.stream import EventStreamReader
from pyspark_aviso.transport import TransportError
from pyspark_aviso.watching import HeadWatch
from support.gates import opened
from support.published import CuttingGate, published
from support.spark_types import sent_to_task, struct_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.published import Published

ALL: Final = ReadAllAvailable()
Offset = dict[str, Any]


@contextmanager
def following(url: str, **options: Any) -> Iterator[EventStreamReader]:
    """Return a stream reader for as long as the block runs."""
    given = {"url": url, "deadlineSeconds": "5", **{name: str(value) for name, value in options.items()}}
    columns = struct_of("event_type string, sequence bigint")
    reader = EventStreamReader(read_options(given, "stream"), columns)
    try:
        yield reader
    finally:
        reader.stop()


def sent(offset: Offset) -> Offset:
    """Return an offset as it comes back out of a checkpoint."""
    found: Offset = json.loads(json.dumps(offset))
    return found


def rows_between(reader: EventStreamReader, start: Offset, end: Offset) -> list[tuple[str, int]]:
    """Return the rows of one batch, read where tasks run."""
    rows: list[tuple[str, int]] = []
    for partition in reader.partitions(sent(start), sent(end)):
        there, part = sent_to_task((reader, partition))
        for batch in there.read(part):
            rows += [(row["event_type"], row["sequence"]) for row in batch.to_pylist()]
    return rows


def next_batch(reader: EventStreamReader, start: Offset) -> tuple[Offset, list[tuple[str, int]]]:
    """Return the end of the next batch, and its rows."""
    end = sent(reader.latestOffset(sent(start), reader.getDefaultReadLimit()))
    return end, rows_between(reader, start, end)


def wait_other_offset(reader: EventStreamReader, start: Offset) -> Offset:
    """Return the first offset that is another."""
    end = start
    while end == start:
        end = reader.latestOffset(start, ALL)
    return end


def maps(*sequences: int) -> list[tuple[str, int]]:
    """Return rows."""
    return [("maps", sequence) for sequence in sequences]


@pytest.fixture
def service() -> Iterator[Published]:
    """Return a service with two event types and ten events of one."""
    with published("maps", "runs") as running:
        running.publish("maps", range(10))
        yield running


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


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("newest", r"'newest' is neither earliest nor latest nor a date"),
        ("{", r"'startingOffsets' must be earliest, latest, a date, or a JSON object"),
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


# --- news ------------------------------------------------------------------------------------------------


def test_news_end_the_wait_at_once(service: Published) -> None:
    """Long before it would have ended by itself."""
    with following(service.url, eventTypes="maps", waitSeconds=30) as reader:
        start = reader.initialOffset()
        publisher = threading.Timer(0.3, service.publish, ("maps", range(10, 11)))
        publisher.start()
        began = time.monotonic()
        end = reader.latestOffset(start, ALL)
        waited = time.monotonic() - began
        publisher.join()
        assert end["maps"]["sequence"] == 11
        assert 0.25 <= waited < 10


def test_news_of_others_do_not_end_the_wait(service: Published) -> None:
    """Only of what is read."""
    with following(service.url, eventTypes="runs", waitSeconds=0.5) as reader:
        start = reader.initialOffset()
        service.publish("maps", range(10, 11))
        began = time.monotonic()
        assert reader.latestOffset(start, ALL) == start
        assert time.monotonic() - began >= 0.5


def test_a_stream_survives_lost_connections_without_missing_anything(service: Published) -> None:
    """However often they are lost, and whether or not anything came meanwhile."""
    gate = CuttingGate(service.port)
    with opened(gate), following(gate.url, waitSeconds=20) as reader:
        offset, found = reader.initialOffset(), list[tuple[str, int]]()
        for number in range(10, 14):
            gate.drop()
            service.publish("maps", [number])
            while not found or found[-1] != ("maps", number + 1):
                offset, rows = next_batch(reader, offset)
                found += rows
        assert found == maps(11, 12, 13, 14)


def test_a_service_that_is_gone_is_told_after_the_deadline(service: Published) -> None:
    """Rather than waited for in silence."""
    gate = CuttingGate(service.port)
    with opened(gate), following(gate.url, waitSeconds=30, deadlineSeconds=1) as reader:
        start = reader.initialOffset()
        gate.close()
        with pytest.raises(TransportError, match="deadlineSeconds"):
            reader.latestOffset(start, ALL)


def test_closing_lets_whoever_waits_go(service: Published) -> None:
    """At once, and once for all."""
    with following(service.url) as reader:
        watch = HeadWatch(reader._client)
        closer = threading.Timer(0.2, watch.close)
        closer.start()
        began = time.monotonic()
        watch.wait(lambda head: False, seconds=30)
        assert time.monotonic() - began < 10
        closer.join()
        assert not any(thread.name == "aviso-positions" for thread in threading.enumerate())


def test_a_reader_that_waits_can_be_sent_to_tasks(service: Published) -> None:
    """What it waits with stays behind."""
    with following(service.url, startingOffsets="earliest") as reader:
        start = reader.initialOffset()
        end = reader.latestOffset(start, ALL)
        assert rows_between(sent_to_task(reader), start, end) == maps(*range(1, 11))


# --- loss ------------------------------------------------------------------------------------------------


def test_history_that_was_removed_before_it_was_read_is_an_error_or_left_out(service: Published) -> None:
    """Both when a batch is planned, and when it is read."""
    with (
        following(service.url, startingOffsets="earliest") as strict,
        following(service.url, startingOffsets="earliest", failOnDataLoss="false") as lenient,
    ):
        start = strict.initialOffset()
        end = strict.latestOffset(start, ALL)
        (planned,) = strict.partitions(start, end)
        service.delete("maps", 1, 2, 3)
        with pytest.raises(HistoryRemoved, match=r"from 1, .* begins with 4.*failOnDataLoss=false"):
            strict.partitions(start, end)
        with pytest.raises(HistoryRemoved, match=r"begins with 4"):
            list(strict.read(planned))
        assert rows_between(lenient, start, end) == maps(*range(4, 11))
        assert sum(batch.num_rows for batch in lenient.read(planned)) == 7


def test_removed_history_that_was_read_already_concerns_nobody(service: Published) -> None:
    """All of it may be gone."""
    with following(service.url, startingOffsets="earliest") as reader:
        end, _ = next_batch(reader, reader.initialOffset())
        service.wipe("maps")
        service.publish("maps", range(10, 12))
        found: list[tuple[str, int]] = []
        while len(found) < 2:
            end, rows = next_batch(reader, end)
            found += rows
        assert found == maps(11, 12)


def test_a_log_that_was_replaced_is_an_error_or_read_from_its_beginning(tmp_path: Path) -> None:
    """Its sequences say nothing about what was read of the other."""
    with published("maps", folder=tmp_path) as service:
        service.publish("maps", range(10))
        with following(service.url, startingOffsets="earliest") as reader:
            end, _ = next_batch(reader, reader.initialOffset())
            service.replace("maps")
            service.publish("maps", range(100, 104))
            with pytest.raises(LogReplaced, match=r"EPOCH_CHANGED.*'maps'.*sequence 10"):
                wait_other_offset(reader, end)
            with pytest.raises(LogReplaced, match="EPOCH_CHANGED"):
                reader.partitions({"maps": {**end["maps"], "sequence": 1}}, end)
            service.replace("maps")
        with following(service.url, failOnDataLoss="false", waitSeconds=0.5) as lenient:
            began = time.monotonic()
            assert lenient.latestOffset(end, ALL) == end
            assert time.monotonic() - began >= 0.5, "nothing is no reason to ask again and again"
            service.publish("maps", range(100, 104))
            wait_other_offset(lenient, end)
            again, rows = next_batch(lenient, end)
            assert rows == maps(1, 2, 3, 4)
            assert again["maps"]["epoch"] != end["maps"]["epoch"]
