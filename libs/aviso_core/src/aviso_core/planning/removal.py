"""What has to be done when the resource of an event type is gone, or is to go. Pure, like every plan.

What is retained keeps its messages: the schema is withdrawn, and the stream says since when nobody owns it. What is
deleted goes in the order in which nobody loses an event that was acknowledged to them: first nobody takes any more,
then everybody has stopped, then the stream goes. A stream that this resource never had is not its to delete: one of a
resource that had the same name before, or one whose base somebody else has by now, is kept like what is retained.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from aviso_core.planning.actions import Action, AwaitWithdrawn, DeleteStream, StampStream, Withdraw
from aviso_core.registry.base import Owner, Published, Unreadable
from aviso_core.schema.manifest_parts import DeletionPolicy

if TYPE_CHECKING:
    from aviso_core.planning.plan import Seen, SeenStream
    from aviso_core.schema.stamps import Stamps


class Removed(msgspec.Struct, frozen=True, kw_only=True):
    """A resource that is gone, or waits for us to go. Without a uid it is any that had this name."""

    owner: Owner
    event_type: str
    uid: str = ""
    policy: DeletionPolicy = "Retain"


def plan_removal(removed: Removed, seen: Seen, *, now: str) -> tuple[Action, ...]:
    """Return what is to be done. `now` is what an orphaned stream is stamped with, RFC 3339."""
    actions: list[Action] = []
    latest, stream = seen.latest, seen.stream
    if isinstance(latest, Published | Unreadable) and latest.owner == removed.owner:
        actions.append(Withdraw(event_type=removed.event_type, expected_revision=latest.revision))
    if stream is None or stream.stamps is None or not _was_of(removed, stream.stamps):
        return tuple(actions)
    name = stream.configuration.name
    if removed.policy == "Delete" and _may_go(removed, stream, seen):
        actions += [
            AwaitWithdrawn(event_type=removed.event_type),
            DeleteStream(name=name, created=stream.created, messages=stream.messages),
        ]
    elif stream.stamps.orphaned_at is None:
        stamps = msgspec.structs.replace(stream.stamps, orphaned_at=now)
        actions.append(StampStream(name=name, stamps=stamps))
    return tuple(actions)


def _was_of(removed: Removed, stamps: Stamps) -> bool:
    """Tell whether the stream is this resource's, and not that of one which was made anew under its name."""
    return stamps.owner == str(removed.owner) and stamps.event_type in ("", removed.event_type)


def _may_go(removed: Removed, stream: SeenStream, seen: Seen) -> bool:
    """Tell whether nobody else loses by it: neither a resource of this name before, nor who has the base now."""
    assert stream.stamps is not None
    if removed.uid and stream.stamps.uid not in ("", removed.uid):
        return False
    subjects = {subject.lower() for subject in stream.configuration.subjects}
    return not any(
        f"{one.schema.base}.>".lower() in subjects and one.owner != removed.owner
        for one in seen.held.values()
    )
