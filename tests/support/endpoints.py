"""What the endpoints do with a body before anything is stored or streamed, in the contract's order (section 2.4).

No running service is needed for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from aviso_core.errors import InvalidRequest, Refusal
from aviso_core.request import decode_body, refuse_point, refuse_stream_members
from aviso_core.schema.undeclared import announce_undeclared
from aviso_http.access.open import OpenAccess
from aviso_stream_gateway.request import Mode, read_asked

if TYPE_CHECKING:
    from aviso_core.event import EndAt, StartAt
    from aviso_core.matching.filter import ReadOperation, Selection
    from aviso_core.schema.catalog import Catalog
    from aviso_core.schema.event_type import Announced

Endpoint: TypeAlias = Literal["notification", "watch", "replay"]


class Notified(NamedTuple):
    """A notification that was taken."""

    announced: Announced
    payload: bytes


class Reading(NamedTuple):
    """A watch or replay that would begin now."""

    selection: Selection
    start: StartAt
    end: EndAt | None


def ask(catalog: Catalog, endpoint: Endpoint, data: bytes) -> Notified | Reading | Refusal:
    """Return what an endpoint makes of a body: the refusal is returned, not raised."""
    try:
        return notify(catalog, data) if endpoint == "notification" else read(catalog, data, endpoint)
    except Refusal as refusal:
        return refusal


def notify(catalog: Catalog, data: bytes) -> Notified:
    """Check a notification."""
    body = decode_body(data)
    event_type = catalog.get(body.event_type)
    refuse_stream_members(body, endpoint="notification")
    refuse_point(body)
    payload = body.compact_payload()
    if event_type is None:
        return Notified(announce_undeclared(body.event_type, body.identifier), payload)
    announced = event_type.announce(body.identifier)
    event_type.payload.check(payload)
    return Notified(announced, payload)


def read(catalog: Catalog, data: bytes, operation: ReadOperation) -> Reading:
    """Check a watch or replay request, as the gateway does it for whoever may read everything."""
    asked = read_asked(decode_body(data), Mode(operation), catalog=catalog, access=OpenAccess(), user=None)
    return Reading(asked.selection, asked.start, asked.end)


_OPERATIONS: Final[dict[Endpoint, str]] = {
    "notification": "NOTIFICATION",
    "watch": "WATCH",
    "replay": "REPLAY",
}


def code_on_the_wire(refusal: Refusal, endpoint: Endpoint) -> str:
    """Return the `code` of the answer: for a well-formed request it names the operation."""
    if isinstance(refusal, InvalidRequest):
        return f"INVALID_{_OPERATIONS[endpoint]}_REQUEST"
    return refusal.code
