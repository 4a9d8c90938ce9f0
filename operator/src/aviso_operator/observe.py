"""What there is for one event type: its stream, its latest version, and who holds what it wants.

The stream and the event type's own version are asked for anew at each look, for they are what is acted on: a change
names the stream that was seen, a publication the revision.

Of all other event types, what the operator has heard is fresh enough. Whom they may cost something is who wants a
topic base that another one has, and that is settled by the stream of the base, which carries its owner's name and is
asked for: whoever hears late of somebody's publication still meets their stream. What was heard late in the other way,
that somebody has a base whom it was taken from meanwhile, would keep an object waiting for nobody: so each that stands
in the way by what was heard is asked for as well. There is hardly ever one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from aviso_core.planning.plan import Seen, SeenStream
from aviso_core.registry.base import Published

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from aviso_core.eventlog.jetstream.owned import FoundStream
    from aviso_core.registry.base import Owner, Version


class FindsStreams(Protocol):
    """Where streams are found (`OwnedStreams`)."""

    async def find(self, base: str) -> FoundStream | None:
        """Return the stream of a topic base."""
        ...


class TellsVersions(Protocol):
    """Where versions are (any `Registry`)."""

    async def get(self, event_type: str) -> Version | None:
        """Return the latest version of an event type."""
        ...


async def observe(
    streams: FindsStreams,
    registry: TellsVersions,
    *,
    event_type: str,
    base: str,
    known: Mapping[str, Version],
    is_alive: Callable[[Owner], bool],
) -> Seen:
    """Return what there is. `known` are the latest versions as far as was heard, `is_alive` tells of resources."""
    latest = await registry.get(event_type)
    held = {
        name: version
        for name, version in known.items()
        if isinstance(version, Published) and _is_held(version, is_alive)
    }
    in_the_way = [name for name, one in held.items() if one.schema.base.lower() == base.lower()]
    fresh = {name: await registry.get(name) for name in in_the_way if name != event_type}
    for name, version in (fresh | {event_type: latest}).items():
        if isinstance(version, Published) and _is_held(version, is_alive):
            held[name] = version
        else:
            held.pop(name, None)
    found = await streams.find(base)
    return Seen(stream=None if found is None else seen_stream(found), latest=latest, held=held)


def _is_held(version: Published, is_alive: Callable[[Owner], bool]) -> bool:
    return version.owner is None or is_alive(version.owner)


def seen_stream(found: FoundStream) -> SeenStream:
    """Return a stream as a plan looks at it."""
    return SeenStream(
        configuration=found.configuration,
        created=found.created,
        stamps=found.stamps,
        messages=found.messages,
        bytes=found.bytes,
        first_sequence=found.first_sequence,
        last_sequence=found.last_sequence,
    )
