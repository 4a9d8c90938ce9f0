"""Rows as somebody keeps them → rows as they are sent, guided by the event type's schema.

A field takes the column of its name, or the SQL expression that was given for it. What does not fit is found in two
steps: what holds for all rows (a field that no column gives, a name that the schema does not know) is refused before
Spark starts to work; what is wrong with one row is told in that row's column `refused`, with the field at fault.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import functions as sql
from pyspark.sql.types import ArrayType, BinaryType, DataType, MapType, StringType, StructType, VariantType

from aviso_spark.checks import fault, field_faults, first_fault, payload_faults
from aviso_spark.common.problems import NotUnderstood
from aviso_spark.common.telling import shown
from aviso_spark.expressions import Expressions
from aviso_spark.footprint_columns import as_footprint
from pyspark_aviso.receipt_rows import REFUSED_COLUMN
from pyspark_aviso.sql_json import as_instant_text, as_json, as_shown, unsayable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import Column, DataFrame

    from aviso_spark.event_schema import EventSchema


def mapped(rows: DataFrame, schema: EventSchema, given: Expressions) -> DataFrame:
    """Return the rows as they are posted; why one is refused stands in the row itself."""
    return map_rows(rows, schema, plan_mapping(schema, rows.columns, given))


def plan_mapping(schema: EventSchema, columns: Sequence[str], given: Expressions) -> Expressions:
    """Return an expression for everything that will be sent, or say what is missing or unknown."""
    names = [field.name for field in schema.fields]
    for name in given.fields:
        if name not in names:
            raise NotUnderstood(f"{schema.event_type} has no field '{name}'{_nearest(name, names)}")
    by_name = {column.lower(): f"`{column.replace('`', '``')}`" for column in columns}
    fields = {name: by_name[name.lower()] for name in names if name.lower() in by_name} | given.fields
    missing = [field.name for field in schema.fields if field.is_required and field.name not in fields]
    if missing:
        raise NotUnderstood(
            f"{schema.event_type} needs {', '.join(missing)}, and no column is called so: "
            f"give it with --map {missing[0]}=EXPRESSION; there are {', '.join(columns)}"
        )
    payload = given.payload or by_name.get("payload")
    if payload is None and schema.is_payload_required:
        raise NotUnderstood(
            f"{schema.event_type} needs a payload: give it with --payload, as in 'struct(a, b)'"
        )
    return Expressions(fields=fields, payload=payload, id=given.id, time=given.time)


def _nearest(name: str, names: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, names, n=1)
    return f": did you mean '{near[0]}'?" if near else f": there are {', '.join(names)}"


def map_rows(frame: DataFrame, schema: EventSchema, plan: Expressions) -> DataFrame:
    """Return the rows to be sent: event_type, identifier, payload, what else was mapped, and why a row is refused."""
    evaluated = _evaluated(frame, plan)
    types = {field.name: field.dataType for field in evaluated.schema.fields}
    texts = {
        field.name: _as_text(f"field_{field.name}", types)
        for field in schema.texts
        if field.name in plan.fields
    }
    payload, place = _payload(types)
    prepared = evaluated.select(
        sql.lit(schema.event_type).alias("event_type"),
        _identifier(texts).alias("identifier"),
        sql.when(place.isNull(), payload).otherwise(as_shown(payload)).alias("payload"),
        place.alias("unsayable"),
        *([sql.col("id").cast("string").alias("id")] if "id" in types else []),
        *_time(types),
        *_footprints(schema, plan, types),
    )
    beside = ("footprint", "as_given", "identifier", "unsayable", "is_no_instant")
    others = [name for name in prepared.columns if name not in beside]
    # What is refused is kept as it was given: a receipt without it would look like a row that never had one.
    shape = sql.when(sql.col("footprint.error").isNull(), sql.col("footprint.geometry")).otherwise(
        sql.col("as_given")
    )
    geometry = [shape.alias("geometry")] if "footprint" in prepared.columns else []
    refused = first_fault(_faults(schema, plan, prepared.columns)).alias(REFUSED_COLUMN)
    return prepared.select("event_type", "identifier", *others[1:], *geometry, refused)


def _evaluated(frame: DataFrame, plan: Expressions) -> DataFrame:
    """Return a column for each expression; one that Spark cannot read is told with the argument that gave it."""
    given = [(f"--map {name}=", f"field_{name}", text) for name, text in plan.fields.items()]
    given += [(f"--{name} ", name, text) for name, text in _members(plan).items()]
    for argument, _, text in given:
        try:
            # The columns are asked for because a session on a server looks at expressions only then.
            _ = frame.select(sql.expr(text)).columns
        except (AnalysisException, ParseException) as error:
            raise NotUnderstood(f"{argument}{text}: {shown(error)}") from error
    return frame.select(*[sql.expr(text).alias(alias) for _, alias, text in given])


def _members(plan: Expressions) -> dict[str, str]:
    members = {"payload": plan.payload, "id": plan.id, "time": plan.time}
    return {name: text for name, text in members.items() if text is not None}


def _time(types: Mapping[str, DataType]) -> list[Column]:
    """Return the producer's time as it is posted, and whether it is none: a text that is no instant stays as it is."""
    if "time" not in types:
        return []
    given = sql.col("time")
    instant = given.try_cast("timestamp")
    as_text = sql.coalesce(as_instant_text(instant), given.cast("string"))
    return [as_text.alias("time"), (given.isNotNull() & instant.isNull()).alias("is_no_instant")]


