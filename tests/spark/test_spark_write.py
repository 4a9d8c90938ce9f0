"""Tables and streams written through Spark into a real service: every row once, whatever happens on the way.

What is compared are sets and repetitions, never totals alone: a wrong key loses as many as it repeats, and then the
total is right.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as sql

from pyspark_aviso.sql_encoding import encode
from support.http_faults import LostAnswer, Refusal
from support.spark_service import EVENT_TYPE, stored_events, stored_names

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from support.http_faults import FaultProxy
    from support.services import Program

PERMANENT = Refusal(400, {}, b'{"message":"no"}')


def objects(spark: SparkSession, group: str, count: int, *, partitions: int = 2) -> DataFrame:
    """Return rows of a group of this test's own."""
    numbers = spark.range(0, count, 1, partitions)
    name = sql.format_string("n%05d", "id")
    return numbers.select(
        sql.create_map(sql.lit("class"), sql.lit(group), sql.lit("name"), name).alias("identifier"),
        sql.to_json(sql.struct("id")).alias("payload"),
    )


def names(count: int) -> list[str]:
    """Return the names of so many objects."""
    return [f"n{number:05}" for number in range(count)]


def write(df: DataFrame, url: str, **options: Any) -> None:
    """Write a table."""
    df.write.format("aviso").mode("append").options(url=url, eventType=EVENT_TYPE, **options).save()


def stored(avisod: Program, group: str) -> list[str]:
    """Return the names that are stored of a group, sorted, with repetitions."""
    return sorted(stored_names(avisod.url, **{"class": group}))


# --- tables ----------------------------------------------------------------------------------------------


def test_a_table_is_written_once_and_a_second_time_changes_nothing(
    spark: SparkSession, avisod: Program, tmp_path: Path
) -> None:
    """The report says so."""
    df = objects(spark, "table", 2500)

    write(df, avisod.url, report=str(tmp_path / "first.json"))
    write(df.repartition(3), avisod.url, report=str(tmp_path / "second.json"))

    first, second = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("first", "second"))
    assert (first["outcome"], first["accepted"], first["duplicate"]) == ("written", 2500, 0)
    assert (second["outcome"], second["accepted"], second["duplicate"]) == ("written", 0, 2500)
    assert stored(avisod, "table") == names(2500)


def test_lines_of_the_sql_encoder_are_the_same_records(
    spark: SparkSession, avisod: Program, tmp_path: Path
) -> None:
    """Written by one encoder, they are duplicates to the other."""
    df = objects(spark, "lines", 1500)

    write(encode(df, event_type=EVENT_TYPE), avisod.url)
    write(df, avisod.url, report=str(tmp_path / "report.json"))

    assert json.loads((tmp_path / "report.json").read_text())["duplicate"] == 1500
    assert stored(avisod, "lines") == names(1500)


def test_storms_and_lost_answers_are_survived_without_loss_and_without_repetition(
    spark: SparkSession, avisod: Program, proxy: FaultProxy
) -> None:
    """Within one attempt of a task."""
    proxy.faults = [Refusal(503), Refusal(503), LostAnswer(), Refusal(503), LostAnswer(), None, LostAnswer()]

    write(objects(spark, "storm", 3000), proxy.url)

    assert not proxy.faults
    assert stored(avisod, "storm") == names(3000)


def test_a_task_that_failed_after_it_had_posted_is_repeated_exactly(
    spark: SparkSession, avisod: Program, proxy: FaultProxy, tmp_path: Path
) -> None:
    """The second attempt posts all of it again, and the service knows what it has."""
    proxy.faults = [None, None, PERMANENT]

    write(
        objects(spark, "retry", 4000, partitions=1),
        proxy.url,
        inFlight=1,
        report=str(tmp_path / "report.json"),
    )

    said = json.loads((tmp_path / "report.json").read_text())
    assert (said["accepted"], said["duplicate"]) == (2000, 2000)
    assert stored(avisod, "retry") == names(4000)


def test_keys_of_places_lose_rows_where_keys_of_content_do_not(spark: SparkSession, avisod: Program) -> None:
    """A run ended after one of its two partitions, and is repeated with three: why ids are made of content."""
    for group, at_place in (("by-place", True), ("by-content", False)):
        whole = [objects(spark, group, 3000, partitions=count) for count in (2, 3)]
        if at_place:
            row = sql.monotonically_increasing_id().bitwiseAND((1 << 33) - 1)
            place = sql.concat_ws("/", sql.spark_partition_id(), row)
            whole = [df.withColumn("id", place) for df in whole]
        write(whole[0].where(sql.spark_partition_id() == 1), avisod.url)
        write(whole[1], avisod.url)

    by_place = Counter(stored(avisod, "by-place"))
    assert sorted(set(names(3000)) - set(by_place)) == names(3000)[1000:1500]
    assert sum(count - 1 for count in by_place.values()) == 1000
    assert stored(avisod, "by-content") == names(3000)


def test_columns_of_every_kind_arrive_as_they_were(spark: SparkSession, avisod: Program) -> None:
    """An identifier as a struct, payloads as struct and as VARIANT, letters, nulls, and the producer's time."""
    text = 'é 😀 " \\ \n'
    group = sql.struct(sql.lit("kinds").alias("class"), sql.lit("struct").alias("name"))
    payload = sql.struct(
        sql.lit(text).alias("text"), sql.lit(None).cast("int").alias("none"), sql.lit(2**62).alias("n")
    )
    time = sql.lit("2030-01-02 03:04:05.678901").cast("timestamp")
    one = spark.range(1).select(group.alias("identifier"), payload.alias("payload"), time.alias("time"))
    other = one.withColumn("identifier", group.withField("name", sql.lit("variant"))).withColumn(
        "payload", sql.parse_json(sql.lit('{"b":[1,null,1.5,"é"],"a":12345678901234567890123}'))
    )

    write(one, avisod.url)
    write(other, avisod.url)

    said = {
        event["data"]["identifier"]["name"]: event["data"]["payload"]
        for event in stored_events(avisod.url, **{"class": "kinds"})
    }
    assert said == {
        "struct": {"text": text, "none": None, "n": 2**62},
        "variant": {"a": 12345678901234567890123, "b": [1, None, 1.5, "é"]},
    }


