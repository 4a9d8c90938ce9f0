"""Work that goes on for as long as a block runs."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine


@asynccontextmanager
async def alongside(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run the work beside the block and end it with the block; if the work fails, so does the block.

    What the block raises comes out as it is, not in a group, so that callers can tell refusals apart.
    """
    raised: Exception | None = None
    async with asyncio.TaskGroup() as tasks:
        chore = tasks.create_task(work)
        try:
            yield
        except Exception as error:  # noqa: BLE001 (raised again as soon as the group has ended)
            raised = error
        finally:
            chore.cancel()
    if raised is not None:
        raise raised
