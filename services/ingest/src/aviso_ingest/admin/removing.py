"""Removing what is stored: one notification, one stream, everything (contract 1.7).

Only entries are removed: streams stay and count on, and who follows them stays connected. A name is an event type, a
topic base or a stream, in any case; one that means nothing is not found, while an event type without a stream is
merely empty.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from aviso_core.errors import AvisoError
from aviso_http.answers import JSON, Answer, encode
from aviso_http.records.log import Log
from aviso_ingest.admin.notification_id import InvalidNotificationId, read_notification_id

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aviso_core.schema.catalog import Catalog
    from aviso_ingest.parts import Counters, Operation, Parts

# Of a name that somebody sent, for people who read the log.
_LONGEST_LOGGED: Final = 256

log = Log("aviso_ingest.admin")


async def delete_notification(parts: Parts, sent: str, request_id: str) -> Answer:
    """Remove one notification, named by its id."""
    shown = sent[:_LONGEST_LOGGED]
    log.info("admin.notification.delete.requested", "deletion requested", notification_id=shown)

    def answer(status: int, message: str) -> Answer:
        return _answer(status, message, request_id, notification_id=sent)

    try:
        wanted = read_notification_id(sent)
    except InvalidNotificationId as error:
        log.warning("admin.notification.delete.invalid_id", str(error), notification_id=shown)
        return answer(400, str(error))
    base = _base_of(parts.catalog(), wanted.name)
    try:
        with _counted(parts.counters, "delete_message"):
            is_deleted = await parts.log.delete(base, wanted.sequence)
    except AvisoError as error:
        log.error("admin.notification.delete.failed", str(error), notification_id=shown, error=error)
        return answer(500, f"Failed to delete notification: {error}")
    if not is_deleted:
        log.warning("admin.notification.delete.not_found", "no such notification", notification_id=shown)
        return answer(404, "Notification not found")
    log.info("admin.notification.delete.succeeded", "notification deleted", notification_id=shown)
    return answer(200, "Notification deleted")


async def wipe_stream(parts: Parts, sent: str, request_id: str) -> Answer:
    """Remove all notifications of one stream."""
    shown = sent[:_LONGEST_LOGGED]
    log.info("admin.stream.wipe.requested", "wipe requested", stream_name=shown)
    catalog = parts.catalog()
    try:
        with _counted(parts.counters, "wipe_stream"):
            is_there = await parts.log.wipe(_base_of(catalog, sent))
    except AvisoError as error:
        log.error("admin.stream.wipe.failed", str(error), stream_name=shown, error=error)
        return _answer(500, f"Failed to wipe stream: {error}", request_id)
    if not is_there and catalog.resolve(sent) is None:
        log.warning("admin.stream.wipe.not_found", "no such stream", stream_name=shown)
        return _answer(404, f"Stream not found: {sent}{_known(catalog)}", request_id)
    log.info("admin.stream.wipe.succeeded", "stream wiped", stream_name=shown)
    return _answer(200, f"Successfully wiped stream: {sent}", request_id)


async def wipe_all(parts: Parts, request_id: str) -> Answer:
    """Remove all notifications."""
    log.info("admin.all.wipe.requested", "wipe of everything requested")
    try:
        with _counted(parts.counters, "wipe_all"):
            await parts.log.wipe_all()
    except AvisoError as error:
        log.error("admin.all.wipe.failed", str(error), error=error)
        return _answer(500, f"Failed to wipe all data: {error}", request_id)
    log.info("admin.all.wipe.succeeded", "everything wiped")
    return _answer(200, "Successfully wiped all data", request_id)


def _base_of(catalog: Catalog, name: str) -> str:
    """Return the base of the stream that a name means; what nobody declared may have a stream all the same."""
    event_type = catalog.resolve(name)
    return name if event_type is None else event_type.base


def _known(catalog: Catalog) -> str:
    return f". Known event types: {', '.join(catalog.event_types)}" if catalog.event_types else ""


def _answer(status: int, message: str, request_id: str, **more: str) -> Answer:
    members = {"success": status == 200, "message": message, **more, "request_id": request_id}
    return Answer(status, encode(members), JSON)


@contextmanager
def _counted(counters: Counters, operation: Operation) -> Iterator[None]:
    """Count what the block asks of the log. That something is not there is an answer like any other."""
    began = time.perf_counter()
    is_ok = False
    try:
        yield
        is_ok = True
    finally:
        counters.operation(operation, is_ok=is_ok, seconds=time.perf_counter() - began)
