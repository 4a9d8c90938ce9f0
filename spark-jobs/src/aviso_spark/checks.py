"""The rules of a schema as Spark expressions: the first fault of a row, or null where there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as sql

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import Column

    from aviso_spark.event_schema import EventSchema, FieldRules

REFUSED_TYPE: Final = "struct<field:string,error:string>"
_SHOWN_CHARACTERS: Final = 100


def first_fault(faults: Iterator[Column]) -> Column:
    """Return the first of several that is not null."""
    return sql.coalesce(*faults, sql.lit(None).cast(REFUSED_TYPE))


def fault(condition: Column, field: str, error: Column) -> Column:
    """Return what is wrong with a field where the condition holds. A condition that is null does not hold."""
    return sql.when(condition, sql.struct(sql.lit(field).alias("field"), error.alias("error")))


def field_faults(field: FieldRules, value: Column) -> Iterator[Column]:
    """Yield what may be wrong with the text of a field."""
    if field.is_required:
        yield fault(value.isNull(), field.name, sql.lit("is missing"))
    if field.values:
        told = f" is not one of {', '.join(field.values)}"
        yield fault(~sql.lower(value).isin(*field.values), field.name, _quoted(value, told))
    if field.pattern is not None:
        yield fault(
            ~value.rlike(field.pattern), field.name, _quoted(value, f" does not match {field.pattern}")
        )
    if field.shortest is not None:
        told = f" is shorter than {field.shortest} characters"
        yield fault(sql.length(value) < field.shortest, field.name, _quoted(value, told))
    if field.longest is not None:
        told = f" is longer than {field.longest} characters"
        yield fault(sql.length(value) > field.longest, field.name, _quoted(value, told))
    if field.lowest is not None and field.highest is not None:
        number, told = value.try_cast("double"), f" is not between {field.lowest:g} and {field.highest:g}"
        yield fault((number < field.lowest) | (number > field.highest), field.name, _quoted(value, told))


def payload_faults(schema: EventSchema, payload: Column) -> Iterator[Column]:
    """Yield what may be wrong with a payload, which is JSON text."""
    if schema.is_payload_required:
        yield fault(payload.isNull() | (sql.trim(payload) == "null"), "payload", sql.lit("is missing"))
    not_json = payload.isNotNull() & sql.try_parse_json(payload).isNull()
    yield fault(not_json, "payload", _quoted(payload, " is not JSON; for a plain text map struct(column)"))
    for key in schema.payload_keys:
        has_key = sql.array_contains(sql.json_object_keys(payload), key)
        told = sql.lit(f"has no '{key}', which the event type's schema asks for")
        yield fault(payload.isNotNull() & ~sql.coalesce(has_key, sql.lit(False)), "payload", told)


def _quoted(value: Column, told: str) -> Column:
    return sql.concat(sql.lit("'"), sql.left(value, sql.lit(_SHOWN_CHARACTERS)), sql.lit("'" + told))
