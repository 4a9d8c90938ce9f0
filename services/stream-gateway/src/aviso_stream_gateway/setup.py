"""What has to be known of the log before a stream opens: where history begins and ends, and where now begins.

All of it is found out before the first byte of an answer, so what fails here is an ordinary refusal (contract 7.4).
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from aviso_core.errors import AvisoError, Unavailable
from aviso_core.event import EndAt, FromInstant, FromSequence, Now, StartAt, ToInstant, ToSequence
from aviso_core.eventlog.base import EpochChanged, StreamRefused, Unsupported
from aviso_stream_gateway.playback import Range

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aviso_core.eventlog.base import Bounds, EventLog
    from aviso_stream_gateway.bounds import FreshBounds
    from aviso_stream_gateway.request import Asked


class SetupFailed(AvisoError):
    """A stream cannot be opened through no fault of who asked."""

    code = "SSE_STREAM_INITIALIZATION_FAILED"

    def __init__(self, cause: Exception, *, topic: str) -> None:
        self.message = "The stream could not be set up"
        self.details = str(cause)
        self.topic = topic
        super().__init__(f"{self.message}: {self.details}")


class SetUp(NamedTuple):
    """Where a stream begins and ends."""

    range: Range
    # Told to the subscriber where an end was asked for.
    end_sequence: int | None

    @property
    def bounds(self) -> Bounds:
        """What the log held when the stream was set up."""
        return self.range.bounds


@contextmanager
def setting_up(asked: Asked) -> Iterator[None]:
    """Raise `SetupFailed` where the log fails. A stream that is not there yet is an answer of its own."""
    try:
        yield
    except (Unavailable, StreamRefused, EpochChanged, Unsupported) as error:
        raise SetupFailed(error, topic=asked.selection.topic) from error


async def set_up(asked: Asked, log: EventLog, fresh: FreshBounds) -> SetUp:
    """Look at the log for a stream, or raise `SetupFailed`."""
    with setting_up(asked):
        bounds = await fresh.of(asked.base)
        first = await _first(asked.start, asked.base, log, bounds)
        last = bounds.last
        if asked.end is not None:
            last = min(last, await _end(asked.end, asked.base, log, bounds))
    return SetUp(Range(first, last, bounds), None if asked.end is None else last)


async def _first(start: StartAt, base: str, log: EventLog, bounds: Bounds) -> int:
    match start:
        case Now():
            return bounds.last + 1
        case FromSequence(sequence):
            return max(1, sequence)
        case FromInstant(instant):
            return await log.seek(base, instant, epoch=bounds.epoch)


async def _end(end: EndAt, base: str, log: EventLog, bounds: Bounds) -> int:
    match end:
        case ToSequence(sequence):
            return sequence
        case ToInstant(instant):
            return await log.seek(base, instant + 1, epoch=bounds.epoch) - 1
