"""What tests of the data source need of Spark where there is none: its schemas, and the way to its tasks.

Its own reader of column lists runs in a Java machine.
"""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Final, TypeVar

from pyspark.sql.types import (
    BinaryType,
    GeographyType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
    VariantType,
)

if TYPE_CHECKING:
    from pyspark.sql.types import DataType

_TYPES: Final[dict[str, DataType]] = {
    "binary": BinaryType(),
    "bigint": LongType(),
    "geography(4326)": GeographyType(4326),
    "int": IntegerType(),
    "map<string,string>": MapType(StringType(), StringType()),
    "string": StringType(),
    "timestamp": TimestampType(),
    "variant": VariantType(),
}


_T = TypeVar("_T")


def sent_to_task(thing: _T) -> _T:
    """Return what arrives of something that is sent to another process."""
    arrived: _T = pickle.loads(pickle.dumps(thing))  # noqa: S301 (what was pickled right here)
    return arrived


def struct_of(columns: str) -> StructType:
    """Return the schema of a list such as `sequence bigint, payload string`."""
    pairs = [one.split(" ") for one in columns.split(", ")]
    return StructType([StructField(name, _TYPES[kind]) for name, kind in pairs])
