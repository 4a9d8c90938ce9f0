"""Where a shape lies, in columns that a table can be searched by: its bounding box, and the H3 cell of its middle.

A shape across the antimeridian is kept in parts that touch it from both sides. Its box is the narrow one over the
antimeridian, whose west is greater than its east (as RFC 7946 has it), and its middle is where its parts meet: taken as
they stand, its numbers would give a belt around the globe with a middle on the wrong side of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa  # type: ignore[import-untyped]  # it brings no types
from pyspark.sql.pandas.functions import arrow_udf

if TYPE_CHECKING:
    from pyspark.sql import Column
    from shapely.geometry.base import BaseGeometry

H3_RESOLUTION: Final = 5
EXTENT_COLUMNS: Final = ("west", "south", "east", "north", "h3")
_TYPE: Final = "struct<west:double,south:double,east:double,north:double,h3:string>"
_EDGE: Final = 180.0


def extent_of(geometry: Column) -> Column:
    """Return the extent of a column of WKB; null where there is no shape."""
    # Its types know the kind by an argument that it warns of; the annotations below say the same.
    made: Column = arrow_udf(_extents, _TYPE)(geometry)  # type: ignore[call-overload]
    return made


def _extents(values: pa.Array) -> pa.Array:
    # Spark reads these annotations, to know what to hand over.
    rows = [None if value is None else extent(value) for value in values.to_pylist()]
    fields = [(name, pa.string() if name == "h3" else pa.float64()) for name in EXTENT_COLUMNS]
    return pa.array(
        [None if row is None else dict(zip(EXTENT_COLUMNS, row, strict=True)) for row in rows],
        pa.struct(fields),
    )


def extent(wkb: bytes) -> tuple[float, float, float, float, str]:
    """Return west, south, east and north of a shape, and the cell in which its middle lies."""
    import h3  # type: ignore[import-untyped]  # it brings no types
    import shapely

    shape = _joined(shapely.from_wkb(wkb))
    west, south, east, north = shape.bounds
    middle = shape.centroid
    cell = h3.latlng_to_cell(middle.y, _turned(middle.x), H3_RESOLUTION)
    return west, south, _turned(east), north, str(cell)


def _turned(longitude: float) -> float:
    return longitude - 2 * _EDGE if longitude > _EDGE else longitude


def _turn_ahead(points: Any) -> Any:
    # An array of points, to each of which this is added.
    return points.__add__((2 * _EDGE, 0.0))


def _joined(shape: BaseGeometry) -> BaseGeometry:
    """Return a shape with its parts together: those behind the antimeridian go on behind 180."""
    import shapely

    west, _, east, _ = shape.bounds
    parts = shapely.get_parts(shape)
    if len(parts) == 1 or (west, east) != (-_EDGE, _EDGE):
        return shape
    reached, widest, begin = -_EDGE, 0.0, -_EDGE
    for part in sorted(parts, key=lambda one: float(one.bounds[0])):
        if part.bounds[0] - reached > widest:
            widest, begin = part.bounds[0] - reached, part.bounds[0]
        reached = max(reached, part.bounds[2])
    if widest == 0:
        # All around the globe: there is no side on which it would be narrow.
        return shape
    ahead = [part for part in parts if part.bounds[0] >= begin]
    behind = [shapely.transform(part, _turn_ahead) for part in parts if part.bounds[0] < begin]
    # A union would ask for valid parts, which a log does not; for bounds and a middle they only have to be together.
    joined: BaseGeometry = shapely.geometrycollections([*ahead, *behind])
    return joined
