"""kopf's part: following the objects, and holding back those that take their stream along.

Its handlers only say that something happened; what has to be done is found out by looking (`reconcile`). So annotations
keep nothing but how often kopf has tried to delete a stream, and an object has a finalizer only while
`spec.deletionPolicy` is Delete. Handlers are registered in a registry of their own and return nothing, for kopf would
write that into the status.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import kopf

from aviso_core.errors import AvisoError
from aviso_http.records.log import Log
from aviso_operator.resources import GROUP, PLURAL, VERSION, read_resource

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aviso_operator.letting_go import LettingGo
    from aviso_operator.objects import Objects
    from aviso_operator.queue import WorkQueue
    from aviso_operator.reconcile import Reconciler
    from aviso_operator.resources import Resource

FINALIZER: Final = f"{GROUP}/operator"
_RETRY_SECONDS: Final = 5.0

log = Log("aviso_operator.handlers")


class _NothingKept(kopf.DiffBaseStorage):
    """What an object was like when it was handled last: as it is now, for nobody here asks what has changed.

    kopf would keep a copy of each object in its annotations. Of a large one the API server does not take that, and then
    the finalizer is never taken off.
    """

    def fetch(self, *, body: kopf.Body) -> kopf.BodyEssence:
        """Return what it is like."""
        return self.build(body=body)

    def store(self, *, body: kopf.Body, patch: kopf.Patch, essence: kopf.BodyEssence) -> None:
        """Keep nothing."""


def kopf_settings() -> kopf.OperatorSettings:
    """Return kopf's settings."""
    settings = kopf.OperatorSettings()
    settings.persistence.finalizer = FINALIZER
    settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix=GROUP)
    settings.persistence.diffbase_storage = _NothingKept()
    # Looking for namespaces and definitions takes rights in the whole cluster, and brings nothing: which namespaces are
    # watched is said, and without the definition the operator does not start.
    settings.scanning.disabled = True
    settings.networking.request_timeout = 30
    settings.networking.connect_timeout = 5
    # One for each object that something happens to. One that is let go of keeps its own for as long as that takes, and
    # every other for seconds after its last event: with fewer of them, other objects would wait for that.
    settings.queueing.worker_limit = None
    # What is under way when it is to end can be given up: it is found again by looking.
    settings.queueing.exit_timeout = 1
    settings.execution.default_backoff = 15
    # Events are stored by ourselves (`announcements`).
    settings.posting.enabled = False
    settings.posting.loggers = False
    settings.process.ultimate_exiting_timeout = 20
    settings.peering.standalone = True
    return settings


def handlers(
    objects: Objects, queue: WorkQueue, reconciler: Reconciler, letting_go: LettingGo
) -> kopf.OperatorRegistry:
    """Return a registry with our handlers."""
    registry = kopf.OperatorRegistry()

    @kopf.on.login(registry=registry)
    def log_in(**how: Any) -> kopf.ConnectionInfo | None:
        return kopf.login_via_client(**how)

    @kopf.on.event(GROUP, VERSION, PLURAL, registry=registry)
    async def see(event: Mapping[str, Any], **_: object) -> None:
        resource = _read(event["object"])
        if resource is None:
            return
        if event["type"] == "DELETED":
            if objects.see_gone(resource):
                queue.add(resource.key)
            return
        before = objects.get(resource.key)
        if objects.see(resource) and _is_news(before, resource):
            queue.add(resource.key)

    @kopf.on.delete(GROUP, VERSION, PLURAL, registry=registry, when=_takes_its_stream)
    async def finalize(body: Mapping[str, Any], **_: object) -> None:
        resource = _read(body)
        if resource is None:
            return
        try:
            await letting_go.with_stream(resource)
        except AvisoError as error:
            await reconciler.tell_waiting(resource, str(error))
            raise kopf.TemporaryError(str(error), delay=_RETRY_SECONDS) from error

    return registry


def _takes_its_stream(spec: Mapping[str, Any], **_: object) -> bool:
    return spec.get("deletionPolicy") == "Delete"


def _read(body: Mapping[str, Any]) -> Resource | None:
    try:
        return read_resource({name: body[name] for name in ("metadata", "spec", "status") if name in body})
    except (ValueError, TypeError, KeyError) as error:
        log.error("operator.object.unreadable", "an object cannot be read", reason=str(error))
        return None


def _is_news(before: Resource | None, now: Resource) -> bool:
    """Tell whether more changed than the status, which is our own."""
    if before is None:
        return True
    return (before.uid, before.generation, before.annotations, before.is_going) != (
        *(now.uid, now.generation, now.annotations, now.is_going),
    )
