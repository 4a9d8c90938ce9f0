"""All or nothing: a batch of one event type that the log stores whole, or not at all."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import msgspec

from aviso_core.errors import AvisoError, InvalidRequest, Unavailable
from aviso_core.eventlog.base import (
    AppendFailed,
    DuplicateInBatch,
    StreamRefused,
    Unsupported,
)
from aviso_core.eventlog.limits import MOST_IN_A_BATCH
from aviso_ingest.batch.checking import Ready, Refused
from aviso_ingest.batch.results import Result
from aviso_ingest.intake import ProcessingFailed
from aviso_ingest.storing import storage_error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aviso_core.eventlog.base import Appended
    from aviso_ingest.parts import Parts

MOST_RECORDS: Final = MOST_IN_A_BATCH


class AtomicRefused(InvalidRequest):
    """A record of the batch is refused, so nothing is stored; `refused` are all of those."""

    def __init__(self, refused: Sequence[Refused], *, of: int) -> None:
        first = refused[0]
        reason = getattr(first.error, "message", str(first.error))
        super().__init__(
            f"Nothing is stored: {len(refused)} of {of} notifications are rejected, "
            f"the first at index {first.place}: {reason}",
            details=reason,
        )
        self.refused = refused


class Conflict(AvisoError):
    """The log cannot store the batch as a whole; nothing of it is stored."""

    code = "ATOMIC_BATCH_REFUSED"

    def __init__(self, cause: AvisoError) -> None:
        self.message = f"Nothing is stored: {cause}"
        super().__init__(self.message)


def require_ready(checked: Sequence[Ready | Refused]) -> list[Ready]:
    """Return the records if all of them may be stored, in one stream."""
    refused = [one for one in checked if isinstance(one, Refused)]
    for one in refused:
        if isinstance(one.error, ProcessingFailed):
            raise one.error
    if refused:
        raise AtomicRefused(refused, of=len(checked))
    ready = [one for one in checked if isinstance(one, Ready)]
    names = sorted({one.event_type for one in ready})
    if len(names) > 1:
        raise InvalidRequest(
            f"An atomic batch is of one event type, this one has {len(names)}: {', '.join(names[:10])}",
            field="event_type",
        )
    return ready


async def append_atomically(parts: Parts, ready: Sequence[Ready]) -> list[Result]:
    """Store all records, or raise why none of them is."""
    if not ready:
        return []
    began = time.perf_counter()
    is_ok = False
    try:
        appended = await parts.log.append_atomically(ready[0].taken.base, [one.taken.record for one in ready])
        is_ok = True
    except (DuplicateInBatch, Unsupported) as refusal:
        raise Conflict(refusal) from refusal
    except (AppendFailed, StreamRefused, Unavailable) as failure:
        raise storage_error(failure) from failure
    finally:
        parts.counters.operation("publish", is_ok=is_ok, seconds=time.perf_counter() - began)
    return [_accepted(one, stored) for one, stored in zip(ready, appended, strict=True)]


def _accepted(ready: Ready, appended: Appended) -> Result:
    return Result(
        index=ready.place,
        status="accepted",
        event_type=ready.event_type,
        sequence=appended.sequence,
        id=msgspec.UNSET if ready.identity is None else ready.identity,
    )
