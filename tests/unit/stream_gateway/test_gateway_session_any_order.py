"""Whatever happens to a stream, in whatever order: the frames are ones that contract section 7.3 allows."""

from __future__ import annotations

import re
from typing import Final

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from aviso_core.instant import SECOND, to_seconds_text
from aviso_stream_gateway.frames import live
from aviso_stream_gateway.moment import Moment
from aviso_stream_gateway.session import Cause, Opening, Phase, Session, Shown
from support.stream_parts import Told, read_frames

HEARTBEAT_SECONDS: Final = 30

# One letter for each frame, so that the order of frames is a regular expression.
LETTERS: Final = {
    "live-notification connection_established": "E",
    "replay-control replay_started": "S",
    "heartbeat": "H",
    "replay-control replay_completed": "C",
    "replay-control notification_replay_limit_reached": "M",
    "error stream_processing_failed": "F",
}
_WATCH: Final = "EH[HLX]*Z?"
_WATCH_WITH_START: Final = "SH[HRX]*(C[HLX]*Z?|MZ|FZ|Z?)"
_REPLAY: Final = "S[RX]*(CZ|MZ|FZ|Z?)"


def _letter(told: Told) -> str:
    if told.event == "connection-closing":
        return "Z"
    if told.event == "replay":
        return "R"
    if told.kind in LETTERS:
        return LETTERS[told.kind]
    return {"live-notification": "L", "error": "X"}[told.event]


# Whether events can be shown, with how much of the log lies between them and the one before.
BATCHES: Final = st.lists(st.tuples(st.booleans(), st.integers(1, 3)), max_size=4)


