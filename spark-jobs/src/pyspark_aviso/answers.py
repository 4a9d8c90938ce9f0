"""What an answer to a replay consists of, whatever its form: rows, and behind them what says that they are all.

An answer without an ending was cut off: what came of it is good, and the rest is asked for again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa  # type: ignore[import-untyped]  # it brings no types


class Rows(NamedTuple):
    """Some rows, and the sequence of the last of them."""

    batch: pa.RecordBatch
    last: int


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """What the service says behind the last row: up to `last` there is nothing else of what was asked for.

    `failed` is how many events it could not show and left out; `complete` is false where one answer gives no more.
    """

    complete: bool
    last: int
    count: int
    failed: int = 0
    max_allowed: int | None = None


_decode_ending: Final = msgspec.json.Decoder(Ending).decode


def read_ending(text: bytes) -> Ending:
    """Return what stands behind the last row."""
    try:
        return _decode_ending(text)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise NotUnderstood(f"the end of the answer is none: {error}") from error


Part: TypeAlias = Rows | Ending


class CutOff(Exception):
    """An answer ended before its ending."""


class NotUnderstood(Exception):
    """An answer is none that this version can read."""


def check_ended(parts: Iterator[Part]) -> Iterator[Part]:
    """Yield an answer's parts, and raise `CutOff` where the last of them is no ending."""
    for part in parts:
        yield part
        if isinstance(part, Ending):
            return
    raise CutOff("the answer was cut off")
