"""What was announced more than once, in three kinds that mean different things.

`id`: two rows with one event's id, which an archive must not have. `content`: the same identifier, payload and shape
under several sequences, such as a producer that posts again what it has posted. `identifier`: the same identifier with
another payload or shape, which is how updates look where updates are wanted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as sql

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

KINDS: Final = ("id", "content", "identifier")


def repeats(events: DataFrame) -> DataFrame:
    """Return what there is several times: kind, what it is, how often, and the first and last of it."""
    announced = events.where("operation IS NULL").select(
        "event_type",
        "epoch",
        "sequence",
        "time",
        "id",
        _identifier().alias("what"),
        _content().alias("content"),
    )
    ids = _grouped(
        events.select("event_type", "epoch", "sequence", "time", sql.col("id").alias("what")), "id"
    )
    contents = _grouped(announced, "content", "content")
    again = announced.groupBy("event_type", "what").agg(
        sql.count_distinct("content").alias("copies"), *_ends()
    )
    identifiers = _shaped(again.where("copies > 1"), "identifier")
    return ids.unionByName(contents).unionByName(identifiers)


def _grouped(rows: DataFrame, kind: str, *by: str) -> DataFrame:
    logs = ("epoch",) if kind == "id" else ()
    grouped = rows.groupBy("event_type", "what", *logs, *by)
    return _shaped(grouped.agg(sql.count("*").alias("copies"), *_ends()).where("copies > 1"), kind)


def _shaped(rows: DataFrame, kind: str) -> DataFrame:
    ends = ("first_sequence", "last_sequence", "first_time", "last_time")
    return rows.select(sql.lit(kind).alias("kind"), "event_type", "what", "copies", *ends)


def _ends() -> list[Column]:
    return [
        end(name).alias(f"{word}_{name}")
        for word, end in (("first", sql.min), ("last", sql.max))
        for name in ("sequence", "time")
    ]


def _identifier() -> Column:
    """Return the identifier as text with its fields in order: two maps are equal whatever order they came in."""
    entries = sql.array_sort(sql.map_entries("identifier"))
    return sql.to_json(sql.map_from_entries(entries))


def _content() -> Column:
    # Nothing is told apart from an empty text: a payload is JSON, and a shape has bytes.
    parts = (sql.coalesce("payload", sql.lit("")), sql.coalesce(sql.hex("geometry"), sql.lit("")))
    return sql.sha2(sql.concat_ws("\n", "event_type", _identifier(), *parts), 256)
