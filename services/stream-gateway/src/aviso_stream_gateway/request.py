"""The body of a watch or replay → what is asked for: which events, from where to where.

The checks stand in the contract's order (2.4), so that the first failure is the one that is told.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from aviso_core.event import EndAt, FromInstant, FromSequence, Now, StartAt, ToInstant
from aviso_core.matching.filter import (
    Selection,
    read_point_filter,
    read_selection,
    read_undeclared_selection,
)
from aviso_core.request import RequestBody, refuse_stream_members
from aviso_core.span import read_end, read_start, require_start

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aviso_core.schema.catalog import Catalog
    from aviso_core.schema.event_type import EventType
    from aviso_core.schema.model import Auth
    from aviso_http.access.base import Access
    from aviso_http.access.user import User


class Mode(Enum):
    """How a stream goes on when its history is over."""

    WATCH = "watch"
    REPLAY = "replay"


class Asked(NamedTuple):
    """A request that was checked."""

    mode: Mode
    name: str
    event_type: EventType | None
    base: str
    selection: Selection
    start: StartAt
    end: EndAt | None

    @property
    def auth(self) -> Auth | None:
        """Who may read such events."""
        return None if self.event_type is None else self.event_type.schema.auth

    @property
    def identifier(self) -> Mapping[str, str]:
        """The canonical values that the request names."""
        return dict(self.selection.filter.equals)


def read_asked(
    body: RequestBody, mode: Mode, *, catalog: Catalog, access: Access, user: User | None
) -> Asked:
    """Check a request, or raise the first thing that is wrong with it."""
    event_type = catalog.get(body.event_type)
    if event_type is not None:
        access.may_read(event_type.schema.auth, user).require()
    point = read_point_filter(body.identifier)
    start = read_start(body.from_id, body.from_date)
    end = _read_end(body, mode, start)
    if event_type is None:
        base = body.event_type
        selection = read_undeclared_selection(
            body.event_type, body.identifier, operation=mode.value, point=point
        )
    else:
        base = event_type.base
        selection = read_selection(event_type, body.identifier, operation=mode.value, point=point)
    return Asked(mode, body.event_type, event_type, base, selection, start, end)


def _read_end(body: RequestBody, mode: Mode, start: StartAt) -> EndAt | None:
    if mode is Mode.WATCH:
        refuse_stream_members(body, endpoint=mode.value)
        return None
    return read_end(body.to_id, body.to_date, start=require_start(start))


def is_live_only(start: StartAt) -> bool:
    """Tell whether there is no history to send."""
    return isinstance(start, Now)


def first_sequence(start: StartAt) -> int | None:
    """Return the sequence that a request begins with, where it names one."""
    return start.sequence if isinstance(start, FromSequence) else None


def first_instant(start: StartAt) -> int | None:
    """Return the instant that a request begins with, where it names one."""
    return start.instant if isinstance(start, FromInstant) else None


def last_instant(end: EndAt | None) -> int | None:
    """Return the instant that a request ends with, where it names one."""
    return end.instant if isinstance(end, ToInstant) else None
