"""The one writer of status: findings become the status of the object that they were found of, and of no newer one.

A status is written over the object as it was seen. Where that has changed meanwhile, the status is made anew for what
it is now, as long as it is of the same generation; of another generation there are no findings yet, and whoever brings
them writes it. What did not change is not written.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from aviso_operator.cluster import Outdated, Vanished
from aviso_operator.conditions import verdicts, with_moments
from aviso_operator.resources import (
    LONGEST_PROCESS,
    MOST_STALE,
    Condition,
    Propagation,
    Status,
    StreamStatus,
    status_document,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aviso_core.clock import Clock
    from aviso_operator.announcements import Announcements, Kind
    from aviso_operator.cluster import Cluster
    from aviso_operator.findings import Findings, Live
    from aviso_operator.objects import Objects
    from aviso_operator.resources import Resource

STREAM_SECONDS: Final = 60.0
_ATTEMPTS: Final = 5


class StatusWriter:
    """Writes statuses, and tells people of what is new in them."""

    def __init__(
        self, cluster: Cluster, objects: Objects, announcements: Announcements, clock: Clock
    ) -> None:
        self._cluster = cluster
        self._objects = objects
        self._announcements = announcements
        self._clock = clock

    async def write(self, resource: Resource, findings: Findings) -> Status:
        """Write what was found of a generation of an object, if it is still that one; return the status."""
        for _ in range(_ATTEMPTS):
            before = resource.status
            status = status_of(findings, before, now=self._now())
            if status == before:
                return status
            try:
                written = await self._cluster.write_status(resource, _patch(before, status))
            except Vanished:
                return status
            except Outdated:
                newer = await self._look_again(resource)
                if newer is None or newer.generation != findings.generation or newer.uid != resource.uid:
                    return status
                if _knows_more(newer.status, findings):
                    return status
                resource = newer
                continue
            self._objects.see(written)
            await self._tell(written, before.conditions, status.conditions)
            return status
        raise Outdated(f"{resource.key} changes faster than its status can be written")

    async def _look_again(self, resource: Resource) -> Resource | None:
        try:
            newer = await self._cluster.get(resource.namespace, resource.name)
        except Vanished:
            return None
        return newer

    async def _tell(
        self, resource: Resource, before: Sequence[Condition], after: Sequence[Condition]
    ) -> None:
        """Tell of the summary when it is another, or is so for another reason; waiting is no news."""
        was = next((one for one in before if one.type == "Ready"), None)
        ready = next(one for one in after if one.type == "Ready")
        is_news = was is None or (was.status, was.reason) != (ready.status, ready.reason)
        if is_news and ready.reason not in ("WaitingForReplicas", "NotPublished"):
            kind: Kind = "Normal" if ready.status == "True" else "Warning"
            await self._announcements.tell(resource, kind, ready.reason, ready.message)

    def _now(self) -> datetime:
        # The API server keeps whole seconds.
        return datetime.fromtimestamp(self._clock.now_ns() // 1_000_000_000, UTC)


def _knows_more(written: Status, findings: Findings) -> bool:
    """Tell whether somebody else, who has seen a later revision, has written meanwhile: it does not go back."""
    return findings.live is not None and (written.revision or 0) > findings.live.revision


def status_of(findings: Findings, before: Status, *, now: datetime) -> Status:
    """Return the status of an object, given the one that it has."""
    found = verdicts(findings)
    live = findings.live
    return Status(
        conditions=with_moments(found, before.conditions, generation=findings.generation, now=now),
        observed_generation=findings.generation,
        event_type=findings.event_type,
        revision=live.revision if live else before.revision,
        spec_hash=live.spec_hash if live else before.spec_hash,
        propagation=_propagation(live) if live else before.propagation,
        stream=_stream(findings, before.stream, now),
    )


def _propagation(live: Live) -> Propagation:
    stale = [name for name, standing in live.standings.items() if standing.state != "current"]
    desired = len(live.standings)
    acknowledged = desired - len(stale)
    return Propagation(
        summary=f"{acknowledged}/{desired}",
        desired=desired,
        acknowledged=acknowledged,
        stale=tuple(name.rpartition("/")[2][:LONGEST_PROCESS] for name in stale[:MOST_STALE]),
    )


def _stream(findings: Findings, before: StreamStatus | None, now: datetime) -> StreamStatus | None:
    """Return the numbers of a stream, which change all the time: at most once a minute they are new."""
    seen = findings.stream
    if seen is None:
        return before
    name = seen.configuration.name
    if (
        before is not None
        and before.name == name
        and now - before.observed_at < timedelta(seconds=STREAM_SECONDS)
    ):
        return before
    after = StreamStatus(
        name=name,
        messages=seen.messages,
        bytes=seen.bytes,
        first_sequence=seen.first_sequence,
        last_sequence=seen.last_sequence,
        observed_at=now,
    )
    if before is None:
        return after
    is_same = all(
        getattr(after, field) == getattr(before, field)
        for field in ("name", "messages", "bytes", "first_sequence", "last_sequence")
    )
    return before if is_same else after


def _patch(before: Status, after: Status) -> dict[str, object]:
    """Return the members to write: in a merge, what is gone has to be named."""
    gone = dict.fromkeys(status_document(before).keys() - status_document(after).keys())
    return gone | status_document(after)
