"""Pipelines whose exactness is tried, and the program that runs them in a driver of its own, which can be killed.

The same functions run in the session of the tests, which goes on where a killed driver has stopped. Each reads from and
writes into folders that are named, so nothing of a driver is left but what is there.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import SparkSession
from pyspark.sql import functions as sql

import pyspark_aviso
from support.spark_service import COPIED_TYPE, EVENT_TYPE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa  # type: ignore[import-untyped]  # it brings no types
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

# Otherwise a file of some kilobytes is never cut, whatever the number of cores.
SMALL_SPLITS: Final[Mapping[str, str]] = {"spark.sql.files.openCostInBytes": "1"}
ROWS_PER_BODY: Final = 1000
BY_PLACE: Final = "by-place"
BY_CONTENT: Final = "by-content"
# What is held waits for what comes later, and that takes its time on a machine with much to do.
_PATIENT: Final[Mapping[str, Any]] = {"deadlineSeconds": 300}
# The settings under which it can be told from bodies what they say, and in which order a task posts them.
_LEGIBLE: Final[Mapping[str, Any]] = {
    **_PATIENT,
    "compression": "none",
    "inFlight": 1,
    "batchRecords": ROWS_PER_BODY,
}


def write_lines(file: Path, first: int, last: int) -> None:
    """Write a file with a name in each line, all of the same length."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"n{number:05}\n" for number in range(first, last)))


def expected(group: str, count: int) -> set[tuple[str, str, str]]:
    """Return what is to be stored of so many lines: class, name and payload."""
    return {(group, f"n{number:05}", f'{{"of":"n{number:05}"}}') for number in range(count)}


def rows_of(lines: DataFrame, group: str | Column, **more: Column) -> DataFrame:
    """Return lines as rows to notify of."""
    name = sql.col("value").alias("name")
    named = sql.lit(group) if isinstance(group, str) else group
    return lines.select(
        sql.struct(named.alias("class"), name).alias("identifier"),
        sql.to_json(sql.struct(sql.col("value").alias("of"))).alias("payload"),
        *(column.alias(title) for title, column in more.items()),
    )


def announce(
    spark: SparkSession, *, url: str, folder: Path, group: str, files_per_batch: int = 1000, **options: Any
) -> StreamingQuery:
    """Start notifying of the lines of files, until all that are there are done."""
    lines = spark.readStream.option("maxFilesPerTrigger", files_per_batch).text(str(folder / "lines"))
    return _start_sink(rows_of(lines, group), url, folder / "announced", **options)


def announce_both_ways(spark: SparkSession, *, url: str, folder: Path) -> StreamingQuery:
    """Start notifying of each line twice in one stream: with an id made of its place, and with the one that we make."""
    lines = spark.readStream.text(str(folder / "lines"))
    placed = lines.mapInArrow(_with_places(), "value string, place string")
    both = sql.explode(sql.array(sql.lit(BY_PLACE), sql.lit(BY_CONTENT)))
    twice = placed.select("value", "place", both.alias("way"))
    place = sql.when(sql.col("way") == BY_PLACE, sql.col("place"))
    rows = rows_of(twice, sql.col("way"), id=place)
    return _start_sink(rows, url, folder / "announced", batchRecords=2 * ROWS_PER_BODY)


def _with_places() -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return what adds to each row its place: made here, so that it travels to workers that cannot import it."""

    def add(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        rows = 0
        for batch in batches:
            places = [f"{context.partitionId()}/{rows + row}" for row in range(batch.num_rows)]
            rows += batch.num_rows
            yield pa.RecordBatch.from_arrays([batch.column(0), pa.array(places)], ["value", "place"])

    return add


def write_table(spark: SparkSession, *, url: str, folder: Path, group: str = "table", **options: Any) -> None:
    """Notify of the lines of files, once."""
    rows = rows_of(spark.read.text(str(folder / "lines")), group)
    chosen = {**_LEGIBLE, **options, "url": url, "eventType": EVENT_TYPE}
    rows.write.format("aviso").mode("append").options(**chosen).save()


def copy(
    spark: SparkSession, *, url: str, folder: Path, event_type: str = COPIED_TYPE, is_endless: bool = False
) -> StreamingQuery:
    """Start copying an event type into Parquet, in small batches of small ranges."""
    events = (
        spark.readStream.format("aviso")
        .options(url=url, eventTypes=event_type, startingOffsets="earliest")
        .options(maxNotificationsPerTrigger=1000, rowsPerPartition=250, **_PATIENT)
        .load()
    )
    sink = events.select("event_type", "sequence", "identifier", "payload").writeStream.format("parquet")
    sink = sink.option("checkpointLocation", str(folder / "copied"))
    return (sink if is_endless else sink.trigger(availableNow=True)).start(str(folder / "copy"))


def _start_sink(rows: DataFrame, url: str, place: Path, **options: Any) -> StreamingQuery:
    chosen = {**_LEGIBLE, **options, "url": url, "eventType": EVENT_TYPE}
    sink = rows.writeStream.format("aviso").trigger(availableNow=True).options(**chosen)
    return sink.option("checkpointLocation", str(place)).start()


# --- a driver ----------------------------------------------------------------------------------------------------

TABLE, SPECULATED = TABLES = ("table", "speculated")
STREAMS: Final[Mapping[str, Callable[..., StreamingQuery]]] = {"both-ways": announce_both_ways, "copy": copy}


def main(arguments: Sequence[str]) -> None:
    """Run pipelines side by side: told as JSON are the session's settings, the service, and a folder for each.

    All are started from here: a thread of its own would have no active session, and Spark then finds no source that is
    written in Python.
    """
    told = json.loads(arguments[0])
    builder = SparkSession.builder.appName("driver")
    for name, value in told["settings"].items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    pyspark_aviso.register(spark)
    folders = {name: Path(folder) for name, folder in told["pipelines"].items()}
    queries = [
        start(spark, url=told["url"], folder=folders[name])
        for name, start in STREAMS.items()
        if name in folders
    ]
    for name in TABLES:
        if name in folders:
            write_table(spark, url=told["url"], folder=folders[name], group=name)
    for query in queries:
        query.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
