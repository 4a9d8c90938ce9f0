"""Lines as bodies: cut by bytes and by records, whichever is reached first, and never inside a line."""

from __future__ import annotations

import bisect
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa  # type: ignore[import-untyped]  # it brings no types


class Body(NamedTuple):
    """What one request posts: whole lines, and how many."""

    data: bytes
    records: int


def cut_lines(lines: Sequence[bytes], *, most_bytes: int, most_records: int) -> Iterator[Body]:
    """Yield lines as bodies. A line that is larger than a body may be is a body alone: the service judges it."""
    offsets = [0, *accumulate(map(len, lines))]
    for row, end in _cuts(offsets, most_bytes=most_bytes, most_records=most_records):
        yield Body(b"".join(lines[row:end]), end - row)


def _cuts(offsets: Sequence[int], *, most_bytes: int, most_records: int) -> Iterator[tuple[int, int]]:
    """Yield which rows are a body, of where each row begins and the last one ends."""
    row, rows = 0, len(offsets) - 1
    while row < rows:
        latest = min(row + most_records, rows)
        # The last row whose end is within the bytes; at least one row goes.
        end = bisect.bisect_right(offsets, offsets[row] + most_bytes, row + 1, latest + 1) - 1
        end = max(end, row + 1)
        yield row, end
        row = end


def cut_column(column: pa.StringArray, *, most_bytes: int, most_records: int) -> Iterator[Body]:
    """Yield a column of lines as bodies, out of its buffer as it is. None of them may be null."""
    assert not column.null_count, "rows without a line were taken out before"
    if not len(column):
        return
    offsets, data = buffers_of(column)
    for row, end in _cuts(offsets, most_bytes=most_bytes, most_records=most_records):
        yield Body(bytes(data[offsets[row] : offsets[end]]), end - row)


def buffers_of(column: pa.StringArray) -> tuple[memoryview[int], memoryview[int]]:
    """Return where in its bytes each text of a column begins, with where the last one ends; and the bytes."""
    import pyarrow as pa

    is_large = pa.types.is_large_string(column.type)
    _, offsets, data = column.buffers()
    places = memoryview(offsets if offsets is not None else b"").cast("q" if is_large else "i")
    return places[column.offset : column.offset + len(column) + 1], memoryview(
        data if data is not None else b""
    )