@pytest.mark.parametrize(
    ("mode", "options", "told"),
    [
        ("overwrite", {}, "mode('append')"),
        ("append", {"token": "s3cret"}, "AVISO_TOKEN"),
        ("append", {"inFlght": "1"}, "did you mean 'inFlight'"),
    ],
)
def test_what_cannot_be_is_refused_with_the_remedy(
    spark: SparkSession, avisod: Program, mode: str, options: dict[str, str], told: str
) -> None:
    """Through all of Spark's layers."""
    writer = objects(spark, "refused", 1).write.format("aviso").mode(mode)

    with pytest.raises(PySparkException) as refusal:
        writer.options(url=avisod.url, eventType=EVENT_TYPE, **options).save()

    assert told in str(refusal.value)
    assert not stored(avisod, "refused")


# --- streams ---------------------------------------------------------------------------------------------


class Folder:
    """A folder that a stream follows, and a query that writes what comes into it."""

    def __init__(self, spark: SparkSession, place: Path, group: str) -> None:
        self.reports = place / "reports"
        self._spark = spark
        self._files = place / "files"
        self._files.mkdir()
        self._checkpoint = place / "checkpoint"
        self._group = group

    def add(self, first: int, last: int) -> None:
        """Have another file come, with the names of these numbers."""
        (self._files / f"{first}.txt").write_text("\n".join(names(last)[first:]))

    def run(self, url: str, **options: Any) -> None:
        """Run the query over everything that there is."""
        rows = self._spark.readStream.text(str(self._files)).select(
            sql.struct(sql.lit(self._group).alias("class"), sql.col("value").alias("name")).alias(
                "identifier"
            )
        )
        query = rows.writeStream.format("aviso").trigger(availableNow=True)
        query.option("checkpointLocation", str(self._checkpoint)).options(
            url=url, eventType=EVENT_TYPE, report=str(self.reports), **options
        ).start().awaitTermination()

    def make_older(self, batch: int, seconds: float) -> None:
        """Have the checkpoint say that a batch was begun so much earlier."""
        file = self._checkpoint / "offsets" / str(batch)
        version, said, *offsets = file.read_text().split("\n")
        begun = json.loads(said)
        begun["batchTimestampMs"] -= int(seconds * 1000)
        file.write_text("\n".join([version, json.dumps(begun), *offsets]))
        (file.parent / f".{batch}.crc").unlink()


@pytest.fixture
def smaller_splits(spark: SparkSession) -> Any:
    """Have files cut into pieces of so many bytes from now on."""
    name = "spark.sql.files.maxPartitionBytes"
    before = spark.conf.get(name)
    yield lambda size: spark.conf.set(name, size)
    spark.conf.set(name, str(before))


def test_a_stream_that_failed_in_a_batch_resumes_it_exactly_with_other_splits(
    spark: SparkSession, avisod: Program, proxy: FaultProxy, tmp_path: Path, smaller_splits: Any
) -> None:
    """As after a restart with another number of cores: the same rows are in other places."""
    folder = Folder(spark, tmp_path, "stream")
    folder.add(0, 1500)
    folder.run(avisod.url)
    folder.add(1500, 5000)
    proxy.faults = [None, LostAnswer(), *[PERMANENT] * 100]
    with pytest.raises(PySparkException, match="no"):
        folder.run(proxy.url, batchRecords=500)
    assert len(stored(avisod, "stream")) > 1500

    smaller_splits("7000")
    folder.run(avisod.url)
    folder.add(5000, 5500)
    folder.run(avisod.url)

    assert stored(avisod, "stream") == names(5500)
    said = json.loads((folder.reports / "batch-000000001.json").read_text())
    assert (said["outcome"], said["rows"]) == ("written", 3500)
    assert said["duplicate"] > 0


def test_a_stream_announces_the_same_content_again_in_a_later_batch(
    spark: SparkSession, avisod: Program, tmp_path: Path
) -> None:
    """The scope of its ids is the batch: what is repeated is the batch, not the announcement."""
    folder = Folder(spark, tmp_path, "again")
    for last in (3, 5):
        folder.add(last - 3, last)
        folder.run(avisod.url)

    assert stored(avisod, "again") == sorted([*names(3), *names(5)[2:]])


def test_a_stream_does_not_resume_from_before_the_duplicate_window_unless_that_is_accepted(
    spark: SparkSession, avisod: Program, proxy: FaultProxy, tmp_path: Path
) -> None:
    """A longer outage must not turn into repeated notifications without anyone being told."""
    folder = Folder(spark, tmp_path, "outage")
    folder.add(0, 100)
    proxy.faults = [PERMANENT] * 100
    with pytest.raises(PySparkException, match="no"):
        folder.run(proxy.url)
    folder.make_older(0, seconds=3600)

    with pytest.raises(
        PySparkException, match=r"batch 0 was begun \d+ s ago.*for 1800 s only.*'acceptRepeats'"
    ):
        folder.run(avisod.url)
    assert not stored(avisod, "outage")

    folder.run(avisod.url, acceptRepeats="true")
    assert stored(avisod, "outage") == names(100)
