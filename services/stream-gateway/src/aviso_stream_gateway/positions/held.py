"""What a log holds, as callers are told; and of which event types a caller is told."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from aviso_core.errors import Unauthorized
from aviso_core.eventlog.base import StreamMissing
from aviso_core.instant import to_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from aviso_core.eventlog.base import Bounds
    from aviso_core.schema.event_type import EventType
    from aviso_http.access.user import User
    from aviso_stream_gateway.bounds import FreshBounds
    from aviso_stream_gateway.parts import Parts


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """What the log of an event type holds. `first` is one more than `last` where that is nothing."""

    epoch: str
    first: int
    last: int
    messages: int
    bytes: int
    last_time: str | None


# None is an event type that has no log, or none any more.
Positions: TypeAlias = "Mapping[str, Held | None]"


def held(bounds: Bounds) -> Held:
    """Return what callers are told of a log's bounds."""
    return Held(
        epoch=bounds.epoch,
        first=bounds.first,
        last=bounds.last,
        messages=bounds.messages,
        bytes=bounds.bytes,
        last_time=None if bounds.last_instant is None else to_text(bounds.last_instant),
    )


async def held_of(event_type: EventType, fresh: FreshBounds) -> Held | None:
    """Return what the log of an event type holds now."""
    try:
        return held(await fresh.of(event_type.base))
    except StreamMissing:
        return None


async def positions_of(event_types: Iterable[EventType], fresh: FreshBounds) -> dict[str, Held | None]:
    """Return what the logs of several event types hold now, by name."""
    wanted = list(event_types)
    found = await asyncio.gather(*(held_of(event_type, fresh) for event_type in wanted))
    return {event_type.name: one for event_type, one in zip(wanted, found, strict=True)}


def readable(parts: Parts, user: User | None) -> list[EventType]:
    """Return the declared event types that a caller may read, in the order of their names."""
    return [one for one in parts.catalog().event_types.values() if _may_read(parts, one, user)]


def require_readable(parts: Parts, event_type: EventType, user: User | None) -> None:
    """Raise why a caller may not read an event type, if so."""
    auth = event_type.schema.auth
    parts.access.may_read(auth, user).require()
    if auth is not None and auth.plugins and user is None:
        raise Unauthorized("Authentication is required for this stream")


def _may_read(parts: Parts, event_type: EventType, user: User | None) -> bool:
    auth = event_type.schema.auth
    # What a plugin lets somebody read depends on values, and here is none; that somebody is known it always wants.
    is_known_enough = user is not None or auth is None or not auth.plugins
    return is_known_enough and parts.access.may_read(auth, user).allowed
