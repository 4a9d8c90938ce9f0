"""Record batches of the service's Arrow replay, taken from the bytes of its answer without looking at rows.

The last batch is empty and says in its metadata that the answer is whole. The library takes a stream that ends too
early for one that has ended, so only that batch counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa  # type: ignore[import-untyped]  # it brings no types

from pyspark_aviso.answers import CutOff, NotUnderstood, Rows, read_ending
from pyspark_aviso.schema import EVENT_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark_aviso.answers import Part

ACCEPT: Final = "application/vnd.apache.arrow.stream"
# The first bytes of every stream: the mark of a message.
MARK: Final = b"\xff\xff\xff\xff"
_ENDING: Final = b"aviso"


class _Pieces:
    """Pieces of an answer as a file that can only be read."""

    closed = False

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._buffer = b""
        self._at = 0

    def read(self, size: int) -> bytes:
        """Return so many bytes; fewer only where the answer has ended."""
        here = self._buffer[self._at : self._at + size]
        if len(here) == size:
            self._at += size
            return here
        parts, missing = [here], size - len(here)
        self._buffer, self._at = b"", 0
        while missing:
            piece = next(self._pieces, b"")
            if not piece:
                break
            parts.append(piece[:missing])
            self._buffer, self._at = piece, min(missing, len(piece))
            missing -= self._at
        return b"".join(parts)

    def close(self) -> None:
        self.closed = True


def read_arrow(pieces: Iterator[bytes]) -> Iterator[Part]:
    """Yield the batches of an answer, and its ending if it has one."""
    try:
        yield from _read(pieces)
    except (pa.ArrowInvalid, OSError) as error:
        # What the library says of a stream that stops in the middle of a message, before its length or behind it.
        raise CutOff(f"the answer was cut off or damaged: {error}") from error


def _read(pieces: Iterator[bytes]) -> Iterator[Part]:
    reader = pa.ipc.open_stream(pa.PythonFile(_Pieces(pieces), mode="r"))
    missing = EVENT_COLUMNS.keys() - set(reader.schema.names)
    if missing:
        raise NotUnderstood(f"the record batches of the answer have no {', '.join(sorted(missing))}")
    sequence_at = reader.schema.get_field_index("sequence")
    while True:
        try:
            batch, metadata = reader.read_next_batch_with_custom_metadata()
        except StopIteration:
            return
        if batch.num_rows:
            yield Rows(batch, batch.column(sequence_at)[-1].as_py())
        if metadata is not None and _ENDING in metadata:
            yield read_ending(metadata[_ENDING])
