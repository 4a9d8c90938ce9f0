"""From the members of a request to the record that is appended: every check, in the contract's order (2.4).

Single notifications, records of a batch, CloudEvents and retractions all come through here, so there is one answer to
what may be stored and who may store it.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final, NamedTuple

from aviso_core.errors import AvisoError, InvalidRequest
from aviso_core.eventlog.entry import Origin, write_record
from aviso_core.request import RequestBody, refuse_point, refuse_stream_members
from aviso_core.schema.undeclared import announce_undeclared

if TYPE_CHECKING:
    from collections.abc import Callable

    from aviso_core.eventlog.base import Record
    from aviso_core.schema.catalog import Catalog
    from aviso_core.schema.event_type import Announced, EventType
    from aviso_http.access.base import Access
    from aviso_http.access.user import User

LONGEST_ID: Final = 128

# The labels of counts where no configured name can stand (contract 13).
UNKNOWN: Final = "unknown"
GENERIC: Final = "generic"


class ProcessingFailed(AvisoError):
    """A bug of ours met a notification before it was stored; `__cause__` is it, and only the log tells of it."""

    code = "NOTIFICATION_PROCESSING_FAILED"

    def __init__(self) -> None:
        self.message = "The notification could not be processed, and nothing is stored"
        self.details = "The service's log has the reason under this request id"
        super().__init__(self.message)


class Taken(NamedTuple):
    """A notification that was checked, and where it goes."""

    label: str
    base: str
    record: Record
    # What the log record about it tells.
    parameters: int
    is_spatial: bool


class Act(NamedTuple):
    """What a request asks for: to announce something, or to take that back."""

    # From an event type, where it is declared, and a body to what is stored of it.
    read: Callable[[EventType | None, RequestBody], tuple[Announced, bytes]]
    is_retraction: bool
    # An id means one thing in each source.
    source: str
    event_name: str
    event_text: str


def _read_announced(event_type: EventType | None, body: RequestBody) -> tuple[Announced, bytes]:
    payload = body.compact_payload()
    if event_type is None:
        return announce_undeclared(body.event_type, body.identifier), payload
    announced = event_type.announce(body.identifier)
    event_type.payload.check(payload)
    return announced, payload


ANNOUNCE: Final = Act(
    read=_read_announced,
    is_retraction=False,
    source="",
    event_name="api.notification.processed",
    event_text="notification stored",
)


def take(
    body: RequestBody,
    *,
    catalog: Catalog,
    access: Access,
    user: User | None,
    origin: Origin,
    act: Act = ANNOUNCE,
) -> Taken:
    """Check a notification, or what takes one back, or raise the first thing that is wrong with it."""
    try:
        return _take(body, act, catalog=catalog, access=access, user=user, origin=origin)
    except AvisoError:
        raise
    except Exception as error:
        # One notification must not take the others of its batch along.
        raise ProcessingFailed from error


def _take(
    body: RequestBody, act: Act, *, catalog: Catalog, access: Access, user: User | None, origin: Origin
) -> Taken:
    event_type = catalog.get(body.event_type)
    refuse_stream_members(body, endpoint="notification")
    refuse_point(body)
    require_write(event_type, access, user)
    announced, payload = act.read(event_type, body)
    return Taken(
        label=GENERIC if event_type is None else event_type.name,
        base=body.event_type if event_type is None else event_type.base,
        record=write_record(event_type, announced, payload, origin=origin, is_retraction=act.is_retraction),
        parameters=len(body.identifier),
        is_spatial=announced.geometry is not None,
    )


def label_of(name: str, catalog: Catalog) -> str:
    """Return how an event type is counted that somebody named."""
    if name in catalog.event_types:
        return name
    return UNKNOWN if catalog.strict else GENERIC


def require_write(event_type: EventType | None, access: Access, user: User | None) -> None:
    """Refuse a caller who may not write events of this type; undeclared ones have no rules."""
    if event_type is not None and event_type.schema.auth is not None:
        access.may_write(event_type.schema.auth, user).require()


def message_id(identity: str, *, user: User | None, source: str = "") -> str:
    """Return what the log knows a record again by: the caller's own id, apart from everybody else's."""
    return identity_hash(user=user, source=source)(identity)


def identity_hash(*, user: User | None, source: str = "") -> Callable[[str], str]:
    """Return `message_id` for many ids of one caller and source."""
    owner = ("", "") if user is None else (user.realm or "", user.name)
    begun = hashlib.sha256()
    for part in (*owner, source):
        begun.update(_counted(part))

    def hash_of(identity: str) -> str:
        digest = begun.copy()
        digest.update(_counted(identity))
        return digest.hexdigest()[:43]

    return hash_of


def _counted(text: str) -> bytes:
    """Return a text with its length, so that no two lists of texts read the same."""
    data = text.encode()
    return b"%d:%s" % (len(data), data)


def check_identity(identity: str, *, field: str) -> str:
    """Return an id as a caller may choose it, or say what one is."""
    if not 0 < len(identity) <= LONGEST_ID or not (identity.isascii() and identity.isprintable()):
        raise InvalidRequest(f"{field} must be 1 to {LONGEST_ID} printable ASCII characters", field=field)
    return identity
