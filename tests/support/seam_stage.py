"""The seam's world in virtual time: step by step, and at the end its judgement.

A step runs until it has done what it is, and no further; what it has set in motion stands still until the next. So
whoever takes the steps decides how things fall together.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from random import Random
from typing import TYPE_CHECKING, Final, TypeVar

from aviso_core.eventlog.memory import MemoryLimits, MemoryLog
from aviso_core.registry.memory import MemoryRegistry
from support.faulty_log import FaultyLog
from support.gateways import MARS, running_gateway, settings
from support.seam_judge import judge
from support.seam_truth import Span
from support.seam_world import MOST_STREAMS, Session, World
from support.troubles import Troubles
from support.virtual_time import Ahead, VirtualLoop

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

    from support.virtual_time import VirtualTime

_HEARTBEAT_SECONDS: Final = 20
_LIFETIME_SECONDS: Final = 100
_STALLED_SECONDS: Final = 10
# Longer than anything takes that was begun while the backend was in trouble, and shorter than anybody waits in vain.
_REST_SECONDS: Final = 8.0
# Longer than a feed stays without streams, and than a reader may take for what is left.
_EMPTY_SECONDS: Final = 45.0
_DEADLINE_SECONDS: Final = 600.0
# Into a mailbox of so much fits what may come at once for a reader that takes everything.
_BURST_BYTES: Final = 1_000

Result = TypeVar("Result")


class Stage:
    """One gateway over a log in memory, and everybody around it."""

    def __init__(
        self, *, seed: int = 0, kept: int = 1000, most_history: int = 10_000, mailbox: int = 1_048_576
    ) -> None:
        self._runner = asyncio.Runner(loop_factory=VirtualLoop)
        self._parts = AsyncExitStack()
        self._limits = MemoryLimits(max_history_per_topic=kept)
        self._logs = 0
        chance = Random(seed)  # noqa: S311 (guards nothing)
        self.world: World = self.run(self._open(chance, most_history, mailbox))

    async def _open(self, chance: Random, most_history: int, mailbox: int) -> World:
        registry = MemoryRegistry()
        await registry.publish(MARS, expected_revision=0)
        log = FaultyLog(self.new_log(), Troubles(chance))
        configured = settings(
            watch={
                "sse_heartbeat_interval_sec": _HEARTBEAT_SECONDS,
                "connection_max_duration_sec": _LIFETIME_SECONDS,
                "max_historical_notifications": most_history,
            },
            streams={
                "max_waiting_bytes": mailbox,
                "stalled_seconds": _STALLED_SECONDS,
                "max_streams": MOST_STREAMS,
            },
        )
        gateway = await self._parts.enter_async_context(
            running_gateway(log, registry, self.clock, configured)
        )
        return World(
            log,
            registry,
            gateway,
            now=self.clock.monotonic,
            most_history=most_history,
            is_roomy=mailbox > _BURST_BYTES,
        )

    @property
    def clock(self) -> VirtualTime:
        """What time it is."""
        loop = self._runner.get_loop()
        assert isinstance(loop, VirtualLoop)
        return loop.clock

    def new_log(self) -> MemoryLog:
        """Return an empty log."""
        # A log is known by the instant at which it was made, and several may be made at one.
        self._logs += 1
        return MemoryLog(self._limits, Ahead(self.clock, self._logs))

    # --- steps -------------------------------------------------------------------------------------------

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Do something, which must come to an end."""

        async def in_time() -> Result:
            async with asyncio.timeout(_DEADLINE_SECONDS):
                return await work

        return self._runner.run(in_time())

    def do(self, act: Callable[[], Result]) -> Result:
        """Do something that waits for nothing."""

        async def acting() -> Result:
            return act()

        return self.run(acting())

    def turn(self, turns: int) -> None:
        """Let a few steps of whatever is under way happen."""

        async def turning() -> None:
            for _ in range(turns):
                await asyncio.sleep(0)

        self.run(turning())

    def pass_time(self, seconds: float) -> None:
        """Let time pass."""
        self.run(asyncio.sleep(seconds))

    def open(
        self,
        span: Span,
        filter: int = 0,
        *,
        is_watch: bool = True,
        is_handed_over: bool = False,
        stalls: bool = False,
    ) -> Session:
        """Ask for a stream."""
        return self.do(
            lambda: self.world.open(
                span, is_watch=is_watch, filter=filter, is_handed_over=is_handed_over, stalls=stalls
            )
        )

    # --- the end -----------------------------------------------------------------------------------------

    def finish(self) -> None:
        """Let everything come to rest, judge every stream, and look for what is left."""
        self.run(self._come_to_rest())
        for session in self.world.sessions:
            judge(self.world, session)
            self._judge_time(session)
        self.run(self._leave())

    def close(self) -> None:
        """End everything."""
        self.run(self._parts.aclose())
        self._runner.close()

    async def _come_to_rest(self) -> None:
        world = self.world
        world.troubles.mend()
        for session in world.sessions:
            session.reader.go_on()
        await asyncio.sleep(_REST_SECONDS)
        # Everybody who is still there selects one of these.
        await world.append([("od", 3), ("rd", 1)])
        await asyncio.sleep(1)
        await world.note_kept()

    def _judge_time(self, session: Session) -> None:
        if session.is_watch and session.reader.kept_up:
            assert session.longest_silence <= _HEARTBEAT_SECONDS + 0.5, "no heartbeat where one was due"
        if session.is_watch and session.is_open:
            lasted = self.clock.seconds - session.begin.at
            assert lasted <= _LIFETIME_SECONDS + _REST_SECONDS, "open for longer than anybody may be"

    async def _leave(self) -> None:
        """Leave every stream: then nothing holds on to the log, and everybody may open as many as at the beginning."""
        world = self.world
        for session in world.sessions:
            session.reader.leave()
        await asyncio.sleep(_EMPTY_SECONDS)
        assert not world.troubles.tails, "a feed without streams goes on"
        assert not world.troubles.readings, "history is read for nobody"
        if world.is_draining:
            return
        # This, the wheel, and what waits for the process to stop.
        assert len(asyncio.all_tasks()) == 3, asyncio.all_tasks()
        again = [
            world.open(Span(), is_watch=True, filter=0, is_handed_over=place % 2 == 0)
            for place in range(MOST_STREAMS)
        ]
        await asyncio.sleep(1)
        assert all(session.is_open for session in again), "somebody's place was not given back"
