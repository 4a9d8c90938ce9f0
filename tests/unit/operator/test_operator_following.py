"""Noticing that kopf follows no more, by the tasks that it calls so; with kopf itself it is tried on a real cluster."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import pytest

from aviso_core.errors import Unavailable
from aviso_operator.following import wait_unfollowed
from support.virtual_time import VirtualLoop, virtual_clock

if TYPE_CHECKING:
    from collections.abc import Coroutine

WATCHER: Final = "watcher for eventschemas.v1alpha1.aviso.dev@weather"


def in_virtual_time(story: Coroutine[None, None, None]) -> None:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(story)


async def follow(seconds: float, ending: Exception | None) -> None:
    await asyncio.sleep(seconds)
    if ending is not None:
        raise ending


@pytest.mark.parametrize(
    ("ending", "said"),
    [
        (PermissionError("cannot watch eventschemas"), "cannot watch eventschemas"),
        (None, "kopf has ended it"),
    ],
)
def test_one_that_ends_is_told_with_its_reason(ending: Exception | None, said: str) -> None:
    async def story() -> None:
        others = asyncio.create_task(follow(1000, None), name=WATCHER.replace("weather", "ocean"))
        one = asyncio.create_task(follow(100, ending), name=WATCHER)
        with pytest.raises(Unavailable, match=f"EventSchemas are followed no more: {said}"):
            await wait_unfollowed()
        assert one.done()
        assert virtual_clock().monotonic() == 100
        others.cancel()

    in_virtual_time(story())


def test_one_that_is_told_to_stop_is_no_fault() -> None:
    async def story() -> None:
        one = asyncio.create_task(follow(100, None), name=WATCHER)
        waiting = asyncio.create_task(wait_unfollowed())
        await asyncio.sleep(5)
        one.cancel()
        await waiting

    in_virtual_time(story())


def test_one_that_never_begins_is_told() -> None:
    async def story() -> None:
        other = asyncio.create_task(follow(1000, None), name="watcher for pods.v1@weather")
        with pytest.raises(Unavailable, match="EventSchemas are not followed"):
            await wait_unfollowed()
        assert virtual_clock().monotonic() == 60
        other.cancel()

    in_virtual_time(story())
