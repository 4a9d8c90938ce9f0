"""Where rows come from: files of several formats, catalogue tables, and STAC items; read once, or followed.

Whatever Spark has a reader for is taken by the name of its format. STAC is the one that is known here: an item
collection, single items, or items by the line become one row for each item.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

import msgspec
from pyspark.errors import ParseException
from pyspark.sql import functions as sql

from aviso_spark.common.problems import NotUnderstood
from aviso_spark.common.telling import shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, DataFrameReader
    from pyspark.sql.streaming.readwriter import DataStreamReader

STAC: Final = "stac"
TABLE: Final = "table"
_BY_SUFFIX: Final[Mapping[str, str]] = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".orc": "orc",
    ".geojson": STAC,
}
_BY_THE_LINE: Final = (".jsonl", ".ndjson")

# As people and other programs write it: a quote within quotes is doubled, a quoted text may have several lines, and a
# line with more or fewer values than the head is a mistake, not a shorter row.
_CSV: Final[Mapping[str, str]] = {
    "header": "true",
    "quote": '"',
    "escape": '"',
    "multiLine": "true",
    "mode": "FAILFAST",
}

# What is broken, or of another type than it should be, is a mistake too, and not null.
_JSON: Final[Mapping[str, str]] = {"mode": "FAILFAST"}

_MEMBERS: Final = ("id", "collection", "geometry", "bbox", "properties", "assets", "links")
_ITEM: Final = ", ".join(f"{name} string" for name in _MEMBERS)


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """Where rows come from."""

    name: str
    format: str
    options: dict[str, str] = {}
    # The columns as DDL; those that the reader finds where this is None.
    columns: str | None = None


def source_of(
    name: str, *, format_: str | None, options: Mapping[str, str], columns: str | None = None
) -> Source:
    """Return the source of that name; its format is told by its suffix where nobody says it."""
    chosen = format_ or _BY_SUFFIX.get(PurePosixPath(name).suffix.lower())
    if chosen is None:
        raise NotUnderstood(f"what is in '{name}' cannot be told from its name: say it with --format")
    return Source(name=name, format=chosen, options=dict(options), columns=columns)


def read_source(
    reader: DataFrameReader | DataStreamReader, source: Source, *, fields: Sequence[str] = ()
) -> DataFrame:
    """Return the rows of a source. Of STAC items, properties that are called like one of the fields become columns."""
    if source.columns is not None:
        reader = _with_columns(reader, source.columns)
    match source.format:
        case "table":
            return reader.options(**source.options).table(source.name)
        case "stac":
            return stac_items(_read_stac(reader, source), fields=fields)
        case "csv":
            return reader.options(**{**_CSV, **source.options}).csv(source.name)
        case "json":
            return reader.options(**{**_JSON, **source.options}).json(source.name)
        case other:
            # What has no name is told by its options alone, as the topics of Kafka are.
            return reader.format(other).options(**source.options).load(source.name or None)


def _with_columns(
    reader: DataFrameReader | DataStreamReader, columns: str
) -> DataFrameReader | DataStreamReader:
    try:
        return reader.schema(columns)
    except ParseException as error:
        raise NotUnderstood(f"--columns '{columns}': {shown(error)}") from error


def _read_stac(reader: DataFrameReader | DataStreamReader, source: Source) -> DataFrame:
    whole = PurePosixPath(source.name).suffix.lower() not in _BY_THE_LINE
    options = {"multiLine": str(whole).lower(), "mode": "FAILFAST", **source.options}
    # As texts, because items of one collection differ in shape, and Spark would find one type for all of them.
    shape = f"type string, features array<struct<{_ITEM.replace(' string', ':string')}>>, {_ITEM}"
    return reader.options(**options).schema(shape).json(source.name)


def stac_items(documents: DataFrame, *, fields: Sequence[str]) -> DataFrame:
    """Return one row for each item, in a collection or alone; `properties` is a variant: `properties:platform`."""
    names = _MEMBERS
    alone = sql.array(sql.struct(*names))
    items = documents.select(sql.explode(sql.coalesce("features", alone)).alias("item")).select("item.*")
    taken = {*names, "datetime"}
    more = {name: f"$['{name}']" for name in ("datetime", *fields) if name == "datetime" or name not in taken}
    return items.select(
        *[name for name in names if name != "properties"],
        sql.try_parse_json("properties").alias("properties"),
        *[sql.get_json_object("properties", path).alias(name) for name, path in more.items()],
    )
