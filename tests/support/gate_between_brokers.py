"""Gates between the brokers of a cluster: one of them is made to lag behind the others.

What the leader of a stream sends that one to be stored is kept back, until it may catch up. All else arrives: it goes
on answering, and does not know that it lags. Kept back for more than a few seconds, it would call for another leader.
"""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final

from support.gates import Gate, opened
from support.listening import HOST, LONGEST
from support.nats import free_ports, running_cluster

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from support.gates import Ends, Way
    from support.nats import Cluster, Server

_WITH_PAYLOAD: Final = (b"RMSG ", b"HMSG ")
# What is to be stored in a stream that several servers keep, sent by the one that leads it.
_TO_BE_STORED: Final = re.compile(rb"[RH]MSG (?:\S+ )?\$NRG\.AE\.S-")


class GateToPeer(Gate):
    """The way from the other servers to one, and what it answers them."""

    def __init__(self, name: str, port: int) -> None:
        super().__init__()
        self._name = name
        self._server_port = port
        self._laggard = ""
        self._kept: list[tuple[asyncio.StreamWriter, bytes]] = []

    def let_lag(self, name: str) -> None:
        """Keep back what is for the server of that name."""
        self._laggard = name

    def catch_up(self) -> None:
        """Send everything that was kept back, and keep back nothing more."""
        self._laggard = ""
        self._call(self._send_kept)

    def _send_kept(self) -> None:
        for writer, frame in self._kept:
            writer.write(frame)
        self._kept.clear()

    async def _reach(self) -> Ends:
        return await asyncio.open_connection(HOST, self._server_port, limit=LONGEST)

    def _carry(self, client: Ends, server: Ends) -> tuple[Way, Way]:
        caller = _Caller()
        return self._carry_there(client[0], server[1], caller), self._carry_back(server[0], client[1], caller)

    async def _carry_there(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, caller: _Caller
    ) -> None:
        while True:
            frame = await _read_frame(reader)
            # Later ones tell of other servers.
            if not caller.name and frame.startswith(b"INFO "):
                caller.name = json.loads(frame[5:])["server_name"]
            await self._pass_on(frame, writer, self._name)

    async def _carry_back(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, caller: _Caller
    ) -> None:
        while True:
            await self._pass_on(await _read_frame(reader), writer, caller.name)

    async def _pass_on(self, frame: bytes, writer: asyncio.StreamWriter, to: str) -> None:
        if self._laggard == to and _TO_BE_STORED.match(frame):
            self._kept.append((writer, frame))
        else:
            writer.write(frame)
            await writer.drain()


class _Caller:
    """The server at the other end of a connection, which says who it is."""

    name = ""


async def _read_frame(reader: asyncio.StreamReader) -> bytes:
    """Return the next of what servers say to each other, with its payload where it has one."""
    line = await reader.readuntil(b"\r\n")
    if not line.startswith(_WITH_PAYLOAD):
        return line
    return line + await reader.readexactly(int(line.split()[-1]) + 2)


class LaggingCluster:
    """Three servers of which one may lag. Made by `running_lagging_cluster`."""

    def __init__(self, cluster: Cluster, gates: Sequence[GateToPeer]) -> None:
        self.cluster = cluster
        self._gates = gates

    def let_lag(self, server: Server) -> None:
        """Keep back what a server is to store, until `catch_up`."""
        for gate in self._gates:
            gate.let_lag(server.name)

    def catch_up(self) -> None:
        """Let every server have what was kept back."""
        for gate in self._gates:
            gate.catch_up()


@contextmanager
def running_lagging_cluster(folder: Path) -> Iterator[LaggingCluster]:
    """Run three servers that reach each other through gates alone."""
    with ExitStack() as stack:
        ports = free_ports(3)
        gates = [GateToPeer(f"n{place}", port) for place, port in enumerate(ports)]
        for gate in gates:
            stack.enter_context(opened(gate))
        reached_at = [gate.port for gate in gates]
        cluster = stack.enter_context(running_cluster(folder, ports=ports, reached_at=reached_at))
        yield LaggingCluster(cluster, gates)
