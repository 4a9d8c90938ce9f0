"""`encode(df)`: the same lines as `encode.Encoder` makes, built by Spark SQL, so that no Python runs per row.

A frame of rows becomes a frame of one column `value`, and the writer posts its bytes as they are. Rows which cannot be
written have no line (null, with the fault of being no JSON), and structs are spelt by Spark's `to_json` (`sql_json`),
whose floating-point numbers differ from Python's.

A payload of text is spliced in after it was parsed as the element of a list. Members of the line itself
(`{},"id":"another"`) are no element of a list, so no payload can change its record; whatever else Spark's parser takes
for the beginning of a list makes a line that is no JSON, which the service refuses alone.
"""

from __future__ import annotations

from functools import reduce
from operator import and_
from typing import TYPE_CHECKING

from pyspark.sql import functions as sql
from pyspark.sql.types import BinaryType, BooleanType, DateType, IntegralType, MapType, StringType, StructType

from pyspark_aviso.encode import check_columns
from pyspark_aviso.ids import ID_LENGTH
from pyspark_aviso.schema import VALUE_COLUMN
from pyspark_aviso.sql_json import as_instant_text, as_json, unsayable

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def encode(
    df: DataFrame,
    *,
    event_type: str | None = None,
    scope: str = "",
    geometry_field: str = "polygon",
) -> DataFrame:
    """Return the lines of a frame that has columns as `schema.WRITE_COLUMNS` names them.

    The scope is part of the ids: for a stream, whose own scope is only known in a running batch, give the rows a column
    `id` or call this in `foreachBatch`.
    """
    check_columns(df.columns, event_type=event_type)
    _check_types(df)
    nothing = sql.lit(None).cast("string")
    names = set(df.columns)
    kind = sql.col("event_type") if "event_type" in names else nothing
    if event_type is not None:
        kind = sql.coalesce(sql.when(kind != "", kind), sql.lit(event_type))
    # Each step is a projection of its own: what is made once is used several times in the next.
    parts = df.select(
        kind.alias("event_type"),
        _identifier(df).alias("identifier"),
        (_json(df, "payload") if "payload" in names else nothing).alias("payload"),
        (_json(df, "geometry") if "geometry" in names else nothing).alias("geometry"),
        (sql.col("id") if "id" in names else nothing).alias("id"),
        (_time(df) if "time" in names else nothing).alias("time"),
        _is_json(df).alias("is_json"),
    )
    written = parts.withColumn(
        "identifier", _with_geometry(geometry_field) if "geometry" in names else _written()
    )
    line = sql.concat(
        sql.lit('{"event_type":'),
        _text(sql.col("event_type")),
        sql.lit(',"identifier":'),
        sql.col("identifier"),
        sql.lit(',"id":'),
        _identity(scope, has_own="id" in names),
        _member("time", _text(sql.col("time"))) if "time" in names else sql.lit(""),
        _member("payload", sql.col("payload")),
        sql.lit("}\n"),
    )
    return written.select(sql.when(sql.col("is_json"), line).alias(VALUE_COLUMN))


def _check_types(df: DataFrame) -> None:
    """Refuse what SQL has no words for, or would write otherwise than `Encoder` does."""
    kinds = {field.name: field.dataType for field in df.schema.fields}
    if isinstance(kinds.get("geometry"), BinaryType):
        raise ValueError(
            "column 'geometry' is WKB, which encode() does not take: make GeoJSON of it, or write the rows without "
            "encode(), as the data source takes WKB"
        )
    if "id" in kinds and not isinstance(kinds["id"], StringType):
        raise ValueError(f"column 'id' is of type {kinds['id'].simpleString()}: make a text of it")


