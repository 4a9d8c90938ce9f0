"""Time as streams are told it: moments, and the one wheel for all of them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aviso_stream_gateway.moment import Timekeeper
from aviso_stream_gateway.wheel import TICK_SECONDS, Wheel
from support.event_logs import asynchronous
from support.registries import ManualClock

if TYPE_CHECKING:
    from collections.abc import Callable

    from aviso_stream_gateway.moment import Moment


class Bell:
    """Something in the wheel that notes when it was told."""

    def __init__(self, then: Callable[[Bell], None] | None = None) -> None:
        self.slot: int | None = None
        self.rung: list[float] = []
        self._then = then

    def tick(self, now: Moment) -> None:
        """Note it."""
        self.rung.append(now.seconds)
        if self._then is not None:
            self._then(self)


def _wheel() -> tuple[Wheel, ManualClock]:
    clock = ManualClock()
    return Wheel(Timekeeper(clock)), clock


# --- moments ---------------------------------------------------------------------------------------------


def test_a_moment_is_a_text_of_seconds_and_a_number() -> None:
    clock = ManualClock()
    timekeeper = Timekeeper(clock)
    assert timekeeper.now() == ("1970-01-01T00:16:40Z", 1000.0)
    clock.advance(0.75)
    assert timekeeper.now() == ("1970-01-01T00:16:40Z", 1000.75)
    clock.advance(0.25)
    assert timekeeper.now() == ("1970-01-01T00:16:41Z", 1001.0)
    assert timekeeper.unix_seconds() == 1001.0


# --- the wheel -------------------------------------------------------------------------------------------


@given(wait=st.floats(-5, 100), turns=st.lists(st.floats(0.01, 40), min_size=1, max_size=20))
def test_it_tells_once_and_at_the_first_turn_behind_the_time(wait: float, turns: list[float]) -> None:
    """Never before the time has come, and no turn later than one tick behind it."""
    wheel, clock = _wheel()
    bell = Bell()
    due = clock.monotonic() + wait
    wheel.place(bell, due)
    came = []
    for seconds in turns:
        clock.advance(seconds)
        wheel.turn()
        came.append(clock.monotonic())
    must = [at for at in came if at >= max(due, 1000) + TICK_SECONDS]
    assert len(bell.rung) <= 1
    if must:
        assert bell.rung
    for at in bell.rung:
        assert at >= due
        assert at <= min(must, default=at)


@pytest.mark.parametrize(
    ("due", "told"),
    [(999.0, 1000.25), (1000.0, 1000.25), (1000.1, 1000.25), (1000.25, 1000.5), (1000.3, 1000.5)],
)
def test_it_tells_at_the_next_tick_and_no_later(due: float, told: float) -> None:
    """A heartbeat or an end is late by a tick at most."""
    wheel, clock = _wheel()
    bell = Bell()
    wheel.place(bell, due)
    for _ in range(8):
        clock.advance(TICK_SECONDS)
        wheel.turn()
    assert bell.rung == [told]


def test_it_tells_what_a_thing_waits_for_now_and_nothing_of_before() -> None:
    wheel, clock = _wheel()
    bell = Bell()
    wheel.place(bell, 1010.0)
    wheel.place(bell, 1020.0)
    clock.advance(15)
    wheel.turn()
    assert bell.rung == []
    wheel.place(bell, None)
    clock.advance(15)
    wheel.turn()
    assert bell.rung == []
    assert bell.slot is None


def test_what_was_removed_is_told_nothing() -> None:
    wheel, clock = _wheel()
    bell, other = Bell(), Bell()
    wheel.place(bell, 1010.0)
    wheel.place(other, 1010.0)
    wheel.remove(bell)
    wheel.remove(bell)
    clock.advance(11)
    wheel.turn()
    assert (bell.rung, other.rung) == ([], [1011.0])


@pytest.mark.parametrize("behind", [-5.0, 0.0, 0.1, 0.25, 0.3])
def test_who_is_told_may_ask_to_be_told_again_whatever_the_time(behind: float) -> None:
    """Not within the same turn for ever, and not never either: a slot that was passed is not come by again."""
    wheel, clock = _wheel()
    bell = Bell(lambda bell: wheel.place(bell, clock.monotonic() + behind))
    wheel.place(bell, 1000.5)
    for _ in range(12):
        clock.advance(1)
        wheel.turn()
    assert bell.rung[0] == 1001.0
    assert set(bell.rung) == {1000.0 + second for second in range(1, 13)}


@pytest.mark.parametrize("place", [1000.3, 1005.0, 1100.0])
def test_who_is_told_may_move_another_of_the_same_time(place: float) -> None:
    """What happens to one stream may matter to another, wherever that stands in the wheel."""
    wheel, clock = _wheel()
    bells: list[Bell] = []

    def disturb(bell: Bell) -> None:
        for other in bells:
            if other is not bell and len(bell.rung) == 1:
                wheel.place(other, place)

    bells += [Bell(disturb) for _ in range(3)]
    for bell in bells:
        wheel.place(bell, 1001.0)
    clock.advance(2)
    wheel.turn()
    clock.advance(200)
    wheel.turn()
    assert all(1002.0 in bell.rung for bell in bells)
    assert any(len(bell.rung) > 1 for bell in bells)


def test_who_is_told_may_remove_another_of_the_same_time() -> None:
    """One that is told all the same has nothing to do, and is not told again."""
    wheel, clock = _wheel()
    bells: list[Bell] = []

    def remove_all(_: Bell) -> None:
        for bell in bells:
            wheel.remove(bell)

    bells += [Bell(remove_all) for _ in range(3)]
    for bell in bells:
        wheel.place(bell, 1001.0)
    clock.advance(2)
    wheel.turn()
    clock.advance(200)
    wheel.turn()
    assert [bell.rung for bell in bells] == [[1002.0]] * 3


def test_a_wheel_that_stood_still_is_turned_on_at_once() -> None:
    """A machine that slept for a day has nothing to catch up with."""
    wheel, clock = _wheel()
    early, late = Bell(), Bell()
    wheel.place(early, 1001.0)
    wheel.place(late, 1000.0 + 2 * 86_400)
    clock.advance(86_400)
    wheel.turn()
    assert (early.rung, late.rung) == ([87_400.0], [])


@asynchronous
async def test_its_motor_turns_it() -> None:
    """Over the machine's own time, here for one tick."""
    wheel, clock = _wheel()
    told = asyncio.Event()
    wheel.place(Bell(lambda _: told.set()), 1005.0)
    clock.advance(10)
    motor = asyncio.create_task(wheel.turn_for_ever())
    try:
        await told.wait()
    finally:
        motor.cancel()
