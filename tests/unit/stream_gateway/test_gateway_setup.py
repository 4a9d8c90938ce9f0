"""Where a stream begins and ends, over a log: contract sections 7.4 and 16.6."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import pytest

from aviso_core.errors import Unavailable
from aviso_core.eventlog.base import EpochChanged, StreamMissing, StreamRefused, Unsupported
from aviso_core.instant import SECOND, to_text
from aviso_stream_gateway.bounds import FreshBounds
from aviso_stream_gateway.request import Mode
from aviso_stream_gateway.setup import SetUp, SetupFailed, set_up, setting_up
from support.event_logs import asynchronous
from support.stream_parts import HeldLog, announce, asked

# The log's clock begins here; events 1 to 5 are stored a second apart, and 1, 2 and 4 are removed.
BEGIN: Final = 1000 * SECOND
STORED: Final = (3, 5)


async def _filled() -> HeldLog:
    log = HeldLog()
    for number in range(1, 6):
        await announce(log)
        log.clock.advance(1)
        if number not in STORED:
            await log.delete("places", number)
    log.questions.clear()
    return log


async def _set_up(log: HeldLog, mode: Mode, **members: Any) -> SetUp:
    return await set_up(asked(mode, **members), log, FreshBounds(log))


def _second(number: int, *, less: int = 0) -> str:
    """Return the date at which an event was stored, or so many nanoseconds before."""
    return to_text(BEGIN + (number - 1) * SECOND - less)


@pytest.mark.parametrize(
    ("members", "first"),
    [
        ({}, 6),
        ({"from_id": "0"}, 1),
        ({"from_id": "1"}, 1),
        ({"from_id": "4"}, 4),
        ({"from_id": "99"}, 99),
        ({"from_id": str(2**64 - 1)}, 2**64 - 1),
        ({"from_date": _second(3)}, 3),
        ({"from_date": _second(3, less=1)}, 3),
        ({"from_date": _second(3, less=-1)}, 5),
        ({"from_date": "0"}, 3),
        ({"from_date": "2999-01-01T00:00:00Z"}, 6),
    ],
    ids=str,
)
@asynchronous
async def test_a_watch_begins_where_it_asks_to(members: dict[str, Any], first: int) -> None:
    """History ends at the last sequence that was ever given, stored or not."""
    found = await _set_up(await _filled(), Mode.WATCH, **members)
    assert (found.range.first, found.range.last, found.end_sequence) == (first, 5, None)
    assert found.bounds.last == 5


@pytest.mark.parametrize(
    ("members", "last"),
    [
        ({"to_id": "3"}, 3),
        ({"to_id": "0"}, 0),
        ({"to_id": "5"}, 5),
        ({"to_id": "6"}, 5),
        # The sequence before the first event that is stored behind the date.
        ({"to_date": _second(3)}, 4),
        ({"to_date": _second(4)}, 4),
        ({"to_date": _second(5, less=1)}, 4),
        ({"to_date": _second(5)}, 5),
        ({"to_date": _second(3, less=1)}, 2),
        ({"to_date": "0"}, 2),
        ({"to_date": "2999-01-01T00:00:00Z"}, 5),
    ],
    ids=str,
)
@asynchronous
async def test_a_replay_ends_where_it_asks_to(members: dict[str, Any], last: int) -> None:
    """An end before all history is told as the sequence before the first that is stored."""
    found = await _set_up(await _filled(), Mode.REPLAY, from_id="0", **members)
    assert (found.range.first, found.range.last, found.end_sequence) == (1, last, last)


@asynchronous
async def test_an_end_is_told_only_where_one_was_asked_for() -> None:
    found = await _set_up(await _filled(), Mode.REPLAY, from_id="2")
    assert (found.range.last, found.end_sequence) == (5, None)


@pytest.mark.parametrize(
    ("members", "first", "end"),
    [({"from_id": "1"}, 1, None), ({"from_date": "0"}, 1, None), ({"from_id": "1", "to_date": "0"}, 1, 0)],
    ids=str,
)
@asynchronous
async def test_an_event_type_without_events_has_an_empty_history(
    members: dict[str, Any], first: int, end: int | None
) -> None:
    """Asking for it makes nothing."""
    found = await _set_up(HeldLog(), Mode.REPLAY, **members)
    assert (found.range.first, found.range.last, found.end_sequence) == (first, 0, end)


@asynchronous
async def test_what_is_stored_while_dates_are_looked_up_is_no_history() -> None:
    """The end of history was seen before."""
    log = await _filled()
    log.hold("seek")
    setting = asyncio.create_task(_set_up(log, Mode.REPLAY, from_id="1", to_date="2999-01-01T00:00:00Z"))
    await log.wait_asked("seek places")
    await announce(log)
    log.go_on()
    assert (await setting).end_sequence == 5


@pytest.mark.parametrize(
    "failure",
    [
        Unavailable("the log cannot be reached"),
        StreamRefused("too many streams"),
        EpochChanged("made anew"),
        Unsupported("no dates here"),
    ],
    ids=lambda failure: type(failure).__name__,
)
@pytest.mark.parametrize("step", ["bounds", "seek"])
@asynchronous
async def test_a_log_that_fails_is_told_with_the_topic(failure: Exception, step: str) -> None:
    """Contract 2.1: nothing of a stream was sent yet. The end of a replay is found out here as well."""
    log = await _filled()
    log.fail(step, failure)
    with pytest.raises(SetupFailed) as raised:
        await set_up(asked(Mode.REPLAY, from_id="1", to_date="5"), log, FreshBounds(log))
    assert raised.value.topic == "places.*.*"
    assert raised.value.message == "The stream could not be set up"
    assert raised.value.details == str(failure)
    assert raised.value.__cause__ is failure


def test_a_stream_that_is_not_there_yet_is_an_answer_of_its_own() -> None:
    """Somebody else makes it: whoever asks may come again."""
    with pytest.raises(StreamMissing), setting_up(asked()):
        raise StreamMissing("there is no stream for places")
