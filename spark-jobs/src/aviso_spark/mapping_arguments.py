"""The arguments by which a command line says how rows are read, and what of them becomes a notification."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aviso_spark.common.arguments import key_value
from aviso_spark.expressions import Expressions

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Mapping


def add_reading(parser: ArgumentParser) -> None:
    """Add what is told to Spark's reader, and which rows of it are taken."""
    parser.add_argument(
        "--option",
        type=key_value,
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="an option of the reader",
    )
    parser.add_argument("--columns", metavar="DDL", help="the columns, as in 'name string, level int'")
    parser.add_argument("--where", metavar="SQL", help="which rows are taken")


def add_mapping(parser: ArgumentParser) -> None:
    """Add what says how a row becomes a notification."""
    parser.add_argument(
        "--map", type=key_value, action="append", default=[], metavar="FIELD=SQL", help="what a field takes"
    )
    parser.add_argument("--payload", metavar="SQL", help="what the payload takes")
    parser.add_argument(
        "--id", metavar="SQL", help="a natural key to be the record's id, as an object's version"
    )
    parser.add_argument("--time", metavar="SQL", help="the producer's own time of a record")


def expressions_of(read: Mapping[str, Any]) -> Expressions:
    """Return the mapping that a command line asks for."""
    return Expressions(fields=dict(read["map"]), payload=read["payload"], id=read["id"], time=read["time"])
