"""Event types of the notification service as tables of Spark: `spark.read.format("aviso")` and its writers.

Spark imports every module named `pyspark_*` when it looks for data sources, and finds none at all if one of them
cannot be imported. So nothing is imported here before it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pyspark_aviso.source import AvisoDataSource as DefaultSource

__all__ = ["DefaultSource", "register"]


def register(spark: SparkSession) -> None:
    """Make `format("aviso")` known to a session, whatever else is installed beside this package."""
    from pyspark_aviso.source import AvisoDataSource

    spark.dataSource.register(AvisoDataSource)


def __getattr__(name: str) -> Any:
    if name == "DefaultSource":
        from pyspark_aviso.source import AvisoDataSource

        return AvisoDataSource
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
