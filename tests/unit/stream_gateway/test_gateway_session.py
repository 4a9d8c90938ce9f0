"""The life of one stream: the tables of contract sections 7.2 to 7.5."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from aviso_core.instant import SECOND, to_seconds_text
from aviso_stream_gateway.moment import Moment
from aviso_stream_gateway.session import Cause, Opening, Phase, Session, Shown
from support.stream_parts import kinds, read_frames

if TYPE_CHECKING:
    from collections.abc import Callable

HEARTBEAT_SECONDS: Final = 30
FROM_ONE: Final = Opening(
    batch_size=100, from_sequence=1, from_instant=None, to_instant=None, end_sequence=None
)
STARTED: Final = "replay-control replay_started"
COMPLETED: Final = "replay-control replay_completed"
LIMITED: Final = "replay-control notification_replay_limit_reached"
ESTABLISHED: Final = "live-notification connection_established"
FAILED: Final = "error stream_processing_failed"


def at(seconds: float) -> Moment:
    """Return a moment so long after the beginning."""
    return Moment(to_seconds_text(int(seconds) * SECOND), seconds)


def session(*, goes_on: bool = True, limit: int = 100, closes_at: float | None = 3600.0) -> Session:
    return Session(
        topic="t.*",
        request_id="r",
        position=0,
        goes_on=goes_on,
        limit=limit,
        closes_at=closes_at if goes_on else None,
    )


def shown(*sequences: int) -> list[Shown]:
    """Return events that can be shown; one with a negative number cannot."""
    return [
        Shown(number, b'{"sequence":%d}' % number)
        if number > 0
        else Shown(-number, None, "no shape", "t.own")
        for number in sequences
    ]


def opened(session: Session) -> Session:
    """Open with history."""
    session.open_history(at(0), FROM_ONE, heartbeat_seconds=HEARTBEAT_SECONDS)
    return session


# --- the order of frames (7.3) ---------------------------------------------------------------------------


def test_a_live_watch() -> None:
    """It opens, beats, gets what is dispatched, and is closed."""
    stream = session()
    assert kinds(stream.open_live(at(0), heartbeat_seconds=30)) == [ESTABLISHED, "heartbeat"]
    assert kinds(stream.catch_up(shown(1), 1)) == ["live-notification 1"]
    stream.join()
    assert stream.take(2)
    assert kinds(stream.tick(at(3600), heartbeat_seconds=30)) == ["connection-closing max_duration_reached"]
    assert stream.cause is Cause.MAX_DURATION


def test_a_watch_with_a_start() -> None:
    stream = session()
    data = stream.open_history(at(0), FROM_ONE, heartbeat_seconds=30)
    data += stream.history(shown(1, 2), 2, at(1))
    data += stream.history(shown(4), 5, at(2))
    data += stream.history_ended(5, at(3))
    data += stream.catch_up(shown(6), 7)
    assert kinds(data) == [
        STARTED,
        "heartbeat",
        "replay 1",
        "replay 2",
        "replay 4",
        COMPLETED,
        "live-notification 6",
    ]
    assert stream.phase is Phase.CATCHING_UP
    assert stream.position == 7


def test_a_replay() -> None:
    """It has no heartbeats, lasts as long as it lasts, and ends by itself."""
    stream = session(goes_on=False)
    data = stream.open_history(at(0), FROM_ONE, heartbeat_seconds=30)
    data += stream.history(shown(1), 1, at(1))
    assert stream.due_at is None
    assert stream.tick(at(1_000_000), heartbeat_seconds=30) == b""
    data += stream.history_ended(1, at(1_000_000))
    assert kinds(data) == [STARTED, "replay 1", COMPLETED, "connection-closing end_of_stream"]
    assert stream.cause is Cause.FINISHED


@pytest.mark.parametrize("goes_on", [True, False])
def test_a_batch_that_fails(goes_on: bool) -> None:
    """No `replay_completed`, nothing live: a stream with a hole in it must not go on."""
    stream = opened(session(goes_on=goes_on))
    data = stream.history(shown(1), 1, at(1)) + stream.history_failed("the log is away", at(2))
    told = read_frames(data)
    assert kinds(data) == ["replay 1", FAILED, "connection-closing end_of_stream"]
    assert told[1].data["message"] == "the log is away"
    assert told[1].data["topic"] == "t.*"
    assert (stream.events, stream.failures, stream.cause) == (1, 1, Cause.HISTORY_FAILED)


def test_an_event_that_cannot_be_shown_leaves_its_place_to_an_error() -> None:
    """The stream goes on, in history, behind it, and live."""
    stream = opened(session())
    data = stream.history(shown(1, -2, 3), 3, at(1)) + stream.history_ended(3, at(1))
    data += stream.catch_up(shown(-4, 5), 5)
    stream.join()
    assert stream.take(6)
    data += stream.not_rendered(shown(-6)[0])
    assert kinds(data) == [
        *("replay 1", "error 2", "replay 3", COMPLETED, "error 4", "live-notification 5", "error 6"),
    ]
    assert (stream.events, stream.failures) == (3, 3)
    failed = read_frames(data)[1].data
    assert failed == {
        "error": "CloudEvent creation failed",
        "message": "no shape",
        "request_id": "r",
        "sequence": 2,
        "topic": "t.own",
    }


# --- what frames tell ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("closes_at", "told"), [(3600.0, 3600), (3599.4, 3599), (0.2, 0), (-5.0, 0)], ids=str
)
def test_the_first_frame_tells_when_it_will_be_over(closes_at: float, told: int) -> None:
    """Never less than nothing, though the token may have expired meanwhile."""
    data = session(closes_at=closes_at).open_live(at(0), heartbeat_seconds=30)
    assert read_frames(data)[0].data["connection_will_close_in_seconds"] == told


def test_a_start_and_an_end_are_told_in_whole_seconds() -> None:
    opening = Opening(
        batch_size=7, from_sequence=None, from_instant=SECOND - 1, to_instant=2 * SECOND + 5, end_sequence=9
    )
    told = read_frames(session(goes_on=False).open_history(at(0), opening, heartbeat_seconds=30))[0].data
    assert told["batch_size"] == 7
    assert told["from_date"] == "1970-01-01T00:00:00Z"
    assert told["to_date"] == "1970-01-01T00:00:02Z"
    assert (told["from_sequence"], told["end_sequence"]) == (None, 9)


def test_a_frame_tells_the_moment_at_which_it_was_made() -> None:
    stream = session()
    data = stream.open_history(at(0), FROM_ONE, heartbeat_seconds=30)
    data += stream.history_ended(0, at(7)) + stream.tick(at(30), heartbeat_seconds=30)
    data += stream.end(Cause.SHUTDOWN, at(31))
    assert [told.data["timestamp"][-3:-1] for told in read_frames(data)] == ["00", "00", "07", "30", "31"]


@pytest.mark.parametrize("cause", Cause)
def test_the_wire_knows_three_reasons(cause: Cause) -> None:
    """The released client takes an unknown one as final."""
    stream = opened(session())
    (told,) = read_frames(stream.end(cause, at(1)))
    wanted = {
        Cause.MAX_DURATION: ("max_duration_reached", "Connection reached maximum duration"),
        Cause.EXPIRED: ("max_duration_reached", "Connection reached maximum duration"),
        Cause.SHUTDOWN: ("server_shutdown", "Server is shutting down gracefully"),
    }.get(cause, ("end_of_stream", "Stream completed"))
    assert (told.data["reason"], told.data["message"]) == wanted
    assert stream.cause is cause


# --- the cap and the look beyond it (7.5) ----------------------------------------------------------------


@pytest.mark.parametrize("goes_on", [True, False])
@pytest.mark.parametrize(
    ("batches", "ends_with"),
    [
        # Exactly as many as there may be: that is all there is.
        ([[1, 2]], ["replay 1", "replay 2", COMPLETED]),
        ([[1], [2]], ["replay 1", "replay 2", COMPLETED]),
        # One more that can be shown, at once or in a later batch.
        ([[1, 2, 3]], ["replay 1", "replay 2", LIMITED]),
        ([[1, 2], [], [3, 4]], ["replay 1", "replay 2", LIMITED]),
        # What cannot be shown is no event: it takes no place, and it is not the one more.
        ([[-1, 2, -3, 4]], ["error 1", "replay 2", "error 3", "replay 4", COMPLETED]),
        ([[1, 2], [-3]], ["replay 1", "replay 2", "error 3", COMPLETED]),
        ([[1, 2, -3, 4, -5]], ["replay 1", "replay 2", "error 3", LIMITED]),
        ([], [COMPLETED]),
    ],
)
def test_history_has_a_cap(batches: list[list[int]], ends_with: list[str], goes_on: bool) -> None:
    """A stream that reached it ends, whether or not it would have gone on; `max_allowed` says what it was."""
    stream = opened(session(goes_on=goes_on, limit=2))
    data = b""
    for batch in batches:
        data += stream.history(shown(*batch), max(map(abs, batch), default=0), at(1))
    if not stream.is_over:
        data += stream.history_ended(9, at(2))
    is_over = not goes_on or ends_with[-1] == LIMITED
    assert kinds(data) == ends_with + ["connection-closing end_of_stream"] * is_over
    if ends_with[-1] == LIMITED:
        assert stream.cause is Cause.LIMIT_REACHED
        (limited,) = (told for told in read_frames(data) if told.kind == LIMITED)
        assert limited.data["max_allowed"] == 2
        assert limited.data["message"] == (
            "Historical replay limited to 2 messages. "
            "Additional historical messages may be available but were not retrieved."
        )


def test_the_look_beyond_the_cap_may_fail() -> None:
    """That is a batch that failed and not a cap that was reached."""
    stream = opened(session(limit=1))
    data = stream.history(shown(1), 1, at(1)) + stream.history_failed("gone", at(2))
    assert kinds(data) == ["replay 1", FAILED, "connection-closing end_of_stream"]


def test_the_cap_is_one_of_history_alone() -> None:
    stream = opened(session(limit=1))
    stream.history(shown(1), 1, at(1))
    stream.history_ended(1, at(1))
    assert kinds(stream.catch_up(shown(2, 3), 3)) == ["live-notification 2", "live-notification 3"]


# --- time ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("with_history", [True, False])
def test_heartbeats_come_from_the_opening_on_whatever_else_is_sent(with_history: bool) -> None:
    """The first right after the first frame, then one at each interval, in history as well as live."""
    stream = session()
    if with_history:
        data = stream.open_history(at(0), FROM_ONE, heartbeat_seconds=30)
    else:
        data = stream.open_live(at(0), heartbeat_seconds=30)
    assert kinds(data)[1:] == ["heartbeat"]
    assert stream.due_at == 30
    assert stream.tick(at(29.9), heartbeat_seconds=30) == b""
    assert kinds(stream.tick(at(30.1), heartbeat_seconds=30)) == ["heartbeat"]
    assert stream.due_at == 60.1
    assert stream.tick(at(60), heartbeat_seconds=30) == b""


def test_a_heartbeat_that_is_due_may_be_left_out() -> None:
    stream = opened(session())
    stream.skip_heartbeat(at(10), heartbeat_seconds=30)
    assert stream.due_at == 30
    stream.skip_heartbeat(at(31), heartbeat_seconds=30)
    assert stream.due_at == 61


def test_there_is_no_heartbeat_at_the_instant_of_the_end() -> None:
    stream = opened(session(closes_at=30.0))
    assert kinds(stream.tick(at(30), heartbeat_seconds=30)) == ["connection-closing max_duration_reached"]
    assert stream.due_at is None
    assert stream.tick(at(60), heartbeat_seconds=30) == b""


def test_history_counts_into_the_longest_time() -> None:
    """A watch that is still in its history is ended as well."""
    stream = opened(session(closes_at=10.0))
    stream.history(shown(1), 1, at(9))
    assert kinds(stream.tick(at(10), heartbeat_seconds=30)) == ["connection-closing max_duration_reached"]


# --- which end it is (7.2) -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "end",
    [
        lambda stream: stream.history_failed("gone", at(11)),
        lambda stream: stream.history(shown(1, 2), 2, at(11)),
    ],
    ids=["a batch failed", "the cap was reached"],
)
def test_the_end_of_time_goes_before_a_natural_end(end: Callable[[Session], bytes]) -> None:
    """Time was up, and nobody has told the stream yet when its history ends."""
    stream = opened(session(closes_at=10.0, limit=1))
    assert kinds(end(stream))[-1] == "connection-closing max_duration_reached"
    assert stream.cause is Cause.MAX_DURATION


def test_shutdown_goes_before_the_end_of_time() -> None:
    """Whichever of the two moments is nearer, the stream ends then, because of the shutdown."""
    for closes_at, drains_at, ends_at in ((10.0, 5.0, 5.0), (10.0, 20.0, 10.0)):
        stream = opened(session(closes_at=closes_at))
        stream.close_by(drains_at, Cause.SHUTDOWN)
        assert not stream.is_due_to_close(at(ends_at - 0.1))
        assert kinds(stream.tick(at(ends_at), heartbeat_seconds=30)) == ["connection-closing server_shutdown"]


def test_shutdown_goes_before_a_natural_end() -> None:
    stream = opened(session(goes_on=False))
    stream.close_by(5.0, Cause.SHUTDOWN)
    assert kinds(stream.history_ended(1, at(6))) == [COMPLETED, "connection-closing server_shutdown"]


def test_a_replay_may_finish_before_its_moment_of_a_shutdown() -> None:
    """Its reader has all it asked for, and has no reason to come again."""
    stream = opened(session(goes_on=False))
    stream.close_by(5.0, Cause.SHUTDOWN)
    assert kinds(stream.history_ended(1, at(4)))[-1] == "connection-closing end_of_stream"


def test_a_token_may_expire_before_the_longest_time() -> None:
    stream = Session(
        topic="t", request_id="r", position=0, goes_on=True, limit=1, closes_at=5.0, closes_for=Cause.EXPIRED
    )
    stream.open_live(at(0), heartbeat_seconds=30)
    assert kinds(stream.tick(at(5), heartbeat_seconds=30)) == ["connection-closing max_duration_reached"]
    assert stream.cause is Cause.EXPIRED


def test_what_is_over_stays_as_it_ended() -> None:
    stream = opened(session())
    stream.end(Cause.SLOW, at(1))
    assert stream.end(Cause.SHUTDOWN, at(2)) == b""
    stream.leave()
    assert stream.cause is Cause.SLOW
    assert not stream.take(5)


def test_nobody_hears_the_end_of_who_has_left() -> None:
    stream = opened(session())
    stream.leave()
    assert stream.end(Cause.SHUTDOWN, at(2)) == b""
    assert stream.cause is Cause.LEFT


# --- positions -------------------------------------------------------------------------------------------


def test_a_start_beyond_the_log_does_not_hold_back_what_comes_next() -> None:
    """Contract 7.4: an empty history, and then live from its end, sequences before the start included."""
    stream = Session(topic="t", request_id="r", position=99, goes_on=True, limit=1, closes_at=3600.0)
    opened(stream)
    stream.history_ended(10, at(1))
    assert stream.position == 10
    assert kinds(stream.catch_up(shown(11), 11)) == ["live-notification 11"]


def test_an_event_of_now_is_taken_once_and_in_order() -> None:
    """What a feed dispatches, and the stream has been sent while it caught up, is left out."""
    stream = session()
    stream.open_live(at(0), heartbeat_seconds=30)
    stream.catch_up(shown(1, 2), 3)
    assert not stream.take(4), "it has not joined yet"
    stream.join()
    assert [stream.take(number) for number in (1, 2, 3, 4, 4, 6, 5)] == [
        False,
        False,
        False,
        True,
        False,
        True,
        False,
    ]
    assert stream.position == 6


def test_catching_up_never_goes_back() -> None:
    stream = session()
    stream.open_live(at(0), heartbeat_seconds=30)
    stream.catch_up([], 5)
    stream.catch_up([], 3)
    assert stream.position == 5
