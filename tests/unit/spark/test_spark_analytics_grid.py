"""What is expected, which part is looked at, and what archives remember: decisions that need no Spark."""

from __future__ import annotations

from typing import Any

import pytest

from aviso_spark.analytics.grid import MOST_VALUES, day_field, grid_of, label_fields, values_of
from aviso_spark.archive_runs import Run, covered, positions
from aviso_spark.command import main, parser
from aviso_spark.common.problems import NotUnderstood
from aviso_spark.compaction import SMALL_BYTES, crowded, steps
from aviso_spark.folders import File
from aviso_spark.jobs import analytics
from aviso_spark.spans import Span
from aviso_spark.within import Within, spans_within
from pyspark_aviso.positions import Held


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("north", ["north"]),
        ("0,6, 12", ["0", "6", "12"]),
        ("0..12/6,24", ["0", "6", "12", "24"]),
        ("000..010/5", ["000", "005", "010"]),
        ("20300227..20300301", ["20300227", "20300228", "20300301"]),
        ("2030-01-01..2030-01-05/2", ["2030-01-01", "2030-01-03", "2030-01-05"]),
        ("a..b.txt", ["a..b.txt"]),
        ("20301301..20301303", ["20301301", "20301302", "20301303"]),
    ],
)
def test_values_are_lists_and_ranges_of_numbers_and_days(text: str, values: list[str]) -> None:
    """Days know their months; what is no day is a number."""
    assert values_of("field", text) == values


@pytest.mark.parametrize("text", ["", ",", "2030-01-01..20300105", "1-2..3"])
def test_a_range_that_means_nothing_is_refused(text: str) -> None:
    """With the field that it was given for."""
    with pytest.raises(NotUnderstood, match="--expect step"):
        values_of("step", text)


def test_a_range_that_nobody_can_have_meant_is_refused_before_it_is_spelt_out() -> None:
    assert len(values_of("step", f"1..{MOST_VALUES}")) == MOST_VALUES
    with pytest.raises(
        NotUnderstood, match=r"--expect step: '0..1000000000/1' has 1,000,000,001 values, at most"
    ):
        values_of("step", "0..1000000000/1")


def test_a_field_that_is_named_twice_has_both_values() -> None:
    """Each once."""
    assert grid_of([("a", "1,2"), ("b", "x"), ("a", "2,3")]) == {"a": ("1", "2", "3"), "b": ("x",)}


def test_rows_of_a_picture_are_made_of_as_many_fields_as_have_room() -> None:
    """In the order in which they were given; one is always taken."""
    assert label_fields({"step": 7, "region": 3}, 40) == ("step", "region")
    assert label_fields({"step": 61, "region": 3, "level": 10}, 40) == ("region", "level")
    assert label_fields({"step": 61}, 40) == ("step",)
    assert day_field(["step", "date"]) == "date"
    assert day_field(["step"]) is None


def analytics_of(*arguments: str) -> analytics.Analytics:
    """Return what a command line means."""
    return analytics.wanted(vars(parser().parse_args(["analytics", *arguments])))


