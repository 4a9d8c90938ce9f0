"""Reading through Spark itself, in batches, in SQL and as a stream, from a service that runs."""

from __future__ import annotations

import json
import threading
import time
from typing import TYPE_CHECKING, Any, Final

import pytest
from pyspark.errors import StreamingQueryException

from support.published import published

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from support.published import Published

STORED: Final = 30
_PATIENCE_SECONDS: Final = 60


@pytest.fixture(scope="module")
def service() -> Iterator[Published]:
    """Return a service with history of two event types."""
    with published("maps", "runs") as running:
        running.publish("maps", range(STORED))
        running.publish("runs", range(10))
        running.delete("maps", 7, 8)
        yield running


def read(spark: SparkSession, url: str, columns: str | None = None, **options: Any) -> DataFrame:
    """Return a table of events."""
    reader = spark.read.format("aviso").option("url", url)
    for name, value in options.items():
        reader = reader.option(name, value)
    return (reader if columns is None else reader.schema(columns)).load()


def follow(spark: SparkSession, url: str, **options: Any) -> DataFrame:
    """Return an endless table of events."""
    reader = spark.readStream.format("aviso").option("url", url)
    for name, value in options.items():
        reader = reader.option(name, value)
    return reader.load()


def sequences(frame: DataFrame) -> list[int]:
    """Return the sequences of a table, in order."""
    return sorted(row["sequence"] for row in frame.select("sequence").collect())


# --- batches ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["arrow", "ndjson"])
def test_a_table_of_events_has_them_all_as_they_are(
    spark: SparkSession, service: Published, form: str
) -> None:
    """In several partitions, whichever way they are fetched."""
    frame = read(spark, service.url, eventTypes="maps", rowsPerPartition=10, format=form)
    rows = {row["sequence"]: row.asDict() for row in frame.collect()}
    events = service.cloud_events("maps")
    assert sorted(rows) == [event["sequence"] for event in events]
    for event in events:
        row = rows[event["sequence"]]
        identifier = {name: value for name, value in event["data"]["identifier"].items() if name != "polygon"}
        assert (row["id"], row["event_type"], row["identifier"]) == (event["id"], "maps", identifier)
        assert json.loads(row["payload"]) == event["data"]["payload"]
        assert row["geometry"][:1] == b"\x01"
    assert frame.rdd.getNumPartitions() == 3


def test_rows_are_selected_by_range_by_filter_and_by_schema(spark: SparkSession, service: Published) -> None:
    """What a schema does not name is not there."""
    events = service.cloud_events("maps")
    some = read(spark, service.url, eventTypes="maps", fromSequence=5, toSequence=10)
    assert sequences(some) == [5, 6, 9, 10]
    time_of_ninth = next(event["time"] for event in events if event["sequence"] == 9)
    late = read(spark, service.url, eventTypes="maps", fromTime=time_of_ninth)
    assert sequences(late) == [event["sequence"] for event in events if event["time"] >= time_of_ninth]
    frame = read(
        spark, service.url, "payload string, sequence bigint", eventTypes="maps", filter='{"place": "zürich"}'
    )
    assert frame.columns == ["payload", "sequence"]
    assert sequences(frame.where("sequence > 20")) == [23, 26, 29]
    raw = read(spark, service.url, eventTypes="runs", format="raw").collect()
    assert [json.loads(row["value"])["sequence"] for row in raw] == list(range(1, 11))


def test_a_view_is_read_in_sql(spark: SparkSession, service: Published) -> None:
    """With options as anywhere else."""
    spark.sql(
        f"CREATE OR REPLACE TEMPORARY VIEW events USING aviso OPTIONS (url '{service.url}', eventTypes 'maps,runs')"
    )
    found = spark.sql(
        "SELECT event_type, count(*) AS n, max(identifier['step']) AS step FROM events GROUP BY 1 ORDER BY 1"
    )
    assert [tuple(row)[:2] for row in found.collect()] == [("maps", STORED - 2), ("runs", 10)]


