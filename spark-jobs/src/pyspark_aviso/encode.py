"""Rows as the lines that are posted: made of Arrow columns (`Encoder`), or by Spark SQL (`sql_encoding.encode`).

A line is `{"event_type":…,"identifier":{…},"id":…,"time":…,"payload":…}`: names of the identifier sorted, the geometry
last among them, the payload last of all and spliced in as the JSON text that it is. So numbers of any length arrive as
they were written. What must not be spliced (text that is no JSON) is a fault of that row alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from pyspark_aviso.ids import canonical_json, id_maker
from pyspark_aviso.row_values import (
    RowFault,
    identifier_values,
    payload_values,
    text_values,
    time_values,
)
from pyspark_aviso.schema import WRITE_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa  # type: ignore[import-untyped]  # it brings no types


class Line(NamedTuple):
    """One row: its line with its end, or what is wrong with it."""

    data: bytes = b""
    fault: RowFault | None = None
    id: str | None = None


_check_json: Final = msgspec.json.Decoder(msgspec.Raw).decode
# Line ends that JSON allows are blanks between tokens, never part of a text: elsewhere they are escaped.
_LINE_ENDS: Final = str.maketrans("\r\n", "  ")


class Encoder:
    """Encodes rows of given columns. `event_type` is for rows that have none of their own."""

    def __init__(
        self, names: Sequence[str], *, event_type: str | None, scope: str, geometry_field: str
    ) -> None:
        check_columns(names, event_type=event_type)
        self._names = tuple(names)
        self._event_type = event_type
        self._scope = scope
        self._geometry_field = geometry_field
        # How a line of an event type begins, and what makes its ids.
        self._of_types: dict[str, tuple[bytes, Callable[[bytes, bytes], str]]] = {}

    def encode(self, batch: pa.RecordBatch) -> Iterator[Line]:
        """Yield the lines of a batch, one for each of its rows."""
        columns = {name: batch.column(place) for place, name in enumerate(self._names)}
        rows = batch.num_rows
        nothing = [None] * rows
        event_types = columns["event_type"].to_pylist() if "event_type" in columns else nothing
        identifiers = identifier_values(columns["identifier"])
        payloads = payload_values(columns["payload"]) if "payload" in columns else nothing
        geometries = text_values(columns["geometry"], "geometry") if "geometry" in columns else nothing
        own_ids = text_values(columns["id"], "id") if "id" in columns else nothing
        times = time_values(columns["time"]) if "time" in columns else nothing
        for row in zip(event_types, identifiers, payloads, geometries, own_ids, times, strict=True):
            try:
                yield self._line(*row)
            except RowFault as fault:
                yield Line(fault=fault)

    def _line(
        self,
        event_type: str | None,
        identifier: dict[str, str] | RowFault,
        payload: str | None,
        geometry: str | None,
        own_id: str | None,
        time: str | None,
    ) -> Line:
        event_type = event_type or self._event_type
        if event_type is None:
            raise RowFault("the row has no event_type", field="event_type")
        if isinstance(identifier, RowFault):
            raise identifier
        begin, make_id = self._of_types.get(event_type) or self._of_type(event_type)
        data = b"" if payload is None else _json_of(payload, "payload")
        written = canonical_json(identifier)
        if geometry is not None:
            written = self._with_geometry(written, identifier, geometry)
        identity = own_id or make_id(written, data)
        quoted = canonical_json(identity) if own_id else b'"%b"' % identity.encode()
        parts = [begin, written, b',"id":', quoted]
        if time is not None:
            parts += (b',"time":', canonical_json(time))
        if payload is not None:
            parts += (b',"payload":', data)
        parts.append(b"}\n")
        return Line(b"".join(parts), None, identity)

    def _of_type(self, event_type: str) -> tuple[bytes, Callable[[bytes, bytes], str]]:
        begin = b'{"event_type":%b,"identifier":' % canonical_json(event_type)
        made = self._of_types[event_type] = (begin, id_maker(self._scope, event_type))
        return made

    def _with_geometry(self, written: bytes, identifier: dict[str, str], geometry: str) -> bytes:
        shape = _json_of(geometry, "geometry")
        if self._geometry_field in identifier:
            raise RowFault(
                f"the identifier has '{self._geometry_field}' already, and the row has a geometry",
                field="geometry",
            )
        comma = b"," if identifier else b""
        return b"%b%b%b:%b}" % (written[:-1], comma, canonical_json(self._geometry_field), shape)


def check_columns(names: Sequence[str], *, event_type: str | None) -> None:
    """Refuse columns that cannot be written: better than to leave some out unseen."""
    for name in names:
        if name not in WRITE_COLUMNS:
            raise ValueError(
                f"column '{name}' is none that can be written ({', '.join(WRITE_COLUMNS)}): select those, "
                "for example put what describes the object into identifier and everything else into payload"
            )
    if "identifier" not in names:
        raise ValueError("there is no column 'identifier': a map of texts, or a struct of the fields")
    if "event_type" not in names and event_type is None:
        raise ValueError("there is neither a column 'event_type' nor an option 'eventType'")


def _json_of(text: str, field: str) -> bytes:
    data = text.translate(_LINE_ENDS).encode() if "\n" in text or "\r" in text else text.encode()
    try:
        _check_json(data)
    except msgspec.DecodeError as error:
        raise RowFault(f"the {field} is no JSON: {error}", field=field) from error
    return data
