"""What a status says for what was found: a table of findings, and what holds for all of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from aviso_core.planning.actions import CreateStream
from aviso_core.planning.plan import Obstacle, Plan
from aviso_core.registry.acknowledgements import Standing
from aviso_core.schema.stamps import Stamps
from aviso_core.schema.stream import StreamConfiguration, StreamDifference
from aviso_operator.conditions import ACKNOWLEDGEMENT_SECONDS, verdicts, with_moments
from aviso_operator.findings import Findings, Live, Refusal

CURRENT: Final = Standing(state="current", revision=3)
BEHIND: Final = Standing(state="behind", revision=2)
REJECTED: Final = Standing(
    state="rejected", revision=3, error="field 'x' is of no type that this build knows"
)
DRIFT: Final = (StreamDifference(setting="max_messages", wanted=5, observed=9, loses_data=True),)
CREATE: Final = CreateStream(
    StreamConfiguration(name="ALERT", subjects=("alert.>",)), Stamps(owner="weather/alert")
)


def live(*standings: Standing, is_current: bool = True, waited: float = 0.0) -> Live:
    return Live(
        revision=3,
        spec_hash="sha256:0",
        standings={f"ingest/pod{place}": standing for place, standing in enumerate(standings)},
        is_current=is_current,
        waited_seconds=waited,
    )


def obstacle(concern: str, reason: str, message: str = "why, and what to do") -> Plan:
    made = {"concern": concern, "reason": reason, "message": message}
    drift = DRIFT if concern == "stream" else ()
    return Plan(obstacles=(msgspec.convert(made, Obstacle),), drift=drift)


ALL_IS_WELL: Final = Findings(generation=7, event_type="alert", plan=Plan(), live=live(CURRENT))


def found(**what: Any) -> Findings:
    return replace(ALL_IS_WELL, **what)


# Findings → status and reason of Ready, Accepted, StreamReady, Propagated; then what else is said.
CASES: Final[dict[str, tuple[Findings, list[tuple[str, str]], list[tuple[str, str]]]]] = {
    "all is well": (
        found(),
        [("True", "Ready"), ("True", "Accepted"), ("True", "Programmed"), ("True", "AllReplicas")],
        [],
    ),
    "put right": (
        found(corrected=DRIFT),
        [("True", "Ready"), ("True", "Accepted"), ("True", "DriftCorrected"), ("True", "AllReplicas")],
        [],
    ),
    "a manifest that is none": (
        found(plan=None, invalid="spec.topic.base: wrong", live=None),
        [
            ("False", "InvalidSchema"),
            ("False", "InvalidSchema"),
            ("Unknown", "NotAccepted"),
            ("False", "NotPublished"),
        ],
        [("Stalled", "UserActionNeeded")],
    ),
    "an edit that is refused": (
        found(plan=obstacle("accepted", "Incompatible"), live=live(CURRENT, is_current=False)),
        [
            ("False", "Incompatible"),
            ("False", "Incompatible"),
            ("Unknown", "NotAccepted"),
            ("False", "NotPublished"),
        ],
        [("Stalled", "UserActionNeeded")],
    ),
    "a base that somebody else has": (
        found(plan=obstacle("accepted", "Conflicted"), live=None),
        [
            ("False", "Conflicted"),
            ("False", "Conflicted"),
            ("Unknown", "NotAccepted"),
            ("False", "NotPublished"),
        ],
        [("Stalled", "UserActionNeeded")],
    ),
    "a stream that may not shrink": (
        found(plan=obstacle("stream", "WouldLoseData")),
        [
            ("False", "WouldLoseData"),
            ("True", "Accepted"),
            ("False", "WouldLoseData"),
            ("True", "AllReplicas"),
        ],
        [("Stalled", "UserActionNeeded"), ("Drifted", "ConfigDiffers")],
    ),
    "a broker that refuses": (
        found(refused=Refusal("stream", "InsufficientReplicas", "10074"), live=None),
        [
            ("False", "InsufficientReplicas"),
            ("True", "Accepted"),
            ("False", "InsufficientReplicas"),
            ("False", "NotPublished"),
        ],
        [("Stalled", "UserActionNeeded")],
    ),
    "a schema that the registry refuses": (
        found(refused=Refusal("accepted", "InvalidSchema", "too large"), live=None),
        [
            ("False", "InvalidSchema"),
            ("False", "InvalidSchema"),
            ("Unknown", "NotAccepted"),
            ("False", "NotPublished"),
        ],
        [("Stalled", "UserActionNeeded")],
    ),
    "a broker that is not there": (
        found(plan=None, unreachable="NATS at x: gone"),
        [
            ("Unknown", "NatsUnreachable"),
            ("Unknown", "NatsUnreachable"),
            ("Unknown", "NatsUnreachable"),
            ("True", "AllReplicas"),
        ],
        [("Reconciling", "Progressing")],
    ),
    "a broker that is not there, and an edit": (
        found(plan=None, unreachable="NATS at x: gone", live=live(CURRENT, is_current=False)),
        [
            ("Unknown", "NatsUnreachable"),
            ("Unknown", "NatsUnreachable"),
            ("Unknown", "NatsUnreachable"),
            ("Unknown", "NatsUnreachable"),
        ],
        [("Reconciling", "Progressing")],
    ),
    "a broker that has not been there for long": (
        found(plan=None, unreachable="NATS at x: gone", failures=9),
        [
            ("Unknown", "NatsUnreachable"),
            ("Unknown", "NatsUnreachable"),
            ("Unknown", "NatsUnreachable"),
            ("True", "AllReplicas"),
        ],
        [("Stalled", "RetriesExhausted")],
    ),
    "one process is behind": (
        found(live=live(CURRENT, BEHIND)),
        [
            ("False", "WaitingForReplicas"),
            ("True", "Accepted"),
            ("True", "Programmed"),
            ("False", "WaitingForReplicas"),
        ],
        [("Reconciling", "Progressing")],
    ),
    "one process stays behind": (
        found(live=live(CURRENT, BEHIND, waited=ACKNOWLEDGEMENT_SECONDS)),
        [("False", "AckTimeout"), ("True", "Accepted"), ("True", "Programmed"), ("False", "AckTimeout")],
        [("Reconciling", "Progressing")],
    ),
    "one process cannot": (
        found(live=live(CURRENT, BEHIND, REJECTED)),
        [
            ("False", "ReplicaRejected"),
            ("True", "Accepted"),
            ("True", "Programmed"),
            ("False", "ReplicaRejected"),
        ],
        [("Reconciling", "Progressing")],
    ),
    "nobody serves": (
        found(live=live()),
        [("False", "NoReplicas"), ("True", "Accepted"), ("True", "Programmed"), ("False", "NoReplicas")],
        [("Reconciling", "Progressing")],
    ),
    "observed only": (
        found(policy="Observe", plan=Plan(actions=(CREATE,)), live=None),
        [
            ("False", "ObserveOnly"),
            ("True", "Accepted"),
            ("False", "ObserveOnly"),
            ("False", "NotPublished"),
        ],
        [],
    ),
    "observed, and it differs": (
        found(policy="Observe", plan=Plan(actions=(CREATE,), drift=DRIFT)),
        [("False", "ObserveOnly"), ("True", "Accepted"), ("False", "ObserveOnly"), ("True", "AllReplicas")],
        [("Drifted", "ConfigDiffers")],
    ),
    "observed, and all is well": (
        found(policy="Observe"),
        [("True", "Ready"), ("True", "Accepted"), ("True", "Programmed"), ("True", "AllReplicas")],
        [],
    ),
    "paused": (
        found(policy="Paused", plan=None),
        [("Unknown", "Paused"), ("Unknown", "Paused"), ("Unknown", "Paused"), ("Unknown", "Paused")],
        [],
    ),
    "not published yet": (
        found(live=live(CURRENT, is_current=False)),
        [("False", "NotPublished"), ("True", "Accepted"), ("True", "Programmed"), ("False", "NotPublished")],
        [("Reconciling", "Progressing")],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_said_for_what_was_found(name: str) -> None:
    findings, always, more = CASES[name]
    said = verdicts(findings)
    assert [one.type for one in said[:4]] == ["Ready", "Accepted", "StreamReady", "Propagated"]
    assert [(one.status, one.reason) for one in said[:4]] == always
    assert [(one.type, one.reason) for one in said[4:]] == more
    assert all(one.status == "True" for one in said[4:]), "they are said only while they are so"
    assert all(one.message for one in said)


def test_names_are_told_of_who_is_behind_and_reasons_of_who_cannot() -> None:
    behind = verdicts(found(live=live(CURRENT, BEHIND)))[0].message
    assert "ingest/pod1" in behind
    assert "ingest/pod0" not in behind
    rejected = verdicts(found(live=live(REJECTED)))[0].message
    assert "ingest/pod0: field 'x' is of no type" in rejected


@given(st.sampled_from(sorted(CASES)), st.sampled_from(sorted(CASES)))
def test_a_moment_is_that_of_the_last_change_of_status(first: str, second: str) -> None:
    early = datetime(2026, 1, 1, tzinfo=UTC)
    late = early + timedelta(minutes=5)
    before = with_moments(verdicts(CASES[first][0]), (), generation=1, now=early)
    after = with_moments(verdicts(CASES[second][0]), before, generation=2, now=late)
    known = {one.type: one for one in before}
    for one in after:
        had = known.get(one.type)
        is_same = had is not None and had.status == one.status
        assert one.last_transition_time == (early if is_same else late)
        assert one.observed_generation == 2


@given(st.sampled_from(sorted(CASES)))
def test_ready_only_if_everything_else_is(name: str) -> None:
    ready, *others = verdicts(CASES[name][0])
    if ready.status == "True":
        assert all(one.status == "True" for one in others)
        assert CASES[name][0].live is not None
        assert not {"Reconciling", "Stalled"} & {one.type for one in others}
