"""Making records ready for the log: each is read and checked like a single notification, and refused alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from aviso_core.errors import AccessRefused, AvisoError, InvalidJson, Refusal, UnknownEventType
from aviso_core.eventlog.entry import Origin
from aviso_core.span import read_date
from aviso_http.problems import Endpoint
from aviso_ingest.batch.results import Result, outcome_of, shortened
from aviso_ingest.intake import UNKNOWN, check_identity, identity_hash, label_of, require_write, take

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from aviso_core.schema.catalog import Catalog
    from aviso_http.access.user import User
    from aviso_ingest.batch.record import Incoming, Notation
    from aviso_ingest.intake import Taken
    from aviso_ingest.parts import Parts


class Ready(NamedTuple):
    """A record that may be stored."""

    place: int
    event_type: str
    identity: str | None
    taken: Taken

    @property
    def label(self) -> str:
        """How its event type is counted."""
        return self.taken.label


class Refused(NamedTuple):
    """A record that may not, and why."""

    place: int
    label: str
    event_type: str | None
    identity: str | None
    error: AvisoError
    # Whether the caller might have written events of its type, had the record been good, or why not.
    is_permitted: bool = False
    denial: AccessRefused | None = None

    @property
    def is_unreadable(self) -> bool:
        """Whether it is not even JSON."""
        return isinstance(self.error, InvalidJson)


class Checking:
    """What the checks of one request have in common: who asks, and which event types there are now."""

    def __init__(self, parts: Parts, notation: Notation, *, user: User | None, traceparent: str) -> None:
        self._parts = parts
        self._notation = notation
        self._user = user
        self._actor = "" if user is None else user.name
        self._traceparent = traceparent
        self._catalog: Catalog = parts.catalog()
        self._hashes: dict[str, Callable[[str], str]] = {}

    def check(self, window: Sequence[bytes], *, first: int) -> list[Ready | Refused]:
        """Return what becomes of each record; `first` is the place of the first of them in the batch."""
        return [self._check_one(data, place) for place, data in enumerate(window, start=first)]

    def _check_one(self, data: bytes, place: int) -> Ready | Refused:
        incoming: Incoming | None = None
        try:
            incoming = self._notation.read(data)
            taken = take(
                incoming.body,
                catalog=self._catalog,
                access=self._parts.access,
                user=self._user,
                origin=self._origin(incoming),
            )
        except AvisoError as error:
            return self._refused(place, incoming, error)
        return Ready(place, incoming.body.event_type, incoming.identity, taken)

    def _origin(self, incoming: Incoming) -> Origin:
        identity, time = incoming.identity, incoming.time
        message_id = None
        if identity is not None:
            message_id = self._hash_of(incoming.source)(check_identity(identity, field="id"))
        return Origin(
            actor=self._actor,
            traceparent=incoming.traceparent or self._traceparent,
            producer_instant=None if time is None else read_date(time, name="time"),
            message_id=message_id,
        )

    def _hash_of(self, source: str) -> Callable[[str], str]:
        found = self._hashes.get(source)
        if found is None:
            found = self._hashes[source] = identity_hash(user=self._user, source=source)
        return found

    def _refused(self, place: int, incoming: Incoming | None, error: AvisoError) -> Refused:
        if incoming is None:
            return Refused(place, UNKNOWN, None, None, error)
        name = incoming.body.event_type
        label = label_of(name, self._catalog)
        refused = Refused(place, label, name, incoming.identity, error)
        try:
            require_write(self._catalog.get(name), self._parts.access, self._user)
        except UnknownEventType:
            return refused
        except AccessRefused as denial:
            return refused._replace(denial=denial)
        return refused._replace(is_permitted=True)

    def result_of(self, refused: Refused) -> Result:
        """Return what the caller is told."""
        error = refused.error
        field = self.field_of(error)
        return Result(
            index=refused.place,
            status=outcome_of(error, self._parts.problems),
            event_type=None if refused.event_type is None else shortened(refused.event_type),
            id=msgspec.UNSET if refused.identity is None else shortened(refused.identity),
            code=self._parts.problems.code_of(error, Endpoint.NOTIFICATION),
            message=shortened(getattr(error, "message", str(error))),
            field=msgspec.UNSET if field is None else shortened(field),
        )

    def field_of(self, error: AvisoError) -> str | None:
        """Return which part of the record is at fault, as the caller has written it."""
        return self._notation.field_of(error) if isinstance(error, Refusal) else None
