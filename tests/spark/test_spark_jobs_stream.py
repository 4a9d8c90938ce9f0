"""`stream-notify` as its users run it: what comes is sent once, with a receipt, over failures, stops and restarts."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pytest

from aviso_spark.command import main
from aviso_spark.common.problems import NotUnderstood
from aviso_spark.folders import open_folder
from aviso_spark.stream_receipts import check_folder
from pyspark_aviso.receipts import dead_letters
from support.http_faults import Changed, LostAnswer, Refusal, running_fault_proxy
from support.spark_jobs import BUOYS, STORMS, job, running_storms
from support.spark_programs import submitted_job
from support.spark_service import stored_events

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from support.services import Program

BUOY_ROWS: Final = ("--format", "json", "--columns", "name string, note string", "--event-type", BUOYS)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """Run a service that all tests of this module write to; each says something of its own."""
    with running_storms(tmp_path_factory.mktemp("storms")) as program:
        yield program


def put(folder: Path, name: str, *rows: dict[str, Any]) -> None:
    """Put a file into a folder that is followed, whole."""
    folder.mkdir(exist_ok=True)
    new = folder / f".{name}"
    new.write_text("".join(json.dumps(row) + "\n" for row in rows))
    new.rename(folder / name)


def kept(folder: Path) -> tuple[str, ...]:
    """Return the arguments of a stream that remembers in a folder."""
    return ("--checkpoint", str(folder / "checkpoint"), "--receipts", str(folder / "receipts"))


def statuses(spark: SparkSession, folder: Path) -> Counter[str]:
    """Return how many rows came to which end."""
    return Counter(row["status"] for row in spark.read.parquet(str(folder / "receipts")).collect())


def stored(service: Program, event_type: str, beginning: str, **constraints: str) -> list[str]:
    """Return the notes of what is stored that begin so, with repetitions."""
    events = stored_events(service.url, event_type, **constraints)
    notes = [(event["data"]["payload"] or {}).get("note", "") for event in events]
    return sorted(note for note in notes if note.startswith(beginning))


def storms(beginning: str, *levels: int) -> list[dict[str, Any]]:
    """Return rows of which those are good whose level is at most five."""
    return [{"basin": "atlantic", "level": level, "note": f"{beginning} {level}"} for level in levels]


STORM_ROWS: Final = (
    *("--format", "json", "--columns", "basin string, level int, note string", "--event-type", STORMS),
    *("--map", "category=level", "--map", "polygon='[1, 2, 3, 4]'", "--payload", "struct(note)"),
)


def test_what_comes_is_sent_once_with_a_receipt_for_each_row(
    spark: SparkSession, service: Program, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each start takes what is new; what the schema forbids is told with its field, and kept as a dead letter."""
    source = tmp_path / "in"
    asked = ("stream-notify", str(source), *STORM_ROWS, "--available-now", *kept(tmp_path))
    put(source, "first.json", *storms("comes", 1, 2))
    assert job(service, *asked) == 0
    put(source, "second.json", *storms("comes", 3, 9))
    assert job(service, *asked) == 1
    told = capsys.readouterr().out
    assert "field 'category': '9' is not between 0 and 5" in told
    assert job(service, *asked) == 0
    assert statuses(spark, tmp_path) == {"accepted": 3, "rejected": 1}
    assert stored(service, STORMS, "comes", basin="atlantic") == ["comes 1", "comes 2", "comes 3"]
    receipts = spark.read.parquet(str(tmp_path / "receipts"))
    assert (receipts.select("run").distinct().count(), dead_letters(receipts).count()) == (2, 1)


