"""`archive` and `replay` as their users run them: a log becomes Parquet, and Parquet the same log elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import urllib3

from aviso_spark.command import main
from support.published import published
from support.spark_jobs import BUOYS, STORMS, job, running_storms

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import Row, SparkSession

    from support.services import Program


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """Run a service with events of both types."""
    with running_storms(tmp_path_factory.mktemp("storms")) as program:
        post(program, [storm(number) for number in range(24)])
        post(
            program,
            [{"event_type": BUOYS, "identifier": {"name": f"größe {n}"}, "payload": n} for n in range(5)],
        )
        yield program


def storm(number: int) -> dict[str, Any]:
    """Return a notification, different ones for different numbers."""
    south = number % 40
    ring: list[list[float]] = [[0, south], [4.5, south], [4.5, south + 2], [0, south]]
    hole = [[3, south + 0.5], [4, south + 0.5], [4, south + 0.9], [3, south + 0.5]]
    shapes: list[dict[str, Any]] = [
        {"type": "Polygon", "coordinates": [ring]},
        {"type": "Polygon", "coordinates": [ring, hole]},
        {"type": "MultiPolygon", "coordinates": [[ring], [[[east + 60, north] for east, north in ring]]]},
    ]
    identifier = {
        "basin": ("atlantic", "pacific")[number % 2],
        "category": number % 6,
        "polygon": shapes[number % 3],
    }
    payload = {"n": 2**53 + number, "ü": [1.50, "\n"], "nothing": None}
    return {"event_type": STORMS, "identifier": identifier, "payload": payload}


def post(program: Program, notifications: list[dict[str, Any]]) -> None:
    """Store notifications."""
    answer = urllib3.request("POST", f"{program.url}/api/v1/notifications", json=notifications)
    assert answer.json()["accepted"] == len(notifications), answer.data


def told(capsys: pytest.CaptureFixture[str]) -> str:
    """Return what a job has told, however its columns are set."""
    return " ".join(capsys.readouterr().out.split())


def said(spark: SparkSession, folder: Path) -> list[tuple[Any, ...]]:
    """Return what the events of an archive say, in the order of their logs."""
    rows: list[Row] = spark.read.parquet(str(folder)).orderBy("event_type", "sequence").collect()
    return [
        (row["event_type"], row["identifier"], row["payload"], row["geometry"] and bytes(row["geometry"]))
        for row in rows
    ]


def sequences(spark: SparkSession, folder: Path, event_type: str = STORMS) -> list[int]:
    """Return the sequences that an archive has of an event type."""
    rows = spark.read.parquet(str(folder)).where(f"event_type = '{event_type}'").orderBy("sequence").collect()
    return [row["sequence"] for row in rows]


def test_what_is_archived_and_replayed_is_equal(
    spark: SparkSession, service: Program, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Identifiers, shapes, payloads and order; a second replay stores nothing more."""
    archive, again = tmp_path / "archive", tmp_path / "again"
    assert job(service, "archive", str(archive), "--audit") == 0
    original = said(spark, archive)
    assert len(original) >= 29
    with running_storms(tmp_path / "other") as other:
        asked = ("replay", str(archive), "--receipts", str(tmp_path / "receipts"))
        assert job(other, *asked) == 0
        assert job(other, *asked) == 0
        assert job(other, "archive", str(again)) == 0
    assert said(spark, again) == original
    receipts = spark.read.parquet(str(tmp_path / "receipts"))
    assert receipts.where("status = 'duplicate'").count() == len(original)
    ids = {row["id"] for row in receipts.select("id").collect()}
    assert ids == {row["id"] for row in spark.read.parquet(str(archive)).select("id").collect()}
    assert "replaced or removed in the log itself 0" in told(capsys)


def test_a_run_adds_what_is_new_and_a_range_what_is_missing(
    spark: SparkSession, service: Program, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is there twice, whatever is asked for twice; an audit tells what is missing."""
    archive, one = tmp_path / "archive", ("--event-types", STORMS)
    assert job(service, "archive", str(archive), *one, "--from-sequence", "11", "--to-sequence", "15") == 0
    again = ("--from-sequence", "13", "--to-sequence", "17", "--audit")
    assert job(service, "archive", str(archive), *one, *again) == 1
    assert sequences(spark, archive) == list(range(11, 18))
    printed = told(capsys)
    assert "already there 3" in printed
    assert "storms: in the log and not in the archive, sequences 1 to 10, 18 to " in printed
    assert (
        f"to add them: aviso-spark archive {archive} --event-types storms --from-sequence 1 --to-sequence "
        in printed
    )
    assert job(service, "archive", str(archive), *one, "--audit") == 0
    before = sequences(spark, archive)
    assert before == list(range(1, before[-1] + 1))
    post(service, [storm(100), storm(101)])
    assert job(service, "archive", str(archive), *one) == 0
    assert sequences(spark, archive) == [*before, before[-1] + 1, before[-1] + 2]


def test_what_retention_or_somebody_has_removed_is_told_apart(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was gone before a run came by is lost; what was taken out of the log on purpose is not missing."""
    asked = ("archive", str(tmp_path / "archive"), "--event-types", "maps")
    with published("maps") as log:
        log.publish("maps", range(10))
        assert main([*asked, "--url", log.url]) == 0
        log.publish("maps", range(10, 25))
        log.delete("maps", *range(1, 15), 22)
        assert main([*asked, "--url", log.url]) == 1
        printed = told(capsys)
        assert "4 × maps: removed from the log before it was archived, up to sequence 14" in printed
        assert main([*asked, "--audit", "--url", log.url]) == 0
    printed = told(capsys)
    assert "removed before a run came by 4" in printed
    assert "replaced or removed in the log itself 1" in printed
    assert "maps: removed by retention before a run came by: 4, sequences 11 to 14" in printed
    kept = [*range(1, 11), *range(15, 22), 23, 24, 25]
    assert sequences(spark, tmp_path / "archive", "maps") == kept


def test_the_archive_can_be_searched_by_place_and_day(
    spark: SparkSession, service: Program, tmp_path: Path
) -> None:
    """A bounding box in columns, a cell, and folders by event type and day."""
    archive = tmp_path / "archive"
    assert job(service, "archive", str(archive)) == 0
    rows = spark.read.parquet(str(archive)).where("event_type = 'storms' AND sequence = 1").collect()
    assert [(row["west"], row["south"], row["east"], row["north"]) for row in rows] == [(0.0, 0.0, 4.5, 2.0)]
    assert all(len(row["h3"]) == 15 for row in rows)
    places = (
        spark.read.parquet(str(archive))
        .where("event_type = 'buoys'")
        .select("west", "h3")
        .distinct()
        .collect()
    )
    assert [tuple(row) for row in places] == [(None, None)]
    assert {folder.name.partition("=")[0] for folder in (archive / "event_type=storms").iterdir()} == {"day"}


def test_a_dry_run_of_an_archive_writes_nothing(
    service: Program, spark: SparkSession, tmp_path: Path
) -> None:
    """And a replay of no archive says that there is none."""
    assert spark.getActiveSession() is not None
    assert job(service, "archive", str(tmp_path / "archive"), "--dry-run") == 0
    assert not (tmp_path / "archive").exists()
    assert job(service, "replay", str(tmp_path / "archive"), "--dry-run") == 2
