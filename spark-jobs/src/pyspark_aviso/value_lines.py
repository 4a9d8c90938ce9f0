"""The column `value`: lines that were made before, as they are posted.

`sql_encoding.encode` makes them with their ends, `spark.read.text` gives them without. A body is cut at the ends of its
lines, so each row must be one line: two of them in a row would be two notifications, and a row without an end would run
into the next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark_aviso.row_values import RowFault, is_text, text_values

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]  # it brings no types

    from pyspark_aviso.row_values import Faults

# Of Arrow's expressions: `\z` is the end of the text, and what is no UTF-8 matches nothing.
_ONE_LINE: Final = r"\A[^\r\n]*[^\s][^\r\n]*\n\z"
_NO_LINE: Final = "the row has no line: what it is made of is null or no JSON"


def value_lines(column: pa.StringArray, faults: Faults) -> pa.StringArray:
    """Return the lines of the rows that are one, each with its end; the others are faults."""
    from pyarrow import compute

    if not is_text(column.type):
        raise ValueError(f"column 'value' must be text, not {column.type}")
    is_line = compute.match_substring_regex(column, _ONE_LINE)
    if not column.null_count and compute.all(is_line, min_count=0).as_py():
        return column
    return _mended(column, faults)


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
