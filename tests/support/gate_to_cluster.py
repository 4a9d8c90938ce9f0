"""A gate to an API server: HTTP, to which one speaks without encryption, for it has to look into what is asked."""

from __future__ import annotations

import asyncio
import re
import ssl
from typing import TYPE_CHECKING

from support.gates import Gate
from support.listening import HOST, LONGEST

if TYPE_CHECKING:
    from pathlib import Path

    from support.gates import Ends, Way


class GateToCluster(Gate):
    """The way to an API server. A request is called by its method and its path."""

    def __init__(self, port: int, ca_file: Path) -> None:
        super().__init__()
        self._port = port
        self._context = ssl.create_default_context(cafile=str(ca_file))

    @property
    def url(self) -> str:
        """Where clients connect."""
        return f"http://{HOST}:{self.port}"

    async def _reach(self) -> Ends:
        return await asyncio.open_connection(
            HOST, self._port, ssl=self._context, server_hostname=HOST, limit=LONGEST
        )

    def _carry(self, client: Ends, server: Ends) -> tuple[Way, Way]:
        holds = asyncio.Event()
        return self._carry_there(client[0], server[1], holds), self._carry_back(server[0], client[1], holds)

    async def _carry_there(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, holds: asyncio.Event
    ) -> None:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
            body = await reader.readexactly(int(length[1])) if length else b""
            method, target, _ = head.split(b" ", 2)
            if await self._pass_request(f"{method.decode()} {target.decode()}"):
                holds.set()
            writer.write(head + body)
            await writer.drain()

    async def _carry_back(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, holds: asyncio.Event
    ) -> None:
        # Whoever uses a connection asks one thing after the other, so what comes next is the answer.
        while data := await reader.read(65_536):
            if holds.is_set():
                holds.clear()
                await self._wait_opened()
            writer.write(data)
            await writer.drain()
