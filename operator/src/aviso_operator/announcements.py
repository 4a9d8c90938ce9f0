"""Telling people what happened, as events of the cluster: they stand below the object in `kubectl describe`.

An event is for what is new: an object became ready, or something stands in its way. What did not change is not told
again, and that an event could not be stored stops nothing.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from aviso_core.errors import AvisoError
from aviso_core.schema.manifest_parts import API_VERSION, KIND
from aviso_http.records.log import Log

if TYPE_CHECKING:
    from aviso_core.clock import Clock
    from aviso_operator.cluster import Cluster
    from aviso_operator.resources import Resource

COMPONENT: Final = "aviso-operator"
# What the API server takes.
_LONGEST_MESSAGE: Final = 1024
_LONGEST_NAME: Final = 253

Kind: TypeAlias = Literal["Normal", "Warning"]

log = Log("aviso_operator.announcements")


class Announcements:
    """Stores events beside the objects that they are about."""

    def __init__(self, cluster: Cluster, clock: Clock, *, pod: str) -> None:
        self._cluster = cluster
        self._clock = clock
        self._pod = pod

    async def tell(self, resource: Resource, kind: Kind, reason: str, message: str) -> None:
        """Tell of an object; that it could not be told is logged."""
        try:
            await self._cluster.tell(resource.namespace, self._event(resource, kind, reason, message))
        except AvisoError as error:
            log.warning(
                "operator.event.lost", "an event could not be stored", error=error, object=resource.key
            )

    def _event(self, resource: Resource, kind: Kind, reason: str, message: str) -> dict[str, object]:
        instant = self._clock.now_ns()
        now = datetime.fromtimestamp(instant / 1e9, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        mark = f".{instant:x}"
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {
                "name": resource.name[: _LONGEST_NAME - len(mark)].rstrip("-.") + mark,
                "namespace": resource.namespace,
            },
            "involvedObject": {
                "apiVersion": API_VERSION,
                "kind": KIND,
                "namespace": resource.namespace,
                "name": resource.name,
                "uid": resource.uid,
                "resourceVersion": resource.resource_version,
            },
            "type": kind,
            "reason": reason,
            "message": message if len(message) <= _LONGEST_MESSAGE else f"{message[: _LONGEST_MESSAGE - 1]}…",
            "source": {"component": COMPONENT, "host": self._pod},
            "reportingComponent": COMPONENT,
            "reportingInstance": self._pod,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
