"""Findings → conditions. Pure: what is true of an object, why, and what to do about it.

`Ready`, `Accepted`, `StreamReady` and `Propagated` are always there; `Reconciling`, `Stalled` and `Drifted` only while
they are so. `Ready` is the first of the other three that is not true, or all of them. A moment is only written down
when a condition changes its status.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from aviso_operator.resources import LONGEST_MESSAGE, Condition, ConditionStatus

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from aviso_core.planning.plan import Concern, Plan
    from aviso_core.registry.acknowledgements import Standing
    from aviso_operator.findings import Findings, Live

# A process that has not taken a revision after so long is waited for no more than others: it is named.
ACKNOWLEDGEMENT_SECONDS: Final = 30.0
_MOST_NAMED: Final = 3
# What only the author of the resource, or an administrator, can change.
_FOR_PEOPLE: Final = frozenset(
    {
        *("InvalidSchema", "Conflicted", "Incompatible", "ForeignStream", "WouldLoseData"),
        *("ImmutableStreamField", "SubjectOverlap", "InsufficientReplicas", "RefusedByBroker"),
    }
)


class Verdict(NamedTuple):
    """A condition without its moment."""

    type: str
    status: ConditionStatus
    reason: str
    message: str


def verdicts(findings: Findings) -> list[Verdict]:
    """Return what is to be said."""
    accepted = _accepted(findings)
    stream = _stream(findings)
    propagated = _propagated(findings)
    ready = _ready((accepted, stream, propagated))
    return [ready, accepted, stream, propagated, *_abnormal(findings, ready, stream)]


def with_moments(
    found: Iterable[Verdict], before: Sequence[Condition], *, generation: int, now: datetime
) -> tuple[Condition, ...]:
    """Return conditions, each with the moment of its last change: that of before where the status is the same."""
    known = {condition.type: condition for condition in before}
    return tuple(
        Condition(
            type=one.type,
            status=one.status,
            reason=one.reason,
            message=_shortened(one.message),
            observed_generation=generation,
            last_transition_time=_since(one, known.get(one.type), now),
        )
        for one in found
    )


def _shortened(message: str) -> str:
    """Return a message that the API server takes; a longer one would keep the whole status from being written."""
    return message if len(message) <= LONGEST_MESSAGE else f"{message[: LONGEST_MESSAGE - 1]}…"


def _since(one: Verdict, before: Condition | None, now: datetime) -> datetime:
    return before.last_transition_time if before is not None and before.status == one.status else now


# --- what is always said ---------------------------------------------------------------------------------


def _accepted(findings: Findings) -> Verdict:
    if findings.policy == "Paused":
        return Verdict(
            "Accepted", "Unknown", "Paused", "spec.reconcilePolicy is Paused: nothing is looked at"
        )
    if findings.invalid is not None:
        return Verdict("Accepted", "False", "InvalidSchema", findings.invalid)
    if findings.plan is None:
        return Verdict("Accepted", "Unknown", "NatsUnreachable", findings.unreachable or "not looked at yet")
    why = _in_the_way(findings, findings.plan, "accepted")
    if why is not None:
        return Verdict("Accepted", "False", *why)
    return Verdict("Accepted", "True", "Accepted", "the schema can be served")


def _in_the_way(findings: Findings, plan: Plan, concern: Concern) -> tuple[str, str] | None:
    """Return reason and message of what keeps this from being so: what the broker has refused, or the plan has."""
    if findings.refused is not None and findings.refused.concern == concern:
        return findings.refused.reason, findings.refused.message
    obstacle = plan.obstacle(concern)
    return None if obstacle is None else (obstacle.reason, obstacle.message)


def _stream(findings: Findings) -> Verdict:
    kind = "StreamReady"
    if findings.policy == "Paused":
        return Verdict(kind, "Unknown", "Paused", "spec.reconcilePolicy is Paused: nothing is looked at")
    if findings.unreachable is not None:
        return Verdict(kind, "Unknown", "NatsUnreachable", findings.unreachable)
    if findings.plan is None or _in_the_way(findings, findings.plan, "accepted") is not None:
        return Verdict(kind, "Unknown", "NotAccepted", "the schema is not accepted: see Accepted")
    why = _in_the_way(findings, findings.plan, "stream")
    if why is not None:
        return Verdict(kind, "False", *why)
    if findings.policy == "Observe":
        undone = [str(action) for action in findings.plan.actions]
        if undone:
            message = f"spec.reconcilePolicy is Observe, so this is not done: {'; '.join(undone)}"
            return Verdict(kind, "False", "ObserveOnly", message)
    if findings.corrected:
        changed = "; ".join(map(str, findings.corrected))
        return Verdict(kind, "True", "DriftCorrected", f"the stream was changed as wanted: {changed}")
    return Verdict(kind, "True", "Programmed", "the stream is as wanted")


def _propagated(findings: Findings) -> Verdict:
    kind, live = "Propagated", findings.live
    if live is None:
        return Verdict(kind, "False", "NotPublished", "nothing is published for this object")
    what = f"revision {live.revision}"
    if findings.policy == "Paused":
        return Verdict(kind, "Unknown", "Paused", f"{what} is published; spec.reconcilePolicy is Paused")
    if not live.is_current and findings.unreachable is not None:
        return Verdict(
            kind, "Unknown", "NatsUnreachable", f"{what} was published when it was last heard of the broker"
        )
    if not live.is_current:
        return Verdict(
            kind, "False", "NotPublished", f"what is written here now is not published, {what} stays in force"
        )
    if not live.standings:
        return Verdict(
            kind, "False", "NoReplicas", f"{what} is published, and no service is there to serve it"
        )
    rejecting = _of(live, "rejected")
    if rejecting:
        reasons = "; ".join(f"{name}: {standing.error}" for name, standing in rejecting[:_MOST_NAMED])
        return Verdict(
            kind,
            "False",
            "ReplicaRejected",
            f"{what} is not served by {_counted(rejecting, live)}: {reasons}",
        )
    behind = _of(live, "behind")
    if behind:
        names = ", ".join(name for name, _ in behind[:_MOST_NAMED])
        message = f"{what} is not yet acknowledged by {_counted(behind, live)}: {names}"
        if live.waited_seconds < ACKNOWLEDGEMENT_SECONDS:
            return Verdict(kind, "False", "WaitingForReplicas", message)
        return Verdict(
            kind, "False", "AckTimeout", f"{message}; look at these pods, they follow the registry no more"
        )
    return Verdict(
        kind, "True", "AllReplicas", f"{what} is served by {len(live.standings)} of {len(live.standings)}"
    )


def _of(live: Live, state: str) -> list[tuple[str, Standing]]:
    return [(name, standing) for name, standing in live.standings.items() if standing.state == state]


def _counted(some: Sequence[object], live: Live) -> str:
    return f"{len(some)} of {len(live.standings)}"


def _ready(parts: Sequence[Verdict]) -> Verdict:
    for part in parts:
        if part.status != "True":
            return part._replace(type="Ready")
    return Verdict("Ready", "True", "Ready", parts[-1].message)


# --- what is said while it is so -------------------------------------------------------------------------


def _abnormal(findings: Findings, ready: Verdict, stream: Verdict) -> Iterator[Verdict]:
    if ready.status != "True" and findings.policy == "Enforce":
        if ready.reason in _FOR_PEOPLE:
            yield Verdict("Stalled", "True", "UserActionNeeded", ready.message)
        elif findings.failures is not None:
            yield Verdict(
                "Stalled",
                "True",
                "RetriesExhausted",
                f"failed {findings.failures} times, tried again now and then: {ready.message}",
            )
        else:
            yield Verdict("Reconciling", "True", "Progressing", ready.message)
    drift = findings.plan.drift if findings.plan is not None else ()
    if drift and stream.status != "True":
        yield Verdict("Drifted", "True", "ConfigDiffers", "; ".join(map(str, drift)))
