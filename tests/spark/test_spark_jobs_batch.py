"""`batch-notify` as its users run it: tables and files into a real service, with a receipt for every row."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import time
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import pytest
from pyspark.sql import functions as sql

from aviso_spark.command import main
from aviso_spark.common.problems import NotUnderstood
from aviso_spark.jobs.batch_notify import read_receipts
from aviso_spark.sources import read_source, source_of
from aviso_spark.watermark import Watermark, between, reached
from pyspark_aviso.options import OptionError
from pyspark_aviso.receipts import dead_letters, notify, replay_dead_letters
from support.http_faults import Changed, Refusal, running_fault_proxy
from support.spark_jobs import BUOYS, STORMS, job, job_alone, running_storms
from support.spark_service import stored_events

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from support.services import Program

MAPPED: Final = (
    *("--event-type", STORMS, "--map", "category=level"),
    *("--map", "polygon='[1, 2, 3, 4]'", "--payload", "struct(headline)"),
)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """Run a service that all tests of this module write to; each says something of its own."""
    with running_storms(tmp_path_factory.mktemp("storms")) as program:
        yield program


def stored(service: Program, headline: str) -> list[dict[str, Any]]:
    """Return what is stored with a headline that begins so."""
    events = [
        event["data"]
        for basin in ("atlantic", "pacific")
        for event in stored_events(service.url, STORMS, basin=basin)
    ]
    return [data for data in events if data["payload"]["headline"].startswith(headline)]


def receipts(spark: SparkSession, folder: Path) -> DataFrame:
    """Return the receipts of all runs."""
    return spark.read.parquet(str(folder))


def statuses(spark: SparkSession, folder: Path) -> Counter[str]:
    """Return how many rows came to which end."""
    return Counter(row["status"] for row in receipts(spark, folder).select("status").collect())


def rows_of(headline: str, count: int) -> list[dict[str, Any]]:
    """Return good rows."""
    return [{"basin": "atlantic", "level": n % 6, "headline": f"{headline} {n}"} for n in range(count)]


@pytest.mark.parametrize("format_", ["parquet", "csv", "json"])
def test_rows_of_files_become_notifications_once(
    format_: str, spark: SparkSession, service: Program, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A second run accepts nothing new: ids are made of content, and of nothing else."""
    source, kept = tmp_path / "in", tmp_path / "receipts"
    writer = spark.createDataFrame(rows_of(f"of {format_}", 30)).repartition(3).write
    writer.option("header", "true").format(format_).save(str(source))
    asked = ("batch-notify", str(source), "--format", format_, *MAPPED, "--receipts", str(kept))
    assert job(service, *asked) == 0
    assert statuses(spark, kept) == {"accepted": 30}
    assert job(service, *asked) == 0
    assert statuses(spark, kept) == {"accepted": 30, "duplicate": 30}
    assert Counter(data["payload"]["headline"] for data in stored(service, f"of {format_}")) == Counter(
        f"of {format_} {n}" for n in range(30)
    )
    assert "duplicate             30" in capsys.readouterr().out


def test_items_of_stac_become_notifications_with_their_footprints(
    spark: SparkSession, service: Program, tmp_path: Path
) -> None:
    """Properties are found by the field's name; a footprint becomes the polygon."""
    ring = [[1, 2], [3, 2], [3, 4], [1, 4], [1, 2]]
    shapes = [
        {"type": "Polygon", "coordinates": [ring]},
        {"type": "MultiPolygon", "coordinates": [[ring]]},
        None,
    ]
    items = [
        {
            "type": "Feature",
            "id": f"item-{n}",
            "geometry": shape,
            "properties": {
                "basin": "pacific",
                "category": n,
                "platform": f"p{n}",
                "datetime": "2030-01-01T00:00:00Z",
            },
        }
        for n, shape in enumerate(shapes)
    ]
    source = tmp_path / "items.json"
    source.write_text(json.dumps({"type": "FeatureCollection", "features": items}))
    payload = "struct(concat('stac ', properties:platform::string) AS headline)"
    asked = (
        "--map",
        "polygon=geometry",
        "--payload",
        payload,
        "--id",
        "id",
        "--receipts",
        str(tmp_path / "r"),
    )
    code = job(service, "batch-notify", str(source), "--format", "stac", "--event-type", STORMS, *asked)
    # An item may be without a place; the event type wants one.
    assert code == 1
    refused = receipts(spark, tmp_path / "r").where("status = 'rejected'").collect()
    assert [(row["id"], row["field"], row["attempts"]) for row in refused] == [("item-2", "polygon", 0)]
    assert {data["payload"]["headline"] for data in stored(service, "stac")} == {"stac p0", "stac p1"}
    assert all(len(data["identifier"]["polygon"]) == 5 for data in stored(service, "stac"))


