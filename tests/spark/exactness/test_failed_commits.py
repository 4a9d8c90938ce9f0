"""Everything is posted, and then the commit fails: what is repeated is known again, and a batch keeps its number."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import pytest
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # it brings no types
from pyspark.errors import PySparkException

import pyspark_aviso
from pyspark_aviso.source import AvisoDataSource
from support.spark_pipelines import announce, expected, write_lines, write_table
from support.spark_service import stored_contents

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from support.services import Program

ROWS: Final = 1200
# Spark tells a failed commit in one way for tables and in another for streams.
FAILURES: Final = (PySparkException, Py4JJavaError)


OBSTACLE: Final = "in-the-way"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with lines, and with what is in the way of commits."""
    write_lines(tmp_path / "lines" / "0.txt", 0, ROWS)
    (tmp_path / OBSTACLE).touch()
    return tmp_path


@pytest.fixture(autouse=True)
def _failing_commits(spark: SparkSession, folder: Path) -> Iterator[None]:
    """Have each commit fail for as long as something is in its way."""
    spark.dataSource.register(_failing_while(str(folder / OBSTACLE)))
    yield
    pyspark_aviso.register(spark)


def _failing_while(obstacle: str) -> type[AvisoDataSource]:
    """Return the data source with another end: made here, so that it travels to workers that cannot import it."""

    class Failing(AvisoDataSource):
        def writer(self, *arguments: Any, **named: Any) -> Any:
            return hindered(super().writer(*arguments, **named))

        def streamWriter(self, *arguments: Any, **named: Any) -> Any:  # noqa: N802 (Spark's name)
            return hindered(super().streamWriter(*arguments, **named))

    def hindered(writer: Any) -> Any:
        import os

        def commit(*arguments: Any, **named: Any) -> None:
            if os.path.exists(obstacle):
                raise OSError(f"{obstacle} is there")
            type(writer).commit(writer, *arguments, **named)

        writer.commit = commit
        return writer

    return Failing


def test_a_table_whose_commit_fails_is_written_again_exactly(
    spark: SparkSession, service: Program, folder: Path
) -> None:
    """Whoever wrote it sees that it failed, though all of it is stored."""
    report = folder / "table.json"
    with pytest.raises(FAILURES, match=rf"{OBSTACLE}|Writing job failed"):
        write_table(spark, url=service.url, folder=folder, group="failed-table", report=str(report))
    assert stored_contents(service.url, **{"class": "failed-table"}).total() == ROWS

    (folder / OBSTACLE).unlink()
    write_table(spark, url=service.url, folder=folder, group="failed-table", report=str(report))

    stored = stored_contents(service.url, **{"class": "failed-table"})
    assert stored == Counter(expected("failed-table", ROWS))
    assert _counts(report) == ("written", None, 0, ROWS)


def test_a_batch_of_a_stream_whose_commit_fails_is_repeated_under_its_number(
    spark: SparkSession, service: Program, folder: Path
) -> None:
    """More has come meanwhile, which belongs to the next batch."""

    def run() -> None:
        announce(
            spark, url=service.url, folder=folder, group="failed-stream", report=str(folder / "reports")
        ).awaitTermination()

    with pytest.raises(FAILURES, match=rf"{OBSTACLE}|Writing job failed"):
        run()
    assert stored_contents(service.url, **{"class": "failed-stream"}).total() == ROWS

    (folder / OBSTACLE).unlink()
    write_lines(folder / "lines" / "1.txt", ROWS, ROWS + 100)
    run()

    stored = stored_contents(service.url, **{"class": "failed-stream"})
    assert stored == Counter(expected("failed-stream", ROWS + 100))
    reports = sorted((folder / "reports").glob("*.json"))
    assert [_counts(one) for one in reports] == [("written", 0, 0, ROWS), ("written", 1, 100, 0)]


def _counts(report: Path) -> tuple[str, int | None, int, int]:
    said = json.loads(report.read_text())
    return said["outcome"], said["batch_id"], said["accepted"], said["duplicate"]
