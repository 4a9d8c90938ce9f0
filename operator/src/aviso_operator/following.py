"""Noticing that kopf has given up following the objects.

Where the API server refuses a watch, or fails for longer than kopf is patient, kopf logs it, ends that watch and goes
on without: what is left are the resyncs, and nothing tells that they are all there is. Who follows no more can only
begin anew, so the operator ends with what kopf was told; whoever starts it again is told the same, or all is well.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from aviso_core.errors import Unavailable
from aviso_operator.resources import GROUP, PLURAL, VERSION

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

# By what they are called, for kopf hands out no others: a test follows real objects and refuses them.
_WATCHERS: Final = f"watcher for {PLURAL}.{VERSION}.{GROUP}@"
_BETWEEN_LOOKS_SECONDS: Final = 1.0
_PATIENCE_SECONDS: Final = 60.0


async def wait_unfollowed() -> None:
    """Wait until objects are followed no more, and raise `Unavailable` with the reason; return if told to stop."""
    watchers = await _find()
    ended, _ = await asyncio.wait(watchers, return_when=asyncio.FIRST_COMPLETED)
    for one in ended:
        if one.cancelled():
            return
        raise Unavailable(f"EventSchemas are followed no more: {one.exception() or 'kopf has ended it'}")


async def _find() -> AbstractSet[asyncio.Task[object]]:
    """Return kopf's tasks that follow objects. It begins all of them at once, soon after it was started."""
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            while True:
                found = {task for task in asyncio.all_tasks() if task.get_name().startswith(_WATCHERS)}
                if found:
                    return found
                # Nothing tells when it begins.
                await asyncio.sleep(_BETWEEN_LOOKS_SECONDS)
    except TimeoutError:
        raise Unavailable("EventSchemas are not followed: kopf does not find their definition") from None
