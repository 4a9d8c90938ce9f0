"""An hour of two gateways and 500 clients, with restarts, crashes and a backend in trouble, in seconds.

The seed decides everything. It is printed with a failure, and `AVISO_SIMULATION_SEED` takes it; `AVISO_LONG_TESTS`
makes more runs. In the end every client must have been told each event that it wants, from where it began, once and in
order.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import random
from collections import Counter
from typing import TYPE_CHECKING, Final

import pytest

from aviso_core.errors import Unavailable
from aviso_core.eventlog.base import Appended
from aviso_core.eventlog.entry import write_record
from aviso_core.eventlog.memory import MemoryLimits, MemoryLog
from aviso_core.registry.memory import MemoryRegistry
from support.faulty_log import FaultyLog
from support.gateways import CLASSES, MARS, MARS_EVENTS, running_gateway, settings
from support.listeners import Listener, Poller
from support.seam_truth import FILTERS, Happened
from support.troubles import Troubles
from support.virtual_time import VirtualLoop, virtual_clock

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator
    from typing import Any

    from support.gateways import Gateway
    from support.troubles import Call

_IS_LONG: Final = bool(os.environ.get("AVISO_LONG_TESTS"))
_GIVEN: Final = os.environ.get("AVISO_SIMULATION_SEED")
_RUNS: Final = 10 if _IS_LONG and not _GIVEN else 1

_HOUR_SECONDS: Final = 3600.0
_REST_SECONDS: Final = 120.0
_LIFETIME_SECONDS: Final = 300
_GATEWAYS: Final = 2
# A start behind these would be one in the future, which holds nothing back (contract 7.4).
_STORED_BEFORE: Final = 200
_CALLS: Final[tuple[Call, ...]] = ("bounds", "seek", "read", "tail")


class Hour:
    """One simulation."""

    def __init__(self, seed: int, *, clients: int, seconds: float) -> None:
        self._chance = random.Random(seed)  # noqa: S311 (guards nothing)
        self._seconds = seconds
        clock = virtual_clock()
        self._clock = clock
        self.log = FaultyLog(
            MemoryLog(MemoryLimits(max_history_per_topic=1_000_000), clock),
            Troubles(random.Random(self._chance.random())),  # noqa: S311 (guards nothing)
        )
        self._registry = MemoryRegistry()
        self._gateways: dict[int, Gateway] = {}
        self.events: list[Happened] = []
        self.clients = [self._client(number) for number in range(clients)]

    def _client(self, number: int) -> Listener:
        chance = random.Random(self._chance.random())  # noqa: S311 (guards nothing)

        def choose() -> Gateway | None:
            return chance.choice([*self._gateways.values()]) if self._gateways else None

        which = chance.choices(range(len(FILTERS)), (1, 5, 5, 10, 10))[0]
        if number % 10 == 0:
            return Poller(number, chance, choose, filter=which, start=1)
        start = chance.choice((None, 1, chance.randrange(1, _STORED_BEFORE)))
        return Listener(number, chance, choose, filter=which, start=start)

    async def run(self) -> None:
        """Let the hour pass, and let everything come to rest."""
        await self._registry.publish(MARS, expected_revision=0)
        await self._append(_STORED_BEFORE)
        gateways = [self._start(self._serve(number)) for number in range(_GATEWAYS)]
        clients = [self._start(self._come(client)) for client in self.clients]
        happenings = [self._start(work) for work in (self._publish(), self._trouble(), self._shake())]
        await asyncio.sleep(self._seconds)
        await _end(happenings)
        self.log.troubles.mend()
        await asyncio.sleep(_REST_SECONDS)
        # Everybody wants one of these.
        for kind, step in (("od", 3), ("rd", 1)):
            await self._append_one(kind, step)
        await asyncio.sleep(_REST_SECONDS)
        await _end(clients)
        await _end(gateways)

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return asyncio.create_task(work)

    async def _come(self, client: Listener) -> None:
        """Have a client begin at some time of the first half."""
        await asyncio.sleep(self._chance.uniform(0, self._seconds / 2))
        await client.run()

    # --- what happens ------------------------------------------------------------------------------------

    async def _serve(self, number: int) -> None:
        """Run a gateway, end it after some minutes in one way or the other, and run another."""
        configured = settings(
            watch={"connection_max_duration_sec": _LIFETIME_SECONDS, "max_historical_notifications": 100_000}
        )
        while True:
            async with running_gateway(self.log, self._registry, self._clock, configured) as gateway:
                self._gateways[number] = gateway
                try:
                    await asyncio.sleep(self._chance.uniform(120, 900))
                finally:
                    del self._gateways[number]
                if self._chance.random() < 0.5:
                    gateway.lose_connections()
            await asyncio.sleep(self._chance.uniform(0.5, 10))

    async def _publish(self) -> None:
        while True:
            await asyncio.sleep(self._chance.expovariate(1 / 3))
            await self._append(self._chance.choice((1, 1, 1, 1, 2, 30)) if self._chance.random() < 0.3 else 1)

    async def _append(self, count: int) -> None:
        for _ in range(count):
            await self._append_one(self._chance.choice(CLASSES), self._chance.randrange(5))

    async def _append_one(self, kind: str, step: int) -> None:
        announced = MARS_EVENTS.announce({"class": kind, "step": step})
        appended = await self.log.append("mars", write_record(MARS_EVENTS, announced, b'{"life":0}'))
        assert isinstance(appended, Appended)
        self.events.append(Happened(appended.sequence, kind, step, self._clock.now_ns()))

    async def _trouble(self) -> None:
        """Have the backend in trouble now and then."""
        troubles, chance = self.log.troubles, self._chance
        while True:
            await asyncio.sleep(chance.uniform(30, 300))
            match chance.randrange(5):
                case 0:
                    troubles.refused[chance.choice(_CALLS)] = chance.randrange(1, 20)
                case 1:
                    troubles.breaks_after = chance.randrange(3)
                case 2:
                    troubles.end_tails(chance.choice((None, Unavailable("given up"))))
                case 3:
                    troubles.longest_seconds = troubles.longest_tail_seconds = chance.uniform(0, 2)
                case _:
                    troubles.refused.update(dict.fromkeys(_CALLS, 1_000_000))
                    troubles.end_tails(Unavailable("away"))
                    await asyncio.sleep(chance.uniform(1, 20))
                    troubles.mend()
            troubles.batch_bytes = chance.choice((100, 5_000, 1_048_576))

    async def _shake(self) -> None:
        """Have somebody's connection break now and then."""
        while True:
            await asyncio.sleep(self._chance.expovariate(0.5))
            for gateway in self._chance.sample([*self._gateways.values()], min(1, len(self._gateways))):
                gateway.lose_a_connection(self._chance)

    # --- the judgement -----------------------------------------------------------------------------------

    def check(self) -> None:
        """Compare what each client was told with what it wants."""
        for client in self.clients:
            selects = FILTERS[client.filter][1]
            start = client.start or (client.told[0] if client.told else 0)
            wanted = [event.sequence for event in self.events if event.sequence >= start and selects(event)]
            assert client.told, f"client {client.number} was told nothing"
            assert client.told == wanted, (
                f"client {client.number}, from {client.start}, asked {client.asked} times, {client.endings}: "
                f"missing {sorted(set(wanted) - set(client.told))}, "
                f"repeated {[one for one, count in Counter(client.told).items() if count > 1]}"
            )

    @property
    def endings(self) -> Counter[str]:
        """In which ways streams ended, over all clients."""
        return sum((Counter(client.endings) for client in self.clients), Counter())


