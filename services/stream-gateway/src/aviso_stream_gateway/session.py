"""The life of one stream, from its first frame to its last: a plain state machine.

It is told what happens (history came, history is over, time passed, the process drains) and says what is to be sent.
It waits for nothing, reads no clock and knows no socket, so every order of happenings can be tried.

A stream opens, gets its history, and is then over (a replay) or goes on (a watch): first it reads what was stored
since, until it is level with what everybody is sent, then it is sent what they are.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple

from aviso_core.instant import to_seconds_text
from aviso_stream_gateway.frames import (
    CloseReason,
    ConnectionEstablished,
    EventNotRendered,
    Heartbeat,
    HistoryFailed,
    ReplayCompleted,
    ReplayLimitReached,
    ReplayStarted,
    closing,
    encode,
    live,
    replayed,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aviso_stream_gateway.moment import Moment


class Phase(Enum):
    """Where a stream is in its life."""

    NEW = "new"
    HISTORY = "history"
    CATCHING_UP = "catching up"
    LIVE = "live"
    OVER = "over"


class Cause(Enum):
    """Why a stream ended. The wire knows three reasons, which a client of the reference understands; logs know all."""

    FINISHED = "finished"
    LIMIT_REACHED = "limit_reached"
    HISTORY_FAILED = "history_failed"
    MAX_DURATION = "max_duration"
    EXPIRED = "credentials_expired"
    SHUTDOWN = "shutdown"
    SLOW = "slow_reader"
    LOG_LOST = "log_lost"
    SCHEMA_CHANGED = "schema_changed"
    LEFT = "client_left"

    @property
    def reason(self) -> CloseReason:
        """What the subscriber is told."""
        return _REASONS.get(self, "end_of_stream")


_REASONS: Final[dict[Cause, CloseReason]] = {
    Cause.MAX_DURATION: "max_duration_reached",
    Cause.EXPIRED: "max_duration_reached",
    Cause.SHUTDOWN: "server_shutdown",
}


class Shown(NamedTuple):
    """An event that was selected: its CloudEvent, or why there is none, and then its own topic."""

    sequence: int
    cloud_event: bytes | None
    failure: str = ""
    topic: str = ""


class Opening(NamedTuple):
    """What the first frame tells of a stream with a start."""

    batch_size: int
    from_sequence: int | None
    from_instant: int | None
    to_instant: int | None
    end_sequence: int | None


class Session:
    """One stream. `position` is the sequence up to which it has been sent everything that it selects."""

    __slots__ = (
        "_goes_on",
        "_left",
        "_limit",
        "_request_id",
        "cause",
        "closes_at",
        "closes_for",
        "events",
        "failures",
        "heartbeat_at",
        "phase",
        "position",
        "topic",
    )

    def __init__(
        self,
        *,
        topic: str,
        request_id: str,
        position: int,
        goes_on: bool,
        limit: int,
        closes_at: float | None = None,
        closes_for: Cause = Cause.MAX_DURATION,
    ) -> None:
        self.topic = topic
        self.position = position
        self.phase = Phase.NEW
        self.cause: Cause | None = None
        # When it is over at the latest, and when it is due to show that it lives; None is never.
        self.closes_at = closes_at
        self.closes_for = closes_for
        self.heartbeat_at: float | None = None
        # How many events, and how many failures, were told of since somebody last counted.
        self.events = 0
        self.failures = 0
        self._request_id = request_id
        self._goes_on = goes_on
        self._limit = limit
        # How many events of history it may still be sent.
        self._left = limit

    @property
    def is_over(self) -> bool:
        """Whether nothing is sent any more."""
        return self.phase is Phase.OVER

    # --- opening -----------------------------------------------------------------------------------------

    def open_live(self, now: Moment, *, heartbeat_seconds: int) -> bytes:
        """Begin with what comes next."""
        assert self.phase is Phase.NEW
        assert self.closes_at is not None, "what goes on is closed at some time"
        self.phase = Phase.CATCHING_UP
        frame = ConnectionEstablished(
            connection_will_close_in_seconds=max(0, round(self.closes_at - now.seconds)),
            request_id=self._request_id,
            timestamp=now.text,
            topic=self.topic,
        )
        return encode(frame) + self._beat(now, heartbeat_seconds)

    def open_history(self, now: Moment, opening: Opening, *, heartbeat_seconds: int) -> bytes:
        """Begin with history."""
        assert self.phase is Phase.NEW
        self.phase = Phase.HISTORY
        frame = ReplayStarted(
            batch_size=opening.batch_size,
            end_sequence=opening.end_sequence,
            from_date=_seconds(opening.from_instant),
            from_sequence=opening.from_sequence,
            request_id=self._request_id,
            timestamp=now.text,
            to_date=_seconds(opening.to_instant),
            topic=self.topic,
        )
        if not self._goes_on:
            return encode(frame)
        return encode(frame) + self._beat(now, heartbeat_seconds)

    # --- history -----------------------------------------------------------------------------------------

    def history(self, events: Iterable[Shown], through: int, now: Moment) -> bytes:
        """Take events of history, in order, up to a sequence; beyond the limit the stream ends."""
        assert self.phase is Phase.HISTORY
        parts: list[bytes] = []
        for shown in events:
            if shown.cloud_event is None:
                parts.append(self.not_rendered(shown))
                continue
            if not self._left:
                parts += (self._limit_reached(now), self._end_by_itself(Cause.LIMIT_REACHED, now))
                return b"".join(parts)
            self._left -= 1
            self.events += 1
            parts.append(replayed(shown.cloud_event))
        self.position = through
        return b"".join(parts)

    def history_ended(self, through: int, now: Moment) -> bytes:
        """Say that there is no more history; a start beyond it does not hold back what comes next."""
        assert self.phase is Phase.HISTORY
        self.position = through
        completed = encode(ReplayCompleted(timestamp=now.text, topic=self.topic))
        if self._goes_on:
            self.phase = Phase.CATCHING_UP
            return completed
        return completed + self._end_by_itself(Cause.FINISHED, now)

    def history_failed(self, message: str, now: Moment) -> bytes:
        """Say that history cannot be read on; a stream with a hole in it must not go on."""
        assert self.phase is Phase.HISTORY
        self.failures += 1
        frame = HistoryFailed(message=message, request_id=self._request_id, topic=self.topic)
        return encode(frame) + self._end_by_itself(Cause.HISTORY_FAILED, now)

    def _limit_reached(self, now: Moment) -> bytes:
        text = (
            f"Historical replay limited to {self._limit} messages. "
            "Additional historical messages may be available but were not retrieved."
        )
        frame = ReplayLimitReached(
            max_allowed=self._limit, message=text, timestamp=now.text, topic=self.topic
        )
        return encode(frame)

    # --- now ---------------------------------------------------------------------------------------------

    def catch_up(self, events: Iterable[Shown], through: int) -> bytes:
        """Take what was stored since history ended, in order, up to a sequence."""
        assert self.phase is Phase.CATCHING_UP
        parts = [self._as_live(shown) for shown in events]
        self.position = max(self.position, through)
        return b"".join(parts)

    def join(self) -> None:
        """From here on take what everybody is sent."""
        assert self.phase is Phase.CATCHING_UP
        self.phase = Phase.LIVE

    def take(self, sequence: int) -> bool:
        """Tell whether an event of now is to be sent on this stream, and count it as sent."""
        if sequence <= self.position or self.phase is not Phase.LIVE:
            return False
        self.position = sequence
        return True

    def _as_live(self, shown: Shown) -> bytes:
        if shown.cloud_event is None:
            return self.not_rendered(shown)
        self.events += 1
        return live(shown.cloud_event)

    def not_rendered(self, shown: Shown) -> bytes:
        """Return what stands in the place of an event that cannot be shown."""
        self.failures += 1
        frame = EventNotRendered(
            message=shown.failure, request_id=self._request_id, sequence=shown.sequence, topic=shown.topic
        )
        return encode(frame)

    # --- time and the end --------------------------------------------------------------------------------

    @property
    def due_at(self) -> float | None:
        """When time next matters to this stream; never again once it is over."""
        if self.is_over:
            return None
        return min((at for at in (self.heartbeat_at, self.closes_at) if at is not None), default=None)

    def is_due_to_close(self, now: Moment) -> bool:
        """Tell whether the stream has lasted as long as it may."""
        return self.closes_at is not None and now.seconds >= self.closes_at

    def skip_heartbeat(self, now: Moment, *, heartbeat_seconds: int) -> None:
        """Leave out a heartbeat that is due: something else shows that the stream lives."""
        if self.heartbeat_at is not None and now.seconds >= self.heartbeat_at:
            self.heartbeat_at = now.seconds + heartbeat_seconds

    def tick(self, now: Moment, *, heartbeat_seconds: int) -> bytes:
        """Return what is due: nothing, a heartbeat, or the end."""
        if self.is_over:
            return b""
        if self.is_due_to_close(now):
            return self.end(self.closes_for, now)
        if self.heartbeat_at is not None and now.seconds >= self.heartbeat_at:
            return self._beat(now, heartbeat_seconds)
        return b""

    def _beat(self, now: Moment, heartbeat_seconds: int) -> bytes:
        self.heartbeat_at = now.seconds + heartbeat_seconds
        return encode(Heartbeat(timestamp=now.text, topic=self.topic))

    def _end_by_itself(self, cause: Cause, now: Moment) -> bytes:
        """End with the end of history, unless time was up before: then that is told."""
        return self.end(self.closes_for if self.is_due_to_close(now) else cause, now)

    def end(self, cause: Cause, now: Moment) -> bytes:
        """End the stream and return its last frame; one that is over stays as it ended."""
        if self.is_over:
            return b""
        self.phase = Phase.OVER
        self.cause = cause
        frame = closing(cause.reason, request_id=self._request_id, timestamp=now.text, topic=self.topic)
        return encode(frame)

    def close_by(self, at: float, cause: Cause) -> None:
        """Have the stream end at a time, unless it ends before."""
        if self.closes_at is None or at < self.closes_at:
            self.closes_at = at
        # A shutdown goes before the end of time, whichever of the two moments comes first.
        self.closes_for = cause

    def leave(self, cause: Cause = Cause.LEFT) -> None:
        """End the stream without a word: nobody is there to hear one."""
        if not self.is_over:
            self.phase = Phase.OVER
            self.cause = cause


def _seconds(instant: int | None) -> str | None:
    return None if instant is None else to_seconds_text(instant)
