"""What the reference answered to 246 requests, and what the core makes of the same bodies.

`recorded_answers.json` holds one request on each line, in the order in which they were sent, with the facts of its
answer. Where we differ on purpose, `we differ` names the decision and `ours` says what is expected instead.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

import msgspec
import pytest

from aviso_core.envelope import Envelope
from aviso_core.errors import Refusal
from aviso_core.event import (
    EndAt,
    Event,
    FromInstant,
    FromSequence,
    Now,
    StartAt,
    ToInstant,
    ToSequence,
)
from aviso_core.matching.candidate import CandidateMaker
from aviso_core.matching.matcher import Matcher
from aviso_core.span import read_date
from support.catalogs import NOTHING_DECLARED, OPEN
from support.endpoints import Endpoint, Notified, Reading, ask, code_on_the_wire

Row: TypeAlias = dict[str, Any]

ROWS: Final[list[Row]] = json.loads(
    Path(__file__).with_name("recorded_answers.json").read_text(encoding="utf-8")
)
CATALOGS: Final = {"open": OPEN, "no schema": NOTHING_DECLARED}
# Only whether an event was stored between 2020 and 2999 matters to the recorded requests.
WHEN_RECORDED: Final = read_date("2026-03-04T10:00:00Z", name="from_date")
# The replay cap of the server that was recorded.
CAP: Final = 10


def _answer(row: Row) -> Notified | Reading | Refusal:
    data = row["raw"].encode("latin-1") if "raw" in row else msgspec.json.encode(row["body"])
    return ask(CATALOGS[row["catalog"]], row["endpoint"], data)


def _expected(row: Row) -> Row:
    ours: Row = row.get("ours", {})
    return row | ours


def _rows(*, refused: bool) -> list[Row]:
    return [row for row in ROWS if (_expected(row)["code"] != "OK") is refused]


def _named(row: Row) -> str:
    return str(row["name"])


@pytest.mark.parametrize("row", _rows(refused=True), ids=_named)
def test_what_was_refused_is_refused_with_the_same_words(row: Row) -> None:
    """Code, message and details agree, but for a parser's own words behind the colon."""
    refusal, expected = _answer(row), _expected(row)
    assert isinstance(refusal, Refusal)
    assert code_on_the_wire(refusal, cast("Endpoint", row["endpoint"])) == expected["code"]
    if expected["message"].endswith(": "):
        assert refusal.message.startswith(expected["message"])
        assert refusal.details == refusal.message
    else:
        assert refusal.message == expected["message"]
        # The answer to an unknown event type has no details.
        assert (expected.get("details", expected["message"]) or refusal.details) == refusal.details


@pytest.mark.parametrize("row", _rows(refused=False), ids=_named)
def test_what_was_taken_is_taken(row: Row) -> None:
    """Streams show the topic that was recorded."""
    answer = _answer(row)
    assert not isinstance(answer, Refusal), answer
    if isinstance(answer, Reading):
        assert answer.selection.topic == row["topic"]


def _stored() -> dict[str, Event]:
    """Return the events of the recording by the names of their notifications, with its sequences."""
    events = {}
    for row in ROWS:
        answer = _answer(row) if "sequence" in row else None
        if isinstance(answer, Notified):
            events[row["name"]] = Event(
                event_type=row["body"]["event_type"] if "body" in row else "storms",
                sequence=row["sequence"],
                instant=WHEN_RECORDED,
                subject=answer.announced.subject,
                identifier=answer.announced.identifier,
                geometry=answer.announced.geometry,
                payload=answer.payload,
            )
    return events


EVENTS: Final = _stored()


@pytest.mark.parametrize("row", [row for row in ROWS if "data" in row], ids=_named)
def test_notifications_come_back_as_recorded(row: Row) -> None:
    """`data` of the CloudEvent is the same: canonical texts, array polygon, payload."""
    event = EVENTS[row["name"]]
    envelope = Envelope(event_type=event.event_type, base_url="http://localhost:8000")
    assert json.loads(envelope.render(event))["data"] == row["data"]


@pytest.mark.parametrize("row", [row for row in ROWS if "delivers" in row], ids=_named)
def test_replays_deliver_what_was_recorded(row: Row) -> None:
    """Filter, start and end select the same events in the same order, as many as the recorded server's cap."""
    reading = _answer(row)
    assert isinstance(reading, Reading)
    matcher = Matcher(reading.selection.filter)
    candidates = CandidateMaker(OPEN.event_types[reading.selection.filter.event_type].schema)
    delivered = [
        name
        for name, event in EVENTS.items()
        if event.event_type == reading.selection.filter.event_type
        and _is_between(event, reading.start, reading.end)
        and matcher.selects(candidates.of(event))
    ]
    assert delivered[:CAP] == _expected(row)["delivers"]
    assert (len(delivered) > CAP) is row.get("limited", False)


def _is_between(event: Event, start: StartAt, end: EndAt | None) -> bool:
    match start:
        case Now():
            begun = False
        case FromSequence(sequence):
            begun = event.sequence >= sequence
        case FromInstant(instant):
            begun = event.instant >= instant
    match end:
        case None:
            return begun
        case ToSequence(sequence):
            return begun and event.sequence <= sequence
        case ToInstant(instant):
            return begun and event.instant <= instant


def test_the_table_is_whole() -> None:
    """An edit that loses rows is noticed."""
    assert len(ROWS) == 246
    assert len(EVENTS) == 56
    assert sum("data" in row for row in ROWS) == 30
    assert sum("delivers" in row for row in ROWS) == 26
