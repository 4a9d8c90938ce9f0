"""Services for producers to publish to: how they are configured, run beside a test, and looked at from outside."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from support.lines import Line, get
from support.services import running_avisod

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping
    from pathlib import Path

    from support.services import Program

_PAUSE_SECONDS: Final = 0.02

EVENT_TYPES: Final[dict[str, Any]] = {
    "mars": {
        "topic": {"base": "mars", "key_order": ["producer"]},
        "identifier": {"producer": {"type": "StringHandler", "required": True}},
        "payload": {"required": True},
        "storage_policy": {"allow_duplicates": True},
    }
}


def on_broker(url: str, **more: object) -> dict[str, Any]:
    """Return the configuration of a service with its log on a broker."""
    jetstream = {"nats_url": url, "reconnect_delay_ms": 100, **more}
    return {
        "notification_schema": EVENT_TYPES,
        "notification_backend": {"kind": "jetstream", "jetstream": jetstream},
    }


def in_memory() -> dict[str, Any]:
    """Return a configuration with the log in memory, which keeps as many of a topic as it is told to."""
    mars = {key: value for key, value in EVENT_TYPES["mars"].items() if key != "storage_policy"}
    return {"notification_schema": {"mars": mars}}


@asynccontextmanager
async def serving(folder: Path, configuration: Mapping[str, Any]) -> AsyncIterator[Program]:
    """Run the command while this loop goes on, which may have to carry what it says to its broker."""
    running = running_avisod(folder, configuration)
    program = await asyncio.to_thread(running.__enter__)
    try:
        yield program
    finally:
        await asyncio.to_thread(running.__exit__, None, None, None)


class Looks:
    """What a path was answered, each time over a connection of its own."""

    def __init__(self) -> None:
        self.statuses: list[int | None] = []
        self.first_at: dict[int | None, float] = {}
        self.count = 0
        self._grown = asyncio.Event()

    async def look_for_ever(self, port: int, path: str) -> None:
        """Ask again and again."""
        while True:
            line = Line(port)
            reply = await line.ask(get(path))
            await line.close()
            status = None if reply is None else reply.status
            self.first_at.setdefault(status, time.monotonic())
            self.count += 1
            if not self.statuses or self.statuses[-1] != status:
                self.statuses.append(status)
            self._grown.set()
            await asyncio.sleep(_PAUSE_SECONDS)

    async def wait(self, status: int | None) -> None:
        """Wait until that is what was answered last."""
        await self._wait_until(lambda: bool(self.statuses) and self.statuses[-1] == status)

    async def again(self) -> None:
        """Wait for the answer to a look that begins after this: whatever was sent before has been read by then."""
        # The one that is under way may have begun earlier.
        wanted = self.count + 2
        await self._wait_until(lambda: self.count >= wanted)

    async def _wait_until(self, holds: Callable[[], bool]) -> None:
        while not holds():
            self._grown.clear()
            await self._grown.wait()


@asynccontextmanager
async def looking(port: int, path: str) -> AsyncIterator[Looks]:
    """Look at a path for as long as the block runs."""
    looks = Looks()
    task = asyncio.ensure_future(looks.look_for_ever(port, path))
    try:
        yield looks
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