def _as_text(name: str, types: Mapping[str, DataType]) -> Column:
    if isinstance(types[name], StructType | ArrayType | MapType | BinaryType):
        raise NotUnderstood(
            f"{name.removeprefix('field_')} takes one value, and its column is a {types[name].simpleString()}"
        )
    return sql.col(f"`{name}`").cast("string")


def _identifier(texts: Mapping[str, Column]) -> Column:
    if not texts:
        return sql.create_map().cast("map<string,string>")
    entries = [part for name, text in texts.items() for part in (sql.lit(name), text)]
    return sql.map_filter(sql.create_map(*entries), lambda _name, text: text.isNotNull())


def _payload(types: Mapping[str, DataType]) -> tuple[Column, Column]:
    """Return the payload as JSON, and where it has a number that JSON cannot say."""
    kind, column, nothing = types.get("payload"), sql.col("payload"), sql.lit(None).cast("string")
    match kind:
        case None:
            return nothing, nothing
        case StringType():
            return column, nothing
        case StructType() | ArrayType() | MapType() | VariantType():
            return as_json(column), unsayable(column, kind, "payload")
        case other:
            raise NotUnderstood(
                f"payload is JSON text, a struct, an array, a map or a variant, not {other.simpleString()}"
            )


def _footprints(schema: EventSchema, plan: Expressions, types: Mapping[str, DataType]) -> list[Column]:
    name = schema.geometry_field
    if name is None or name not in plan.fields:
        return []
    column = sql.col(f"`field_{name}`")
    match types[f"field_{name}"]:
        case StringType() | BinaryType():
            pass
        case StructType() | ArrayType():
            column = as_json(column)
        case other:
            raise NotUnderstood(f"{name} is GeoJSON, WKT, WKB or a box, not {other.simpleString()}")
    as_given = sql.hex(column) if isinstance(types[f"field_{name}"], BinaryType) else column
    return [as_footprint(column).alias("footprint"), as_given.alias("as_given")]


def _faults(schema: EventSchema, plan: Expressions, columns: Sequence[str]) -> Iterator[Column]:
    for field in schema.texts:
        if field.name in plan.fields:
            yield from field_faults(field, sql.col("identifier").getItem(field.name))
    name = schema.geometry_field
    if name is not None and "footprint" in columns:
        yield fault(sql.col("footprint.error").isNotNull(), name, sql.col("footprint.error"))
        if next(field for field in schema.fields if field.name == name).is_required:
            yield fault(sql.col("footprint.geometry").isNull(), name, sql.lit("is missing"))
    if "is_no_instant" in columns:
        told = sql.concat(
            sql.lit("'"), sql.col("time"), sql.lit("' is no instant, as 2030-01-31T06:00:00Z is")
        )
        yield fault(sql.col("is_no_instant"), "time", told)
    told = sql.lit(" is NaN or infinite, which JSON cannot say: make it null or a text (nanvl, nullif)")
    yield fault(sql.col("unsayable").isNotNull(), "payload", sql.concat(sql.col("unsayable"), told))
    yield from payload_faults(schema, sql.col("payload"))
