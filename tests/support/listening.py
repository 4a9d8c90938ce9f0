"""Listening in a test's loop: whatever was taken is closed when that ends, also what was being taken just then."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Callable, Coroutine
    from typing import TypeAlias

    Handle: TypeAlias = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[None, None, None]]

HOST: Final = "127.0.0.1"
LONGEST: Final = 2**20
# A connection that is being taken comes to us within so many turns of the loop.
_LAST_TURNS: Final = 5


class Listener:
    """A port of this machine, and the work on each of its connections that is not done yet."""

    def __init__(self, handle: Handle) -> None:
        self.port = 0
        self._handle = handle
        self._at_work: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()

    def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Begin with a connection."""
        # No coroutine: one that is not begun when everything ends would leave its connection open.
        task = asyncio.create_task(self._handle(reader, writer))
        self._at_work.add(task)
        self._writers.add(writer)
        task.add_done_callback(lambda done: self._done(done, writer))

    def _done(self, task: asyncio.Task[None], writer: asyncio.StreamWriter) -> None:
        self._at_work.discard(task)
        if task.cancelled():
            # Perhaps before it had begun, and then its own work does not close it.
            writer.transport.abort()

    def break_all(self) -> None:
        """Break every connection off."""
        for task in self._at_work:
            task.cancel()

    async def end(self) -> None:
        """Break off what is left, and what comes in these moments."""
        for _ in range(_LAST_TURNS):
            self.break_all()
            if self._at_work:
                await asyncio.wait(self._at_work)
            for writer in self._writers:
                writer.transport.abort()
            await asyncio.sleep(0)


@asynccontextmanager
async def listening(handle: Handle, *, tls: ssl.SSLContext | None = None) -> AsyncIterator[Listener]:
    """Listen for as long as the block runs."""
    listener = Listener(handle)
    server = await asyncio.start_server(listener.take, HOST, 0, limit=LONGEST, ssl=tls)
    listener.port = server.sockets[0].getsockname()[1]
    try:
        yield listener
    finally:
        server.close()
        await listener.end()
