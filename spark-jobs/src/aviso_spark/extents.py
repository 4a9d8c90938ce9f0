"""Where a shape lies, in columns that a table can be searched by: its bounding box, and the H3 cell of its middle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa  # type: ignore[import-untyped]  # it brings no types
from pyspark.sql.pandas.functions import arrow_udf

if TYPE_CHECKING:
    from pyspark.sql import Column

H3_RESOLUTION: Final = 5
EXTENT_COLUMNS: Final = ("west", "south", "east", "north", "h3")
_TYPE: Final = "struct<west:double,south:double,east:double,north:double,h3:string>"


def extent_of(geometry: Column) -> Column:
    """Return the extent of a column of WKB; null where there is no shape."""
    # Its types know the kind by an argument that it warns of; the annotations below say the same.
    made: Column = arrow_udf(_extents, _TYPE)(geometry)  # type: ignore[call-overload]
    return made


def _extents(values: pa.Array) -> pa.Array:
    # Spark reads these annotations, to know what to hand over.
    rows = [None if value is None else extent(value) for value in values.to_pylist()]
    fields = [(name, pa.string() if name == "h3" else pa.float64()) for name in EXTENT_COLUMNS]
    return pa.array(
        [None if row is None else dict(zip(EXTENT_COLUMNS, row, strict=True)) for row in rows],
        pa.struct(fields),
    )


def extent(wkb: bytes) -> tuple[float, float, float, float, str]:
    """Return west, south, east and north of a shape, and the cell in which its middle lies."""
    import h3  # type: ignore[import-untyped]  # it brings no types
    import shapely

    shape = shapely.from_wkb(wkb)
    west, south, east, north = shape.bounds
    middle = shape.centroid
    return west, south, east, north, str(h3.latlng_to_cell(middle.y, middle.x, H3_RESOLUTION))
