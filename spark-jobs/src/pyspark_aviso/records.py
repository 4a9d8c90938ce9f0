"""Records posted: many in a request, and answered for one by one.

A batch whose answer was lost may have been stored: it is sent again with the same ids, and the service knows its
records again. Records that the service says failed on its side are repeated alone. What it refuses as a whole for the
records in it, as they are too large or no JSON, goes in halves, and one alone is rejected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark_aviso.refused_bodies import halves, is_about_records, rejected, rows_of
from pyspark_aviso.results import NOTHING, PREFER_SHORT, NoAnswer, Posted, Result, read_posted
from pyspark_aviso.retrying import Attempts
from pyspark_aviso.transport import Refused, TransportError

if TYPE_CHECKING:
    from pyspark_aviso.transport import Client

_NOTIFICATIONS: Final = "/api/v1/notifications"
_IN_FULL: Final = {"Content-Type": "application/x-ndjson", "Accept": "application/json"}
_IN_SHORT: Final = _IN_FULL | PREFER_SHORT


def post_records(client: Client, event_type: str | None, lines: bytes, count: int) -> list[Result]:
    """Post lines with one record each, and return what became of each, in their order.

    `failed` is what the service could not store before the deadline. What it takes no record of is posted in halves,
    and rejected where it is one record. Raises where the service does not answer, or refuses the request. The event
    type is only what an error says these records are; each record has its own.
    """
    return _post_all(client, event_type, lines, count, is_short=False).results


def post_counted(client: Client, event_type: str | None, lines: bytes, count: int) -> Posted:
    """Post lines as `post_records` does, and return how many are stored, with results only of the others."""
    return _post_all(client, event_type, lines, count, is_short=True)


def _post_all(client: Client, event_type: str | None, lines: bytes, count: int, *, is_short: bool) -> Posted:
    attempts = Attempts(client.deadline_seconds)
    what = f"posting {count} notifications" + (f" of type {event_type}" if event_type else "")
    posted = _post(client, lines, count, attempts, what, is_short=is_short)
    while (failed := posted.failed) and attempts.pause():
        rows = rows_of(lines)
        data = b"".join(rows[place] for place in failed)
        again = _post(client, data, len(failed), attempts, what, is_short=is_short)
        posted = posted.followed_by(again, places=failed)
    return posted


def _post(
    client: Client, lines: bytes, count: int, attempts: Attempts, what: str, *, is_short: bool
) -> Posted:
    try:
        return _post_whole(client, lines, count, attempts, what, is_short=is_short)
    except Refused as refusal:
        if not is_about_records(refusal):
            raise
        if count == 1:
            return Posted(0, 0, [rejected(lines, refusal)])
    posted, begin = NOTHING, 0
    for half in halves(lines):
        of_half = _post(client, b"".join(half), len(half), attempts, what, is_short=is_short)
        posted = posted.followed_by(of_half, places=range(begin, begin + len(half)))
        begin += len(half)
    return posted


def _post_whole(
    client: Client, lines: bytes, count: int, attempts: Attempts, what: str, *, is_short: bool
) -> Posted:
    headers = _IN_SHORT if is_short else _IN_FULL
    answer = client.post(_NOTIFICATIONS, lines, headers, attempts, what=what)
    try:
        return read_posted(answer, count, attempts=attempts.made, is_short=is_short)
    except NoAnswer as error:
        raise TransportError(f"{what}: {error}") from error
