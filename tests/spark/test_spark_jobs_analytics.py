"""`analytics` as its users run it: from an archive, or from what a service holds, to tables and one page."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import pytest
import urllib3

from aviso_spark.command import main
from support.spark_archives import DAY, event, keep
from support.spark_service import SPATIAL_TYPE

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import Row, SparkSession

    from support.services import Program

STEPS: Final = (0, 6, 12)
REGIONS: Final = ("north", "south")
DUE: Final = ("--due", "to_timestamp(date, 'yyyyMMdd') + interval 6 hours")
GRID: Final = (
    *("--expect", "date=20200101..20200103", "--expect", "step=0..12/6"),
    *("--expect", "region=north,south"),
)


def runs() -> list[dict[str, Any]]:
    """Return three days of a forecast: on the second, one region is two hours late and the other lacks a step."""
    found: list[dict[str, Any]] = []
    for day in range(2):
        for region in REGIONS:
            for step in STEPS:
                if (day, region, step) == (1, "south", 12):
                    continue
                late = day == 1 and region == "north"
                hours = 24 * day + (8 if late else 5)
                fields = {"date": f"2020010{day + 1}", "step": step, "region": region}
                found.append(
                    event(len(found) + 1, hours=hours, late_by=3600.0 if late else 60.0 + step, **fields)
                )
    return found


def table(spark: SparkSession, output: Path, name: str) -> list[Row]:
    """Return what a run has written into a table."""
    return spark.read.parquet(str(output / "tables" / name)).collect()


def test_what_was_expected_is_seen_late_missing_or_not_due(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each combination of the grid is a row; the page shows the days, and what to look at."""
    archive, output = keep(spark, tmp_path / "archive", runs()), tmp_path / "report"
    asked = (
        *("analytics", archive, "--event-types", "runs", "--output", str(output)),
        *("--to-time", "2020-01-03T03:00:00Z", *GRID, *DUE),
    )
    assert main(asked) == 1
    cells = {
        (row["date"], row["region"], row["step"]): row["status"] for row in table(spark, output, "coverage")
    }
    wanted = {("20200101", region, str(step)): "seen" for region in REGIONS for step in STEPS}
    wanted |= {("20200102", "north", str(step)): "late" for step in STEPS}
    wanted |= {("20200102", "south", str(step)): "seen" for step in STEPS[:2]}
    wanted |= {("20200102", "south", "12"): "missing"}
    wanted |= {("20200103", region, str(step)): "not due" for region in REGIONS for step in STEPS}
    assert cells == wanted
    shares = {row["day"].day: row["share"] for row in table(spark, output, "coverage_by_day")}
    assert shares == {1: 1.0, 2: pytest.approx(5 / 6), 3: None}
    told = capsys.readouterr().out
    assert "1 × expected and missing" in told
    assert "3 × expected and late" in told
    assert "91.7 % of what was due was announced" in told
    page = (output / "report.html").read_text()
    assert "date 20200102 · step 12 · region south" in page


def test_fields_may_be_called_like_columns_of_the_tables(spark: SparkSession, tmp_path: Path) -> None:
    """A day that nobody announced is missing, whatever the field is called that says which day it is."""
    fields: dict[str, Any] = {"day": "20300101", "time": "0000", "status": "a", "label": "x"}
    archive, output = keep(spark, tmp_path / "archive", [event(1, hours=1, **fields)]), tmp_path / "report"
    expected = tmp_path / "expected.csv"
    expected.write_text("day,time,status,label\n20300101,0000,a,x\n20300102,0000,a,x\n20300101,1200,a,x\n")
    asked = ("analytics", archive, "--event-types", "runs", "--output", str(output), "--expected")
    assert main([*asked, str(expected)]) == 1
    cells = {
        (row["field_day"], row["time"], row["field_status"], row["label"]): (row["status"], str(row["day"]))
        for row in table(spark, output, "coverage")
    }
    assert cells == {
        ("20300101", "0000", "a", "x"): ("seen", "2030-01-01"),
        ("20300102", "0000", "a", "x"): ("missing", "2030-01-02"),
        ("20300101", "1200", "a", "x"): ("missing", "2030-01-01"),
    }
    assert "day 20300102 · time 0000 · status a · label x" in (output / "report.html").read_text()