async def _end(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    for outcome in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(outcome, Exception):
            raise outcome


def _simulate(seed: int, *, clients: int, seconds: float) -> Hour:
    async def run() -> Hour:
        hour = Hour(seed, clients=clients, seconds=seconds)
        await hour.run()
        assert not hour.log.troubles.tails, "a feed without streams goes on"
        assert not hour.log.troubles.readings, "history is read for nobody"
        return hour

    # The service's own dice decide when streams end.
    random.seed(seed)
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(run())


@pytest.fixture(autouse=True)
def quiet_process() -> Iterator[None]:
    """Write no records, which would cost more than all else, and leave the process's dice as they were."""
    before, level = random.getstate(), logging.root.level
    logging.root.setLevel(logging.CRITICAL)
    yield
    logging.root.setLevel(level)
    random.setstate(before)


def _seed(run: int) -> int:
    if _GIVEN:
        return int(_GIVEN)
    # In CI the same commit always has the same hour.
    return run if os.environ.get("CI") else random.SystemRandom().randrange(2**32)


@pytest.mark.parametrize("run_number", range(_RUNS))
def test_every_client_is_told_everything_once_whatever_happens_within_an_hour(run_number: int) -> None:
    """And streams ended in every way that there is, so that the clients had to resume."""
    seed = _seed(run_number)
    print(f"\nAVISO_SIMULATION_SEED={seed}")  # noqa: T201 (pytest shows it with a failure)
    hour = _simulate(seed, clients=500, seconds=_HOUR_SECONDS)
    hour.check()
    assert {
        "max_duration_reached",
        "server_shutdown",
        "end_of_stream",
        "connection lost",
    } <= hour.endings.keys()


def test_a_seed_tells_one_story() -> None:
    """Two simulations of one seed are the same in every detail that a client sees."""
    stories = [
        json.dumps([(client.told, client.asked, client.endings) for client in hour.clients])
        for hour in (_simulate(11, clients=40, seconds=900) for _ in range(2))
    ]
    assert stories[0] == stories[1]
