"""Columns as JSON by Spark SQL, spelt as `payloads` spells Arrow columns: for `encode()`, and for who prepares rows.

Left alone, Spark's `to_json` cuts times to milliseconds, so that rows which differ become one; it leaves out what is
null, and makes texts of the numbers that JSON has no words for.
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as sql
from pyspark.sql.types import ArrayType, DoubleType, FloatType, MapType, StructType, VariantType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import Column
    from pyspark.sql.types import DataType

_SPELLING: Final = {
    "ignoreNullFields": "false",
    "timeZone": "UTC",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
# As `to_json` writes them, and not as the name of a member.
_NON_FINITE_TEXT: Final = r'"(NaN|-?Infinity)"(?!\s*:)'


def as_json(column: Column) -> Column:
    """Return structs, arrays, maps and variants as JSON on one line."""
    return sql.to_json(column, _SPELLING)


def as_instant_text(column: Column) -> Column:
    """Return an instant as the text that it is in JSON, in UTC.

    Spark's functions for formats go by the clock of the session's zone, on which an hour is missing in spring.
    """
    whole = as_json(sql.struct(column.cast("timestamp").alias("t")))
    # Between `{"t":"` and `"}`; of what is null there is no such text.
    return sql.when(column.isNotNull(), sql.substring(whole, sql.lit(7), sql.length(whole) - 8))


def as_shown(json: Column) -> Column:
    """Return JSON of which a number was made a text with the number as it is, so that nobody takes it for JSON."""
    return sql.regexp_replace(json, _NON_FINITE_TEXT, "$1")


def unsayable(column: Column, kind: DataType, path: str) -> Column:
    """Return where a value has a number that JSON cannot say, NaN or an infinite one; null where it has none."""
    places = [sql.when(found, sql.lit(where)) for where, found in _non_finite(column, kind, path)]
    return sql.coalesce(*places, sql.lit(None).cast("string"))


def _non_finite(column: Column, kind: DataType, path: str) -> Iterator[tuple[str, Column]]:
    """Yield the places that may have such a number, each with whether it has one."""
    match kind:
        case FloatType() | DoubleType():
            yield path, sql.isnan(column) | (sql.abs(column) == float("inf"))
        case StructType():
            for field in kind.fields:
                yield from _non_finite(column.getField(field.name), field.dataType, f"{path}.{field.name}")
        case ArrayType(elementType=inner):
            yield from _within_list(column, inner, f"{path}[]")
        case MapType(valueType=inner):
            yield from _within_list(sql.map_values(column), inner, f"{path}[]")
        case VariantType():
            # What is in it differs from row to row. A text of a row that has such numbers at all is taken for one.
            has_fractions = sql.schema_of_variant(column).rlike("DOUBLE|FLOAT")
            yield path, has_fractions & as_json(column).rlike(_NON_FINITE_TEXT)


def _within_list(column: Column, kind: DataType, path: str) -> Iterator[tuple[str, Column]]:
    if any(True for _ in _non_finite(sql.lit(None), kind, path)):
        yield path, sql.exists(column, lambda one: _any_non_finite(one, kind, path))


def _any_non_finite(column: Column, kind: DataType, path: str) -> Column:
    return reduce(or_, (sql.coalesce(found, sql.lit(False)) for _, found in _non_finite(column, kind, path)))
