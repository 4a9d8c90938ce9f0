"""The tables of a run: Parquet, one folder each, replaced by the next run into the same place.

They are also the steps of the work: what the page shows is read from them, and nothing is computed twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
from pyspark.sql import SparkSession

from aviso_spark.common.progress import told_progress
from aviso_spark.common.stopping import Stopping
from aviso_spark.folders import literal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


FOLDER: Final = "tables"


class Tables(msgspec.Struct, frozen=True, kw_only=True):
    """Where the tables of a run are, and who may ask to stop between them."""

    job: str
    session: SparkSession
    folder: str
    stopping: Stopping

    def keep(self, name: str, rows: DataFrame) -> DataFrame:
        """Write a table, and return it as it was written."""
        self.stopping.check()
        place = f"{self.folder}/{FOLDER}/{name}"
        with told_progress(self.session, f"{self.job}: {name}"):
            rows.write.mode("overwrite").parquet(place)
        return self.session.read.schema(rows.schema).parquet(literal(place))
