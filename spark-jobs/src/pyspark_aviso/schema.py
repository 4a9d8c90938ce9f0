"""What the columns are: of the events that are read, and of the rows that are written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pyarrow  # type: ignore[import-untyped]  # it brings no types

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

EVENT_DDL: Final = ", ".join(f"{name} {kind}" for name, kind in EVENT_COLUMNS.items())

WRITE_COLUMNS: Final = ("event_type", "identifier", "payload", "id", "time", "geometry")
"""What a row may have that is written. Only `identifier` must be there; `event_type` may be an option instead."""

VALUE_COLUMN: Final = "value"
"""The only column of rows that are written as they are: one line of JSON each, as `encode.encode` makes them."""

RAW_DDL: Final = f"{VALUE_COLUMN} string"
"""What is read in the format `raw`: each event as the line of JSON that the service sends."""


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
