"""The column `geometry` as GeoJSON: it is that already as text, and is made of the well-known binary form otherwise.

The binary form comes as bytes, or as Arrow has Spark's GEOMETRY and GEOGRAPHY: a struct of the reference system and the
bytes. Longitude is first in both forms. What a shape must be is the service's to judge; refused here is only what it
has no word for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypedDict

from pyspark_aviso.json_texts import json_texts
from pyspark_aviso.row_values import RowFault, is_text, text_values
from pyspark_aviso.wkb import geojson_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa  # type: ignore[import-untyped]  # it brings no types

    from pyspark_aviso.row_values import Faults

# 0 says nothing, and is what st_geomfromwkb gives where no other is named.
_SYSTEMS: Final = (0, 4326)
# A cloud of points is written as a field of the identifier, not as a geometry.
_KINDS: Final = ("Point", "Polygon", "MultiPolygon")


class _OfSystem(TypedDict):
    """How Arrow has Spark's GEOMETRY and GEOGRAPHY."""

    srid: int
    wkb: bytes


def written_geometries(column: pa.Array, faults: Faults) -> list[bytes | None]:
    """Return geometries as GeoJSON; None where a row has none."""
    from pyarrow import types

    kind = column.type
    if is_text(kind):
        return json_texts(text_values(column, "geometry", faults), "geometry", faults)
    if types.is_null(kind):
        return [None] * len(column)
    if types.is_binary(kind) or types.is_large_binary(kind):
        shapes = column.to_pylist()
    elif types.is_struct(kind) and {field.name for field in kind} == {"srid", "wkb"}:
        shapes = _of_reference_system(column.to_pylist(), faults)
    else:
        raise ValueError(
            f"column 'geometry' must be GeoJSON as text, WKB as binary, GEOMETRY or GEOGRAPHY, not {kind}"
        )
    return _of_binary(shapes, faults)


def _of_reference_system(values: Sequence[_OfSystem | None], faults: Faults) -> list[bytes | None]:
    for row, value in enumerate(values):
        if value is not None and value["srid"] not in _SYSTEMS:
            told = (
                f"the geometry is of SRID {value['srid']}: only longitude and latitude (4326) can be posted, "
                "so transform it first"
            )
            faults.setdefault(row, RowFault(told, field="geometry"))
    return [None if value is None else value["wkb"] for value in values]


def _of_binary(shapes: Sequence[bytes | None], faults: Faults) -> list[bytes | None]:
    found: list[bytes | None] = []
    for row, shape in enumerate(shapes):
        try:
            found.append(None if shape is None else geojson_of(shape, _KINDS))
        except ValueError as problem:
            faults.setdefault(row, RowFault(f"the geometry cannot be posted: {problem}", field="geometry"))
            found.append(None)
    return found
