"""Where events lie: how many there are in each H3 cell, in cells large enough that a picture can hold them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa  # type: ignore[import-untyped]  # it brings no types
from pyspark.sql import functions as sql
from pyspark.sql.pandas.functions import arrow_udf

from aviso_spark.extents import H3_RESOLUTION

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_COARSEST: Final = 1


def by_cell(events: DataFrame) -> DataFrame:
    """Return the events of each event type in each cell of the archive's resolution."""
    placed = events.where("operation IS NULL AND h3 IS NOT NULL")
    return placed.groupBy("event_type", "h3").agg(sql.count("*").alias("events"))


def shown_cells(cells: DataFrame, *, most: int) -> tuple[int, dict[str, int]]:
    """Return the finest resolution of which there are at most so many cells, and their events."""
    for resolution in range(H3_RESOLUTION, _COARSEST - 1, -1):
        counted = cells.groupBy(_parent(sql.col("h3"), resolution).alias("cell")).agg(
            sql.sum("events").alias("events")
        )
        rows = counted.limit(most + 1).collect()
        if len(rows) <= most:
            return resolution, {row["cell"]: row["events"] for row in rows}
    raise AssertionError(f"there are only 842 cells of the resolution {_COARSEST}")


def _parent(cell: Column, resolution: int) -> Column:
    def parents(cells: pa.Array) -> pa.Array:
        import h3  # type: ignore[import-untyped]  # it brings no types

        return pa.array([str(h3.cell_to_parent(one, resolution)) for one in cells.to_pylist()], pa.string())

    # Its types know the kind by an argument that it warns of; the annotations above say the same.
    made: Column = arrow_udf(parents, "string")(cell)  # type: ignore[call-overload]
    return made
