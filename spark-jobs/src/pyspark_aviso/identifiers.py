"""The column `identifier` as the JSON that is posted: names sorted, what is null left out.

As a rule all rows of a batch have the same names. Then their identifiers are columns, one for each name, and go through
a type with these fields, whose encoder runs without a line of Python for each row. Rows of several kinds are encoded
one by one.
"""

from __future__ import annotations

import bisect
import functools
import itertools
from typing import TYPE_CHECKING, Any, Final

import msgspec

from pyspark_aviso.ids import canonical_jsons
from pyspark_aviso.row_values import RowFault, is_text, scalar_texts, text_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa  # type: ignore[import-untyped]  # it brings no types

    from pyspark_aviso.row_values import Faults

_WRONG_TYPE: Final = "column 'identifier' must be a map of texts to texts, or a struct of the fields"


def written_identifiers(column: pa.Array, faults: Faults) -> list[bytes]:
    """Return the identifiers as JSON."""
    from pyarrow import types

    kind = column.type
    if types.is_map(kind) and is_text(kind.key_type) and is_text(kind.item_type):
        written = _of_map(column, faults)
    elif types.is_struct(kind):
        written = _of_struct(column, faults)
    else:
        raise ValueError(_WRONG_TYPE)
    if column.null_count:
        for row, is_null in enumerate(column.is_null().to_pylist()):
            if is_null:
                faults.setdefault(row, RowFault("the row has no identifier", field="identifier"))
    return written


def _of_struct(column: pa.Array, faults: Faults) -> list[bytes]:
    columns = {
        field.name: scalar_texts(column.field(place), f"identifier.{field.name}", faults)
        for place, field in enumerate(column.type)
    }
    if len(columns) != column.type.num_fields:
        raise ValueError("column 'identifier' has two fields of one name")
    names = sorted(columns)
    return _of_columns(names, [columns[name] for name in names], len(column))


def _of_map(column: pa.Array, faults: Faults) -> list[bytes]:
    # Of a part of an array the flat columns are still those of the whole, and the offsets count in them.
    offsets = column.offsets.to_pylist()
    first, length = offsets[0], offsets[-1] - offsets[0]
    of_texts: Faults = {}
    names = text_values(column.keys.slice(first, length), "identifier", of_texts)
    texts = text_values(column.items.slice(first, length), "identifier", of_texts)
    for place, fault in of_texts.items():
        faults.setdefault(bisect.bisect_right(offsets, first + place) - 1, fault)
    rows = len(column)
    width = length // rows if rows else 0
    same = names[:width]
    # Two comparisons in C, of where rows begin and of their names.
    begins = list(range(first, first + length + 1, width or 1))
    if not of_texts and offsets == begins and names == same * rows:
        order = sorted((str(name), place) for place, name in enumerate(same))
        return _of_columns([name for name, _ in order], [texts[place::width] for _, place in order], rows)
    pairs = list(zip(names, texts, strict=True))
    return canonical_jsons(
        dict(sorted(pair for pair in pairs[begin - first : end - first] if None not in pair))
        for begin, end in itertools.pairwise(offsets)
    )


def _of_columns(names: Sequence[str], columns: Sequence[Sequence[str | None]], rows: int) -> list[bytes]:
    if not names:
        return [b"{}"] * rows
    shape = _shape(tuple(names))
    if shape is not None:
        return canonical_jsons(map(shape, *columns))
    return canonical_jsons(
        {name: text for name, text in zip(names, texts, strict=True) if text is not None}
        for texts in zip(*columns, strict=True)
    )


@functools.lru_cache(maxsize=64)
def _shape(names: tuple[str, ...]) -> type[Any] | None:
    """Return a type with these fields in this order; None where there cannot be one."""
    fields = [f"field{place}" for place in range(len(names))]
    try:
        return msgspec.defstruct(
            "Identifier",
            [(field, str | None, None) for field in fields],
            rename=dict(zip(fields, names, strict=True)),
            # What is null is left out: it is the default.
            omit_defaults=True,
            gc=False,
        )
    except ValueError:
        # Names that must be escaped, or that are there twice.
        return None
