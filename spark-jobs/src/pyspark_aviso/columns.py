"""The columns of an answer → those that were asked for: in their order, and of exactly the types that Spark expects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark_aviso.options import OptionError
from pyspark_aviso.schema import EVENT_COLUMNS, VALUE_COLUMN

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa  # type: ignore[import-untyped]  # it brings no types
    from pyspark.sql.types import StructType

    from pyspark_aviso.replay import Format

_RAW: Mapping[str, str] = {VALUE_COLUMN: "string"}


def check_columns(schema: StructType, form: Format) -> None:
    """Refuse a schema with a column that events do not have, or have as another type."""
    known = _RAW if form == "raw" else EVENT_COLUMNS
    for field in schema.fields:
        kind = field.dataType.simpleString()
        if field.name not in known:
            raise OptionError(
                f"there is no column {field.name!r} in the format {form!r}; there are: {', '.join(known)}"
            )
        if kind != known[field.name]:
            raise OptionError(
                f"column {field.name!r} is {known[field.name]}, not {kind}: read it so, and cast it then"
            )


def arrow_schema(schema: StructType) -> pa.Schema:
    """Return the columns as Spark compares them with what it is given."""
    # What the engine itself calls, so that both are of one opinion.
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(schema, timezone="UTC")


def project(batch: pa.RecordBatch, wanted: pa.Schema) -> pa.RecordBatch:
    """Return these columns of a batch, without copying those that are of the right type already."""
    import pyarrow as pa

    columns = [_as(batch.column(field.name), field.type) for field in wanted]
    return pa.RecordBatch.from_arrays(columns, schema=wanted)


def _as(column: pa.Array, kind: pa.DataType) -> pa.Array:
    # Times are stored in nanoseconds, and Spark has microseconds.
    return column if column.type.equals(kind) else column.cast(kind, safe=False)