def test_a_table_of_expectations_without_rows_is_told(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing would be missing then."""
    archive = keep(spark, tmp_path / "archive", runs()[:2])
    (tmp_path / "none.csv").write_text("date,step,region\n")
    asked = ("analytics", archive, "--event-types", "runs", "--output", str(tmp_path / "report"))
    assert main([*asked, "--expected", str(tmp_path / "none.csv")]) == 2
    assert "none.csv: the table has no rows, so nothing is expected" in capsys.readouterr().err


def test_latencies_are_told_by_type_and_hour_and_hours_can_be_merged(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The quantiles of the day are those of its events, though they were made of the sketches of its hours."""
    many = [event(n + 1, hours=n / 100, late_by=float(n % 100), region="north") for n in range(400)]
    unknown = event(401, hours=4, region="north") | {"payload": '{"produced":"yesterday"}'}
    early = event(402, hours=4, late_by=-5.0, region="north")
    archive = keep(spark, tmp_path / "archive", [*many, unknown, early])
    output = tmp_path / "report"
    produced = ("--produced", "get_json_object(payload, '$.produced')")
    assert main(["analytics", archive, "--output", str(output), *produced]) == 0
    hours = {row["hour"].hour: row for row in table(spark, output, "latency")}
    assert [hours[hour]["events"] for hour in range(5)] == [100, 100, 100, 100, 2]
    assert (hours[4]["unknown"], hours[4]["early"]) == (1, 1)
    assert all(hours[hour]["p95"] == pytest.approx(95, abs=2) for hour in range(4))
    (whole,) = table(spark, output, "latency_by_type")
    assert (whole["events"], whole["longest"]) == (402, 99.0)
    assert (whole["p50"], whole["p99"]) == (pytest.approx(50, abs=2), pytest.approx(99, abs=2))
    assert re.search(r"runs: half within (49|50|51) s, 95 % within", capsys.readouterr().out)
    assert "runs by hour" in (output / "report.html").read_text()


def test_gaps_and_repetitions_are_found_in_every_life_of_a_log(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A log that was begun anew counts from one again, and nothing between its lives is a gap."""
    once = event(1, hours=1, region="north", step=0)
    events = [
        once,
        event(2, hours=1, region="north", step=6),
        {**once, "sequence": 5, "id": "id-5", "time": DAY + timedelta(hours=2)},
        event(6, hours=2, late_by=1.0, region="north", step=6),
        event(6, hours=2, late_by=1.0, region="north", step=6),
        event(1_000_003, hours=3, region="north", step=12),
        {**event(1, hours=4, region="south", step=0), "epoch": "f", "id": "another"},
        {**event(2, hours=4, region="south", step=0), "operation": "delete", "epoch": "f", "id": "gone"},
    ]
    archive, output = keep(spark, tmp_path / "archive", events), tmp_path / "report"
    assert main(["analytics", archive, "--output", str(output)]) == 1
    gaps = sorted(
        (row["epoch"], row["first"], row["last"], row["missing"]) for row in table(spark, output, "gaps")
    )
    assert gaps == [("e", 3, 4, 2), ("e", 7, 1_000_002, 999_996)]
    found = {(row["kind"], row["what"]): row["copies"] for row in table(spark, output, "repeats")}
    assert found == {
        ("id", "id-6"): 2,
        ("content", '{"region":"north","step":"0"}'): 2,
        ("content", '{"region":"north","step":"6"}'): 2,
        ("identifier", '{"region":"north","step":"6"}'): 2,
    }
    told = capsys.readouterr().out
    assert "999,998 × sequences not there, in 2 gaps" in told
    assert "1 × rows that the archive has twice" in told
    (volume,) = [row for row in table(spark, output, "events") if row["event_type"] == "runs"]
    assert (volume["events"], volume["retractions"]) == (7, 1)


def test_what_a_service_holds_is_looked_at_without_an_archive(
    spark: SparkSession, avisod: Program, tmp_path: Path
) -> None:
    """With a map of where it lies; a second run replaces what the first has written."""
    square = {"type": "Polygon", "coordinates": [[[8, 50], [9, 50], [9, 51], [8, 50]]]}
    records = [
        {"event_type": SPATIAL_TYPE, "identifier": {"name": f"s{number}", "polygon": square}}
        for number in range(3)
    ]
    answer = urllib3.request("POST", f"{avisod.url}/api/v1/notifications", json=records)
    assert answer.json()["accepted"] == 3, answer.data
    asked = ("analytics", "--from-service", "--event-types", SPATIAL_TYPE, "--output", str(tmp_path))
    for _ in range(2):
        assert main([*asked, "--url", avisod.url]) == 0
    assert [row["events"] for row in table(spark, tmp_path, "places")] == [3]
    page = (tmp_path / "report.html").read_text()
    assert "<h2>Where</h2>" in page
    assert "3 events" in page


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ("--expect", "setp=0,6"),
            "no event has a field 'setp' in its identifier: there are date, region, step",
        ),
        (("--produced", "payload.produced("), "--produced"),
        (("--expect", "step=0,6", "--due", "date_add(nothing, 1)"), "--due"),
    ],
)
def test_what_is_mistyped_is_told_before_anything_is_written(
    arguments: tuple[str, ...],
    told: str,
    spark: SparkSession,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In one line, with the argument or the field."""
    archive = keep(spark, tmp_path / "archive", runs()[:2])
    asked = ("analytics", archive, "--event-types", "runs", "--output", str(tmp_path / "report"), *arguments)
    assert main(asked) == 2
    assert told in capsys.readouterr().err.splitlines()[-1]
    assert not (tmp_path / "report").exists()


def test_a_dry_run_counts_and_writes_nothing(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And where there is no archive, it says so."""
    archive = keep(spark, tmp_path / "archive", runs())
    asked = (
        "--event-types",
        "runs",
        "--dry-run",
        *GRID,
        "--produced",
        "get_json_object(payload, '$.produced')",
    )
    assert main(["analytics", archive, *asked]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "events 11 expected combinations 18 events with an instant of production 11" in told
    assert [path.name for path in tmp_path.iterdir()] == ["archive"]
    assert main(["analytics", str(tmp_path / "none"), *asked]) == 2
    assert "there is no archive at" in capsys.readouterr().err
