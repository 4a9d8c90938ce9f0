"""The seam over a real broker: what `test_gateway_seam` tries in virtual time, with a backend that nobody here wrote.

A driver takes random steps: events come, streams are opened in every way, read slowly and left, the connection to the
broker breaks, the broker is killed, the stream is removed and made again. The seed decides the steps. It is printed
with a failure, and `AVISO_SIMULATION_SEED` takes it; `AVISO_LONG_TESTS` makes more and longer runs.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
from typing import TYPE_CHECKING, Final

import pytest

from aviso_core.clock import SystemClock
from aviso_core.errors import Unavailable
from aviso_core.registry.memory import MemoryRegistry
from support.event_logs import ask_broker, open_owning_log
from support.faulty_log import FaultyLog
from support.gateways import CLASSES, MARS, running_gateway, settings
from support.nats import Link, Server, open_link, running_server
from support.seam_judge import judge
from support.seam_truth import FILTERS, Span
from support.seam_world import MOST_STREAMS, World
from support.troubles import Troubles

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

_IS_LONG: Final = bool(os.environ.get("AVISO_LONG_TESTS"))
_GIVEN: Final = os.environ.get("AVISO_SIMULATION_SEED")
_RUNS: Final = 1 if _GIVEN else 20 if _IS_LONG else 3
_STEPS: Final = 150 if _IS_LONG else 60
_PATIENCE_SECONDS: Final = 30.0
_LOOKING_SECONDS: Final = 0.05


class Driver:
    """Takes the steps of one seed."""

    def __init__(self, chance: random.Random, world: World, link: Link, server: Server) -> None:
        self._chance = chance
        self._world = world
        self._link = link
        self._server = server
        self._steps: dict[Callable[[], Awaitable[None]], int] = {
            self.append: 12,
            self.delete: 2,
            self.watch: 6,
            self.replay: 4,
            self.read_otherwise: 6,
            self.wait: 6,
            self.answer_slowly: 2,
            self.refuse: 1,
            self.break_a_reading: 1,
            self.end_tails: 1,
            self.cut: 2,
            self.lose_deliveries: 2,
            self.kill_server: 1,
            self.make_the_stream_anew: 1,
            self.change_schema: 1,
        }

    async def run(self) -> None:
        """Take all steps."""
        await self.append()
        for step in self._chance.choices([*self._steps], [*self._steps.values()], k=_STEPS):
            await step()

    # --- the log -----------------------------------------------------------------------------------------

    async def append(self) -> None:
        events = [(self._chance.choice(CLASSES), self._chance.randrange(5)) for _ in range(self._some())]
        await self._world.append(events, padding=self._chance.choice((0, 0, 2000)))

    async def delete(self) -> None:
        await self._world.delete(self._chance.randint(1, self._world.life.last))

    async def make_the_stream_anew(self) -> None:
        await self._world.begin_life(self._world.log.behind)
        await ask_broker(self._server.url, "STREAM.DELETE.MARS")
        await self.append()

    # --- readers -----------------------------------------------------------------------------------------

    async def watch(self) -> None:
        span = self._chance.choice((Span(), self._start()))
        self._world.open(
            span,
            is_watch=True,
            filter=self._chance.randrange(len(FILTERS)),
            is_handed_over=self._chance.random() < 0.5,
            stalls=self._chance.random() < 0.2,
        )

    async def replay(self) -> None:
        span = self._start()
        if self._chance.random() < 0.5:
            span = span._replace(last_sequence=(span.first_sequence or 0) + self._some())
        which = self._chance.randrange(len(FILTERS))
        self._world.open(span, is_watch=False, filter=which, is_handed_over=False)

    def _start(self) -> Span:
        life = self._world.life
        if self._chance.random() < 0.7:
            return Span(first_sequence=self._chance.choice((0, 1, self._chance.randint(1, life.last + 2))))
        event = self._chance.choice([*life.events.values()])
        return Span(first_instant=event.instant + self._chance.randint(-1, 1))

    async def read_otherwise(self) -> None:
        for session in self._chance.sample(self._world.sessions, min(1, len(self._world.sessions))):
            reader = session.reader
            match self._chance.randrange(5):
                case 0:
                    reader.leave()
                case 1:
                    reader.stall()
                case 2:
                    reader.take(self._chance.randrange(1, 5000))
                case _:
                    reader.go_on()

    def _some(self) -> int:
        return self._chance.choice((1, 1, 2, 5, 40))

    # --- what breaks -------------------------------------------------------------------------------------

    async def wait(self) -> None:
        await asyncio.sleep(self._chance.choice((0, 0.001, 0.02, 0.1)))

    async def answer_slowly(self) -> None:
        troubles = self._world.troubles
        troubles.longest_seconds = self._chance.choice((0.0, 0.01, 0.1))
        troubles.longest_tail_seconds = self._chance.choice((0.0, 0.01, 0.1))
        troubles.batch_bytes = self._chance.choice((1, 500, 1_048_576))

    async def refuse(self) -> None:
        self._world.troubles.refused[self._chance.choice(("bounds", "seek", "read", "tail"))] = 1

    async def break_a_reading(self) -> None:
        self._world.troubles.breaks_after = self._chance.randrange(3)

    async def end_tails(self) -> None:
        self._world.troubles.end_tails(self._chance.choice((None, Unavailable("given up"))))

    async def cut(self) -> None:
        self._link.cut()
        await asyncio.sleep(self._chance.choice((0, 0.05)))
        self._link.mend()

    async def lose_deliveries(self) -> None:
        self._link.lose_deliveries(self._chance.randrange(1, 10))

    async def kill_server(self) -> None:
        await asyncio.to_thread(self._server.kill)
        await asyncio.to_thread(self._server.start)

    async def change_schema(self) -> None:
        await self._world.change_schema(matters=self._chance.random() < 0.5)


async def _until(holds: Callable[[], bool], what: str) -> None:
    """Wait until something holds."""
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            while not holds():  # noqa: ASYNC110 (it depends on several, of which none tells of all)
                await asyncio.sleep(_LOOKING_SECONDS)
    except TimeoutError:
        raise AssertionError(what) from None


async def _come_to_rest(world: World) -> None:
    world.troubles.mend()
    for session in world.sessions:
        session.reader.go_on()
    await _until(world.is_answered, "somebody waits for an answer")
    # Everybody who is still there selects one of these, behind whatever there was before.
    await world.append([("od", 3), ("rd", 1)])
    await _until(world.is_level, "somebody was not shown what is stored now")
    await world.note_kept()


def _seed(run: int) -> int:
    if _GIVEN:
        return int(_GIVEN)
    # In CI the same commit always takes the same steps.
    return run if os.environ.get("CI") else random.SystemRandom().randrange(2**32)


@pytest.fixture(autouse=True)
def no_records() -> Iterator[None]:
    """Write no records: the troubles of the backend are meant."""
    level = logging.root.level
    logging.root.setLevel(logging.CRITICAL)
    yield
    logging.root.setLevel(level)


@pytest.mark.parametrize("run_number", range(_RUNS))
def test_streams_over_a_broker_show_everything_once_and_in_order(run_number: int, tmp_path: Path) -> None:
    """Or are closed with a reason; and in the end nothing holds on to the log."""
    seed = _seed(run_number)
    print(f"\nAVISO_SIMULATION_SEED={seed}")  # noqa: T201 (pytest shows it with a failure)
    chance = random.Random(seed)  # noqa: S311 (guards nothing)

    async def run(server: Server) -> None:
        clock, registry = SystemClock(), MemoryRegistry()
        await registry.publish(MARS, expected_revision=0)
        async with (
            asyncio.timeout(600 if _IS_LONG else 120),
            open_link(server) as link,
            open_owning_log(link.url) as behind,
            # What makes up the truth is appended and read past whatever is broken on the way.
            open_owning_log(server.url) as straight,
        ):
            log = FaultyLog(behind, Troubles(chance))
            limits = {"max_streams": MOST_STREAMS, "drain_seconds": 0}
            async with running_gateway(log, registry, clock, settings(streams=limits)) as gateway:
                world = World(
                    log,
                    registry,
                    gateway,
                    now=asyncio.get_running_loop().time,
                    most_history=10_000,
                    source=straight,
                )
                await Driver(chance, world, link, server).run()
                link.mend()
                await _come_to_rest(world)
                for session in world.sessions:
                    judge(world, session)
                for session in world.sessions:
                    session.reader.leave()
                await _until(lambda: not world.troubles.readings, "history is read for nobody")
            assert not world.troubles.tails, "a feed without streams goes on"

    with running_server(tmp_path) as server:
        asyncio.run(run(server))
