"""Events as lines of JSON: decoded into columns, or handed on as they are.

Lines are cut off the answer some hundred kilobytes at a time, so what is held of an answer is bounded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
import pyarrow as pa  # type: ignore[import-untyped]  # it brings no types
from pyarrow import compute

from pyspark_aviso.answers import NotUnderstood, Rows, read_ending
from pyspark_aviso.schema import VALUE_COLUMN, event_arrow_schema
from pyspark_aviso.wkb import PLACES, RING, shape_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark_aviso.answers import Ending, Part

ACCEPT: Final = "application/x-ndjson"
_AT_ONCE_BYTES: Final = 512 * 1024
_ENDING: Final = b'{"complete":'


class _Data(msgspec.Struct, frozen=True, gc=False):
    identifier: dict[str, Any]
    payload: msgspec.Raw
    geometry: dict[str, Any] | None = None


class _Event(msgspec.Struct, frozen=True, gc=False):
    """What is wanted of a CloudEvent."""

    id: str
    sequence: int
    time: str
    data: _Data
    operation: str | None = None


_decode_events: Final = msgspec.json.Decoder(_Event).decode_lines


def read_ndjson(pieces: Iterator[bytes], event_type: str) -> Iterator[Part]:
    """Yield the events of an answer as rows, and its ending if it has one."""
    for lines, ending in _blocks(pieces):
        if lines:
            events = _events(lines)
            yield Rows(batch_of(event_type, events), events[-1].sequence)
        if ending is not None:
            yield ending


def _events(lines: bytes) -> list[_Event]:
    try:
        return _decode_events(lines)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise NotUnderstood(f"a line of the answer is no event: {error}") from error


def read_raw(pieces: Iterator[bytes]) -> Iterator[Part]:
    """Yield the lines of an answer as they are, in one column, and its ending if it has one."""
    schema = pa.schema([(VALUE_COLUMN, pa.string())])
    for lines, ending in _blocks(pieces):
        if lines:
            whole = pa.array([lines[:-1]], pa.large_binary()).cast(pa.large_string())
            column = compute.split_pattern(whole, "\n").flatten().cast(pa.string())
            (last,) = _events(lines[lines.rfind(b"\n", 0, -1) + 1 :])
            yield Rows(pa.record_batch([column], schema=schema), last.sequence)
        if ending is not None:
            yield ending


def _blocks(pieces: Iterator[bytes]) -> Iterator[tuple[bytes, Ending | None]]:
    """Yield whole lines, many at a time, the last of an answer with its ending. What was cut off is left out."""
    waiting: list[bytes] = []
    size = 0
    for piece in pieces:
        waiting.append(piece)
        size += len(piece)
        if size >= _AT_ONCE_BYTES and b"\n" in piece:
            block = b"".join(waiting)
            end = block.rfind(b"\n") + 1
            yield _without_ending(block[:end])
            waiting = [block[end:]]
            size = len(waiting[0])
    block = b"".join(waiting)
    yield _without_ending(block[: block.rfind(b"\n") + 1])


def _without_ending(lines: bytes) -> tuple[bytes, Ending | None]:
    start = lines.rfind(b"\n", 0, -1) + 1
    if not lines.startswith(_ENDING, start):
        return lines, None
    return lines[:start], read_ending(lines[start:])


def batch_of(event_type: str, events: Sequence[_Event]) -> pa.RecordBatch:
    """Return events of one event type as the columns that Arrow answers have."""
    count = len(events)
    times = pa.array([event.time for event in events], pa.string()).cast(pa.timestamp("ns", tz="UTC"))
    payloads = pa.array([bytes(event.data.payload) for event in events], pa.binary())
    return pa.record_batch(
        [
            pa.repeat(pa.scalar(event_type, pa.string()), count),
            pa.array([event.sequence for event in events], pa.int64()),
            times.cast(pa.timestamp("us", tz="UTC"), safe=False),
            pa.array([event.id for event in events], pa.string()),
            _identifiers([event.data.identifier for event in events]),
            pa.array([shape_of(event.data.identifier, event.data.geometry) for event in events], pa.binary()),
            payloads.cast(pa.string()),
            pa.array([event.operation for event in events], pa.string()),
        ],
        schema=event_arrow_schema(),
    )


def _identifiers(identifiers: Sequence[dict[str, Any]]) -> pa.MapArray:
    """Return the scalar values; shapes have a column of their own."""
    names: list[str] = []
    values: list[Any] = []
    offsets = [0]
    before: dict[str, Any] = {}
    wanted: list[str] = []
    for one in identifiers:
        # As a rule all have the same names.
        if one.keys() != before.keys() or RING in one or PLACES in one:
            before, wanted = one, _scalar_names(one)
        names += wanted
        values += [one[name] for name in wanted]
        offsets.append(len(names))
    return pa.MapArray.from_arrays(
        pa.array(offsets, pa.int32()), pa.array(names, pa.string()), pa.array(values, pa.string())
    )


def _scalar_names(identifier: dict[str, Any]) -> list[str]:
    return sorted(
        name for name, value in identifier.items() if not (name in (RING, PLACES) and isinstance(value, list))
    )