class Life(RuleBasedStateMachine):
    """A stream, and what a plain reading of the contract says of it."""

    @initialize(
        goes_on=st.booleans(),
        wants_history=st.booleans(),
        limit=st.integers(1, 4),
        lasts=st.floats(0, 200),
        expires=st.booleans(),
    )
    def open(self, goes_on: bool, wants_history: bool, limit: int, lasts: float, expires: bool) -> None:
        self.now = 0.0
        self.told: list[Told] = []
        self.limit = limit
        self.goes_on = goes_on
        self.closes_at = lasts if goes_on else None
        self.is_drained = False
        self.has_left = False
        # Why it ended, where somebody ended it.
        self.ended_for: Cause | None = None
        # The last sequence of the log, and what the stream must have told of: its sequence, and whether it is shown.
        self.last = 0
        self.expected: list[tuple[int, bool]] = []
        self.session = Session(
            topic="t",
            request_id="r",
            position=0,
            goes_on=goes_on,
            limit=limit,
            closes_at=self.closes_at,
            closes_for=Cause.EXPIRED if expires else Cause.MAX_DURATION,
        )
        if goes_on and not wants_history:
            self.grammar = _WATCH
            self._tell(self.session.open_live(self._moment(), heartbeat_seconds=HEARTBEAT_SECONDS))
        else:
            self.grammar = _WATCH_WITH_START if goes_on else _REPLAY
            opening = Opening(100, 1, None, None, None)
            data = self.session.open_history(self._moment(), opening, heartbeat_seconds=HEARTBEAT_SECONDS)
            self._tell(data)

    # --- what happens ------------------------------------------------------------------------------------

    @precondition(lambda self: self.session.phase is Phase.HISTORY)
    @rule(batch=BATCHES)
    def history_comes(self, batch: list[tuple[bool, int]]) -> None:
        events = self._stored(batch)
        for shown in events:
            renderable = shown.cloud_event is not None
            if renderable and sum(one for _, one in self.expected) == self.limit:
                break
            self.expected.append((shown.sequence, renderable))
        self._tell(self.session.history(events, self.last, self._moment()))

    @precondition(lambda self: self.session.phase is Phase.HISTORY)
    @rule()
    def history_ends(self) -> None:
        self._tell(self.session.history_ended(self.last, self._moment()))
        assert self.session.position == self.last

    @precondition(lambda self: self.session.phase is Phase.HISTORY)
    @rule()
    def history_fails(self) -> None:
        self._tell(self.session.history_failed("why", self._moment()))

    @precondition(lambda self: self.session.phase is Phase.CATCHING_UP)
    @rule(batch=BATCHES)
    def more_was_stored(self, batch: list[tuple[bool, int]]) -> None:
        events = self._stored(batch)
        self.expected += [(shown.sequence, shown.cloud_event is not None) for shown in events]
        self._tell(self.session.catch_up(events, self.last))

    @precondition(lambda self: self.session.phase is Phase.CATCHING_UP)
    @rule()
    def joins(self) -> None:
        self.session.join()

    @rule(step=st.integers(-3, 3), renderable=st.booleans())
    def is_dispatched(self, step: int, renderable: bool) -> None:
        """Only an open stream that has joined takes an event of its feed, and only one that it has not had."""
        sequence = max(1, self.last + step)
        (shown,) = _shown([(renderable, sequence)])
        is_new = self.session.phase is Phase.LIVE and sequence > self.session.position
        taken = self.session.take(sequence)
        assert taken is is_new
        if taken:
            self.last = max(self.last, sequence)
            self.expected.append((sequence, renderable))
            if shown.cloud_event is None:
                self._tell(self.session.not_rendered(shown))
            else:
                self._tell(live(shown.cloud_event))

    @rule(seconds=st.floats(0, 40))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def the_wheel_turns(self) -> None:
        before = self.session.due_at
        data = self.session.tick(self._moment(), heartbeat_seconds=HEARTBEAT_SECONDS)
        self._tell(data)
        assert bool(data) is (before is not None and before <= self.now)
        after = self.session.due_at
        assert after is None or after > self.now

    @rule()
    def there_is_something_to_read_still(self) -> None:
        self.session.skip_heartbeat(self._moment(), heartbeat_seconds=HEARTBEAT_SECONDS)

    @precondition(lambda self: not self.session.is_over)
    @rule(seconds=st.floats(0, 40))
    def the_process_drains(self, seconds: float) -> None:
        at = self.now + seconds
        self.session.close_by(at, Cause.SHUTDOWN)
        self.closes_at = at if self.closes_at is None else min(at, self.closes_at)
        self.is_drained = True

    @rule(cause=st.sampled_from([Cause.SLOW, Cause.LOG_LOST, Cause.SCHEMA_CHANGED, Cause.SHUTDOWN]))
    def somebody_ends_it(self, cause: Cause) -> None:
        if not self.session.is_over:
            self.ended_for = cause
        self._tell(self.session.end(cause, self._moment()))

    @rule()
    def the_reader_leaves(self) -> None:
        self.has_left = self.has_left or not self.session.is_over
        self.session.leave()

    # --- what must hold ----------------------------------------------------------------------------------

    @invariant()
    def the_frames_are_in_an_order_that_is_allowed(self) -> None:
        letters = "".join(map(_letter, self.told))
        assert re.fullmatch(self.grammar, letters), letters
        is_told_over = letters.endswith("Z")
        assert self.session.is_over is (is_told_over or self.has_left)
        assert not (is_told_over and self.has_left)

    @invariant()
    def every_event_is_told_of_once_and_in_order(self) -> None:
        told = [(one.data["sequence"], _letter(one) in "RL") for one in self.told if _letter(one) in "RLX"]
        assert told == self.expected
        sequences = [sequence for sequence, _ in told]
        assert sequences == sorted(set(sequences))

    @invariant()
    def the_cap_is_kept(self) -> None:
        letters = [_letter(one) for one in self.told]
        assert letters.count("R") <= self.limit
        assert "M" not in letters or letters.count("R") == self.limit

    @invariant()
    def the_reason_is_the_one_that_goes_first(self) -> None:
        """Shutdown, then time, then a natural end; unless somebody ended it for a reason of theirs."""
        if not self.told or _letter(self.told[-1]) != "Z":
            return
        if self.ended_for is not None:
            wanted = self.ended_for.reason
        elif self.closes_at is None or self.closed_at < self.closes_at:
            wanted = "end_of_stream"
        else:
            wanted = "server_shutdown" if self.is_drained else "max_duration_reached"
        assert self.told[-1].data["reason"] == wanted

    @invariant()
    def only_what_goes_on_is_watched_over(self) -> None:
        """Heartbeats and an end in time are for a watch; a replay has an end in time if the process drains."""
        if self.session.is_over:
            assert self.session.due_at is None
        else:
            assert (self.session.due_at is not None) is (self.goes_on or self.is_drained)

    # --- steps -------------------------------------------------------------------------------------------

    def _moment(self) -> Moment:
        return Moment(to_seconds_text(int(self.now) * SECOND), self.now)

    def _stored(self, batch: list[tuple[bool, int]]) -> list[Shown]:
        numbered = []
        for renderable, step in batch:
            self.last += step
            numbered.append((renderable, self.last))
        return _shown(numbered)

    def _tell(self, data: bytes) -> None:
        told = read_frames(data)
        self.told += told
        if told and _letter(told[-1]) == "Z":
            self.closed_at = self.now


def _shown(numbered: list[tuple[bool, int]]) -> list[Shown]:
    return [
        Shown(sequence, b'{"sequence":%d}' % sequence) if renderable else Shown(sequence, None, "why", "t")
        for renderable, sequence in numbered
    ]


TestLife = Life.TestCase
