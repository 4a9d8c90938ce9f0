"""One open stream: its session, where its bytes go, and what happens when its reader does not keep up.

A stream of now whose reader lets too much wait is closed. One of history waits for its reader, who has to take
something now and then. A stream that was closed may be read to its end; when its reader stops, the connection is cut.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from aviso_stream_gateway.outlet import Outlet, Piece
from aviso_stream_gateway.session import Cause, Session, Shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from aviso_http.metrics.streams import StreamSeries
    from aviso_stream_gateway.moment import Moment, Timekeeper
    from aviso_stream_gateway.showing import Item
    from aviso_stream_gateway.wheel import Wheel

# How long a reader may take nothing of what waits when its stream has ended.
FINISHING_SECONDS: Final = 5.0


class Limits(NamedTuple):
    """What holds for every stream."""

    heartbeat_seconds: int = 30
    most_waiting_bytes: int = 1_048_576
    # How long a reader of history may take nothing at all.
    stalled_seconds: float = 60.0


class Stream:
    """An open stream."""

    __slots__ = (
        "_limits",
        "_on_end",
        "_taken",
        "_timekeeper",
        "_wheel",
        "began",
        "check_at",
        "is_let_go",
        "outlet",
        "series",
        "session",
        "shows_actor",
        "slot",
    )

    def __init__(
        self,
        session: Session,
        outlet: Outlet,
        series: StreamSeries,
        *,
        wheel: Wheel,
        timekeeper: Timekeeper,
        limits: Limits,
        on_end: Callable[[Stream], None],
        shows_actor: bool = False,
    ) -> None:
        self.session = session
        self.outlet = outlet
        self.series = series
        self.shows_actor = shows_actor
        self.began = timekeeper.now().seconds
        # When the reader must have taken something since the last look, and what it had taken then. Whoever had
        # nothing to take at that time is given another.
        self.check_at: float | None = self.began + limits.stalled_seconds
        self._taken: int | None = None
        self.is_let_go = False
        # The wheel's.
        self.slot: int | None = None
        self._wheel = wheel
        self._timekeeper = timekeeper
        self._limits = limits
        self._on_end = on_end

    def send(self, data: bytes) -> None:
        """Send what the session said; behind its last frame the answer ends."""
        if data:
            self.outlet.send(Piece(data))
            self._count()
        if self.session.is_over:
            self._finish()

    def _count(self) -> None:
        session = self.session
        if session.events:
            self.series.sent.add(session.events)
            session.events = 0
        if session.failures:
            self.series.errors.add(session.failures)
            session.failures = 0

    def deliver(self, sequence: int, piece: Piece) -> bool:
        """Send an event of now, unless it was sent before; True where it was sent now."""
        if not self._has_room_for(sequence):
            return False
        self.outlet.send(piece)
        return True

    def deliver_failure(self, item: Item) -> None:
        """Send what stands in the place of an event of now that cannot be shown."""
        if self._has_room_for(item.sequence):
            shown = Shown(item.sequence, None, item.failure, item.topic)
            self.send(self.session.not_rendered(shown))

    def _has_room_for(self, sequence: int) -> bool:
        """Tell whether an event of now is to be sent; a stream that lets too much wait is closed instead."""
        if not self.session.take(sequence):
            return False
        if self.outlet.waiting > self._limits.most_waiting_bytes:
            self.close(Cause.SLOW)
            return False
        return True

    def close(self, cause: Cause) -> None:
        """End the stream with a word to its reader."""
        if not self.session.is_over:
            self.send(self.session.end(cause, self._timekeeper.now()))

    def gone(self) -> None:
        """Note that the reader has left."""
        self.session.leave()
        self._wheel.remove(self)
        self._let_go()

    def watch_time(self) -> None:
        """Have the wheel tell what is due next."""
        times = [at for at in (self.session.due_at, self.check_at) if at is not None]
        self._wheel.place(self, min(times, default=None))

    def joined(self) -> None:
        """Note that from here on nobody waits for the reader any more."""
        self.check_at = None
        self.watch_time()

    def tick(self, now: Moment) -> None:
        """Do what is due."""
        if self.check_at is not None and now.seconds >= self.check_at:
            self._check(now)
        if not self.session.is_over:
            self._tell_time(now)
        if not self.outlet.is_gone:
            self.watch_time()

    def _check(self, now: Moment) -> None:
        """See whether the reader has taken anything."""
        has_stalled = self.outlet.taken == self._taken
        self._look()
        if self.session.is_over:
            if has_stalled:
                self.outlet.cut()
            self.check_at = now.seconds + FINISHING_SECONDS
        else:
            self.check_at = now.seconds + self._limits.stalled_seconds
            if has_stalled:
                self.close(Cause.SLOW)

    def _look(self) -> None:
        """Note what the reader has taken, if there is anything more to take."""
        outlet = self.outlet
        self._taken = outlet.taken if outlet.waiting else None

    def _tell_time(self, now: Moment) -> None:
        heartbeat_seconds = self._limits.heartbeat_seconds
        if self.outlet.waiting and not self.session.is_due_to_close(now):
            # Whoever still has something to read need not be told that the stream lives.
            self.session.skip_heartbeat(now, heartbeat_seconds=heartbeat_seconds)
        else:
            self.send(self.session.tick(now, heartbeat_seconds=heartbeat_seconds))

    def _finish(self) -> None:
        if self.is_let_go or self.outlet.is_gone:
            return
        self._look()
        self.check_at = self._timekeeper.now().seconds + FINISHING_SECONDS
        self.outlet.finish()
        self._let_go()
        if not self.outlet.is_gone:
            self.watch_time()

    def _let_go(self) -> None:
        if not self.is_let_go:
            self.is_let_go = True
            self._on_end(self)
