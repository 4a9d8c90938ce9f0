"""Letting go of every object that waits for an operator which may not come back. Streams stay as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aviso_operator.cluster import Outdated, Vanished
from aviso_operator.handlers import FINALIZER

if TYPE_CHECKING:
    from aviso_operator.cluster import Cluster
    from aviso_operator.options import Watched
    from aviso_operator.resources import Resource

_ATTEMPTS: Final = 5


async def release_finalizers(cluster: Cluster, watched: Watched) -> list[str]:
    """Take our finalizer off all objects; return the keys of those that had it."""
    return [
        resource.key
        for namespace in watched.namespaces or (None,)
        for resource in await _all_of(cluster, namespace)
        if await _release(cluster, resource)
    ]


async def _all_of(cluster: Cluster, namespace: str | None) -> tuple[Resource, ...]:
    try:
        return (await cluster.list_all(namespace)).resources
    except Vanished:
        # The definition or the namespace has gone, and its objects with it.
        return ()


async def _release(cluster: Cluster, resource: Resource) -> bool:
    for _ in range(_ATTEMPTS):
        if FINALIZER not in resource.finalizers:
            return False
        rest = [name for name in resource.finalizers if name != FINALIZER]
        try:
            await cluster.write_finalizers(resource, rest)
        except Vanished:
            return True
        except Outdated:
            try:
                resource = await cluster.get(resource.namespace, resource.name)
            except Vanished:
                return True
        else:
            return True
    raise Outdated(f"{resource.key} changes faster than its finalizer can be taken off")
