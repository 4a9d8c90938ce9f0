"""One open stream and its reader, who may be slow, or gone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aviso_stream_gateway.frames import live
from aviso_stream_gateway.outlet import Piece
from aviso_stream_gateway.session import Cause, Shown
from aviso_stream_gateway.stream import FINISHING_SECONDS, Limits
from support.event_logs import asynchronous
from support.stream_parts import Streaming

if TYPE_CHECKING:
    from aviso_stream_gateway.stream import Stream

OPENING: Final = ["live-notification connection_established", "heartbeat"]
SLOW: Final = Limits(heartbeat_seconds=30, most_waiting_bytes=1000, stalled_seconds=60.0)


def _event(sequence: int, size: int = 0) -> Piece:
    return Piece(live(b'{"sequence":%d,"x":"%s"}' % (sequence, size * b"x")))


def _join(stream: Stream) -> None:
    stream.session.join()
    stream.joined()


@asynchronous
async def test_events_of_now_go_out_as_they_come() -> None:
    streaming = Streaming()
    stream, reader = streaming.stream()
    _join(stream)
    assert [stream.deliver(number, _event(number)) for number in (1, 2, 2)] == [True, True, False]
    assert await reader.take(4) == [*OPENING, "live-notification 1", "live-notification 2"]


@asynchronous
async def test_who_lets_too_much_wait_is_closed_and_told_so_behind_it() -> None:
    """Nothing is left out before the end: the reader resumes behind the last event that it got."""
    streaming = Streaming(SLOW)
    stream, reader = streaming.stream()
    _join(stream)
    assert stream.deliver(1, _event(1, 1000))
    assert not stream.deliver(2, _event(2))
    assert not stream.deliver(3, _event(3))
    assert streaming.ended == [Cause.SLOW]
    assert await reader.rest() == [*OPENING, "live-notification 1", "connection-closing end_of_stream"]
    assert reader.is_ended


@asynchronous
async def test_one_event_may_be_larger_than_what_may_wait() -> None:
    """A reader that keeps up gets it."""
    stream, reader = Streaming(SLOW).stream()
    _join(stream)
    await reader.take(2)
    assert stream.deliver(1, _event(1, 5000))
    assert await reader.take(1) == ["live-notification 1"]
    assert stream.deliver(2, _event(2, 5000))


@asynchronous
async def test_who_has_something_to_read_needs_no_heartbeat() -> None:
    """Or an idle stream of a reader that stands still would fill up."""
    streaming = Streaming()
    stream, reader = streaming.stream()
    _join(stream)
    for _ in range(10):
        streaming.pass_time(31)
    assert await reader.take(2) == OPENING
    streaming.pass_time(31)
    assert await reader.take(1) == ["heartbeat"]


@asynchronous
async def test_a_stream_is_over_in_time_whatever_waits() -> None:
    streaming = Streaming()
    stream, reader = streaming.stream()
    _join(stream)
    streaming.pass_time(3601)
    assert streaming.ended == [Cause.MAX_DURATION]
    assert await reader.rest() == [*OPENING, "connection-closing max_duration_reached"]


@asynchronous
async def test_who_takes_nothing_of_its_history_is_closed() -> None:
    """A stream that catches up waits for its reader, but not for ever."""
    streaming = Streaming(SLOW)
    _, reader = streaming.stream()
    streaming.pass_time(61)
    assert streaming.ended == [], "it was looked at for the first time"
    streaming.pass_time(61)
    assert streaming.ended == [Cause.SLOW]
    assert await reader.rest() == [*OPENING, "connection-closing end_of_stream"]


@asynchronous
async def test_who_takes_something_now_and_then_is_waited_for() -> None:
    """As much may wait for it each time that somebody looks: it is not the same."""
    streaming = Streaming(SLOW)
    stream, reader = streaming.stream()
    await reader.take(2)
    for number in range(1, 6):
        stream.send(stream.session.catch_up([Shown(number, b'{"sequence":%d}' % number)], number))
        streaming.pass_time(61)
        assert await reader.take(1) == [f"live-notification {number}"]
    assert streaming.ended == []


@asynchronous
async def test_nobody_waits_for_who_has_joined() -> None:
    """There is no history to take any more; what waits is bounded instead."""
    streaming = Streaming(SLOW)
    stream, _ = streaming.stream()
    _join(stream)
    for _ in range(5):
        streaming.pass_time(61)
    assert streaming.ended == []


@asynchronous
async def test_a_connection_whose_reader_stands_still_is_cut_behind_the_end() -> None:
    """It gave its place back long before."""
    streaming = Streaming()
    stream, reader = streaming.stream()
    stream.close(Cause.SHUTDOWN)
    assert streaming.ended == [Cause.SHUTDOWN]
    await reader.wait_offered()
    streaming.pass_time(FINISHING_SECONDS + 0.5)
    await reader.wait_over()
    assert (reader.is_cut, reader.is_ended) == (True, False)
    assert stream.slot is None


@asynchronous
async def test_who_leaves_is_let_go_at_once_and_once() -> None:
    streaming = Streaming()
    stream, reader = streaming.stream()
    await reader.leave()
    assert streaming.ended == [Cause.LEFT]
    stream.close(Cause.SHUTDOWN)
    stream.gone()
    assert streaming.ended == [Cause.LEFT]
    assert stream.slot is None


@asynchronous
async def test_what_is_told_is_counted() -> None:
    """Events and errors, and no other frame."""
    streaming = Streaming()
    stream, _ = streaming.stream()
    stream.send(stream.session.catch_up([Shown(1, b"{}"), Shown(2, None, "why", "t"), Shown(3, b"{}")], 3))
    stream.close(Cause.SHUTDOWN)
    assert (streaming.series.sent.value, streaming.series.errors.value) == (2, 1)
