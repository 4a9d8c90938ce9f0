"""One look at one object: what it wants, what there is, what has to be done, and what came of it.

A look remembers nothing of the last one. It is taken for whatever reason there may be (the object changed, a process
acknowledged, the broker is back, it was time), always in the same way, and does nothing where all is as wanted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from aviso_core.errors import AvisoError, Unavailable
from aviso_core.planning.actions import ChangeStream
from aviso_core.planning.plan import ADOPT, Desired, make_plan
from aviso_core.registry.base import Owner, Published, hash_of
from aviso_core.schema.manifest import read_manifest
from aviso_core.schema.model import encode_schema
from aviso_http.records.log import Log
from aviso_operator.conditions import ACKNOWLEDGEMENT_SECONDS
from aviso_operator.findings import Findings, Live
from aviso_operator.status import STREAM_SECONDS
from aviso_operator.steps import Overtaken

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aviso_core.clock import Clock
    from aviso_core.planning.actions import Action
    from aviso_core.registry.base import Version
    from aviso_core.schema.model import Schema
    from aviso_core.schema.stream import StreamDefaults, StreamDifference
    from aviso_operator.letting_go import LettingGo
    from aviso_operator.metrics import Metrics, Result
    from aviso_operator.objects import Objects
    from aviso_operator.propagation import Propagation
    from aviso_operator.queue import WorkQueue
    from aviso_operator.resources import Resource, Status
    from aviso_operator.status import StatusWriter
    from aviso_operator.steps import Steps

# From so many failures in a row on, the status says that it does not work.
_MANY_FAILURES: Final = 5

log = Log("aviso_operator.reconcile")


class Gone(AvisoError):
    """The object is not wanted any more."""

    code = "GONE"


class Reconciler:
    """Looks at objects."""

    def __init__(
        self,
        steps: Steps,
        letting_go: LettingGo,
        *,
        objects: Objects,
        queue: WorkQueue,
        statuses: StatusWriter,
        propagation: Propagation,
        metrics: Metrics,
        defaults: StreamDefaults,
        clock: Clock,
    ) -> None:
        self._steps = steps
        self._letting_go = letting_go
        self._objects = objects
        self._queue = queue
        self._statuses = statuses
        self._propagation = propagation
        self._metrics = metrics
        self._defaults = defaults
        self._clock = clock

    async def look(self, key: str) -> bool:
        """Look at an object, whatever became of it; tell whether that came to an end."""
        began = self._clock.monotonic()
        result: Result = "failed"
        try:
            result = await self._look(key)
        except Unavailable as error:
            log.warning(
                "operator.object.put_off", "an object is looked at again later", error=error, object=key
            )
        except AvisoError as error:
            log.error("operator.object.failed", "an object cannot be looked at", error=error, object=key)
        except Exception as error:  # noqa: BLE001 (one object must not end the work on all others)
            log.error("operator.object.failed", "a fault of the operator's own", error=error, object=key)
        self._metrics.looked(result, self._clock.monotonic() - began)
        return result != "failed"

    async def _look(self, key: str) -> Result:
        resource = self._objects.get(key)
        if resource is None:
            await self._letting_go.of_object(key)
            return "removed"
        if resource.is_going:
            # Whoever holds a finalizer has to do something first; if that is us, kopf has it done.
            return "waiting"
        try:
            return _result(await self._reconcile(resource))
        except (Gone, Overtaken):
            # Whatever it is now is seen, and looked at then.
            return "waiting"

    async def _reconcile(self, resource: Resource) -> Status:
        unreachable: Unavailable | None = None
        try:
            findings = await self._find(resource)
        except Unavailable as error:
            unreachable = error
            findings = self._unreachable(resource, str(error))
        status = await self._statuses.write(resource, findings)
        if unreachable is not None:
            raise unreachable
        if any(one.reason == "WaitingForReplicas" for one in status.conditions):
            self._queue.add(resource.key, seconds=ACKNOWLEDGEMENT_SECONDS)
        if resource.deletion_policy == "Delete":
            # Whoever guards its deletion goes by how many messages the status tells of.
            self._queue.add(resource.key, seconds=STREAM_SECONDS)
        return status

    async def _find(self, resource: Resource) -> Findings:
        if resource.reconcile_policy == "Paused":
            return self._findings(resource, live=self._live_as_heard(resource))
        schema, faults = read_manifest(resource.manifest)
        if schema is None:
            invalid = "; ".join(map(str, faults))
            return self._findings(resource, invalid=invalid, live=self._live_as_heard(resource))
        await self._letting_go.of_former_event_types(resource)
        async with self._steps.alone(schema.event_type, schema.base):
            self._check_still_wanted(resource)
            return await self._enforce(resource, schema)

    def _check_still_wanted(self, resource: Resource) -> None:
        """Stop where the object went while it was waited for: what went with it must not be made anew."""
        now = self._objects.get(resource.key)
        if now is None or now.uid != resource.uid or now.is_going:
            raise Gone(f"{resource.key} went while it was looked at")

    async def _enforce(self, resource: Resource, schema: Schema) -> Findings:
        desired = Desired(
            owner=Owner(resource.namespace, resource.name),
            uid=resource.uid,
            schema=schema,
            adopts=resource.annotations.get(ADOPT),
        )
        is_observed = resource.reconcile_policy == "Observe"
        outcome = await self._steps.carry_out(
            schema.event_type,
            schema.base,
            lambda seen: () if is_observed else make_plan(desired, seen, self._defaults).actions,
            owner=desired.owner,
            is_meant=lambda now: now is not None and _is_wanted_as(resource, now),
        )
        return self._findings(
            resource,
            plan=make_plan(desired, outcome.seen, self._defaults),
            corrected=self._corrected(resource, outcome.done),
            refused=outcome.refused,
            stream=outcome.seen.stream,
            live=self._live(outcome.seen.latest, resource, schema),
        )

    async def tell_waiting(self, resource: Resource, why: str) -> None:
        """Say in the status why an object that was deleted is still there, as well as can be."""
        message = (
            f"{why}; the object stays until its stream is deleted. To let it go without that: "
            f"aviso-operator release-finalizers --namespace {resource.namespace}"
        )
        try:
            await self._statuses.write(resource, self._unreachable(resource, message))
        except AvisoError as error:
            log.warning("operator.status.not_written", str(error), error=error, object=resource.key)

    def _unreachable(self, resource: Resource, message: str) -> Findings:
        """Return what is found when there is nobody to ask."""
        return self._findings(resource, unreachable=message, live=self._live_as_heard(resource))

    def _findings(self, resource: Resource, **found: Any) -> Findings:
        failures = self._queue.failures_of(resource.key)
        return Findings(
            generation=resource.generation,
            event_type=resource.event_type,
            policy=resource.reconcile_policy,
            failures=failures if failures >= _MANY_FAILURES else None,
            **found,
        )

    def _live_as_heard(self, resource: Resource) -> Live | None:
        version, told = self._steps.heard().get(resource.event_type), resource.status
        if isinstance(version, Published) and told.revision and version.revision < told.revision:
            # The status tells of what was seen, which is heard of a little later.
            version = replace(version, revision=told.revision, spec_hash=told.spec_hash or "")
        return self._live(version, resource, None)

    def _live(self, version: Version | None, resource: Resource, schema: Schema | None) -> Live | None:
        name = resource.event_type
        if not isinstance(version, Published):
            self._propagation.forget(name)
            return None
        if version.owner != Owner(resource.namespace, resource.name):
            # Whose it is waits for it to be acknowledged.
            return None
        self._metrics.published(name, version.revision)
        return Live(
            revision=version.revision,
            spec_hash=version.spec_hash,
            standings=self._propagation.standings(name, version.revision),
            is_current=schema is not None and version.spec_hash == hash_of(encode_schema(schema)),
            waited_seconds=self._propagation.waited_seconds(name),
        )

    def _corrected(self, resource: Resource, done: Iterable[Action]) -> tuple[StreamDifference, ...]:
        """Return what was put right in the stream of an object that says what it said before."""
        if resource.status.observed_generation != resource.generation:
            return ()
        changes = [action for action in done if isinstance(action, ChangeStream)]
        found = tuple(difference for change in changes for difference in change.differences)
        for difference in found:
            self._metrics.drifted(difference.setting)
        return found


def _is_wanted_as(resource: Resource, now: Resource) -> bool:
    """Tell whether an object still says what it said when it was seen."""
    before, after = (
        (one.uid, one.generation, one.is_going, one.annotations.get(ADOPT)) for one in (resource, now)
    )
    return before == after


def _result(status: Status) -> Result:
    ready = next(one for one in status.conditions if one.type == "Ready")
    if ready.status == "True":
        return "ready"
    is_stalled = any(one.type == "Stalled" for one in status.conditions)
    return "refused" if is_stalled else "waiting"
