"""Who has an event type and a topic base, of all that want them: whoever was published first.

Services that begin anew give each base to the version with the lowest revision (`registry.served`), so here it is that
one as well. Two that were published at the same time are told apart by it: the later one yields. Until it has, the
earlier one publishes nothing new, for a new version has a higher revision and would hand the base over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from aviso_core.registry.base import Owner, Published, Unreadable, Version

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aviso_core.schema.model import Schema


class Rival(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody else who has what is wanted, in a sentence. One that yields came later and is on its way out."""

    message: str
    yields: bool = False


def rival_of(
    owner: Owner, schema: Schema, *, latest: Version | None, held: Mapping[str, Published]
) -> Rival | None:
    """Return who has the event type or the topic base that a resource wants, if it is somebody else."""
    name = schema.event_type
    own = held.get(name)
    # What a newer build wrote, perhaps: whose it is can be told all the same.
    unreadable = latest if isinstance(latest, Unreadable) and latest.owner else None
    if any(one is not None and one.owner != owner for one in (own, unreadable)):
        whose = next(_whose(one) for one in (own, unreadable) if one is not None and one.owner != owner)
        return Rival(
            message=f"event type '{name}' is declared by {whose}: delete that one, or set another spec.eventType"
        )
    others = [one for one in held.values() if one.owner != owner and has_base(one, schema.base)]
    if not others:
        return None
    first = min(others, key=lambda one: one.revision)
    base = f"topic base '{schema.base}'"
    if own is not None and has_base(own, schema.base) and own.revision < first.revision:
        return Rival(
            message=f"{base} was taken later by event type '{first.event_type}' too, declared by {_whose(first)}: "
            f"revision {own.revision} stays in force, and changes wait until that one is withdrawn",
            yields=True,
        )
    return Rival(
        message=f"{base} is that of event type '{first.event_type}', declared by {_whose(first)}: "
        "every event type needs a base of its own"
    )


def leftovers(owner: Owner, event_type: str, held: Mapping[str, Published]) -> list[Published]:
    """Return what was published for a resource of this name that was since made anew with another event type."""
    return [one for name, one in sorted(held.items()) if name != event_type and one.owner == owner]


def has_base(version: Published, base: str) -> bool:
    """Tell whether a version has a topic base, which is the same in large and small letters."""
    return version.schema.base.lower() == base.lower()


def _whose(version: Published | Unreadable) -> str:
    return f"EventSchema {version.owner}" if version.owner else "somebody without an EventSchema"
