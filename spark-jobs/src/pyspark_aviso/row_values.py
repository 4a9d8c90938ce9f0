"""Plain Arrow columns as Python values: texts, times, and the scalars that identifiers are made of.

What is wrong with one row is a fault of that row and goes beside the values; what is wrong with a column as a whole,
its type, is raised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]  # it brings no types


class RowFault(ValueError):
    """A row cannot be written as a notification; the message says why, and `field` which column is at fault.

    `identifier` is the JSON of the row's identifier, by which its owner finds it, where it has one.
    """

    def __init__(self, message: str, *, field: str, identifier: str | None = None) -> None:
        super().__init__(message)
        self.field = field
        self.identifier = identifier


Faults: TypeAlias = dict[int, RowFault]
"""The first fault of each row that has one, by its place in the batch."""


def is_text(kind: pa.DataType) -> bool:
    """Tell whether a column is of texts, of either length of offsets."""
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind))


def text_values(column: pa.Array, name: str, faults: Faults) -> list[str | None]:
    """Return a column of texts."""
    if not is_text(column.type):
        raise ValueError(f"column '{name}' must be text, not {column.type}")
    try:
        values: list[str | None] = column.to_pylist()
    except UnicodeDecodeError:
        return _readable(column, name, faults)
    return values


def _readable(column: pa.Array, name: str, faults: Faults) -> list[str | None]:
    """Return the texts that are some. Spark makes a text of any bytes by a cast."""
    import pyarrow as pa

    found: list[str | None] = []
    for row, data in enumerate(column.cast(pa.large_binary()).to_pylist()):
        try:
            found.append(None if data is None else data.decode())
        except UnicodeDecodeError as error:
            told = f"the {name} is no UTF-8 ({error.reason} at byte {error.start}): use decode() with its character set"
            faults.setdefault(row, RowFault(told, field=name))
            found.append(None)
    return found


def scalar_texts(column: pa.Array, name: str, faults: Faults) -> list[str | None]:
    """Return values as identifiers spell them: only kinds that have one spelling."""
    import pyarrow as pa
    from pyarrow import types

    kind = column.type
    if is_text(kind):
        return text_values(column, name, faults)
    if types.is_integer(kind) or types.is_boolean(kind) or types.is_date(kind):
        texts: list[str | None] = column.cast(pa.string()).to_pylist()
        return texts
    raise ValueError(
        f"column '{name}' is of type {kind}, which has more than one spelling: make a text of it, "
        "for example with date_format or format_string"
    )


def time_values(column: pa.Array, faults: Faults) -> list[str | None]:
    """Return times as the service reads them."""
    import pyarrow as pa
    from pyarrow import compute, types

    if not types.is_timestamp(column.type):
        return text_values(column, "time", faults)
    if column.type.tz is None:
        raise ValueError("column 'time' is a timestamp without a zone: cast it to timestamp")
    instants = column.cast(pa.timestamp("us", tz="UTC"))
    texts: list[str | None] = compute.strftime(instants, format="%Y-%m-%dT%H:%M:%SZ").to_pylist()
    return texts
