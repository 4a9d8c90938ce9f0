"""Looking at everything again: when it has finished, how old it is, and what it finds that nobody saw go."""

from __future__ import annotations

import asyncio
import random
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

import pytest

from aviso_core.alongside import alongside
from aviso_core.errors import Unavailable
from aviso_core.registry.base import Owner
from aviso_operator.options import Watched
from aviso_operator.resync import Resync
from support.appliers import wanted
from support.event_logs import asynchronous
from support.http_server import answering
from support.nats import Server, running_server
from support.operator_parts import Parts, open_parts
from support.registries import manifest

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path

    from support.asking import BeforeAsking

INTERVAL: Final = 1000.0


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with running_server(tmp_path) as server:
        yield server


class Scene(NamedTuple):
    """A resync, what it works on, and who looks: nobody, until somebody is told to."""

    parts: Parts
    resync: Resync
    looked: list[str]
    may_look: asyncio.Event

    async def look(self, key: str) -> bool:
        """Look at an object, as a worker does."""
        await self.may_look.wait()
        self.looked.append(key)
        self.resync.looked(key)
        return True

    def is_on_time(self) -> bool:
        """Tell whether it finishes as often as it should, as of now."""
        return self.resync.is_on_time

    async def wait_finished(self) -> None:
        """Wait until a resync has finished: the clock stands, so it has just done so when its age is none."""
        await _until(lambda: self.resync.age_seconds == 0)

    async def wait_idle(self) -> None:
        """Wait until nothing is left to look at."""
        await _until(lambda: self.parts.queue.is_idle)


async def _until(holds: Callable[[], bool]) -> None:
    """Ask until it is so: nothing tells when these values change, which others look at now and then as well."""
    async with asyncio.timeout(10):
        while not holds():  # noqa: ASYNC110 (see above)
            await asyncio.sleep(0.01)


@asynccontextmanager
async def scene(
    server: Server,
    *,
    watched: Watched | None = None,
    interval: float = INTERVAL,
    before: BeforeAsking | None = None,
) -> AsyncIterator[Scene]:
    async with open_parts(server.url, watched=watched, before=before) as parts:
        resync = Resync(
            parts.cluster,
            parts.broker,
            letting_go=parts.letting_go,
            objects=parts.objects,
            queue=parts.queue,
            clock=parts.clock,
            seconds=interval,
            chance=random.Random(1),  # noqa: S311 (seeded, not secret)
        )
        made = Scene(parts, resync, [], asyncio.Event())
        async with alongside(parts.queue.work_for_ever(made.look)):
            yield made
        parts.queue.close()


async def refuse_locked(subject: str) -> None:
    """Answer as the broker would that cannot change one stream, and can all others."""
    if subject.endswith("STREAM.UPDATE.LOCKED"):
        raise Unavailable("stream LOCKED has no leader")


def declare(parts: Parts, name: str, *, namespace: str = "weather") -> None:
    parts.kept.create(name, manifest(name)["spec"], namespace=namespace)


@asynchronous
async def test_it_has_finished_when_everything_has_been_looked_at(server: Server) -> None:
    async with scene(server) as on:
        for name in ("a", "b", "c"):
            declare(on.parts, name)
        on.parts.clock.advance(5)
        async with alongside(on.resync.run_for_ever()):
            await on.parts.objects.wait_loaded()
            assert on.resync.age_seconds == 5, "it is known what there is, and nothing was looked at"
            assert on.looked == []
            on.may_look.set()
            await on.wait_finished()
        assert sorted(on.looked) == ["weather/a", "weather/b", "weather/c"]
        assert on.resync.is_loaded


@asynchronous
async def test_an_empty_cluster_is_looked_at_too(server: Server) -> None:
    async with scene(server) as on:
        on.parts.clock.advance(5)
        async with alongside(on.resync.run_for_ever()):
            await on.wait_finished()
        assert on.resync.is_loaded


@asynchronous
async def test_it_is_late_after_three_intervals(server: Server) -> None:
    """That is what health is judged by: one that hangs in a look is found out, and so is one that nobody answers."""
    async with scene(server) as on:
        declare(on.parts, "a")
        async with alongside(on.resync.run_for_ever()):
            await on.parts.objects.wait_loaded()
            on.parts.clock.advance(3 * INTERVAL - 1)
            assert on.is_on_time()
            on.parts.clock.advance(1)
            assert not on.is_on_time()
            on.may_look.set()
            await on.wait_finished()
            assert on.is_on_time()