def _identifier(df: DataFrame) -> Column:
    """Return the identifier as a map, its names sorted and without what is null."""
    kind = df.schema["identifier"].dataType
    column = sql.col("identifier")
    if isinstance(kind, StructType):
        for field in kind.fields:
            if not isinstance(field.dataType, (StringType, IntegralType, BooleanType, DateType)):
                raise ValueError(
                    f"column 'identifier.{field.name}' is of type {field.dataType.simpleString()}, "
                    "which has more than one spelling: make a text of it"
                )
        pairs = [
            sql.struct(sql.lit(name).alias("key"), column.getField(name).cast("string").alias("value"))
            for name in sorted(kind.names)
        ]
        entries = sql.when(column.isNotNull(), sql.array(*pairs))
    elif isinstance(kind, MapType):
        entries = sql.sort_array(sql.map_entries(column))
        if not kind.valueContainsNull:
            return sql.map_from_entries(entries)
    else:
        raise ValueError("column 'identifier' must be a map of texts to texts, or a struct of the fields")
    return sql.map_from_entries(sql.filter(entries, lambda entry: entry["value"].isNotNull()))


def _written() -> Column:
    return sql.to_json(sql.col("identifier"))


def _with_geometry(field: str) -> Column:
    """Return the identifier as it is written with a geometry as its last field, where there is one."""
    plain = _written()
    joint = sql.when(sql.size("identifier") > 0, sql.lit(",")).otherwise(sql.lit(""))
    whole = sql.concat(
        sql.substring(plain, sql.lit(1), sql.length(plain) - 1),
        joint,
        _text(sql.lit(field)),
        sql.lit(":"),
        sql.col("geometry"),
        sql.lit("}"),
    )
    is_there_twice = sql.map_contains_key(sql.col("identifier"), field)
    return sql.when(sql.col("geometry").isNull(), plain).when(~is_there_twice, whole)


def _identity(scope: str, *, has_own: bool) -> Column:
    """Return the id as it is written: the row's own, or what `ids.record_id` returns."""
    payload = sql.coalesce(sql.col("payload"), sql.lit(""))
    text = sql.concat(
        *(_counted(part) for part in (sql.lit(scope), sql.col("event_type"), sql.col("identifier"), payload))
    )
    made = sql.concat(
        sql.lit('"'), sql.substring(sql.sha2(text.cast("binary"), 256), 1, ID_LENGTH), sql.lit('"')
    )
    return sql.coalesce(sql.when(sql.col("id") != "", _text(sql.col("id"))), made) if has_own else made


def _counted(text: Column) -> Column:
    return sql.concat(sql.octet_length(text).cast("string"), sql.lit(":"), text)


def _text(column: Column) -> Column:
    """Return a text as JSON: of an array with it, what stands between the brackets."""
    whole = sql.to_json(sql.array(column))
    return sql.when(column.isNotNull(), sql.substring(whole, sql.lit(2), sql.length(whole) - 2))


def _member(name: str, value: Column) -> Column:
    return sql.coalesce(sql.concat(sql.lit(f',"{name}":'), value), sql.lit(""))


def _json(df: DataFrame, name: str) -> Column:
    """Return a column as JSON on one line: text is JSON already."""
    column = sql.col(name)
    if not isinstance(df.schema[name].dataType, StringType):
        return as_json(column)
    # To look for line ends is far cheaper than to translate, and as a rule there are none.
    has_lines = column.contains("\n") | column.contains("\r")
    return sql.when(has_lines, sql.translate(name, "\r\n", "  ")).otherwise(column)


def _is_json(df: DataFrame) -> Column:
    """Tell whether what is spliced in is JSON of its column, and cannot become members of the line."""
    spliced = (name for name in ("payload", "geometry") if name in df.columns)
    return reduce(and_, (_has_json(df, name) for name in spliced), sql.lit(True))


def _has_json(df: DataFrame, name: str) -> Column:
    column, kind = sql.col(name), df.schema[name].dataType
    if not isinstance(kind, StringType):
        return unsayable(column, kind, name).isNull()
    listed = sql.concat(sql.lit("["), column, sql.lit("]"))
    return column.isNull() | sql.try_parse_json(listed).isNotNull()


def _time(df: DataFrame) -> Column:
    column = sql.col("time")
    if isinstance(df.schema["time"].dataType, StringType):
        return column
    return as_instant_text(column)
