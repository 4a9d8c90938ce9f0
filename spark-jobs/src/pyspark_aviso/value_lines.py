"""The column `value`: lines that were made before, as they are posted.

`sql_encoding.encode` makes them with their ends, `spark.read.text` gives them without. A body is cut at the ends of its
lines, so each row must be one line: two of them in a row would be two notifications, and a row without an end would run
into the next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark_aviso.batches import buffers_of
from pyspark_aviso.row_values import RowFault, is_text, text_values

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]  # it brings no types

    from pyspark_aviso.row_values import Faults

_NO_LINE: Final = "the row has no line: what it is made of is null or no JSON"


def value_lines(column: pa.StringArray, faults: Faults) -> pa.StringArray:
    """Return the lines of the rows that are one, each with its end; the others are faults."""
    if not is_text(column.type):
        raise ValueError(f"column 'value' must be text, not {column.type}")
    return column if _are_lines(column) else _mended(column, faults)


def _are_lines(column: pa.StringArray) -> bool:
    """Tell at once whether all rows are one line with an end, as `encode` makes them; others may be lines too."""
    from pyarrow import ArrowInvalid, compute

    if column.null_count or not len(column):
        return False
    try:
        column.validate(full=True)
    except ArrowInvalid:
        # Spark makes a text of any bytes by a cast.
        return False
    begins, ends = compute.starts_with(column, "{"), compute.ends_with(column, "\n")
    if not (compute.all(begins).as_py() and compute.all(ends).as_py()):
        return False
    offsets, data = buffers_of(column)
    whole = bytes(data[offsets[0] : offsets[-1]])
    return whole.count(b"\n") == len(column) and b"\r" not in whole


def _mended(column: pa.StringArray, faults: Faults) -> pa.StringArray:
    import pyarrow as pa

    lines = []
    for row, text in enumerate(text_values(column, "value", faults)):
        line = "" if text is None else text.rstrip("\r\n")
        reason = _reason(line)
        if reason is None:
            lines.append(line + "\n")
        else:
            faults.setdefault(row, RowFault(reason, field="value"))
    return pa.array(lines, column.type)


def _reason(line: str) -> str | None:
    if not line or line.isspace():
        return _NO_LINE
    if "\n" in line or "\r" in line:
        return "the value has a line end inside: give each notification a row of its own, on one line"
    return None
