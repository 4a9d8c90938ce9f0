"""A reading of history that fails, with several who wait for it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from aviso_core.errors import Unavailable
from aviso_core.eventlog.memory import MemoryLimits, MemoryLog
from aviso_stream_gateway.runs import Runs
from aviso_stream_gateway.showing import Showing
from support.event_logs import asynchronous, fill, numbered

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from aviso_core.eventlog.base import Batch, Bounds


class Failing(MemoryLog):
    """A log that cannot be read on behind its first batch, which takes a while to find out."""

    readings = 0
    is_away = True

    async def read(self, base: str, **span: Any) -> AsyncGenerator[Batch, None]:
        """Yield what there is, or fail."""
        self.readings += 1
        async for batch in super().read(base, **span):
            if self.is_away:
                await asyncio.sleep(0.05)
                raise Unavailable("the log is away")
            yield batch


async def read(runs: Runs, bounds: Bounds) -> int:
    """Read everything and return how many events it was."""
    count = 0
    showing = Showing("mars", None, base_url="http://localhost")
    async for page in runs.read("mars", showing, first=1, last=bounds.last, bounds=bounds, pattern=None):
        count += len(page.items)
    return count


@asynchronous
async def test_all_who_wait_for_a_reading_fail_with_it() -> None:
    """At once, each of them, and not one after the other; who comes later tries anew."""
    log = Failing(MemoryLimits(max_history_per_topic=100, max_topics=100))
    await fill(log, numbered(3))
    runs, bounds = Runs(log), await log.bounds("mars")
    failed = await asyncio.gather(*(read(runs, bounds) for _ in range(10)), return_exceptions=True)
    assert [type(one) for one in failed] == [Unavailable] * 10
    assert log.readings == 1
    with pytest.raises(Unavailable):
        await read(runs, bounds)
    log.is_away = False
    assert await read(runs, bounds) == 3
