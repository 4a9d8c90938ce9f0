"""History and now meet without a hole, without a repetition and in order, whatever happens in between.

Hypothesis tries orders of everything that can happen around a gateway: events come, alone and many at a time, are
removed, streams are opened in every way, read slowly or not at all, and left; the backend is slow, fails, ends tails,
loses its streams; schemas change; the process drains. In virtual time an example takes milliseconds. Then everything
comes to rest, and each stream is compared with what it had to show (`support.seam_truth`). At last nothing may be left
over.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from aviso_core.errors import AvisoError, Unavailable
from aviso_core.eventlog.base import EpochChanged
from support.gateways import CLASSES
from support.seam_stage import Stage
from support.seam_truth import FILTERS, Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.seam_world import World
    from support.troubles import Call

_SECONDS: Final = st.sampled_from((0.0, 0.0, 0.01, 0.5, 2.0))
_BATCH_BYTES: Final = st.sampled_from((1, 100, 1_048_576))
_EVENTS: Final = st.tuples(st.sampled_from(CLASSES), st.integers(0, 4))
_FILTERS: Final = st.integers(0, len(FILTERS) - 1)
_TAIL_ENDS: Final[tuple[AvisoError | None, ...]] = (None, Unavailable("given up"), EpochChanged("elsewhere"))


class Seam(RuleBasedStateMachine):
    """One gateway, and everybody around it."""

    def __init__(self) -> None:
        super().__init__()
        self._stage: Stage | None = None

    @property
    def stage(self) -> Stage:
        """Where it happens."""
        assert self._stage is not None, "every story begins with one"
        return self._stage

    @property
    def world(self) -> World:
        """What happens there."""
        return self.stage.world

    @initialize(
        seed=st.integers(0, 2**32),
        kept=st.sampled_from((1000, 1000, 2)),
        most_history=st.sampled_from((10_000, 10_000, 4)),
        mailbox=st.sampled_from((0, 600, 1_048_576)),
        seconds=st.tuples(_SECONDS, _SECONDS),
        batch_bytes=_BATCH_BYTES,
        stored=st.lists(_EVENTS, max_size=12),
    )
    def begin(
        self,
        seed: int,
        kept: int,
        most_history: int,
        mailbox: int,
        seconds: tuple[float, float],
        batch_bytes: int,
        stored: list[tuple[str, int]],
    ) -> None:
        """Start a gateway over a log that may hold something, and may be slow already."""
        self._stage = Stage(seed=seed, kept=kept, most_history=most_history, mailbox=mailbox)
        self.append_all(stored)
        self.answer_slowly(*seconds)
        self.answer_in_pieces(batch_bytes, 1000)

    def teardown(self) -> None:
        """Judge every stream, and look for what is left."""
        if self._stage is None:
            return
        try:
            self._stage.finish()
        finally:
            self._stage.close()

    # --- time --------------------------------------------------------------------------------------------

    @rule(turns=st.integers(1, 6))
    def let_others_run(self, turns: int) -> None:
        """Let a few steps of whatever is under way happen."""
        self.stage.turn(turns)

    @rule(seconds=st.sampled_from((0.001, 0.05, 0.4, 3.0, 12.0, 40.0)))
    def let_time_pass(self, seconds: float) -> None:
        """Wait."""
        self.stage.pass_time(seconds)

    # --- the log -----------------------------------------------------------------------------------------

    @rule(event=_EVENTS, padding=st.sampled_from((0, 0, 300, 40_000)))
    def append(self, event: tuple[str, int], padding: int) -> None:
        """Store an event."""
        self.stage.run(self.world.append([event], padding=padding))

    @rule(events=st.lists(_EVENTS, min_size=2, max_size=10))
    def append_all(self, events: list[tuple[str, int]]) -> None:
        """Store some in one call."""
        self.stage.run(self.world.append(events))

    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        """Remove an event, or try to remove one that is not there."""
        self.stage.run(self.world.delete(data.draw(st.integers(1, self.world.life.last + 1))))

    # --- readers -----------------------------------------------------------------------------------------

    @rule(data=st.data(), filter=_FILTERS, is_handed_over=st.booleans(), stalls=st.integers(0, 3))
    def watch(self, data: st.DataObject, filter: int, is_handed_over: bool, stalls: int) -> None:
        """Open a stream that goes on, with a reader who may take nothing of it for now."""
        span = data.draw(st.just(Span()) | self._starts())
        self.stage.open(span, filter, is_handed_over=is_handed_over, stalls=stalls == 3)

    @rule(data=st.data(), filter=_FILTERS)
    def replay(self, data: st.DataObject, filter: int) -> None:
        """Open a stream that ends with history."""
        span = data.draw(self._starts())
        end = data.draw(st.sampled_from(("log", "sequence", "instant")))
        if end == "sequence":
            span = span._replace(last_sequence=data.draw(self._sequences()))
        elif end == "instant":
            span = span._replace(last_instant=data.draw(self._instants()))
        self.stage.open(span, filter, is_watch=False)

    @precondition(lambda self: self.world.sessions)
    @rule(data=st.data())
    def ask_for_the_same(self, data: st.DataObject) -> None:
        """Open a stream that asks for what another did."""
        number = data.draw(st.integers(0, len(self.world.sessions) - 1))
        other = self.world.sessions[number]
        self.stage.open(other.span, other.filter, is_watch=other.is_watch)

    @precondition(lambda self: self.world.sessions)
    @rule(
        data=st.data(),
        what=st.sampled_from(("stall", "sip", "go on", "leave")),
        count=st.integers(1, 100_000),
    )
    def read(self, data: st.DataObject, what: str, count: int) -> None:
        """Have a reader do something else."""
        number = data.draw(st.integers(0, len(self.world.sessions) - 1))
        reader = self.world.sessions[number].reader
        acts = {
            "stall": reader.stall,
            "sip": lambda: reader.take(count),
            "go on": reader.go_on,
            "leave": reader.leave,
        }
        self.stage.do(acts[what])

    def _starts(self) -> st.SearchStrategy[Span]:
        by_sequence = self._sequences().map(lambda sequence: Span(first_sequence=sequence))
        return by_sequence | self._instants().map(lambda instant: Span(first_instant=instant))

    def _sequences(self) -> st.SearchStrategy[int]:
        last = self.world.life.last
        return st.sampled_from((0, 1, last, last + 1, last + 4)) | st.integers(0, last + 2)

    def _instants(self) -> st.SearchStrategy[int]:
        happened = {event.instant for event in self.world.life.events.values()}
        known = sorted(happened | {self.stage.clock.now_ns()})
        return st.builds(lambda one, more: one + more, st.sampled_from(known), st.integers(-1, 1))

    # --- troubles ----------------------------------------------------------------------------------------

    @rule(seconds=_SECONDS, tail_seconds=_SECONDS)
    def answer_slowly(self, seconds: float, tail_seconds: float) -> None:
        """Have the backend take its time from now on."""
        self.world.troubles.longest_seconds = seconds
        self.world.troubles.longest_tail_seconds = tail_seconds

    @rule(batch_bytes=_BATCH_BYTES, most_entries=st.sampled_from((1, 3, 1000)))
    def answer_in_pieces(self, batch_bytes: int, most_entries: int) -> None:
        """Have entries come in pieces of another size."""
        self.world.troubles.batch_bytes = batch_bytes
        self.world.troubles.most_entries = most_entries

    @rule(call=st.sampled_from(("bounds", "seek", "read", "tail")), count=st.integers(1, 2))
    def refuse(self, call: Call, count: int) -> None:
        """Have the next calls fail."""
        self.world.troubles.refused[call] = count

    @rule(batches=st.integers(0, 3))
    def break_a_reading(self, batches: int) -> None:
        """Have the next reading fail in the middle."""
        self.world.troubles.breaks_after = batches

    @rule(error=st.sampled_from(_TAIL_ENDS))
    def end_tails(self, error: AvisoError | None) -> None:
        """End the tails."""
        self.stage.do(lambda: self.world.troubles.end_tails(error))

    @rule(events=st.lists(_EVENTS, max_size=4))
    def make_the_log_anew(self, events: list[tuple[str, int]]) -> None:
        """Lose the streams and all that was in them, the latest before everybody has it."""
        self.stage.run(self.world.append(events))
        self.stage.run(self.world.begin_life(self.stage.new_log()))

    @rule(matters=st.booleans())
    def change_schema(self, matters: bool) -> None:
        """Publish the event type anew."""
        self.stage.run(self.world.change_schema(matters=matters))

    @precondition(lambda self: not self.world.is_draining and len(self.world.sessions) > 4)
    @rule()
    def drain(self) -> None:
        """Tell the process to stop."""
        self.stage.do(self.world.drain)


@pytest.fixture(autouse=True)
def no_records() -> Iterator[None]:
    """Write no records: the troubles of the backend are meant."""
    level = logging.root.level
    logging.root.setLevel(logging.CRITICAL)
    yield
    logging.root.setLevel(level)


TestSeam = Seam.TestCase
TestSeam.settings = hypothesis_settings(stateful_step_count=60)
