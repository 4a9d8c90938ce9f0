"""Lines as bodies: cut by bytes and by records, whichever is reached first, and never inside a line."""

from __future__ import annotations

import bisect
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa  # type: ignore[import-untyped]  # it brings no types


class Body(NamedTuple):
    """What one request posts: whole lines, and how many."""

    data: bytes
    records: int


def cut_lines(lines: Iterable[bytes], *, most_bytes: int, most_records: int) -> Iterator[Body]:
    """Yield lines as bodies. A line that is larger than a body may be is a body alone: the service judges it."""
    held: list[bytes] = []
    size = 0
    for line in lines:
        if held and (len(held) >= most_records or size + len(line) > most_bytes):
            yield Body(b"".join(held), len(held))
            held, size = [], 0
        held.append(line)
        size += len(line)
    if held:
        yield Body(b"".join(held), len(held))


def cut_column(column: pa.StringArray, *, most_bytes: int, most_records: int) -> Iterator[Body]:
    """Yield a column of lines as bodies, out of its buffer as it is. None of them may be null."""
    import pyarrow as pa

    assert not column.null_count, "rows without a line were taken out before"
    if not len(column):
        return
    is_large = pa.types.is_large_string(column.type)
    _, offset_buffer, data = column.buffers()
    assert offset_buffer is not None
    offsets = memoryview(offset_buffer).cast("q" if is_large else "i")[
        column.offset : column.offset + len(column) + 1
    ]
    whole = memoryview(data if data is not None else b"")
    row = 0
    while row < len(column):
        latest = min(row + most_records, len(column))
        # The last row whose end is within the bytes; at least one row goes.
        end = bisect.bisect_right(offsets, offsets[row] + most_bytes, row + 1, latest + 1) - 1
        end = max(end, row + 1)
        yield Body(bytes(whole[offsets[row] : offsets[end]]), end - row)
        row = end
