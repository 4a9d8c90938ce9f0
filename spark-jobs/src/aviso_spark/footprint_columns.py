"""Footprints of a column, many at a time: the one step of the mapping that SQL has no words for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa  # type: ignore[import-untyped]  # it brings no types
from pyspark.sql.pandas.functions import arrow_udf

from aviso_spark.footprints import footprint

if TYPE_CHECKING:
    from pyspark.sql import Column

FOOTPRINT_TYPE: Final = "struct<geometry:string,error:string>"


def as_footprint(column: Column) -> Column:
    """Return GeoJSON, or what is wrong with a value; both are null where there is none."""
    # Its types know the kind by an argument that it warns of; the annotations below say the same.
    made: Column = arrow_udf(_convert, FOOTPRINT_TYPE)(column)  # type: ignore[call-overload]
    return made


def _convert(values: pa.Array) -> pa.Array:
    # Spark reads these annotations, to know what to hand over.
    converted = [_one(value) for value in values.to_pylist()]
    shapes, errors = [shape for shape, _ in converted], [error for _, error in converted]
    return pa.StructArray.from_arrays(
        [pa.array(shapes, pa.string()), pa.array(errors, pa.string())], names=["geometry", "error"]
    )


def _one(value: str | bytes | None) -> tuple[str | None, str | None]:
    if value is None:
        return None, None
    try:
        return footprint(value), None
    except ValueError as error:
        return None, str(error)
