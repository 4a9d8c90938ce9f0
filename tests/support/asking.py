"""A connection whose questions and writes can be told of, held back or given up before each is sent."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeAlias

from aviso_core.broker.client import BrokerClient
from aviso_core.broker.connection import Connection, ConnectionOptions, Listener, Listening

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    # Told of each question before it is sent; what it raises is raised in the place of an answer.
    BeforeAsking: TypeAlias = Callable[[str], Awaitable[None]]


class AskingConnection(Connection):
    """A connection like any other, but for what happens before each question and each write into a bucket."""

    def __init__(self, options: ConnectionOptions, before: BeforeAsking) -> None:
        super().__init__(BrokerClient(), options)
        self._before = before
        self._is_open = False

    async def open(self, options: ConnectionOptions) -> None:
        """Connect, which is told to nobody."""
        await super().open(options)
        self._is_open = True

    async def listen(self, subject: str, listener: Listener) -> Listening:
        """Listen to a subject; a write into a bucket begins with listening for its answer."""
        if self._is_open:
            await self._before(f"LISTEN {subject}")
        return await super().listen(subject, listener)

    async def ask(self, subject: str, question: object = None, *, may_repeat: bool = True) -> bytes:
        """Return the broker's answer."""
        await self._before(subject)
        return await super().ask(subject, question, may_repeat=may_repeat)


@asynccontextmanager
async def open_asking_connection(
    options: ConnectionOptions, before: BeforeAsking
) -> AsyncIterator[AskingConnection]:
    """Connect, and close it after the block."""
    connection = AskingConnection(options, before)
    await connection.open(options)
    try:
        yield connection
    finally:
        await connection.close()
