"""The same through Spark Connect: cases that hold in a session of their own process hold in one on a server.

They are the cases themselves, run once more by pytest with the address of a server: in one process, Spark is either the
one or the other.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Final

from repo.tree import ROOT
from support.spark_programs import running_connect_server

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

_SETTINGS: Final = {
    "spark.master": "local[2,3]",
    "spark.driver.memory": "512m",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    "spark.ui.enabled": "false",
    "spark.default.parallelism": "2",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.session.timeZone": "UTC",
}
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


def test_what_holds_here_holds_on_a_server(spark: SparkSession, tmp_path: Path) -> None:
    """Tables, streams, SQL, receipts and a job, with Spark's workers at the server and the program elsewhere."""
    assert spark.version
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    places = [f"tests/spark/{case}" for case in _CASES]
    options = [
        "-q",
        "-n",
        "0",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:schemathesis",
        f"--basetemp={tmp_path / 'cases'}",
    ]
    with running_connect_server(_SETTINGS) as address:
        ended = subprocess.run(
            [sys.executable, "-m", "pytest", *options, *places],
            cwd=ROOT,
            env={**environ, "SPARK_REMOTE": address},
            capture_output=True,
            text=True,
            check=False,
        )
    assert ended.returncode == 0, ended.stdout + ended.stderr
