"""Gates between a program and its servers: one chosen request is held, before it is made or before it is answered.

Between the two lies the moment in which something was done and whoever did it does not know. A gate speaks as much of
the protocol of its server as it takes to tell one request from the next (`gate_to_broker`, `gate_to_cluster`).

A gate works in a loop of its own, so that a test may wait for it in its own thread.
"""

from __future__ import annotations

import asyncio
import re
import threading
from abc import ABC, abstractmethod
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from anyio.from_thread import start_blocking_portal

from support.listening import listening

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from anyio.from_thread import BlockingPortal

    from support.listening import Listener

    Ends: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]
    Way: TypeAlias = Coroutine[None, None, None]

Moment: TypeAlias = Literal["asked", "answered"]

_PATIENCE_SECONDS: Final = 20.0


class Gate(ABC):
    """A way to one server."""

    def __init__(self) -> None:
        self.port = 0
        self.requests: list[str] = []
        """Everything that was asked, in order."""
        self._wanted: tuple[re.Pattern[str], Moment] | None = None
        self._held = threading.Event()
        self._opened = asyncio.Event()
        self._ended = asyncio.Event()
        self._is_closed = False
        self._listener: Listener | None = None
        self._portal: BlockingPortal | None = None

    # --- from the test -----------------------------------------------------------------------------------

    def hold(self, pattern: str, moment: Moment) -> None:
        """Hold the next request whose name matches, at that moment, and everything behind it on its connection."""
        self._held.clear()
        self._call(self._opened.clear)
        self._wanted = re.compile(pattern), moment

    def wait_held(self) -> None:
        """Wait until it is held."""
        assert self._held.wait(_PATIENCE_SECONDS), (
            f"not asked for: {self._wanted}; only {self.requests[-20:]}"
        )

    def let_go(self) -> None:
        """Let what is held go on."""
        self._wanted = None
        self._call(self._opened.set)

    def drop(self) -> None:
        """Break all connections, and with them whatever is held, which never happens then."""
        self._wanted = None
        self._call(self._break)

    def close(self) -> None:
        """Break all connections, and take no more until `open`."""
        self._is_closed = True
        self.drop()

    def open(self) -> None:
        """Take connections again."""
        self._is_closed = False

    def _call(self, function: Callable[[], None]) -> None:
        assert self._portal is not None
        self._portal.call(function)

    def _break(self) -> None:
        assert self._listener is not None
        self._listener.break_all()

    # --- at work -----------------------------------------------------------------------------------------

    async def run(self, started: threading.Event) -> None:
        """Take connections until it is ended."""
        async with listening(self._handle) as self._listener:
            self.port = self._listener.port
            started.set()
            await self._ended.wait()

    async def _handle(self, from_client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        with closing(to_client), suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            if self._is_closed:
                return
            from_server, to_server = await self._reach()
            with closing(to_server):
                carrying = {
                    asyncio.create_task(way)
                    for way in self._carry((from_client, to_client), (from_server, to_server))
                }
                try:
                    await asyncio.wait(carrying, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    for way in carrying:
                        way.cancel()
                    to_server.transport.abort()
                    await asyncio.gather(*carrying, return_exceptions=True)

    @abstractmethod
    async def _reach(self) -> Ends:
        """Connect to the server."""

    @abstractmethod
    def _carry(self, client: Ends, server: Ends) -> tuple[Way, Way]:
        """Return what carries there and back."""

    async def _pass_request(self, name: str) -> bool:
        """Let a request through in its time; tell whether its answer is to be held."""
        self.requests.append(name)
        if self._wanted is None or not self._wanted[0].search(name):
            return False
        moment, self._wanted = self._wanted[1], None
        if moment == "asked":
            await self._wait_opened()
        return moment == "answered"

    async def _wait_opened(self) -> None:
        self._held.set()
        await self._opened.wait()


@contextmanager
def opened(gate: Gate) -> Iterator[None]:
    """Let a gate work for as long as the block runs."""
    started = threading.Event()
    with start_blocking_portal() as portal:
        gate._portal = portal
        running = portal.start_task_soon(gate.run, started)
        try:
            assert started.wait(_PATIENCE_SECONDS), "it does not listen"
            yield
        finally:
            portal.call(gate._ended.set)
            running.result(_PATIENCE_SECONDS)
