"""Appending, and what its failures mean to a caller.

The log retries by itself, with the same id, for as long as an append may take. What comes out of it is final for this
request: stored, refused for what it is, or failed through no fault of the caller's.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from aviso_core.errors import AvisoError, InvalidRequest, Unavailable
from aviso_core.eventlog.base import Appended, AppendFailed, RecordRefused, StreamMissing, StreamRefused
from aviso_http.problems import Row
from aviso_ingest.intake import ProcessingFailed

if TYPE_CHECKING:
    from aviso_core.eventlog.base import EventLog, Record
    from aviso_ingest.parts import Counters


class StorageFailed(AvisoError):
    """The log did not take the notification, as far as anyone knows; sending it again is in order."""

    code = "NOTIFICATION_STORAGE_FAILED"

    def __init__(self, cause: Exception) -> None:
        self.message = "The notification could not be stored"
        self.details = str(cause)
        super().__init__(f"{self.message}: {self.details}")


ROWS: Final = (
    Row(ProcessingFailed, 500, ProcessingFailed.code, "Notification Processing Failed"),
    Row(StorageFailed, 500, StorageFailed.code, "Notification Storage Failed"),
    Row(StreamMissing, 503, "SERVICE_UNAVAILABLE", "service_unavailable"),
)


async def store(log: EventLog, base: str, record: Record, counters: Counters) -> Appended:
    """Append one record; what is raised has its row in the table of answers."""
    began = time.perf_counter()
    is_ok = False
    try:
        appended = await log.append(base, record)
        is_ok = True
        return appended
    except (AppendFailed, StreamRefused, Unavailable) as error:
        raise storage_error(error) from error
    finally:
        counters.operation("publish", is_ok=is_ok, seconds=time.perf_counter() - began)


def storage_error(error: AppendFailed | StreamRefused | Unavailable) -> AvisoError:
    """Return what a failure is to the caller: their record's fault, or ours."""
    if isinstance(error, RecordRefused):
        return InvalidRequest(f"The notification cannot be stored: {error}")
    return StorageFailed(error)
