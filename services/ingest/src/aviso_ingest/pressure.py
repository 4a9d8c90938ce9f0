"""How much this process holds in memory for requests that are not answered yet: bounded in bytes.

A request says how many bytes it is going to take and waits until there is room; meanwhile its body stays in the socket,
where the client's own sending stops. Who has waited for too long is told to come again. Requests are let in in the
order in which they came, so a large one is not passed by small ones for ever.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from aviso_core.errors import Overloaded

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_RETRY_AFTER_SECONDS: Final = 1


class Pressure:
    """The bytes in flight of one process."""

    def __init__(self, *, most_bytes: int, waiting_seconds: float, most_waiting: int = 10_000) -> None:
        self._most_bytes = most_bytes
        self._waiting_seconds = waiting_seconds
        self._most_waiting = most_waiting
        self._bytes = 0
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    @property
    def bytes_in_flight(self) -> int:
        """How many bytes are held now."""
        return self._bytes

    @asynccontextmanager
    async def room(self, size: int) -> AsyncIterator[None]:
        """Hold so many bytes for as long as the block runs; what is larger than everything gets everything."""
        held = await self.enter(size)
        try:
            yield
        finally:
            self.leave(held)

    async def enter(self, size: int) -> int:
        """Wait for room, and return how many bytes are held then, for `leave`."""
        size = min(size, self._most_bytes)
        if not self._waiting and self._bytes + size <= self._most_bytes:
            self._bytes += size
            return size
        if len(self._waiting) >= self._most_waiting:
            raise _overloaded()
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((size, turn))
        try:
            async with asyncio.timeout(self._waiting_seconds):
                await turn
        except TimeoutError as error:
            self._give_up(size, turn)
            raise _overloaded() from error
        except asyncio.CancelledError:
            self._give_up(size, turn)
            raise
        return size

    def _give_up(self, size: int, turn: asyncio.Future[None]) -> None:
        if turn.done() and not turn.cancelled():
            # Its turn had come in the same moment.
            self.leave(size)
        elif (size, turn) in self._waiting:
            self._waiting.remove((size, turn))
            self._let_in()
        # Else it was passed over in the same moment: its time was up, and others were let in.

    def leave(self, size: int) -> None:
        """Hold so many bytes no longer."""
        self._bytes -= size
        self._let_in()

    def _let_in(self) -> None:
        while self._waiting and self._bytes + self._waiting[0][0] <= self._most_bytes:
            size, turn = self._waiting.popleft()
            if not turn.cancelled():
                self._bytes += size
                turn.set_result(None)


def _overloaded() -> Overloaded:
    return Overloaded(
        "More requests are in flight than this service takes; send the same again a little later",
        retry_after_seconds=_RETRY_AFTER_SECONDS,
    )