def test_a_batch_that_broke_off_is_done_again_and_nothing_is_stored_twice(
    spark: SparkSession, service: Program, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its rows were stored, its answer was lost, and then the service stayed away past the deadline."""
    source = tmp_path / "in"
    put(source, "a.json", *storms("broken", 0, 1, 2))
    asked = ("stream-notify", str(source), *STORM_ROWS, "--available-now", *kept(tmp_path))
    with running_fault_proxy(service.url) as proxy:
        proxy.faults = [LostAnswer(), *[Refusal(503)] * 1000]
        assert main([*asked, "--url", proxy.url, "--deadline-seconds", "1"]) == 3
    told = capsys.readouterr().err.splitlines()[-1]
    assert told.startswith("aviso-spark stream-notify: posting 3 notifications")
    assert "within --deadline-seconds (1 s); the last one: 503" in told
    assert job(service, *asked) == 0
    assert statuses(spark, tmp_path) == {"duplicate": 3}
    assert len(stored(service, STORMS, "broken", basin="atlantic")) == 3


def test_later_batches_may_say_the_same_again_unless_the_ids_say_otherwise(
    spark: SparkSession, service: Program, tmp_path: Path
) -> None:
    """Ids are made within the query and the batch; a scope or a natural key makes them hold for longer."""
    source = tmp_path / "in"
    for number in range(2):
        put(source, f"{number}.json", *storms("again", 4))
    asked = ("stream-notify", str(source), *STORM_ROWS, "--available-now", "--max-per-trigger", "1")
    assert job(service, *asked, *kept(tmp_path / "batches")) == 0
    assert statuses(spark, tmp_path / "batches") == {"accepted": 2}
    assert job(service, *asked, *kept(tmp_path / "scoped"), "--id-scope", "again") == 0
    assert statuses(spark, tmp_path / "scoped") == {"accepted": 1, "duplicate": 1}


def test_a_stream_that_is_told_to_stop_ends_behind_its_batch(
    spark: SparkSession, service: Program, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is left waits for the next start, and nothing is begun that would have to be done again."""
    source = tmp_path / "in"
    for number in range(3):
        put(source, f"{number}.json", {"name": f"halted-{number}", "note": "n"})
    asked = ("stream-notify", str(source), *BUOY_ROWS, *kept(tmp_path), "--max-per-trigger", "1")

    has_ended = threading.Event()
    ended_before = []

    def told_to_stop(answer: bytes) -> bytes:
        os.kill(os.getpid(), signal.SIGTERM)
        ended_before.append(has_ended.wait(1))
        return answer

    with running_fault_proxy(service.url) as proxy:
        proxy.faults = [Changed(told_to_stop)]
        assert main([*asked, "--url", proxy.url, "--trigger", "1ms"]) == 0
        has_ended.set()
    assert ended_before == [False]
    assert "stopped behind its last batch" in capsys.readouterr().out
    assert statuses(spark, tmp_path) == {"accepted": 1}
    begun, ended = (
        {path.name for path in (tmp_path / "checkpoint" / name).iterdir() if path.name.isdigit()}
        for name in ("offsets", "commits")
    )
    assert begun == ended == {"0"}
    assert job(service, *asked, "--available-now") == 0
    assert statuses(spark, tmp_path) == {"accepted": 3}


def test_a_stream_under_spark_submit_ends_behind_its_batch_when_that_is_told_to_stop(
    spark: SparkSession, service: Program, tmp_path: Path
) -> None:
    """A service manager knows Java's process alone, which passes on what it is told."""
    source, posted = tmp_path / "in", threading.Event()
    put(source, "a.json", {"name": "submitted", "note": "n"})

    def seen(answer: bytes) -> bytes:
        posted.set()
        return answer

    with running_fault_proxy(service.url) as proxy:
        proxy.faults = [Changed(seen)]
        asked = ("stream-notify", str(source), *BUOY_ROWS, *kept(tmp_path), "--trigger", "1m")
        with submitted_job(*asked, url=proxy.url) as job:
            job.wait_reached([posted])
            job.terminate()
            assert job.wait_ended() == 0, job.said
            assert "stopped behind its last batch" in job.said
    assert statuses(spark, tmp_path) == {"accepted": 1}


def test_objects_that_appear_in_a_folder_are_announced(
    spark: SparkSession, service: Program, tmp_path: Path
) -> None:
    """Described by their names, also in folders below; one that is replaced under its name is not seen again."""
    source = tmp_path / "in"
    (source / "2030").mkdir(parents=True)
    place = ("--new-objects", str(source), "--glob", "*.grib2", "--event-type", BUOYS)
    mapped = ("--map", r"name=regexp_extract(path, '([^/]+)\\.grib2', 1)", "--payload", "struct(length)")
    asked = ("stream-notify", *place, *mapped, "--available-now", *kept(tmp_path))
    for name in ("2030/object-1.grib2", "object-2.grib2", "object-3.txt"):
        (source / name).write_bytes(b"1234")
    assert job(service, *asked) == 0
    (source / "object-2.grib2").write_bytes(b"another")
    (source / "object-4.grib2").write_bytes(b"1")
    assert job(service, *asked) == 0
    receipts = spark.read.parquet(str(tmp_path / "receipts")).collect()
    found = {row["identifier"]["name"]: json.loads(row["payload"])["length"] for row in receipts}
    assert (found, len(receipts)) == ({"object-1": 4, "object-2": 4, "object-4": 1}, 3)


def test_a_dry_run_looks_at_the_first_batch_and_leaves_nothing(
    service: Program, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of any source: here of one that makes rows itself, and has none at the beginning."""
    rate = ("--format", "rate", "--option", "rowsPerSecond=3", "--event-type", BUOYS)
    mapped = ("--map", "name=concat('rehearsed-', value)", "--payload", "struct('rehearsed' AS note)")
    assert job(service, "stream-notify", *rate, *mapped, *kept(tmp_path), "--dry-run") == 0
    told = capsys.readouterr().out
    assert "dry run, nothing was sent or written" in told
    assert 'such as {"event_type":"buoys","identifier":{"name":"rehearsed-0"}' in told
    assert stored(service, BUOYS, "rehearsed") == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ("--map", "category=levl"),
            "--map category=levl: A column, variable, or function parameter with name `levl`",
        ),
        (("--payload", "struct("), "--payload struct(: Syntax error"),
        (("--columns", "basin strin"), "--columns 'basin strin': "),
        (("--where", "nothing = 1"), "`nothing` cannot be resolved"),
    ],
)
def test_an_expression_that_does_not_fit_is_told_with_its_argument(
    arguments: tuple[str, ...],
    told: str,
    spark: SparkSession,
    service: Program,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In one line, before anything is read."""
    put(tmp_path / "in", "a.json", *storms("unfit", 1))
    assert spark.version
    assert job(service, "stream-notify", str(tmp_path / "in"), *STORM_ROWS, "--dry-run", *arguments) == 2
    assert told in capsys.readouterr().err.splitlines()[-1]


def test_columns_that_are_not_said_are_told_from_what_is_there(
    spark: SparkSession, service: Program, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The remedy can be pasted."""
    put(tmp_path / "in", "a.json", {"name": "a", "height": 1.5})
    asked = ("stream-notify", str(tmp_path / "in"), "--format", "json", "--event-type", BUOYS, "--dry-run")
    assert (spark.version is not None, job(service, *asked)) == (True, 2)
    assert '--columns "height DOUBLE,name STRING"' in capsys.readouterr().err


def test_a_plain_path_is_looked_for_where_spark_looks_for_it(spark: SparkSession, tmp_path: Path) -> None:
    """That need not be this machine: the file system that is there by default is another one on many clusters."""
    for name in ("offsets", "commits"):
        (tmp_path / "cp" / name).mkdir(parents=True)
        (tmp_path / "cp" / name / "0").write_text("v1\n")
    settings = {
        "fs.defaultFS": "viewfs://cluster/",
        "fs.viewfs.mounttable.cluster.link./user": tmp_path.as_uri(),
    }
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        with pytest.raises(NotUnderstood, match="has kept its receipts elsewhere"):
            check_folder("/user/new", "/user/cp", open_=partial(open_folder, spark))
    finally:
        for name in settings:
            spark.conf.unset(name)
