"""Replay for machines, in lines: who gets it, what a line is, and when the beginning of a range is missing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aviso_core.eventlog.base import Bounds
from aviso_stream_gateway.machines.accepted import Form, form_of
from aviso_stream_gateway.machines.form import Ending
from aviso_stream_gateway.machines.held import Overtaken, RangeRemoved, RemovedMeanwhile, check_held
from aviso_stream_gateway.machines.lines import LineWriter
from aviso_stream_gateway.playback import Range
from aviso_stream_gateway.request import Mode
from aviso_stream_gateway.setup import SetUp
from aviso_stream_gateway.showing import Showing
from support.event_logs import asynchronous
from support.stream_parts import BASE_URL, CATALOG, HeldLog, announce, asked, entries_of

# --- which form ------------------------------------------------------------------------------------------

LINES, ARROW = "application/x-ndjson", "application/vnd.apache.arrow.stream"


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ([], Form.FRAMES),
        ([""], Form.FRAMES),
        (["*/*"], Form.FRAMES),
        (["text/event-stream"], Form.FRAMES),
        (["application/json"], Form.FRAMES),
        (["application/*"], Form.FRAMES),
        (["application/ndjson"], Form.FRAMES),
        ([f"x{LINES}"], Form.FRAMES),
        ([LINES], Form.LINES),
        ([LINES.upper()], Form.LINES),
        ([f"  {LINES} ; charset=utf-8 "], Form.LINES),
        ([f"{LINES}, */*;q=0.1"], Form.LINES),
        ([f"*/*;q=0.1, {LINES}"], Form.LINES),
        ([ARROW], Form.ARROW),
        ([f"{ARROW}, {LINES}"], Form.ARROW),
        ([f"{LINES}, {ARROW}"], Form.LINES),
        ([f"{LINES};q=0.5, {ARROW};q=0.8"], Form.ARROW),
        ([f"text/event-stream, {LINES}"], Form.FRAMES),
        ([f"text/event-stream;q=0.9, {LINES}"], Form.LINES),
        ([f"{LINES};q=0"], Form.FRAMES),
        ([f"{LINES};q=0.000"], Form.FRAMES),
        ([f"{LINES};q=0, {ARROW}"], Form.ARROW),
        ([f"{LINES};q=x"], Form.LINES),
        ([f"{LINES};q=nan"], Form.FRAMES),
        (["text/html;q=0.2", LINES], Form.LINES),
        ([",,;", LINES], Form.LINES),
    ],
)
def test_a_form_for_machines_is_for_who_wants_it_most(accept: list[str], form: Form) -> None:
    """Everybody else gets the frames that there always were."""
    headers = [(b"host", b"x"), *((b"accept", value.encode()) for value in accept)]
    assert form_of(headers) is form


@given(st.binary(max_size=60))
def test_any_header_has_a_form(value: bytes) -> None:
    """Nothing that a client says there is a fault of the request."""
    assert form_of([(b"accept", value)]) in Form


# --- lines -----------------------------------------------------------------------------------------------


@asynchronous
async def test_an_event_is_a_line_and_the_end_is_another() -> None:
    """A line is the CloudEvent that a stream would have, byte by byte."""
    log = HeldLog()
    for place in ("here", "there"):
        await announce(log, place)
    showing = Showing("places", CATALOG.get("places"), base_url=BASE_URL)
    items = [item for entry in await entries_of(log) if (item := showing.read(entry)) is not None]
    writer = LineWriter(shows_actor=False)
    written = writer.rows(items) + writer.end(Ending(complete=True, last=7, count=2))
    *events, ending, rest = written.split(b"\n")
    assert events == [item.cloud_event(show_actor=False) for item in items]
    assert (ending, rest) == (b'{"complete":true,"last":7,"count":2}', b"")


def test_what_is_not_as_usual_is_said_at_the_end() -> None:
    """Events that are left out, and that there are more than one request may have."""
    ending = Ending(complete=False, last=7, count=2, failed=3, max_allowed=2)
    said = json.loads(LineWriter(shows_actor=False).end(ending))
    assert said == {"complete": False, "last": 7, "count": 2, "failed": 3, "max_allowed": 2}


# --- a range whose beginning was removed -----------------------------------------------------------------


def bounds(first: int, last: int, *, epoch: str = "e", last_instant: int | None = None) -> Bounds:
    """Return what a log holds."""
    messages = max(0, last - first + 1)
    return Bounds(
        epoch=epoch, first=first, last=last, messages=messages, bytes=messages, last_instant=last_instant
    )


def set_up(first: int, last: int, held: Bounds) -> SetUp:
    """Return a range that was set up."""
    return SetUp(Range(first, last, held), last)


LATE = "2030-01-01T00:00:00Z"
LATER = "2031-01-01T00:00:00Z"
LATE_INSTANT = 1_893_456_000_000_000_000


@pytest.mark.parametrize(
    ("members", "setup", "is_removed"),
    [
        # By sequence: what is named has to be there.
        ({"from_id": "4", "to_id": "9"}, set_up(4, 9, bounds(5, 9)), True),
        ({"from_id": "5", "to_id": "9"}, set_up(5, 9, bounds(5, 9)), False),
        ({"from_id": "1", "to_id": "3"}, set_up(1, 3, bounds(5, 9)), True),
        ({"from_id": "1", "to_id": "9"}, set_up(1, 9, bounds(1, 9)), False),
        ({"from_id": "1", "to_id": "9"}, set_up(1, 9, bounds(10, 9)), True),
        ({"from_id": "12", "to_id": "20"}, set_up(12, 9, bounds(10, 9)), False),
        # 0 names nothing: it is what there is.
        ({"from_id": "0", "to_id": "9"}, set_up(1, 9, bounds(5, 9)), False),
        # An end before everything is an empty range.
        ({"from_date": LATE, "to_id": "0"}, set_up(5, 0, bounds(5, 9)), False),
        # Without an end it is no range that could be read twice.
        ({"from_id": "1"}, set_up(1, 9, bounds(5, 9)), False),
        ({"from_date": LATE}, set_up(5, 9, bounds(5, 9)), False),
        # By date: whether there was something before what is held, and not before the date, nobody knows.
        ({"from_date": LATE, "to_date": LATER}, set_up(5, 9, bounds(5, 9)), True),
        ({"from_date": LATE, "to_id": "9"}, set_up(5, 9, bounds(5, 9)), True),
        ({"from_date": LATE, "to_date": LATER}, set_up(5, 4, bounds(5, 9)), True),
        ({"from_date": LATE, "to_date": LATER}, set_up(6, 9, bounds(5, 9)), False),
        ({"from_date": LATE, "to_date": LATER}, set_up(1, 9, bounds(1, 9)), False),
        ({"from_date": LATE, "to_date": LATER}, set_up(10, 9, bounds(10, 9)), True),
        (
            {"from_date": LATE, "to_date": LATER},
            set_up(10, 9, bounds(10, 9, last_instant=LATE_INSTANT - 1)),
            False,
        ),
        (
            {"from_date": LATE, "to_date": LATER},
            set_up(10, 9, bounds(10, 9, last_instant=LATE_INSTANT)),
            True,
        ),
    ],
)
def test_a_range_that_lost_its_beginning_is_refused(
    members: dict[str, Any], setup: SetUp, is_removed: bool
) -> None:
    """Only one with an end, and the refusal says where what is held begins."""
    wanted = asked(Mode.REPLAY, **members)
    if not is_removed:
        check_held(wanted, setup)
        return
    with pytest.raises(RangeRemoved) as refused:
        check_held(wanted, setup)
    assert refused.value.first_held == setup.bounds.first


def test_removing_that_overtakes_a_reader_is_noticed() -> None:
    """What was read before may go; what was to be read next may not."""
    overtaken = Overtaken(asked(Mode.REPLAY, from_id="1", to_id="9"), set_up(1, 9, bounds(1, 9)))
    overtaken.check(3, bounds(1, 9))
    overtaken.check(6, bounds(4, 12))
    with pytest.raises(RemovedMeanwhile, match="begins with 8, and 7 was to be read"):
        overtaken.check(9, bounds(8, 12))


def test_a_range_begins_with_what_is_held_at_first() -> None:
    """Where the request names nothing before it."""
    overtaken = Overtaken(asked(Mode.REPLAY, from_id="0", to_id="9"), set_up(1, 9, bounds(5, 9)))
    overtaken.check(7, bounds(5, 9))
    with pytest.raises(RemovedMeanwhile):
        overtaken.check(9, bounds(9, 9))


def test_a_log_that_was_made_anew_is_not_read_on() -> None:
    """Its sequences are others."""
    overtaken = Overtaken(asked(Mode.REPLAY, from_id="1", to_id="9"), set_up(1, 9, bounds(1, 9)))
    with pytest.raises(RemovedMeanwhile):
        overtaken.check(3, bounds(1, 9, epoch="another"))


def test_only_a_range_with_an_end_is_watched() -> None:
    """Asking the log after each page is not free."""
    ends: list[dict[str, Any]] = [{"to_id": "9"}, {}]
    setup = set_up(1, 9, bounds(1, 9))
    assert [Overtaken(asked(Mode.REPLAY, from_id="1", **end), setup).is_watched for end in ends] == [
        True,
        False,
    ]
