"""How far revisions have come, in virtual time: who is told of what, how long it took, and how long it is waited."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import pytest

from aviso_core.errors import Unavailable
from aviso_core.registry.acknowledgements import Answer, RollCall
from aviso_operator.propagation import Propagation
from support.virtual_time import VirtualLoop, virtual_clock

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

A: Final = "ingest/a"
B: Final = "stream-gateway/b"


class Scene:
    """Processes that report, and who hears of it."""

    def __init__(self) -> None:
        self.news: list[str] = []
        self.lags: list[float] = []
        self.propagation = Propagation(virtual_clock(), self.news.append, self.lags.append)
        self._reports: dict[str, dict[str, Answer]] = {}

    def report(self, process: str, **revisions: int) -> None:
        """Have a process say which revisions it has taken; a negative one is one that it cannot serve."""
        self._reports[process] = {
            name: Answer(revision=abs(revision), error="cannot" if revision < 0 else None)
            for name, revision in revisions.items()
        }
        self.take_roll()

    def go(self, process: str) -> None:
        """Have a process fall silent."""
        del self._reports[process]
        self.take_roll()

    def take_roll(self) -> None:
        """Have the roll called."""
        call = RollCall()
        call.reports, call.is_loaded = dict(self._reports), True
        self.propagation.take_call(call)

    def states(self, event_type: str, revision: int) -> dict[str, str]:
        """Ask how everybody stands."""
        standings = self.propagation.standings(event_type, revision)
        return {process: standing.state for process, standing in standings.items()}


def in_virtual_time(story: Callable[[Scene], Coroutine[None, None, None]]) -> None:
    async def play() -> None:
        await story(Scene())

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(play())


def test_nobody_is_told_of_what_was_not_asked_about() -> None:
    async def story(scene: Scene) -> None:
        scene.report(A, alert=1)
        assert scene.news == []

    in_virtual_time(story)


def test_whoever_asked_is_told_of_each_change_and_of_nothing_else() -> None:
    async def story(scene: Scene) -> None:
        scene.report(A, alert=2)
        assert scene.states("alert", 3) == {A: "behind"}
        scene.report(B, other=9)
        assert scene.news == ["alert"], "one more process serves, and is behind"
        scene.report(B, other=10)
        assert scene.news == ["alert"], "how it stands to another event type is not asked"
        scene.report(A, alert=3)
        scene.report(B, alert=-3)
        assert scene.news == ["alert"] * 3
        assert scene.states("alert", 3) == {A: "current", B: "rejected"}
        scene.go(B)
        assert scene.news == ["alert"] * 4
        scene.propagation.forget("alert")
        scene.report(A, alert=4)
        assert scene.news == ["alert"] * 4

    in_virtual_time(story)


def test_the_lag_is_measured_once_when_the_last_has_acknowledged() -> None:
    async def story(scene: Scene) -> None:
        scene.report(A, alert=1)
        scene.report(B, alert=1)
        scene.states("alert", 2)
        await asyncio.sleep(3)
        scene.report(A, alert=2)
        assert scene.lags == []
        await asyncio.sleep(4)
        scene.report(B, alert=2)
        assert scene.lags == [7.0]
        await asyncio.sleep(5)
        scene.states("alert", 2)
        scene.report(B, alert=2, other=1)
        assert scene.lags == [7.0]
        scene.states("alert", 3)
        await asyncio.sleep(1)
        scene.report(A, alert=3)
        scene.report(B, alert=3)
        assert scene.lags == [7.0, 1.0], "the next revision is measured by itself"

    in_virtual_time(story)


def test_what_everybody_had_before_anybody_asked_is_not_measured() -> None:
    """An operator that starts finds hundreds of them, and each would count as one that took no time."""

    async def story(scene: Scene) -> None:
        scene.report(A, alert=2)
        scene.states("alert", 2)
        assert scene.lags == []
        scene.states("alert", 3)
        await asyncio.sleep(2)
        scene.report(A, alert=3)
        assert scene.lags == [2.0]

    in_virtual_time(story)


def test_it_is_known_how_long_a_revision_is_waited_for() -> None:
    async def story(scene: Scene) -> None:
        assert scene.propagation.waited_seconds("alert") == 0
        scene.states("alert", 2)
        await asyncio.sleep(30)
        scene.states("alert", 2)
        assert scene.propagation.waited_seconds("alert") == 30
        scene.states("alert", 3)
        assert scene.propagation.waited_seconds("alert") == 0, "a new revision is waited for from now on"
        await asyncio.sleep(5)
        scene.propagation.forget("alert")
        assert scene.propagation.waited_seconds("alert") == 0

    in_virtual_time(story)


def _take(scene: Scene) -> None:
    scene.report(A, alert=5)


def _reject(scene: Scene) -> None:
    scene.report(A, alert=-5)


def _go(scene: Scene) -> None:
    scene.go(A)


@pytest.mark.parametrize("what", [_take, _reject, _go])
def test_a_withdrawal_is_waited_for_until_nobody_serves_it(what: Callable[[Scene], None]) -> None:
    """Whoever has taken the mark, cannot serve, or is gone, serves it no more; each is heard of at once."""

    async def story(scene: Scene) -> None:
        scene.report(A, alert=4)
        scene.report(B, alert=4)
        waiting = asyncio.create_task(scene.propagation.wait_withdrawn("alert", 5, seconds=60))
        await asyncio.sleep(10)
        scene.report(B, alert=5)
        await asyncio.sleep(10)
        assert not waiting.done()
        what(scene)
        assert await waiting == ()
        assert virtual_clock().monotonic() == 20

    in_virtual_time(story)


def test_a_withdrawal_is_not_waited_for_without_end() -> None:
    """Who still serves it when the time is over is named."""

    async def story(scene: Scene) -> None:
        scene.report(A, alert=4)
        scene.report(B, alert=5)
        assert await scene.propagation.wait_withdrawn("alert", 5, seconds=60) == (A,)
        assert virtual_clock().monotonic() == 60

    in_virtual_time(story)


def test_nobody_there_is_nobody_to_wait_for() -> None:
    async def story(scene: Scene) -> None:
        scene.take_roll()
        assert await scene.propagation.wait_withdrawn("alert", 5, seconds=60) == ()
        assert virtual_clock().monotonic() == 0

    in_virtual_time(story)


def test_who_is_there_has_to_be_known_before_nobody_is() -> None:
    """Nothing is deleted under those who serve it because nobody was heard of yet."""

    async def story(scene: Scene) -> None:
        began = virtual_clock().monotonic()
        with pytest.raises(Unavailable, match="not known yet"):
            await scene.propagation.wait_withdrawn("alert", 4, seconds=30)
        assert virtual_clock().monotonic() - began == 30
        waiting = asyncio.create_task(scene.propagation.wait_withdrawn("alert", 4, seconds=30))
        await asyncio.sleep(1)
        scene.report(A, alert=3)
        await asyncio.sleep(1)
        assert not waiting.done()
        scene.report(A, alert=4)
        assert await waiting == ()

    in_virtual_time(story)
