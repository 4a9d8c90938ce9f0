"""Rows as the lines that are posted: made of Arrow columns (`Encoder`), or by Spark SQL (`sql_encoding.encode`).

A line is `{"event_type":…,"identifier":{…},"id":…,"time":…,"payload":…}`: names of the identifier sorted, the geometry
last among them, the payload last of all and spliced in as the JSON text that it is.

Lines are made column by column: each step goes through all rows of a batch before the next begins, most of them inside
one call, which is several times as fast as a row at a time. What is wrong with a row goes beside, and the row has no
line; the others are as if it were not there.
"""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from pyspark_aviso.geometries import written_geometries
from pyspark_aviso.identifiers import written_identifiers
from pyspark_aviso.ids import canonical_json, record_ids
from pyspark_aviso.payloads import written_payloads
from pyspark_aviso.row_values import Faults, RowFault, text_values, time_values
from pyspark_aviso.schema import WRITE_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pyarrow as pa  # type: ignore[import-untyped]  # it brings no types


class Lines(NamedTuple):
    """The rows of a batch, in their order: each has a line with its end and an id, or a fault and neither."""

    data: list[bytes | None]
    ids: list[str | None]
    faults: Faults
    event_types: frozenset[str]

    @property
    def good(self) -> list[bytes]:
        """The lines of the rows that have one."""
        return [line for line in self.data if line is not None]


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

    def encode(self, batch: pa.RecordBatch) -> Lines:
        """Return the lines of a batch."""
        columns = {name: batch.column(place) for place, name in enumerate(self._names)}
        rows = batch.num_rows
        faults: Faults = {}
        event_types = self._event_types(columns.get("event_type"), rows, faults)
        identifiers = written_identifiers(columns["identifier"], faults)
        payloads = written_payloads(columns["payload"], faults) if "payload" in columns else [None] * rows
        said = [b"" if payload is None else payload for payload in payloads]
        if "geometry" in columns:
            geometries = written_geometries(columns["geometry"], faults)
            identifiers = self._with_geometries(identifiers, geometries, faults)
        ids = record_ids(self._scope, event_types, identifiers, said)
        pieces: list[Iterable[bytes]] = [_begins(event_types), identifiers]
        if "id" in columns:
            own_ids = text_values(columns["id"], "id", faults)
            ids = [own or made for own, made in zip(own_ids, ids, strict=True)]
            pieces += [repeat(b',"id":'), map(canonical_json, ids)]
        else:
            pieces += [repeat(b',"id":"'), map(str.encode, ids), repeat(b'"')]
        if "time" in columns:
            pieces.append(_times(time_values(columns["time"], faults)))
        if "payload" in columns:
            pieces += [[b"" if payload is None else b',"payload":' for payload in payloads], said]
        lines = map(b"".join, zip(*pieces, repeat(b"}\n"), strict=False))
        return _without(faults, identifiers, lines, ids, frozenset(event_types) - {""})

    def _event_types(self, column: pa.Array | None, rows: int, faults: Faults) -> list[str]:
        default = self._event_type or ""
        if column is None:
            return [default] * rows
        found = [own or default for own in text_values(column, "event_type", faults)]
        if "" in found:
            for row, event_type in enumerate(found):
                if not event_type:
                    faults.setdefault(row, RowFault("the row has no event_type", field="event_type"))
        return found

    def _with_geometries(
        self, identifiers: Iterable[bytes], geometries: Iterable[bytes | None], faults: Faults
    ) -> list[bytes]:
        """Return identifiers with a geometry as their last field, where there is one."""
        field = self._geometry_field
        name = canonical_json(field) + b":"
        found = []
        for row, (written, geometry) in enumerate(zip(identifiers, geometries, strict=True)):
            if geometry is None:
                found.append(written)
                continue
            # Seldom does a text look like the name of the field: then it is read what it is.
            if name in written and field in msgspec.json.decode(written):
                told = (
                    f"the identifier has '{field}' already, and the row has a geometry: leave one of them out"
                )
                faults.setdefault(row, RowFault(told, field="geometry"))
            found.append(b"%b%b%b%b}" % (written[:-1], b"" if written == b"{}" else b",", name, geometry))
        return found


def _begins(event_types: Sequence[str]) -> Iterable[bytes]:
    begins = {
        event_type: b'{"event_type":%b,"identifier":' % canonical_json(event_type)
        for event_type in set(event_types)
    }
    return map(begins.__getitem__, event_types)


def _times(times: Iterable[str | None]) -> Iterable[bytes]:
    return (b"" if time is None else b',"time":' + canonical_json(time) for time in times)


def _without(
    faults: Faults,
    identifiers: Sequence[bytes],
    lines: Iterable[bytes],
    ids: Iterable[str],
    event_types: frozenset[str],
) -> Lines:
    """Return the lines without those of rows with a fault, which get the name of their row."""
    data: list[bytes | None] = [*lines]
    identities: list[str | None] = [*ids]
    for row, fault in faults.items():
        if fault.field.partition(".")[0] != "identifier":
            fault.identifier = identifiers[row].decode()
        data[row] = identities[row] = None
    return Lines(data, identities, dict(sorted(faults.items())), event_types)


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
