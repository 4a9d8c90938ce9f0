"""Explaining: what a request may hold, who may have events counted, and how far the counting comes."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from aviso_core.errors import (
    InvalidIdentifier,
    InvalidJson,
    InvalidRequest,
    InvalidRequestShape,
    Overloaded,
    Refusal,
    UnknownField,
)
from aviso_http.access.user import User
from aviso_stream_gateway.bounds import FreshBounds
from aviso_stream_gateway.explaining.answer import Permission, explained
from aviso_stream_gateway.explaining.dry_run import (
    BURST,
    EVERY_SECONDS,
    MOST_EVENTS,
    MOST_SECONDS,
    DryRun,
    DryRuns,
    TooManyDryRuns,
    count_selected,
)
from aviso_stream_gateway.explaining.found import NotHeld, described_event, find_event
from aviso_stream_gateway.explaining.request import Described, read_explain_body
from aviso_stream_gateway.moment import Timekeeper
from aviso_stream_gateway.runs import Runs
from aviso_stream_gateway.showing import Showing
from support.event_logs import asynchronous, fill, record
from support.registries import ManualClock
from support.stream_parts import BASE_URL, CATALOG, HeldLog, announce, asked

FILTER: Final = {"event_type": "places", "identifier": {"place": "here"}}
SHOWING: Final = Showing("places", CATALOG.get("places"), base_url=BASE_URL)
ALLOWED: Final = Permission(passed=True, rule="open", reason="anybody may")

# --- the request -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("members", "seconds"),
    [
        ({"sequence": 1}, None),
        ({"sequence": 2**64 - 1}, None),
        ({"event": {"identifier": {}}}, None),
        ({"event": {"identifier": {"place": "here"}, "payload": [1]}}, None),
        ({"dry_run": "90s"}, 90),
        ({"dry_run": "2W"}, 1_209_600),
        ({"sequence": 1, "dry_run": "1h"}, 3600),
        ({"sequence": None, "event": None, "dry_run": "1h"}, 3600),
    ],
)
def test_a_body_has_something_to_explain(members: dict[str, Any], seconds: int | None) -> None:
    """One event, or the events of the last while, or both."""
    body = read_explain_body(json.dumps(FILTER | members).encode())
    assert (body.event_type, body.identifier) == ("places", {"place": "here"})
    assert body.dry_run_seconds == seconds


@pytest.mark.parametrize(
    ("data", "refusal", "reason"),
    [
        (b"", InvalidJson, "JSON parsing failed: "),
        (b"{", InvalidJson, "JSON parsing failed: "),
        (b"[]", InvalidRequestShape, "Expected `object`, got `array`"),
        ({"sequence": 1, "from_id": "1"}, UnknownField, "Unknown field 'from_id' in request"),
        ({"sequence": "1"}, InvalidRequestShape, "$.sequence"),
        ({"sequence": True}, InvalidRequestShape, "$.sequence"),
        ({"sequence": 1.5}, InvalidRequestShape, "$.sequence"),
        ({"sequence": 10**30}, InvalidRequest, "sequence must be a positive integer of 64 bits"),
        ({"sequence": 2**64}, InvalidRequest, "sequence must be a positive integer of 64 bits"),
        ({"sequence": 0}, InvalidRequest, "sequence must be a positive integer of 64 bits"),
        ({"sequence": -1}, InvalidRequest, "sequence must be a positive integer of 64 bits"),
        ({"event": {}}, InvalidRequestShape, "missing required field `identifier` - at `$.event`"),
        ({"event": {"identifier": {}, "x": 1}}, InvalidRequestShape, "unknown field `x` - at `$.event`"),
        ({"event": []}, InvalidRequestShape, "$.event"),
        ({"identifier": [], "sequence": 1}, InvalidRequestShape, "$.identifier"),
        ({"event_type": 1, "sequence": 1}, InvalidRequestShape, "$.event_type"),
        ({"dry_run": 60}, InvalidRequestShape, "$.dry_run"),
        ({"dry_run": "60"}, InvalidRequest, "dry_run: '60' is not a duration"),
        ({"dry_run": "0s"}, InvalidRequest, "dry_run must be longer than nothing"),
        ({"dry_run": "9999999999w"}, InvalidRequest, "is too long"),
        ({}, InvalidRequest, "There is nothing to explain"),
        ({"sequence": 1, "event": {"identifier": {}}}, InvalidRequest, "give sequence or event, not both"),
    ],
    ids=repr,
)
def test_anything_else_is_refused(data: Any, refusal: type[Refusal], reason: str) -> None:
    """With the class that says what kind of fault it is."""
    sent = data if isinstance(data, bytes) else json.dumps(FILTER | data).encode()
    with pytest.raises(refusal) as refused:
        read_explain_body(sent)
    assert reason in refused.value.message


# --- the event -------------------------------------------------------------------------------------------


@asynchronous
async def test_an_event_of_the_log_is_found() -> None:
    """By its sequence."""
    log = HeldLog()
    for place in ("here", "there"):
        await announce(log, place)
    item = await find_event(log, FreshBounds(log), SHOWING, "places", 2)
    assert (item.sequence, item.event.identifier["place"]) == (2, "there")
    assert log.open_reads == 0


@pytest.mark.parametrize(
    ("sequence", "holds"),
    [(3, "it holds 1 to 5"), (4, "it holds 1 to 5"), (6, "it holds 1 to 5"), (2**64 - 1, "it holds 1 to 5")],
)
@asynchronous
async def test_what_is_not_there_is_not_found(sequence: int, holds: str) -> None:
    """Removed, of another event type, or not stored yet; what there is is told."""
    log = HeldLog()
    for _ in range(3):
        await announce(log)
    await fill(log, [record("places.only")], base="places")
    await announce(log)
    await log.delete("places", 3)
    with pytest.raises(NotHeld, match=f"under sequence {sequence}; {holds}"):
        await find_event(log, FreshBounds(log), SHOWING, "places", sequence)


@asynchronous
async def test_an_empty_log_says_what_comes_next() -> None:
    """Because it holds nothing."""
    log = HeldLog()
    with pytest.raises(NotHeld, match="it holds nothing, and the next is 1"):
        await find_event(log, FreshBounds(log), SHOWING, "places", 1)


def test_a_described_event_is_checked_as_a_notification_is() -> None:
    """All of its fields, each by its own rules."""
    item = described_event(SHOWING, Described(identifier={"place": "here", "step": 7}))
    assert item.event.identifier == {"place": "here", "step": "7"}
    with pytest.raises(InvalidIdentifier, match="Required field 'step' missing for notify"):
        described_event(SHOWING, Described(identifier={"place": "here"}))


def test_why_an_event_is_not_delivered_is_said_for_each_clause() -> None:
    """Those that pass, too."""
    item = described_event(SHOWING, Described(identifier={"place": "here", "step": 7}))
    told = explained(asked(identifier={"place": "here", "step": "8"}).selection.filter, item, ALLOWED)
    assert not told.delivered
    assert [(one.field, one.wanted, one.found, one.passed) for one in told.clauses] == [
        ("place", "here", "here", True),
        ("step", "8", "7", False),
    ]
    assert (told.sequence, told.time) == (None, None)


def test_what_nobody_is_shown_is_not_delivered() -> None:
    """An undeclared event type: its filter selects, and its events cannot be shown."""
    showing = Showing("any", None, base_url=BASE_URL)
    item = described_event(showing, Described(identifier={"a": "1"}))
    told = explained(asked(event_type="any", identifier={"a": "1"}).selection.filter, item, ALLOWED)
    assert not told.delivered
    assert [(one.field, one.operator, one.passed) for one in told.clauses] == [
        ("identifier", "number_of_values", True),
        ("#0", "equals", True),
        ("event", "can_be_shown", False),
    ]


def test_who_may_not_read_is_delivered_nothing() -> None:
    """Whatever the filter selects."""
    item = described_event(SHOWING, Described(identifier={"place": "here", "step": 7}))
    refused = Permission(passed=False, rule="read_roles", reason="not this one")
    assert not explained(asked().selection.filter, item, refused).delivered
    assert explained(asked().selection.filter, item, ALLOWED).delivered


# --- counting --------------------------------------------------------------------------------------------


async def counted(log: HeldLog, *, seconds: int = 3600, place: str = "here") -> DryRun:
    """Count what a filter would have selected."""
    selection = asked(identifier={"place": place}).selection
    return await count_selected(
        log,
        FreshBounds(log),
        Runs(log),
        Timekeeper(log.clock),
        base="places",
        showing=SHOWING,
        selection=selection,
        seconds=seconds,
    )


@asynchronous
async def test_the_events_of_the_last_while_are_counted() -> None:
    """Those from the beginning of it, and how many that is in an hour."""
    log = HeldLog()
    await announce(log)
    log.clock.advance(1800)
    for place in ("here", "there", "here"):
        await announce(log, place)
    log.clock.advance(900)
    found = await counted(log, seconds=1200, place="*")
    assert (found.complete, found.examined, found.matched, found.matched_per_hour) == (True, 3, 3, 9.0)
    assert (found.first_sequence, found.through_sequence, found.last_sequence) == (2, 4, 4)
    assert (found.from_time, found.through_time) == ("1970-01-01T00:41:40Z", "1970-01-01T01:01:40Z")
    assert (await counted(log)).matched == 3
    assert (await counted(log, place="nowhere")).matched == 0


@asynchronous
async def test_nothing_is_counted_where_nothing_is() -> None:
    """And that is complete."""
    found = await counted(HeldLog())
    assert (found.complete, found.examined, found.matched, found.matched_per_hour) == (True, 0, 0, 0.0)


@asynchronous
async def test_counting_ends_with_so_many_events() -> None:
    """How far it came is said, and the rate is that of the time that it covers."""
    log = HeldLog()
    records = [record(f"places.here.{step}", b"1") for step in (2, 3)] * 500
    for _ in range(MOST_EVENTS // 1000):
        await fill(log, records, base="places")
    log.clock.advance(600)
    await announce(log)
    found = await counted(log, seconds=1200)
    assert (found.complete, found.examined, found.matched) == (False, MOST_EVENTS, MOST_EVENTS)
    assert (found.through_sequence, found.last_sequence) == (MOST_EVENTS, MOST_EVENTS + 1)
    assert found.matched_per_hour == MOST_EVENTS * 6


@asynchronous
async def test_counting_does_not_wait_for_ever() -> None:
    """What was counted until then is the answer."""
    log = HeldLog()
    await announce(log)
    log.hold("read")
    found = await count_selected(
        log,
        FreshBounds(log),
        Runs(log),
        Timekeeper(log.clock),
        base="places",
        showing=SHOWING,
        selection=asked().selection,
        seconds=60,
        most_seconds=0.01,
    )
    assert (found.complete, found.examined, found.through_sequence, found.last_sequence) == (False, 0, 0, 1)
    assert log.open_reads == 0


# --- who may have something counted ----------------------------------------------------------------------

ANN: Final = User(name="ann", realm="main", roles=())
BOB: Final = User(name="bob", realm="main", roles=())


def count_once(subject: DryRuns, user: User | None, address: str = "here") -> None:
    """Have something counted."""
    with subject.admitted(user, address):
        pass


def test_a_caller_may_count_now_and_then() -> None:
    """Several times at first, then as time passes; others have their own."""
    clock = ManualClock()
    subject = DryRuns(Timekeeper(clock))
    for _ in range(BURST):
        count_once(subject, ANN)
    with pytest.raises(TooManyDryRuns) as refused:
        count_once(subject, ANN)
    assert refused.value.retry_after_seconds == EVERY_SECONDS
    count_once(subject, BOB)
    clock.advance(EVERY_SECONDS)
    count_once(subject, ANN)
    with pytest.raises(TooManyDryRuns):
        count_once(subject, ANN)
    clock.advance(BURST * EVERY_SECONDS)
    for _ in range(BURST):
        count_once(subject, ANN)


def test_who_is_not_known_counts_by_address() -> None:
    """Everybody from one address together."""
    subject = DryRuns(Timekeeper(ManualClock()))
    for _ in range(BURST):
        count_once(subject, None)
    with pytest.raises(TooManyDryRuns):
        count_once(subject, None)
    count_once(subject, None, "there")


def test_few_count_at_the_same_time() -> None:
    """Whoever they are; who is refused for it has lost nothing."""
    subject = DryRuns(Timekeeper(ManualClock()))
    users = [User(name=f"user {n}", realm="main", roles=()) for n in range(4)]
    with (
        subject.admitted(users[0], ""),
        subject.admitted(users[1], ""),
        subject.admitted(users[2], ""),
        subject.admitted(users[3], ""),
        pytest.raises(Overloaded) as refused,
    ):
        count_once(subject, ANN)
    assert not isinstance(refused.value, TooManyDryRuns)
    assert refused.value.retry_after_seconds == MOST_SECONDS
    for _ in range(BURST):
        count_once(subject, ANN)
