"""Compaction: few files instead of many, and at every moment at which it can be killed, every event once."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Final

import pytest

from aviso_spark.archived import COLUMNS, read_archive
from aviso_spark.common.stopping import Stopping
from aviso_spark.compaction import compact, finish
from aviso_spark.folders import Folder
from support.spark_archives import event, keep

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

_PARTS: Final = 3
_EVENTS: Final = 12


class Killed(Exception):
    """The process ends here."""


class MortalFolder(Folder):
    """A folder of a process that is killed before one of the steps in which files change."""

    def __init__(self, session: SparkSession, place: str, *, steps: int) -> None:
        super().__init__(session, place)
        self._steps = steps

    def _step(self) -> None:
        if self._steps == 0:
            raise Killed
        self._steps -= 1

    def move(self, path: str, to: str) -> None:
        """Move a file, if there is time."""
        self._step()
        super().move(path, to)

    def remove(self, path: str) -> None:
        """Remove a file, if there is time."""
        self._step()
        super().remove(path)


def crowded(spark: SparkSession, folder: Path) -> str:
    """Return an archive of which each of two days has several files."""
    for part in range(_PARTS):
        keep(spark, folder, [event(n + 1, hours=4 * n, step=n) for n in range(part, _EVENTS, _PARTS)])
    return str(folder)


def sequences(spark: SparkSession, place: str) -> list[int]:
    """Return the sequences of the events that the archive has."""
    kept = read_archive(spark, place)
    assert kept is not None
    return sorted(row["sequence"] for row in kept.select("sequence").collect())


def files(folder: Path) -> int:
    """Return how many files of data there are."""
    return len(list(folder.glob("event_type=*/day=*/*.parquet")))


def test_the_files_of_a_day_become_few(spark: SparkSession, tmp_path: Path) -> None:
    """With the same events in them; days with one file are left alone."""
    place = crowded(spark, tmp_path)
    keep(spark, tmp_path, [event(_EVENTS + 1, hours=100)])
    found = compact(spark, "archive", Folder(spark, place), COLUMNS, Stopping())
    assert found == (2, 6, 2)
    assert (files(tmp_path), sequences(spark, place)) == (3, list(range(1, _EVENTS + 2)))
    assert sorted(
        path.name for path in tmp_path.iterdir() if not path.name.startswith((".", "_SUCCESS"))
    ) == ["event_type=runs"]


def test_a_compaction_that_is_killed_at_any_step_changes_no_event(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Before its plan is in place nothing is changed; from then on readers follow the plan, whoever carries it out."""
    place, wanted = crowded(spark, tmp_path), list(range(1, _EVENTS + 1))
    # It removes what was left of an earlier one, and puts the plan in place.
    for steps in range(3):
        with pytest.raises(Killed):
            compact(spark, "archive", MortalFolder(spark, place, steps=steps), COLUMNS, Stopping())
        assert (files(tmp_path), sequences(spark, place)) == (2 * _PARTS, wanted)
    for steps in count():
        try:
            finish(MortalFolder(spark, place, steps=steps))
        except Killed:
            assert sequences(spark, place) == wanted, f"killed before step {steps + 1}"
        else:
            break
    assert steps > 2 * _PARTS
    assert (files(tmp_path), sequences(spark, place)) == (2, wanted)
