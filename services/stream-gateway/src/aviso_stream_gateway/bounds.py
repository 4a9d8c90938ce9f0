"""What a log holds now, asked once for all who want to know at the same time.

An answer is good only for whoever asked before the question was sent: what was stored since is not in it. So whoever
comes while a question is under way shares the next one.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aviso_core.eventlog.base import Bounds, EventLog


class FreshBounds:
    """Asks the log."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._next: dict[str, asyncio.Future[Bounds]] = {}
        self._asking: dict[str, asyncio.Task[None]] = {}

    async def of(self, base: str) -> Bounds:
        """Return what the stream of a base holds, not earlier than now."""
        answer = self._next.get(base)
        if answer is None:
            answer = self._next[base] = asyncio.get_running_loop().create_future()
            if base not in self._asking:
                self._asking[base] = asyncio.create_task(self._ask(base))
        return await asyncio.shield(answer)

    async def _ask(self, base: str) -> None:
        try:
            while (answer := self._next.pop(base, None)) is not None:
                try:
                    answer.set_result(await self._log.bounds(base))
                except Exception as error:  # noqa: BLE001 (whoever waits gets it)
                    answer.set_exception(error)
        finally:
            del self._asking[base]
            unanswered = self._next.pop(base, None)
            if unanswered is not None:
                unanswered.cancel()
