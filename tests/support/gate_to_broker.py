"""A gate to a broker: it speaks as much of the broker's protocol as it takes to tell requests and their answers."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from support.gates import Gate
from support.listening import HOST, LONGEST

if TYPE_CHECKING:
    from support.gates import Ends, Way
    from support.nats import Server


class GateToBroker(Gate):
    """The way to a broker. A request is called by its subject."""

    def __init__(self, server: Server) -> None:
        super().__init__()
        self._server = server
        self._inbox = b""

    @property
    def url(self) -> str:
        """Where clients connect."""
        return f"nats://{HOST}:{self.port}"

    async def _reach(self) -> Ends:
        return await asyncio.open_connection(HOST, self._server.port, limit=LONGEST)

    def _carry(self, client: Ends, server: Ends) -> tuple[Way, Way]:
        return self._carry_there(client[0], server[1]), self._carry_back(server[0], client[1])

    async def _carry_there(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            words, frame = await _read_frame(reader, (b"PUB", b"HPUB"))
            # With a size alone, or two of them, nobody is to answer.
            if words[0] in (b"PUB", b"HPUB") and await self._pass_request(words[1].decode()):
                self._inbox = words[2]
            writer.write(frame)
            await writer.drain()

    async def _carry_back(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            words, frame = await _read_frame(reader, (b"MSG", b"HMSG"))
            if self._inbox and words[0] in (b"MSG", b"HMSG") and words[1] == self._inbox:
                self._inbox = b""
                await self._wait_opened()
            writer.write(frame)
            await writer.drain()


async def _read_frame(
    reader: asyncio.StreamReader, with_payload: tuple[bytes, ...]
) -> tuple[list[bytes], bytes]:
    """Return the words of the next line of the broker's protocol, and all of it with its payload."""
    line = await reader.readuntil(b"\r\n")
    words = line.split()
    if words and words[0] in with_payload:
        return words, line + await reader.readexactly(int(words[-1]) + 2)
    return words or [b""], line
