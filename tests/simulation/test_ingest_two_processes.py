"""Two services over one broker, and producers that go to the other with the same ids where one does not answer well.

Each has a port of its own, or both have one: then the kernel says to which of them a new connection goes.

The seed decides the order of what breaks. It is printed with a failure, and `AVISO_SIMULATION_SEED` takes it; how the
steps fall together with what is under way is still chance.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Final

import pytest

from support.event_logs import asynchronous, leader_of
from support.log_story import stored
from support.nats import free_ports, open_link, running_cluster, running_server
from support.observed import on_broker, serving
from support.producers import check, publishing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    from support.nats import Link, Server
    from support.producers import Told

_IS_LONG: Final = bool(os.environ.get("AVISO_LONG_TESTS"))
_GIVEN: Final = os.environ.get("AVISO_SIMULATION_SEED")
_RUNS: Final = 1 if _GIVEN else 10 if _IS_LONG else 2
_STEPS: Final = 60 if _IS_LONG else 12


class Instance:
    """One of the services: always on the same port, with a way to the broker of its own."""

    def __init__(self, folder: Path, port: int, link: Link, *, shares_port: bool) -> None:
        self.port = port
        self._shares_port = shares_port
        self.link = link
        self._folder = folder
        self._running = AsyncExitStack()
        self._signal: Callable[[int], None] | None = None

    async def start(self) -> None:
        """Run it, and wait until it listens."""
        application = {"port": self.port, "reuse_port": self._shares_port}
        configuration = {**on_broker(self.link.url), "application": application}
        program = await self._running.enter_async_context(serving(self._folder, configuration))
        self._signal = program.process.send_signal

    async def end(self, how: signal.Signals = signal.SIGTERM) -> None:
        """End it, and wait until it has."""
        assert self._signal is not None
        self._signal(how)
        await self._running.aclose()


@asynccontextmanager
async def two_instances(folder: Path, server: Server, *, share_port: bool) -> AsyncIterator[list[Instance]]:
    """Run two services."""
    async with open_link(server) as first, open_link(server) as second:
        for name in ("s0", "s1"):
            (folder / name).mkdir()
        ports = free_ports(1) * 2 if share_port else free_ports(2)
        instances = [
            Instance(folder / f"s{place}", port, link, shares_port=share_port)
            for place, (port, link) in enumerate(zip(ports, (first, second), strict=True))
        ]
        await asyncio.gather(*(instance.start() for instance in instances))
        try:
            yield instances
        finally:
            for instance in instances:
                instance.link.mend()
            await asyncio.gather(*(instance.end() for instance in instances))


class Driver:
    """Takes the steps of one seed."""

    def __init__(self, seed: int, server: Server, instances: list[Instance], told: Told) -> None:
        self._chance = random.Random(seed)  # noqa: S311 (guards nothing)
        self._server = server
        self._instances = instances
        self._told = told
        self.taken: list[str] = []
        self._steps: dict[Callable[[], Awaitable[None]], int] = {
            self.go_on: 3,
            self.kill_server: 3,
            self.cut: 3,
            self.cut_while_answers_are_lost: 3,
            self.pause: 2,
            self.stop_instance: 1,
            self.kill_instance: 2,
        }

    async def run(self) -> None:
        """Take all steps, then let everything come to rest."""
        for step in self._chance.choices([*self._steps], [*self._steps.values()], k=_STEPS):
            await step()
            await self._told.wait_more(self._chance.choice((1, 100)))
        await self._told.wait_more(500)

    def _one(self) -> Instance:
        return self._chance.choice(self._instances)

    async def go_on(self) -> None:
        await self._told.wait_more(self._chance.randrange(1, 500))

    async def kill_server(self) -> None:
        await asyncio.to_thread(self._server.kill)
        await asyncio.sleep(self._chance.choice((0, 0.2)))
        await asyncio.to_thread(self._server.start)

    async def cut(self) -> None:
        link = self._one().link
        link.cut()
        await asyncio.sleep(self._chance.choice((0, 0.3)))
        link.mend()

    async def cut_while_answers_are_lost(self) -> None:
        link = self._one().link
        link.lose_answers()
        await asyncio.sleep(self._chance.choice((0, 0.02, 0.1)))
        link.cut()
        link.mend()

    async def pause(self) -> None:
        link = self._one().link
        link.pause()
        await asyncio.sleep(self._chance.choice((0.01, 0.3)))
        link.mend()

    async def stop_instance(self) -> None:
        instance = self._one()
        await instance.end()
        await instance.start()

    async def kill_instance(self) -> None:
        instance = self._one()
        await instance.end(signal.SIGKILL)
        await instance.start()


def _seed(run: int) -> int:
    if _GIVEN:
        return int(_GIVEN)
    # In CI the same commit always takes the same steps.
    return run if os.environ.get("CI") else random.SystemRandom().randrange(2**32)


@pytest.mark.parametrize("share_port", [False, True], ids=["two ports", "one port"])
@pytest.mark.parametrize("run_number", range(_RUNS))
def test_what_was_acknowledged_is_there_once_and_in_order(
    run_number: int, tmp_path: Path, *, share_port: bool
) -> None:
    """Whatever breaks, in whatever order: the broker, the ways to it, and the services themselves."""
    seed = _seed(run_number)
    print(f"\nAVISO_SIMULATION_SEED={seed}")  # noqa: T201 (pytest shows it with a failure)

    async def run(server: Server) -> None:
        async with (
            asyncio.timeout(600 if _IS_LONG else 60),
            two_instances(tmp_path, server, share_port=share_port) as instances,
            publishing(
                [instance.port for instance in instances],
                singles=8,
                batches=6,
                is_patient=True,
                may_break_off=True,
            ) as told,
        ):
            await Driver(seed, server, instances, told).run()
        check(told, await stored(server.url), also=())

    with running_server(tmp_path / "broker") as server:
        asyncio.run(run(server))


@asynchronous
async def test_the_leader_of_three_servers_is_killed(tmp_path: Path) -> None:
    """The others go on with everything that was acknowledged, and it comes back and joins them."""
    with running_cluster(tmp_path / "cluster") as cluster:
        for name in ("a", "b"):
            (tmp_path / name).mkdir()
        configuration = on_broker(",".join(cluster.urls), replicas=3)
        async with (
            serving(tmp_path / "a", configuration) as first,
            serving(tmp_path / "b", configuration) as second,
        ):
            ports = [first.port, second.port]
            async with publishing(ports, singles=8, batches=4, is_patient=True) as told:
                await told.wait_more(300)
                leader = await leader_of(cluster)
                await asyncio.to_thread(leader.kill)
                await told.wait_more(500)
                await asyncio.to_thread(leader.start)
                await told.wait_more(500)
        check(told, await stored(cluster.others(leader)[0].url), also=())
