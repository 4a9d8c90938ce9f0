"""History as a stream of Arrow: record batches, the last of them empty, with what is said behind all rows.

What it says stands in that batch's own metadata, under the name `aviso`, as the JSON that the last line of the other
form is. A reader that takes no interest in it sees a batch without rows.

The library takes half as much memory as the service itself, so whoever imports this module does so when it is needed.
"""

from __future__ import annotations

from array import array
from itertools import accumulate, chain
from operator import itemgetter
from typing import TYPE_CHECKING, Final

import msgspec
import pyarrow as pa  # type: ignore[import-untyped]  # it brings no types
from pyarrow import compute

from aviso_stream_gateway.machines.wkb import to_wkb

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aviso_core.event import Event
    from aviso_stream_gateway.machines.form import Ending
    from aviso_stream_gateway.showing import Item

SCHEMA: Final = pa.schema(
    [
        pa.field("event_type", pa.string(), nullable=False),
        pa.field("sequence", pa.int64(), nullable=False),
        pa.field("time", pa.timestamp("ns", tz="UTC"), nullable=False),
        pa.field("id", pa.string(), nullable=False),
        pa.field("identifier", pa.map_(pa.string(), pa.string()), nullable=False),
        pa.field("geometry", pa.binary()),
        pa.field("payload", pa.string(), nullable=False),
        pa.field("operation", pa.string()),
    ]
)
ENDING: Final = b"aviso"
# Values that read as "any" in a topic; they are not shown.
_ANYTHING: Final = frozenset(("", "*"))

_encode: Final = msgspec.json.Encoder().encode


class _Sink:
    """What the library writes to: a file of which one takes what was written since the last time."""

    closed = False

    def __init__(self) -> None:
        self._written: list[bytes] = []
        self._size = 0

    def write(self, data: bytes | pa.Buffer) -> int:
        piece = bytes(data)
        self._written.append(piece)
        self._size += len(piece)
        return len(piece)

    def tell(self) -> int:
        return self._size

    def flush(self) -> None:
        """Do nothing: what is written is here."""

    def close(self) -> None:
        self.closed = True

    def take(self) -> bytes:
        written, self._written = b"".join(self._written), []
        return written


class ArrowWriter:
    """An answer in record batches."""

    def __init__(self) -> None:
        self._sink = _Sink()
        self._batches = pa.ipc.new_stream(pa.PythonFile(self._sink, mode="w"), SCHEMA)

    def rows(self, items: Sequence[Item]) -> bytes:
        """Return one batch; the schema stands before the first."""
        self._batches.write_batch(batch_of([item.event for item in items]))
        return self._sink.take()

    def end(self, ending: Ending) -> bytes:
        """Return the last batch, and the mark that ends a stream."""
        self._batches.write_batch(batch_of([]), custom_metadata={ENDING: _encode(ending)})
        self._batches.close()
        return self._sink.take()


def batch_of(events: Sequence[Event]) -> pa.RecordBatch:
    """Return events of one event type as rows."""
    count = len(events)
    sequences = pa.array([event.sequence for event in events], pa.int64())
    event_type = pa.scalar(events[0].event_type if events else "", pa.string())
    payloads = pa.array([event.payload for event in events], pa.binary())
    return pa.record_batch(
        [
            pa.repeat(event_type, count),
            sequences,
            pa.array([event.instant for event in events], pa.int64()).cast(pa.timestamp("ns", tz="UTC")),
            compute.binary_join_element_wise(event_type, sequences.cast(pa.string()), "@"),
            _identifiers([event.identifier for event in events]),
            pa.array(
                [None if event.geometry is None else to_wkb(event.geometry) for event in events], pa.binary()
            ),
            payloads.cast(pa.string()),
            pa.array([event.operation or None for event in events], pa.string()),
        ],
        schema=SCHEMA,
    )


def _identifiers(identifiers: Sequence[dict[str, str]]) -> pa.MapArray:
    """Return the values that a CloudEvent shows, in the order in which it does."""
    names = set(map(tuple, identifiers))
    alike = names.pop() if len(names) == 1 else ()
    # A getter of one value does not put it into a tuple.
    if len(alike) > 1:
        shown = _of_same_names(sorted(alike), identifiers)
        if shown is not None:
            return shown
    pairs = [[pair for pair in sorted(one.items()) if pair[1] not in _ANYTHING] for one in identifiers]
    return pa.MapArray.from_arrays(
        pa.array([0, *accumulate(map(len, pairs))], pa.int32()),
        pa.array([name for name, _ in chain.from_iterable(pairs)], pa.string()),
        pa.array([value for _, value in chain.from_iterable(pairs)], pa.string()),
    )


def _of_same_names(names: Sequence[str], identifiers: Sequence[dict[str, str]]) -> pa.MapArray | None:
    """Return what is shown of identifiers with these names, or None if some of their values are not."""
    width, count = len(names), len(identifiers)
    values = list(chain.from_iterable(map(itemgetter(*names), identifiers)))
    if not _ANYTHING.isdisjoint(values):
        return None
    places = array("i", range(width)) * count
    return pa.MapArray.from_arrays(
        pa.array(range(0, width * count + 1, width), pa.int32()),
        pa.array(names, pa.string()).take(
            pa.Array.from_buffers(pa.int32(), len(places), [None, pa.py_buffer(places)])
        ),
        pa.array(values, pa.string()),
    )