def test_payloads_and_shapes_are_read_as_types_of_their_own(spark: SparkSession, service: Published) -> None:
    """A payload as VARIANT, of which members are asked for, and a shape as GEOGRAPHY, or as GeoJSON text."""
    options = {"eventTypes": "maps", "payloadAs": "variant"}
    frame = read(spark, service.url, geometryAs="geography", **options).where("sequence = 5")
    (row,) = frame.selectExpr(
        "to_json(payload) AS payload", "st_srid(geometry) AS srid", "st_asbinary(geometry) AS wkb"
    ).collect()
    event = next(event for event in service.cloud_events("maps") if event["sequence"] == 5)
    assert json.loads(row["payload"]) == event["data"]["payload"]
    (plain,) = read(spark, service.url, eventTypes="maps").where("sequence = 5").collect()
    assert (row["srid"], row["wkb"]) == (4326, plain["geometry"])
    (text,) = read(spark, service.url, geometryAs="geojson", **options).where("sequence = 5").collect()
    assert json.loads(text["geometry"])["type"] == "Polygon"


def test_an_unknown_option_is_told_by_its_nearest_name(spark: SparkSession, service: Published) -> None:
    """Whoever runs a query sees it."""
    with pytest.raises(Exception, match="did you mean 'fromSequence'"):
        read(spark, service.url, eventTypes="maps", fromSequences=5).collect()


# --- streams ---------------------------------------------------------------------------------------------


class Sink:
    """A table that a stream writes, by batches: one that is written again takes the place of the one before."""

    def __init__(self) -> None:
        self.batches: dict[int, list[tuple[str, int]]] = {}
        self.written: list[int] = []
        self._more = threading.Condition()

    def write(self, frame: DataFrame, number: int) -> None:
        """Take a batch."""
        rows = [
            (row["event_type"], row["sequence"]) for row in frame.select("event_type", "sequence").collect()
        ]
        with self._more:
            known = self.batches.setdefault(number, rows)
            self.written.append(number)
            self._more.notify_all()
        assert sorted(known) == sorted(rows), "a batch that is read again is the same"

    @property
    def rows(self) -> list[tuple[str, int]]:
        """Everything that the table has."""
        return sorted(row for batch in self.batches.values() for row in batch)

    def wait_rows(self, count: int, query: StreamingQuery) -> None:
        """Wait until there are so many."""
        with self._more:
            found = self._more.wait_for(
                lambda: len(self.rows) >= count or not query.isActive, _PATIENCE_SECONDS
            )
        assert found, f"only {self.rows}"
        assert query.isActive, query.exception()


def run(frame: DataFrame, write: Callable[[DataFrame, int], None], folder: Path) -> StreamingQuery:
    """Run a query until it has come to where the logs ended when it was started."""
    query = start(frame, write, folder, availableNow=True)
    assert query.awaitTermination(_PATIENCE_SECONDS)
    return query


def start(
    frame: DataFrame, write: Callable[[DataFrame, int], None], folder: Path, **trigger: Any
) -> StreamingQuery:
    """Start a query with a checkpoint in a folder."""
    writer = frame.writeStream.foreachBatch(write).option("checkpointLocation", str(folder / "checkpoint"))
    return (writer.trigger(**trigger) if trigger else writer).start()


def is_killed(frame: DataFrame, write: Callable[[DataFrame, int], None], folder: Path) -> bool:
    """Run a query, and tell whether it was killed rather than coming to its end."""
    try:
        run(frame, write, folder)
    except StreamingQueryException as error:
        if "killed" not in str(error):
            raise
        return True
    return False


def maps(*numbers: int) -> list[tuple[str, int]]:
    """Return rows."""
    return [("maps", number) for number in numbers]


