"""What the columns are: of the events that are read, and of the rows that are written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow  # type: ignore[import-untyped]  # it brings no types

    from pyspark_aviso.options import GeometryForm, PayloadForm

EVENT_COLUMNS: Final = {
    "event_type": "string",
    "sequence": "bigint",
    "time": "timestamp",
    "id": "string",
    "identifier": "map<string,string>",
    "geometry": "binary",
    "payload": "string",
    "operation": "string",
}
"""An event as it is read, in the order of the columns: what the service's own Arrow replay sends."""

PAYLOAD_TYPES: Final[Mapping[PayloadForm, str]] = {"text": "string", "variant": "variant"}
GEOMETRY_TYPES: Final[Mapping[GeometryForm, str]] = {
    "wkb": "binary",
    "geography": "geography(4326)",
    "geojson": "string",
}
"""The types that these columns can be had in, by what the options `payloadAs` and `geometryAs` call them."""

WRITE_COLUMNS: Final = ("event_type", "identifier", "payload", "id", "time", "geometry")
"""What a row may have that is written. Only `identifier` must be there; `event_type` may be an option instead."""

VALUE_COLUMN: Final = "value"
"""The only column of rows that are written as they are: one line of JSON each, as `encode.encode` makes them."""

RAW_DDL: Final = f"{VALUE_COLUMN} string"
"""What is read in the format `raw`: each event as the line of JSON that the service sends."""


def event_ddl(*, payload_as: PayloadForm = "text", geometry_as: GeometryForm = "wkb") -> str:
    """Return the columns of an event in the forms that the options ask for."""
    columns = {
        **EVENT_COLUMNS,
        "payload": PAYLOAD_TYPES[payload_as],
        "geometry": GEOMETRY_TYPES[geometry_as],
    }
    return ", ".join(f"{name} {kind}" for name, kind in columns.items())


def event_arrow_schema() -> pyarrow.Schema:
    """Return the columns of an event as Spark wants them from a Python data source: names, order and types alike."""
    import pyarrow as pa

    return pa.schema(
        [
            ("event_type", pa.string()),
            ("sequence", pa.int64()),
            ("time", pa.timestamp("us", tz="UTC")),
            ("id", pa.string()),
            ("identifier", pa.map_(pa.string(), pa.string())),
            ("geometry", pa.binary()),
            ("payload", pa.string()),
            ("operation", pa.string()),
        ]
    )