def test_bad_rows_are_told_with_their_field_and_good_ones_go(
    spark: SparkSession, service: Program, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the schema forbids is not even posted; the rest is what the service accepts."""
    square = "[1,2,3,4]"
    faults = {
        "good": ("atlantic", 1, square, "2030-01-01T06:00:00+01:00"),
        "basin": ("nowhere", 1, square, None),
        "category": ("pacific", 9, square, None),
        "polygon": ("pacific", 1, "POINT(1 2)", None),
        "box": ("pacific", 1, "[NaN, 0, 1, 1]", None),
        "time": ("pacific", 1, square, "yesterday"),
        "missing basin": (None, 1, square, None),
    }
    rows = [
        {"headline": f"bad: {name}", "basin": b, "level": n, "box": box, "at": at}
        for name, (b, n, box, at) in faults.items()
    ]
    spark.createDataFrame(
        rows, "headline string, basin string, level int, box string, at string"
    ).write.parquet(str(tmp_path / "in"))
    asked = ("batch-notify", str(tmp_path / "in"), "--format", "parquet", *MAPPED, "--map", "polygon=box")
    assert job(service, *asked, "--time", "at", "--receipts", str(tmp_path / "r")) == 1
    kept = receipts(spark, tmp_path / "r")
    found = {
        json.loads(row["payload"])["headline"].removeprefix("bad: "): (
            row["status"],
            row["field"],
            row["attempts"],
        )
        for row in kept.collect()
    }
    assert found == {
        "good": ("accepted", None, 1),
        "basin": ("rejected", "basin", 0),
        "category": ("rejected", "category", 0),
        "polygon": ("rejected", "polygon", 0),
        "box": ("rejected", "polygon", 0),
        "time": ("rejected", "time", 0),
        "missing basin": ("rejected", "basin", 0),
    }
    told = capsys.readouterr().out
    assert "field 'category': '9' is not between 0 and 5" in told
    assert "field 'time': 'yesterday' is no instant" in told
    # What was refused is in the receipts as it was given, so none of it is posted as if it had never been there.
    given = {row["geometry"] or row["time"] for row in kept.where("field in ('polygon', 'time')").collect()}
    assert {"POINT(1 2)", "[NaN, 0, 1, 1]"} < given
    again = str(tmp_path / "again")
    assert replay_dead_letters(kept, url=service.url, eventType=STORMS).write_to(again).accepted == 0
    assert [data["payload"]["headline"] for data in stored(service, "bad:")] == ["bad: good"]


def test_a_dry_run_sends_and_writes_nothing(
    spark: SparkSession, service: Program, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It shows what would be sent."""
    spark.createDataFrame(rows_of("rehearsed", 3)).write.parquet(str(tmp_path / "in"))
    asked = ("batch-notify", str(tmp_path / "in"), "--format", "parquet", *MAPPED, "--dry-run")
    assert job(service, *asked, "--receipts", str(tmp_path / "r")) == 0
    assert "would be sent              3" in capsys.readouterr().out
    assert stored(service, "rehearsed") == []
    assert not (tmp_path / "r").exists()


def test_with_a_watermark_only_what_is_new_is_sent(
    spark: SparkSession, service: Program, tmp_path: Path
) -> None:
    """The file is written after the rows were answered for, and the next run begins behind it."""
    source, kept = tmp_path / "in", tmp_path / "receipts"
    mark = ("--watermark", str(tmp_path / "mark"), "--watermark-column", "seen")
    asked = ("batch-notify", str(source), "--format", "parquet", *MAPPED, *mark, "--receipts", str(kept))
    for first, count in ((0, 4), (4, 3)):
        rows = [{**row, "seen": first + n} for n, row in enumerate(rows_of(f"seen {first}", count))]
        spark.createDataFrame(rows).write.mode("append").parquet(str(source))
        assert job(service, *asked) == 0
    assert statuses(spark, kept) == {"accepted": 7}
    assert json.loads((tmp_path / "mark").read_text()) == {"column": "seen", "value": "6"}


def test_rows_without_a_watermark_are_told_and_not_sent(
    spark: SparkSession, service: Program, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody could tell whether they are new."""
    rows = [{**row, "seen": n or None} for n, row in enumerate(rows_of("seen at times", 3))]
    spark.createDataFrame(rows, "basin string, level int, headline string, seen int").write.parquet(
        str(tmp_path / "in")
    )
    mark = ("--watermark", str(tmp_path / "mark"), "--watermark-column", "seen")
    asked = ("batch-notify", str(tmp_path / "in"), "--format", "parquet", *MAPPED, *mark)
    assert job(service, *asked, "--receipts", str(tmp_path / "r")) == 1
    assert "1 × null in --watermark-column seen, and never sent" in capsys.readouterr().out
    assert statuses(spark, tmp_path / "r") == {"accepted": 2}
    assert json.loads((tmp_path / "mark").read_text())["value"] == "2"


@pytest.mark.parametrize("value", ["NaN", "Infinity"])
def test_a_value_without_end_does_not_become_the_watermark(value: str, spark: SparkSession) -> None:
    """Nothing would ever be new behind it."""
    rows = spark.createDataFrame([(1.0,), (float(value),), (None,)], "seen double")
    with pytest.raises(NotUnderstood, match=r"--watermark-column seen: NaN or infinite in 1 rows.* --where"):
        reached(rows, "seen")
    assert reached(rows.where("abs(seen) < double('Infinity')"), "seen").mark == Watermark(
        column="seen", value="1.0"
    )
    assert reached(rows.where("seen is null"), "seen") == (None, 1)


def test_texts_become_a_watermark_only_where_their_order_is_that_of_what_they_say(
    spark: SparkSession,
) -> None:
    """Of text '9' stands behind '10': what is new would never be sent."""
    for values in (("8", "9"), ("10", "11"), ("2030-1-9", "2030-1-10")):
        rows = spark.createDataFrame([(value,) for value in values], "seen string")
        with pytest.raises(NotUnderstood, match=r"--watermark-column seen: it is text.*--columns"):
            reached(rows, "seen")
    days = spark.createDataFrame([("2030-01-09",), (None,), ("2030-01-10",)], "seen string")
    assert reached(days, "seen") == (Watermark(column="seen", value="2030-01-10"), 1)


def test_texts_that_become_longer_are_no_watermark_any_more(spark: SparkSession) -> None:
    """'batch-100' stands before 'batch-99': it would never be sent."""
    before = Watermark(column="seen", value="batch-99")
    later = spark.createDataFrame([("batch-100",), ("batch-101",)], "seen string")
    with pytest.raises(NotUnderstood, match="equally long, in all runs"):
        reached(later, "seen", before=before)
    others = spark.createDataFrame([("batch-98",)], "seen string")
    assert reached(others, "seen", before=before).mark == before


def test_a_watermark_does_not_go_back(spark: SparkSession) -> None:
    """Where the highest rows are gone for a while, what was sent of them is not new when they are back."""
    before = Watermark(column="seen", value="10")
    for values in ([(9,)], [(None,)], []):
        assert reached(spark.createDataFrame(values, "seen int"), "seen", before=before).mark == before
    assert reached(spark.createDataFrame([(11,)], "seen int"), "seen", before=before).mark == Watermark(
        column="seen", value="11"
    )


def test_a_watermark_is_the_same_instant_in_every_session(spark: SparkSession) -> None:
    """Also in the hour that a zone has twice."""
    instants = [(f"2030-10-27T{time}:00Z",) for time in ("00:10", "00:50", "01:30")]
    rows = spark.createDataFrame(instants, "t string").select(sql.col("t").cast("timestamp").alias("seen"))
    zone = spark.conf.get("spark.sql.session.timeZone")
    assert zone is not None
    marks = []
    try:
        for name in ("Europe/Berlin", "UTC", "America/New_York"):
            spark.conf.set("spark.sql.session.timeZone", name)
            mark = reached(rows, "seen").mark
            assert mark is not None
            assert between(rows, after=None, to=mark).count() == 3
            assert between(rows, after=mark, to=mark).count() == 0
            marks.append(mark.value)
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)
    assert marks == ["2030-10-27T01:30:00.000000Z"] * 3


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"name":"a","lev', r"Unexpected end-of-input.*; JSON is read by the line.*--option multiLine=true"),
        ('{"name":"a","level":"x"}', r"Cannot parse the field name 'level' and the value x.*mode=PERMISSIVE"),
    ],
    ids=["broken", "of another type"],
)
def test_json_that_is_no_row_is_an_error(
    text: str,
    told: str,
    spark: SparkSession,
    service: Program,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Spark would make a row of nulls of it, unless somebody says what is to become of such lines."""
    file = tmp_path / "in.jsonl"
    file.write_text(f'{{"name":"b","level":1}}\n{text}\n')
    columns = ("--columns", "name string, level int")
    asked = (
        "batch-notify",
        str(file),
        "--event-type",
        BUOYS,
        *columns,
        "--payload",
        "struct(level)",
        "--dry-run",
    )
    assert job(service, *asked) == 3
    assert re.search(told, capsys.readouterr().err)
    source = source_of(str(file), format_=None, options={"mode": "DROPMALFORMED"}, columns=columns[1])
    assert [row["name"] for row in read_source(spark.read, source).collect()] == ["b"]


def test_a_folder_is_the_one_of_its_name_and_no_pattern(
    spark: SparkSession, service: Program, tmp_path: Path
) -> None:
    """Receipts of a run in `r[1]` are not those in `r1`."""
    for name, headline in (("r1", "in r1"), ("r[1]", "in brackets")):
        file = tmp_path / "in.jsonl"
        file.write_text("".join(json.dumps({**row, "level": 99}) + "\n" for row in rows_of(headline, 2)))
        asked = ("batch-notify", str(file), *MAPPED, "--receipts", str(tmp_path / name))
        assert job(service, *asked) == 1
    kept = read_receipts(spark, str(tmp_path / "r[1]"))
    assert sorted(row["payload"] for row in dead_letters(kept).select("payload").collect()) == [
        f'{{"headline":"in brackets {n}"}}' for n in range(2)
    ]


def test_csv_is_read_as_other_programs_write_it(
    spark: SparkSession, service: Program, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With quotes within quotes and lines within texts; a row of another length than the head's is an error."""
    texts = ['He said "stay", then left', '{"a": "x, y"}', "two\nlines", "back\\slash", ""]
    file = tmp_path / "q.csv"
    with file.open("w", newline="") as out:
        csv.writer(out).writerows([("nr", "text"), *enumerate(texts)])
    source = source_of(str(file), format_=None, options={})
    rows = read_source(spark.read, source).collect()
    assert [(row["nr"], row["text"] or "") for row in rows] == [
        (str(n), text) for n, text in enumerate(texts)
    ]
    file.write_text("nr,text\n1,a,b\n")
    asked = ("batch-notify", str(file), "--event-type", BUOYS, "--map", "name=text", "--dry-run")
    assert job(service, *asked) == 3
    assert (
        "batch-notify: Malformed CSV record: 1,a,b; mend it, or say with --option mode="
        in capsys.readouterr().err
    )
    assert job(service, *asked, "--option", "mode=PERMISSIVE") == 0


def test_columns_that_would_be_lost_are_refused(spark: SparkSession, service: Program) -> None:
    """Names that differ in case only would not be posted, and those of a receipt would be replaced by it."""
    rows = spark.sql("SELECT map('name', 'a') AS identifier")
    with pytest.raises(ValueError, match="'Payload' would not be posted: call it 'payload'"):
        notify(rows.selectExpr("*", "'1' AS Payload"), url=service.url, eventType=BUOYS)
    with pytest.raises(ValueError, match="'status' would be replaced by what the receipt says"):
        notify(rows.selectExpr("*", "'mine' AS status"), url=service.url, eventType=BUOYS)


def test_receipts_of_runs_with_other_columns_are_read_with_all_of_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A dead letter has its shape and its time also where another run had none."""
    common = ("'x' event_type", "map('a', '1') identifier", "'{}' payload", "'rejected' status")
    more = ("timestamp'2030-01-01' time", "'POLYGON' geometry")
    for name, columns in (("run=a", common), ("run=b", (*common, *more))):
        spark.range(1).selectExpr(f"'{name}' id", *columns).write.parquet(str(tmp_path / name))
    found = {row["id"]: row for row in dead_letters(read_receipts(spark, str(tmp_path))).collect()}
    assert (found["run=a"]["geometry"], found["run=b"]["geometry"]) == (None, "POLYGON")
    assert found["run=b"]["time"] is not None


def test_receipts_are_not_kept_beside_those_of_a_stream(
    spark: SparkSession, service: Program, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever reads the folder would not see them."""
    spark.createDataFrame(rows_of("beside a stream", 1)).write.parquet(str(tmp_path / "in"))
    (tmp_path / "r" / "_spark_metadata").mkdir(parents=True)
    asked = ("batch-notify", str(tmp_path / "in"), "--format", "parquet", *MAPPED)
    assert job(service, *asked, "--receipts", str(tmp_path / "r")) == 2
    assert "it has the receipts of a stream" in capsys.readouterr().err
    assert stored(service, "beside a stream") == []


def test_what_broke_off_long_ago_is_not_done_again_unless_that_is_accepted(
    spark: SparkSession, service: Program, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The service has forgotten the ids by then, and everybody would be told twice."""
    kept = tmp_path / "r"
    spark.createDataFrame(rows_of("broke off", 2)).write.parquet(str(tmp_path / "in"))
    asked = ("batch-notify", str(tmp_path / "in"), "--format", "parquet", *MAPPED, "--receipts", str(kept))
    with running_fault_proxy(service.url) as proxy:
        proxy.faults = [Refusal(503)] * 1000
        assert main([*asked, "--url", proxy.url, "--deadline-seconds", "1"]) == 3
    (begun,) = kept.glob("_begun-*.json")
    said = json.loads(begun.read_text())
    begun.write_text(json.dumps({**said, "begun_at": said["begun_at"] - 5000}))
    capsys.readouterr()
    assert job(service, *asked) == 3
    assert "Give --accept-repeats" in capsys.readouterr().err
    assert stored(service, "broke off") == []
    assert job(service, *asked, "--accept-repeats") == 0
    assert len(stored(service, "broke off")) == 2
    assert list(kept.glob("_begun-*")) == []


def test_an_event_type_that_there_is_not_is_told_with_those_that_there_are(
    spark: SparkSession, service: Program, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is read as a row."""
    source = tmp_path / "in.json"
    source.write_text('{"a":1}\n')
    assert job(service, "batch-notify", str(source), "--event-type", "storm", "--dry-run") == 2
    assert "no event type 'storm': there are buoys, storms" in capsys.readouterr().err
    assert spark.getActiveSession() is not None


def test_dead_letters_are_those_of_their_event_type_and_last_run(spark: SparkSession) -> None:
    """An id means one thing in each event type, and what was rejected twice is one row."""
    kept = spark.createDataFrame(
        [
            ("scenes", "one", "accepted", "a"),
            ("copies", "one", "rejected", "a"),
            ("copies", "two", "rejected", "a"),
            ("copies", "two", "rejected", "b"),
            ("copies", "three", "rejected", "a"),
            ("copies", "three", "duplicate", "b"),
            ("copies", None, "rejected", "a"),
            ("copies", None, "rejected", "b"),
        ],
        "event_type string, id string, status string, run string",
    )
    found = {(row["event_type"], row["id"], row["run"]) for row in dead_letters(kept).collect()}
    assert found == {
        ("copies", "one", "a"),
        ("copies", "two", "b"),
        ("copies", None, "a"),
        ("copies", None, "b"),
    }


def test_a_column_refused_that_says_something_else_is_told_at_once(spark: SparkSession) -> None:
    rows = spark.sql("SELECT map('a', 'b') AS identifier, true AS refused")
    with pytest.raises(ValueError, match=r"'refused' is of type boolean.*struct<field:string,error:string>"):
        notify(rows, url="http://127.0.0.1:1", eventType=STORMS)


def test_dead_letters_are_posted_again_with_the_same_ids(
    spark: SparkSession, service: Program, tmp_path: Path
) -> None:
    """What the service itself refused is mended, and accepted under the id that it was refused with."""
    frame = spark.sql(
        "SELECT map('basin', basin, 'category', '1') AS identifier, '{\"headline\":\"dead\"}' AS payload, nr "
        "FROM VALUES ('atlantic', 1), ('wrong', 2) AS t(basin, nr)"
    )
    polygon = '{"type":"Polygon","coordinates":[[[1,2],[3,2],[3,4],[1,2]]]}'
    frame = frame.selectExpr("*", f"'{polygon}' AS geometry")
    first = str(tmp_path / "first")
    assert notify(frame, url=service.url, eventType=STORMS).write_to(first) == (1, 0, 1)
    kept = spark.read.parquet(first)
    (dead,) = kept.where("status = 'rejected'").collect()
    assert (dead["nr"], dead["field"], dead["attempts"], len(dead["id"])) == (2, "basin", 1, 32)
    mended = kept.withColumn(
        "identifier", sql.create_map(sql.lit("basin"), sql.lit("pacific"), sql.lit("category"), sql.lit("1"))
    )
    second = str(tmp_path / "second")
    assert replay_dead_letters(mended, url=service.url, eventType=STORMS).write_to(second) == (1, 0, 0)
    (done,) = spark.read.parquet(second).collect()
    assert (done["id"], done["status"], done["nr"]) == (dead["id"], "accepted", 2)
    both = kept.unionByName(spark.read.parquet(second))
    assert dead_letters(both).count() == 0


def test_receipts_are_refused_where_they_would_mislead(spark: SparkSession, service: Program) -> None:
    """A stream is not posted at once, and the sink's options mean nothing here."""
    stream = spark.readStream.format("rate").load().selectExpr("map('name', string(value)) AS identifier")
    with pytest.raises(ValueError, match="writeStream"):
        notify(stream, url=service.url, eventType=BUOYS).write_to("/nowhere")
    rows = spark.sql("SELECT map('name', 'a') AS identifier")
    with pytest.raises(OptionError, match="belong to the sink"):
        notify(rows, url=service.url, eventType=BUOYS, onReject="count")


def test_a_job_that_is_told_to_stop_lets_go_and_is_started_again(
    spark: SparkSession, service: Program, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It ends long before its deadline, although the service is away; what was stored is not stored again."""
    source = tmp_path / "in.parquet"
    spark.range(2500).selectExpr("concat('stopped-', id) AS name").coalesce(1).write.parquet(str(source))
    asked = ("batch-notify", str(source), "--event-type", BUOYS, "--receipts", str(tmp_path / "r"))

    def told_to_stop(answer: bytes) -> bytes:
        os.kill(os.getpid(), signal.SIGTERM)
        return answer

    with running_fault_proxy(service.url) as proxy:
        proxy.faults = [Changed(told_to_stop), *[Refusal(503)] * 10_000]
        began = time.monotonic()
        code = main([*asked, "--url", proxy.url, "--deadline-seconds", "300"])
    assert (code, time.monotonic() - began < 150) == (4, True)
    assert "stopped before its end" in capsys.readouterr().err
    assert job(service, *asked) == 0
    found = statuses(spark, tmp_path / "r")
    assert (found["accepted"] > 0, found["duplicate"] > 0, found.total()) == (True, True, 2500)
    events = stored_events(service.url, BUOYS)
    names = Counter(event["data"]["identifier"]["name"] for event in events)
    assert {name: count for name, count in names.items() if name.startswith("stopped-")} == {
        f"stopped-{number}": 1 for number in range(2500)
    }


def test_the_job_runs_as_a_program_of_its_own(service: Program, tmp_path: Path) -> None:
    """It finds its workers' Python by itself, and keeps a report for programs."""
    source = tmp_path / "in.csv"
    source.write_text("name\nalone-1\nalone-2\n")
    report = tmp_path / "report.json"
    asked = ("batch-notify", str(source), "--event-type", BUOYS, "--receipts", str(tmp_path / "r"))
    ended = job_alone(service, *asked, "--report", str(report))
    assert ended.returncode == 0, ended.stderr
    assert json.loads(report.read_text())["counts"] == {
        "rows": 2,
        "accepted": 2,
        "duplicate": 0,
        "rejected": 0,
    }
    names = {event["data"]["identifier"]["name"] for event in stored_events(service.url, BUOYS)}
    assert {"alone-1", "alone-2"} <= names