def test_a_stream_that_is_killed_in_every_batch_misses_and_repeats_nothing(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Each batch is written, then the query dies before it is committed, and more is published."""
    sink = Sink()

    def write(frame: DataFrame, number: int) -> None:
        is_first_time = number not in sink.batches
        sink.write(frame, number)
        if is_first_time:
            raise RuntimeError("killed")

    with published("maps", "runs") as service:
        service.publish("maps", range(12))
        published_so_far, deaths = 12, 0
        frame = follow(spark, service.url, startingOffsets="earliest", maxNotificationsPerTrigger=7)
        while is_killed(frame, write, tmp_path):
            deaths += 1
            if deaths <= 2:
                service.publish("maps", range(published_so_far, published_so_far + 3))
                service.publish("runs", range(deaths, deaths + 1))
                published_so_far += 3
        wanted = sorted([*maps(*range(1, published_so_far + 1)), ("runs", 1), ("runs", 2)])
        assert sink.rows == wanted
        assert deaths == len(sink.batches)
        assert max(map(len, sink.batches.values())) <= 7
        assert all(sink.written.count(number) == 2 for number in sink.batches)


def test_a_notification_is_in_the_table_soon_and_a_query_that_waits_can_be_stopped(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Without asking the service while nothing happens."""
    sink = Sink()
    with published("maps") as service:
        service.publish("maps", range(1))
        query = start(follow(spark, service.url, startingOffsets="earliest"), sink.write, tmp_path)
        try:
            sink.wait_rows(1, query)
            began = time.monotonic()
            for number in range(1, 4):
                service.publish("maps", [number])
                sink.wait_rows(number + 1, query)
            assert time.monotonic() - began < 10
            assert sink.rows == maps(1, 2, 3, 4)
        finally:
            began = time.monotonic()
            query.stop()
        assert time.monotonic() - began < 5


def test_a_stream_becomes_files_and_goes_on_where_it_ended(spark: SparkSession, tmp_path: Path) -> None:
    """Each start takes what was published since the last, in batches of a few."""
    with published("maps") as service:
        for first in (0, 9):
            service.publish("maps", range(first, first + 9))
            frame = follow(spark, service.url, startingOffsets="earliest", maxNotificationsPerTrigger=4)
            sink = frame.select("sequence").writeStream.format("parquet").trigger(availableNow=True)
            query = sink.option("checkpointLocation", str(tmp_path / "checkpoint")).start(
                str(tmp_path / "copy")
            )
            assert query.awaitTermination(_PATIENCE_SECONDS)
    assert sequences(spark.read.parquet(str(tmp_path / "copy"))) == list(range(1, 19))
    assert len(list((tmp_path / "checkpoint" / "commits").glob("[0-9]*"))) == 6


def test_history_that_retention_has_removed_fails_a_stream_or_is_left_out(
    spark: SparkSession, tmp_path: Path
) -> None:
    """With the sequence that was to be read, the one that is held, and the option to go on."""
    sink = Sink()
    with published("maps") as service:
        service.publish("maps", range(5))
        options = {"eventTypes": "maps", "startingOffsets": "earliest"}
        run(follow(spark, service.url, **options), sink.write, tmp_path)
        service.publish("maps", range(5, 15))
        service.delete("maps", *range(1, 9))
        with pytest.raises(StreamingQueryException, match="RANGE_REMOVED: 'maps' was to be read from 6"):
            run(follow(spark, service.url, **options), sink.write, tmp_path)
        run(follow(spark, service.url, failOnDataLoss="false", **options), sink.write, tmp_path)
        assert sink.rows == maps(1, 2, 3, 4, 5, *range(9, 16))


def test_a_log_that_was_replaced_fails_a_stream_or_is_read_from_its_beginning(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Though its sequences go on as if nothing had happened."""
    sink = Sink()
    with published("maps", folder=tmp_path / "broker") as service:
        service.publish("maps", range(3))
        options = {"eventTypes": "maps", "startingOffsets": "earliest"}
        run(follow(spark, service.url, **options), sink.write, tmp_path)
        service.replace("maps")
        service.publish("maps", range(100, 105))
        with pytest.raises(StreamingQueryException, match="EPOCH_CHANGED: 'maps' was read up to sequence 3"):
            run(follow(spark, service.url, **options), sink.write, tmp_path)
        run(follow(spark, service.url, failOnDataLoss="false", **options), sink.write, tmp_path)
        assert sink.rows == sorted([*maps(1, 2, 3), *maps(1, 2, 3, 4, 5)])
