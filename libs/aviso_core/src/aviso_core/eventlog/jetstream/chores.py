"""Tasks that go on for as long as a block runs."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class _BlockEnded(Exception):
    """The only way to tell a task group that its tasks are to end."""


@asynccontextmanager
async def chores() -> AsyncIterator[asyncio.TaskGroup]:
    """Run tasks beside a block and end them with it; if one of them fails, so does the block.

    What the block raises comes out as it is, not in a group, so that callers can tell refusals apart.
    """
    raised: Exception | None = None
    try:
        async with asyncio.TaskGroup() as tasks:
            try:
                yield tasks
            except Exception as error:  # noqa: BLE001 (raised again as soon as the group has ended)
                raised = error
            raise _BlockEnded
    except* _BlockEnded:
        pass
    if raised is not None:
        raise raised