def test_an_archive_needs_no_service() -> None:
    """And the service needs no archive."""
    job = analytics_of("/archive", "--output", "/reports/")
    assert (job.service, job.folder, job.output) == (None, "/archive", "/reports")
    live = analytics_of("--from-service", "--url", "http://there", "--dry-run")
    assert live.service is not None
    assert live.service.url == "http://there"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "name the FOLDER of an archive, or say --from-service"),
        (["/archive", "--from-service"], "name the FOLDER"),
        (["/archive"], "with --output"),
        (["/archive", "--output", "/archive/"], "into the archive"),
        (["/archive", "--output", "file:///archive/../archive/reports"], "into the archive"),
        (["s3a://b/archive", "--output", "s3a://b/archive/reports"], "into the archive"),
        (["/archive", "--output", "o", "--due", "now()"], "--due says when what is expected is due"),
        (["/archive", "--output", "o", "--expect", "a=1", "--expected", "t.csv"], "two ways"),
        (["/archive", "--output", "o", "--from-time", "soon"], "--from-time takes a time"),
        (["/archive", "--output", "o", "--from-sequence", "1"], "name one event type"),
        (["--from-service", "--output", "o"], "say where the service is"),
    ],
)
def test_what_does_not_go_together_is_told(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is started."""
    monkeypatch.delenv("AVISO_URL", raising=False)
    assert main(["analytics", *arguments]) == 2
    assert told in capsys.readouterr().err


# --- parts of logs ----------------------------------------------------------------------------------------


class Log:
    """A service with one log, in which the sequence n was stored in second n."""

    def get_json(self, path: str) -> object:
        """Return where a second is."""
        second = int(path.rpartition("=")[2])
        at = second if second <= 9 else None
        return {"a": {"epoch": "e", "first": 5, "last": 9, "at": at}}


@pytest.mark.parametrize(
    ("within", "ends"),
    [
        ({}, (5, 9, 0)),
        ({"from_sequence": 2, "to_sequence": 7}, (5, 7, 3)),
        ({"from_time": "6"}, (6, 9, 0)),
        ({"to_time": "8"}, (5, 7, 0)),
        ({"from_time": "6", "to_time": "99"}, (6, 9, 0)),
        ({"from_sequence": 7, "from_time": "6"}, (7, 9, 0)),
        ({"to_sequence": 6, "to_time": "9"}, (5, 6, 0)),
        ({"from_time": "99"}, None),
        ({"from_time": "6", "to_time": "6"}, None),
    ],
)
def test_a_part_is_what_the_log_holds_of_it(
    within: dict[str, Any], ends: tuple[int, int, int] | None
) -> None:
    """Times become sequences; the second time does not belong to the part."""
    spans = spans_within(Log(), {"a": Held(epoch="e", first=5, last=9), "gone": None}, Within(**within))
    assert [(span.first, span.last, span.lost) for span in spans] == ([] if ends is None else [ends])


# --- what an archive remembers ----------------------------------------------------------------------------


def read(first: int, last: int, *, is_range: bool = False, epoch: str = "e") -> Run:
    """Return a run over these sequences."""
    return Run(event_type="a", epoch=epoch, first=first, last=last, is_range=is_range)


def test_a_range_does_not_move_where_the_next_run_begins() -> None:
    """Only runs that catch up do; each life of a log counts by itself."""
    runs = [read(1, 10), read(11, 20), read(900, 950, is_range=True), read(1, 3, epoch="f")]
    assert {place: run.last for place, run in positions(runs).items()} == {("a", "e"): 20, ("a", "f"): 3}
    assert positions([read(5, 6, is_range=True)]) == {}


def test_what_was_read_is_told_as_few_ranges() -> None:
    """Runs that follow each other are one."""
    span = Span(event_type="a", epoch="e", first=1, last=99)
    runs = [read(11, 20), read(1, 10), read(40, 50, is_range=True), read(45, 47), read(1, 9, epoch="f")]
    assert covered(runs, span) == [(1, 20), (40, 50)]


def test_days_with_several_small_files_are_crowded() -> None:
    """One file is as few as can be, and large ones are worth their number."""
    files = [File("t=a/d=1/x", 10), File("t=a/d=1/y", 10), File("t=a/d=2/x", 10)]
    files += [File(f"t=a/d=3/{name}", SMALL_BYTES) for name in "xy"]
    assert {day: [file.path for file in found] for day, found in crowded(files).items()} == {
        "t=a/d=1": ["t=a/d=1/x", "t=a/d=1/y"]
    }


def test_days_are_rewritten_in_steps_of_bounded_size() -> None:
    """A day that is larger than a step is one by itself."""
    days = {"1": [File("a", 5)], "2": [File("b", 5)], "3": [File("c", 50)], "4": [File("d", 1)]}
    assert list(steps(days, 10)) == [["1", "2"], ["3"], ["4"]]
    assert list(steps({}, 10)) == []
