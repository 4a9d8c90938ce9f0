"""A Spark session to measure in, and what of the machine it takes."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from pyspark import cloudpickle
from pyspark.sql import SparkSession

import pyspark_aviso
import spark_floors
from serving import ProcessTree

if TYPE_CHECKING:
    from collections.abc import Iterator

SETTINGS: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "1",
}


@contextmanager
def session(master: str) -> Iterator[SparkSession]:
    """Run a session on the cores that this process may use now."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(master)
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    pyspark_aviso.register(spark)
    # Workers do not find our modules, and need not.
    cloudpickle.register_pickle_by_value(spark_floors)  # type: ignore[no-untyped-call]  # pyspark's copy has no types
    for floor in spark_floors.SOURCES:
        spark.dataSource.register(floor)
    try:
        yield spark
    finally:
        spark.stop()
        # The next session is to start a JVM of its own, on the cores that it may use then.
        gateway: Any = spark.sparkContext._gateway
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait()
        type(spark.sparkContext)._gateway = None
        type(spark.sparkContext)._jvm = None


def spark_tree(spark: SparkSession) -> ProcessTree:
    """Return the Java machine and the Python workers below it."""
    process_id: int = spark._jvm.java.lang.ProcessHandle.current().pid()  # type: ignore[union-attr]
    return ProcessTree(process_id)
