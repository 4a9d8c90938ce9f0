"""A follower tells once for each change, and nothing that is told in vain stops it."""

from __future__ import annotations

import asyncio

import pytest

from aviso_core.alongside import alongside
from aviso_core.registry.follower import Follower
from aviso_core.registry.memory import MemoryRegistry
from support.registries import published, schema, unreadable


def test_a_follower_tells_once_for_each_change() -> None:
    told: list[int | None] = []
    follower = Follower(lambda follower: told.append(follower.revision_of("storms")), strict=None)
    follower.take_all([])
    follower.take_in([published("storms", 1), published("storms", 2)])
    follower.take_in([unreadable("storms", 3)])
    follower.take_all([published("storms", 2), unreadable("storms", 3)])
    assert told == [None, 2, 2]


def test_a_caller_who_fails_to_listen_stops_nobody(caplog: pytest.LogCaptureFixture) -> None:
    """Otherwise one schema could end every process that follows, at the same moment."""

    def stumble(follower: Follower) -> None:
        raise ZeroDivisionError(follower.revision_of("storms"))

    async def main() -> None:
        registry = MemoryRegistry()
        async with registry.follow(stumble) as follower:
            revision = await registry.publish(schema("storms"), expected_revision=0)
            assert follower.revision_of("storms") == revision

    asyncio.run(main())
    assert "telling of a change in the registry failed" in caplog.text


def test_whoever_waits_is_woken_by_a_change() -> None:
    async def main() -> None:
        follower = Follower(lambda _: None, strict=None)
        async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
            loaded = tasks.create_task(follower.wait_loaded())
            before = follower.served
            changed = tasks.create_task(follower.wait_changed(before))
            await asyncio.sleep(0)
            assert not loaded.done()
            assert not changed.done()
            follower.take_all([published("storms", 1)])
        assert changed.result() is follower.served

    asyncio.run(main())


# --- work alongside --------------------------------------------------------------------------------------


async def _for_ever() -> None:
    await asyncio.Event().wait()


def test_what_a_block_raises_comes_out_as_it_is() -> None:
    """Not in a group: callers tell refusals apart by their class."""

    async def main() -> None:
        async with alongside(_for_ever()):
            raise KeyError("own")

    with pytest.raises(KeyError, match="own"):
        asyncio.run(main())


def test_work_that_fails_ends_its_block() -> None:
    async def fail() -> None:
        raise KeyError("work")

    async def main() -> None:
        async with alongside(fail()):
            await _for_ever()

    with pytest.raises(ExceptionGroup) as raised:
        asyncio.run(main())
    assert [type(error) for error in raised.value.exceptions] == [KeyError]


def test_a_block_that_is_cancelled_ends_its_work() -> None:
    async def main() -> list[str]:
        ended: list[str] = []

        async def work() -> None:
            try:
                await _for_ever()
            finally:
                ended.append("work")

        async def block() -> None:
            async with alongside(work()):
                await _for_ever()

        task = asyncio.create_task(block())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return ended

    assert asyncio.run(main()) == ["work"]
