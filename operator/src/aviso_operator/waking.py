"""What brings objects up to be looked at besides kopf and the clock: schemas, acknowledgements, the broker's return."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aviso_core.registry.follower import Follower
    from aviso_operator.objects import Objects
    from aviso_operator.queue import WorkQueue
    from aviso_operator.resources import Resource


class Waking:
    """Puts objects into the queue."""

    def __init__(self, objects: Objects, queue: WorkQueue) -> None:
        self._objects = objects
        self._queue = queue

    def on_schemas(self, follower: Follower) -> None:
        """Wake whoever wants what somebody else has published now, and those who may have now what they want."""
        for resource in self._objects:
            known = follower.served.known.get(resource.event_type)
            revision = known.latest.revision if known else None
            if revision != resource.status.revision or _is_conflicted(resource):
                self._queue.add(resource.key)

    def on_event_type(self, event_type: str) -> None:
        """Wake whoever declares an event type."""
        for resource in self._objects:
            if resource.event_type == event_type:
                self._queue.add(resource.key)

    def on_broker(self) -> None:
        """Wake everybody: the broker is back."""
        for resource in self._objects:
            self._queue.add(resource.key)


def _is_conflicted(resource: Resource) -> bool:
    return any(one.reason == "Conflicted" for one in resource.status.conditions)
