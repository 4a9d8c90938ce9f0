"""The same through Spark Connect: cases that hold in a session of their own process hold in one on a server.

They are the cases themselves, run once more by pytest with the address of a server: in one process, Spark is either the
one or the other.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any, Final

import pytest

from repo.tree import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

_CASES: Final = (
    "test_spark_write.py::test_a_table_is_written_once_and_a_second_time_changes_nothing",
    "test_spark_write.py::test_columns_of_every_kind_arrive_as_they_were",
    "test_spark_write.py::test_what_cannot_be_is_refused_with_the_remedy",
    "test_spark_write.py::test_a_stream_announces_the_same_content_again_in_a_later_batch",
    "test_spark_read.py::test_rows_are_selected_by_range_by_filter_and_by_schema",
    "test_spark_read.py::test_a_view_is_read_in_sql",
    "test_spark_read.py::test_payloads_and_shapes_are_read_as_types_of_their_own",
    "test_spark_read.py::test_a_stream_becomes_files_and_goes_on_where_it_ended",
    "test_spark_jobs_batch.py::test_rows_of_files_become_notifications_once[csv]",
    "test_spark_jobs_batch.py::test_dead_letters_are_posted_again_with_the_same_ids",
)


@pytest.fixture
def address(spark: SparkSession) -> Iterator[str]:
    """Let the Java machine of the session that there is serve others too; one of its own would be cold."""
    context: Any = spark.sparkContext
    package = context._jvm.org.apache.spark.sql.connect.service
    service = getattr(getattr(package, "SparkConnectService$"), "MODULE$")
    service.start(context._jsc.sc())
    yield f"sc://127.0.0.1:{service.localPort()}"
    default = (getattr(service, f"stop$default${place}")() for place in (1, 2))
    service.stop(*default)


def test_what_holds_here_holds_on_a_server(address: str, tmp_path: Path) -> None:
    """Tables, streams, SQL, receipts and a job, with Spark's workers at the server and the program elsewhere."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    cases = [f"tests/spark/{case}" for case in _CASES]
    alone = ("-n", "0", "-p", "no:cacheprovider", "-p", "no:schemathesis")
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *alone, f"--basetemp={tmp_path / 'cases'}", *cases],
        cwd=ROOT,
        env={**environ, "SPARK_REMOTE": address},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