@asynchronous
async def test_a_list_that_fails_is_asked_for_again(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    async with scene(server) as on:
        declare(on.parts, "a")
        on.may_look.set()
        on.parts.clock.advance(5)
        on.parts.kept.before = lambda asked: answering(500, {"message": "etcd is away"})
        async with alongside(on.resync.run_for_ever()):
            await _until(lambda: bool(caplog.records))
            assert not on.resync.is_loaded
            assert on.resync.age_seconds == 5
            on.parts.kept.before = lambda asked: None
            await on.wait_finished()
        assert on.looked == ["weather/a"]
    assert "etcd is away" in caplog.text


@asynchronous
async def test_it_comes_again_and_looks_are_spread(server: Server) -> None:
    """Not all at once, and not longer than a part of the interval."""
    async with scene(server, interval=1.0) as on:
        on.may_look.set()
        for number in range(20):
            declare(on.parts, f"a{number}")
        async with alongside(on.resync.run_for_ever()):
            on.parts.clock.advance(1)
            await on.wait_finished()
            assert len(on.looked) == 20
            on.parts.clock.advance(1)
            await on.wait_finished()
        assert len(on.looked) == 40
        assert sorted(on.looked[:20]) == sorted(on.looked[20:])
        assert on.looked[:20] != on.looked[20:], "a second time in an order by chance"


@asynchronous
async def test_objects_that_went_while_nobody_looked_are_found(server: Server) -> None:
    async with scene(server, watched=Watched(("weather",))) as on:
        declare(on.parts, "a")
        declare(on.parts, "b")
        for name in ("a", "b"):
            on.parts.objects.see(on.parts.kept.get(f"weather/{name}"))
        on.parts.kept.delete("weather/a")
        on.may_look.set()
        on.parts.clock.advance(5)
        async with alongside(on.resync.run_for_ever()):
            await on.wait_finished()
            await on.wait_idle()
        assert sorted(on.looked) == ["weather/a", "weather/b"]
        assert on.parts.objects.get("weather/a") is None
        assert on.parts.objects.gone("weather/a") is not None


@asynchronous
async def test_what_is_published_for_nobody_is_looked_at(server: Server) -> None:
    """Its object went while there was no operator. What belongs to namespaces that are not watched is left alone."""
    async with scene(server, watched=Watched(("weather",))) as on:
        await on.parts.hands.converge(wanted("lost"))
        await on.parts.hands.converge(wanted("foreign", owner=Owner("ocean", "foreign")))
        on.may_look.set()
        on.parts.clock.advance(5)
        async with alongside(on.resync.run_for_ever()):
            await on.wait_finished()
            await on.wait_idle()
        assert on.looked == ["weather/lost"]
        foreign, lost = [await on.parts.hands.stream(base) for base in ("foreign", "lost")]
        assert foreign.stamps is not None
        assert lost.stamps is not None
        assert foreign.stamps.orphaned_at is None
        assert lost.stamps.orphaned_at is not None


@asynchronous
async def test_a_stream_that_cannot_be_let_go_of_keeps_nothing_else_back(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    """One that has lost its leader takes no stamp; the resync finishes, and the other one is stamped."""
    async with scene(server, before=refuse_locked) as on:
        for name in ("locked", "lost"):
            await on.parts.hands.converge(wanted(name))
        on.may_look.set()
        on.parts.clock.advance(5)
        async with alongside(on.resync.run_for_ever()):
            await on.wait_finished()
        stamps = (await on.parts.hands.stream("lost")).stamps
        assert stamps is not None
        assert stamps.orphaned_at is not None
    assert [one.message for one in caplog.records].count("a stream cannot be let go of") == 1


@asynchronous
async def test_without_a_broker_objects_are_looked_at_all_the_same(server: Server) -> None:
    """An operator that is cut off is not unhealthy: to start it anew would bring the broker back no sooner."""
    async with scene(server) as on:
        declare(on.parts, "a")
        on.may_look.set()
        server.kill()
        on.parts.clock.advance(5)
        async with alongside(on.resync.run_for_ever()):
            await on.wait_finished()
        assert on.looked == ["weather/a"]
