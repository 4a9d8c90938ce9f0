"""The columns of an answer → those that were asked for: in their order, and of exactly the types that Spark expects.

A column is had in another form by its type: a payload as VARIANT, a geometry as GEOGRAPHY or as GeoJSON text. Spark has
functions for the first two, which are faster: this is for those who want tables that are ready to query.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark_aviso.options import OptionError
from pyspark_aviso.schema import EVENT_COLUMNS, GEOMETRY_TYPES, PAYLOAD_TYPES, VALUE_COLUMN
from pyspark_aviso.wkb import geojson_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa  # type: ignore[import-untyped]  # it brings no types
    from pyspark.sql.types import StructType

    from pyspark_aviso.options import Format, ReadOptions, StreamReadOptions

_RAW: Mapping[str, tuple[str, ...]] = {VALUE_COLUMN: ("string",)}
_EVENT: Mapping[str, tuple[str, ...]] = {
    **{name: (kind,) for name, kind in EVENT_COLUMNS.items()},
    "payload": tuple(PAYLOAD_TYPES.values()),
    "geometry": tuple(GEOMETRY_TYPES.values()),
}
# Longitudes and latitudes, as the service has all shapes.
_SRID: Final = 4326


class PayloadNotConverted(Exception):
    """A payload is JSON, and more than a VARIANT can be."""


def check_columns(schema: StructType, options: ReadOptions | StreamReadOptions) -> None:
    """Refuse a schema with a column that events do not have, or have not in that type."""
    form: Format = options.format
    known = _RAW if form == "raw" else _EVENT
    if form == "raw" and (options.payload_as, options.geometry_as) != ("text", "wkb"):
        raise OptionError(
            "option 'format' raw has one column of lines: leave out 'payloadAs' and 'geometryAs'"
        )
    for field in schema.fields:
        kind = field.dataType.simpleString()
        if field.name not in known:
            raise OptionError(
                f"there is no column {field.name!r} in the format {form!r}; there are: {', '.join(known)}"
            )
        if kind not in known[field.name]:
            raise OptionError(
                f"column {field.name!r} is {' or '.join(known[field.name])}, not {kind}: read it so, and cast it then"
            )


def arrow_schema(schema: StructType) -> pa.Schema:
    """Return the columns as Spark compares them with what it is given."""
    # What the engine itself calls, so that both are of one opinion.
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(schema, timezone="UTC")


def project(batch: pa.RecordBatch, wanted: pa.Schema) -> pa.RecordBatch:
    """Return these columns of a batch, without copying those that are of the right type already."""
    import pyarrow as pa

    columns = [_as(batch.column(field.name), field) for field in wanted]
    return pa.RecordBatch.from_arrays(columns, schema=wanted)


def _as(column: pa.Array, field: pa.Field) -> pa.Array:
    import pyarrow as pa

    if column.type.equals(field.type):
        return column
    if field.name == "payload":
        return _variants(column, field.type)
    if field.name == "geometry":
        return _texts(column) if field.type.equals(pa.string()) else _geographies(column, field.type)
    # Times are stored in nanoseconds, and Spark has microseconds.
    return column.cast(field.type, safe=False)


def _variants(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return JSON as Spark's own `parse_json` would, with which it shares every byte."""
    import pyarrow as pa
    from pyspark.sql.types import VariantVal

    found = []
    for text in column.to_pylist():
        try:
            made = VariantVal.parseJson(text)
        except (ValueError, RecursionError) as error:
            raise PayloadNotConverted(
                f"a payload cannot be made a VARIANT ({type(error).__name__}: {error}): {text[:80]!r}. Read it with "
                "option payloadAs=text"
            ) from error
        found.append({"value": made.value, "metadata": made.metadata})
    return pa.array(found, kind)


def _geographies(column: pa.Array, kind: pa.DataType) -> pa.Array:
    import pyarrow as pa

    ids = pa.repeat(pa.scalar(_SRID, pa.int32()), len(column))
    return pa.StructArray.from_arrays([ids, column.fill_null(b"")], fields=list(kind), mask=column.is_null())


def _texts(column: pa.Array) -> pa.Array:
    import pyarrow as pa

    return pa.array(
        [None if one is None else geojson_of(one).decode() for one in column.to_pylist()], pa.string()
    )
