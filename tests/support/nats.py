"""Real brokers: nats-servers on free ports of the loopback, with their files in a folder that the test owns.

A server is a process that is started, killed and started again on its store; a cluster is three of them. Their log is
read as they write it, and "ready" is a line in it, so nothing here waits by the clock. What is started here is ended
here, by its process.

`open_link` puts a small proxy between a client and a server, with which a connection can be cut, silenced, or robbed
of single messages.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import socket
import subprocess
import sysconfig
import threading
from contextlib import ExitStack, asynccontextmanager, closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from support.listening import listening

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

_HOST: Final = "127.0.0.1"
_PATIENCE_SECONDS: Final = 20.0
SERVER_IS_READY: Final = "Server is ready"
CLIENTS_CONNECT_AT: Final = r"Listening for client connections on [^:]+:(\d+)"
_HAS_META_LEADER: Final = "new (JetStream cluster )?metadata leader"


def server_program() -> Path:
    """Return the program: the one of this environment, or else one on the path."""
    own = Path(sysconfig.get_path("scripts")) / "nats-server"
    found = own if own.exists() else shutil.which("nats-server")
    assert found, "nats-server is part of the development environment"
    return Path(found)


# --- servers ---------------------------------------------------------------------------------------------


class Server:
    """One nats-server with JetStream on file storage. `settings` are lines of its configuration."""

    def __init__(self, folder: Path, *, settings: Sequence[str] = (), name: str = "alone") -> None:
        self.name = name
        self.port = -1
        self._folder = folder
        self._settings = settings
        self._process: subprocess.Popen[str] | None = None
        self._lines: list[str] = []
        self._has_ended = False
        self._more = threading.Condition()
        self._reader: threading.Thread | None = None

    @property
    def url(self) -> str:
        """Where clients connect."""
        return f"nats://{_HOST}:{self.port}"

    @property
    def process_id(self) -> int:
        """The process, which must be running."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start it, on its old port and store if it ran before, and wait until it takes clients."""
        self._launch()
        self.wait_logged(SERVER_IS_READY)
        if self.port < 0:
            self.port = int(self.wait_logged(CLIENTS_CONNECT_AT))

    def _launch(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        self.configure(self._settings)
        self._lines = []
        self._has_ended = False
        command = [str(server_program()), "--config", str(self._configuration)]
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=self._folder)
        self._reader = threading.Thread(target=self._read_log, args=(self._process,), daemon=True)
        self._reader.start()

    @property
    def _configuration(self) -> Path:
        return self._folder / "nats.conf"

    def configure(self, settings: Sequence[str]) -> None:
        """Write another configuration; it holds from the next start or `reload`."""
        self._settings = settings
        lines = [
            f'listen: "{_HOST}:{self.port}"',
            f'server_name: "{self.name}"',
            f'jetstream {{ store_dir: "{self._folder / "store"}" }}',
            *settings,
        ]
        self._configuration.write_text("\n".join(lines), encoding="utf-8")

    def reload(self, settings: Sequence[str]) -> None:
        """Let the running server take another configuration, and wait until it has."""
        self.configure(settings)
        with self._more:
            self._lines.clear()
        os.kill(self.process_id, signal.SIGHUP)
        self.wait_logged("Reloaded server configuration")

    def _read_log(self, process: subprocess.Popen[str]) -> None:
        assert process.stderr is not None
        for line in process.stderr:
            with self._more:
                self._lines.append(line)
                self._more.notify_all()
        process.stderr.close()
        with self._more:
            self._has_ended = True
            self._more.notify_all()

    def wait_logged(self, pattern: str) -> str:
        """Wait until the log has a line with the pattern; return its first group, or all that matched."""
        expression = re.compile(pattern)

        def found() -> re.Match[str] | None:
            return next(filter(None, map(expression.search, self._lines)), None)

        with self._more:
            self._more.wait_for(lambda: found() or self._has_ended, timeout=_PATIENCE_SECONDS)
            match = found()
            assert match, f"{self.name} never logged '{pattern}':\n{''.join(self._lines[-30:])}"
        return match[1] if expression.groups else match[0]

    def kill(self) -> None:
        """End it as a crash would."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End it in good order; one that does not run stays as it is."""
        self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> None:
        if self._process is None:
            return
        self._process.send_signal(how)
        self._process.wait(timeout=_PATIENCE_SECONDS)
        assert self._reader is not None
        self._reader.join(timeout=_PATIENCE_SECONDS)
        self._process = None


@contextmanager
def running_server(folder: Path, *, settings: Sequence[str] = ()) -> Iterator[Server]:
    """Run one server for as long as the block does."""
    server = Server(folder, settings=settings)
    try:
        server.start()
        yield server
    finally:
        server.stop()


class Cluster:
    """Three servers that keep streams together."""

    def __init__(self, servers: Sequence[Server]) -> None:
        self.servers = tuple(servers)

    @property
    def urls(self) -> tuple[str, ...]:
        """Where clients connect."""
        return tuple(server.url for server in self.servers)

    def named(self, name: str) -> Server:
        """Return the server of that name."""
        return next(server for server in self.servers if server.name == name)

    def others(self, server: Server) -> tuple[Server, ...]:
        """Return all servers but one."""
        return tuple(other for other in self.servers if other is not server)


@contextmanager
def running_cluster(
    folder: Path,
    *,
    settings: Sequence[str] = (),
    ports: Sequence[int] = (),
    reached_at: Sequence[int] = (),
) -> Iterator[Cluster]:
    """Run three servers that know each other, and wait until they agree on who leads.

    `ports` are where they listen for each other, and `reached_at` is where they are told to reach each other.
    """
    ports = ports or free_ports(3)
    reached_at = reached_at or ports
    routes = ", ".join(f'"nats://{_HOST}:{port}"' for port in reached_at)
    servers = [
        Server(
            folder / f"n{place}",
            name=f"n{place}",
            settings=[
                f'cluster {{ name: "tests", listen: "{_HOST}:{port}", advertise: "{_HOST}:{reached}", '
                f"no_advertise: true, routes: [{routes}] }}",
                *settings,
            ],
        )
        for place, (port, reached) in enumerate(zip(ports, reached_at, strict=True))
    ]
    with ExitStack() as stack:
        for server in servers:
            # All have to be there before any is ready, so the first cannot be waited for alone.
            server._launch()
            stack.callback(server.stop)
        for server in servers:
            server.wait_logged(SERVER_IS_READY)
            server.port = int(server.wait_logged(CLIENTS_CONNECT_AT))
            server.wait_logged(_HAS_META_LEADER)
        yield Cluster(servers)


def free_ports(count: int) -> list[int]:
    """Return ports that are free now: held all at once, so that no two are the same."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(closing(socket.socket())) for _ in range(count)]
        for one in sockets:
            one.bind((_HOST, 0))
        return [one.getsockname()[1] for one in sockets]


# --- links -----------------------------------------------------------------------------------------------

_DELIVERY: Final = re.compile(rb"H?MSG \S+ \d+ \$JS\.ACK\.")
_MOST_HEARD: Final = 10_000
_SIZE: Final = re.compile(rb"H?MSG .* (\d+)\r\n")


class Link:
    """The way from clients to one server; it can be broken in several manners. Made by `open_link`."""

    def __init__(self, port: int) -> None:
        self.url = ""
        self.connections = 0
        self._port = port
        self._pairs: set[_Pair] = set()
        self._is_cut = False
        self._flows = asyncio.Event()
        self._flows.set()
        self._babble = b""
        self._another = asyncio.Event()
        self._to_lose = 0
        self._lost_answers = 0
        self.lost = 0
        self.answers_flow = True
        self._version = b""
        # What clients have said, over all connections: the first of it, and how many records were in it.
        self.said = b""
        self.publications = 0

    def cut(self) -> None:
        """Break every connection, and take no new one until `mend`."""
        self._is_cut = True
        for pair in self._pairs:
            pair.abort()

    def pause(self) -> None:
        """Let nothing through any more, and tell nobody: new connections are taken and stay silent too."""
        self._flows.clear()

    def abandon(self) -> None:
        """Leave the connections that there are in silence for ever; new ones are as good as any."""
        for pair in self._pairs:
            pair.is_abandoned = True

    def mend(self) -> None:
        """Let everything through again, and what was held back first."""
        self._is_cut = False
        self._babble = b""
        self.answers_flow = True
        self._flows.set()

    def lose_answers(self) -> None:
        """Let requests through and lose everything that the server says, until `mend`."""
        self.answers_flow = False
        self._lost_answers = 0

    async def wait_lost_answers(self, count: int) -> None:
        """Wait until the server has said so much that was lost."""
        while self._lost_answers < count:
            self._another.clear()
            await self._another.wait()

    def lose_deliveries(self, count: int) -> None:
        """Lose so many of the entries that consumers are sent next, and nothing else."""
        self._to_lose = count

    def babble(self, said: bytes) -> None:
        """Break every connection, and tell new ones something that no server says, until `mend`."""
        self._babble = said
        for pair in self._pairs:
            pair.abort()

    def claim_version(self, version: str) -> None:
        """Let the server say to whoever connects from now on that it is of that version."""
        self._version = version.encode()

    def as_claimed(self, frame: bytes) -> bytes:
        """Return a frame from the server as clients get it."""
        if not self._version or not frame.startswith(b"INFO "):
            return frame
        return re.sub(rb'"version":"[^"]*"', b'"version":"%s"' % self._version, frame)

    def inject(self, frame: bytes) -> None:
        """Say something to every client as if the server had."""
        for pair in self._pairs:
            pair.to_client.write(frame)

    def hear(self, data: bytes) -> None:
        """Note what a client says, in full as long as there is little of it."""
        self.publications += data.count(b"HPUB ")
        if len(self.said) < _MOST_HEARD:
            self.said += data

    def lets_answer(self, frame: bytes) -> bool:
        """Decide about one frame from the server."""
        if self._to_lose and _DELIVERY.match(frame):
            self._to_lose -= 1
            self.lost += 1
            return False
        if not self.answers_flow:
            self._lost_answers += 1
            self._another.set()
        return self.answers_flow

    async def wait_connections(self, count: int) -> None:
        """Wait until clients have come so often, whatever became of them."""
        while self.connections < count:
            self._another.clear()
            await self._another.wait()

    async def wait_open(self) -> None:
        """Wait until traffic is not paused."""
        await self._flows.wait()

    async def _handle(self, from_client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._another.set()
        with closing(to_client):
            if self._is_cut:
                to_client.transport.abort()
                return
            if self._babble:
                to_client.write(self._babble)
                return
            try:
                from_server, to_server = await asyncio.open_connection(_HOST, self._port)
            except OSError:
                return
            with closing(to_server):
                await self._carry(_Pair(self, from_client, to_client, from_server, to_server))

    async def _carry(self, pair: _Pair) -> None:
        self._pairs.add(pair)
        try:
            await pair.carry()
        finally:
            self._pairs.remove(pair)


class _Pair:
    """One connection, both ways."""

    def __init__(
        self,
        link: Link,
        from_client: asyncio.StreamReader,
        to_client: asyncio.StreamWriter,
        from_server: asyncio.StreamReader,
        to_server: asyncio.StreamWriter,
    ) -> None:
        self.is_abandoned = False
        self.to_client = to_client
        self._link = link
        self._from_client = from_client
        self._from_server = from_server
        self._to_server = to_server
        self._is_broken = asyncio.Event()

    def abort(self) -> None:
        """Break it at both ends."""
        self._is_broken.set()
        self.to_client.transport.abort()
        self._to_server.transport.abort()

    async def carry(self) -> None:
        """Carry until either end has closed, or it is broken; then close both."""
        carrying = [
            asyncio.create_task(work)
            for work in (self._carry_there(), self._carry_back(), self._is_broken.wait())
        ]
        try:
            await asyncio.wait(carrying, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in carrying:
                task.cancel()
            await asyncio.wait(carrying)
            self.abort()

    async def _carry_there(self) -> None:
        with suppress(OSError):
            while data := await self._from_client.read(65_536):
                self._link.hear(data)
                await self._link.wait_open()
                if self.is_abandoned:
                    # A dead peer does not even take what it is sent.
                    await self._is_broken.wait()
                self._to_server.write(data)
                await self._to_server.drain()

    async def _carry_back(self) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            while True:
                frame = await self._read_frame()
                await self._link.wait_open()
                if not self.is_abandoned and self._link.lets_answer(frame):
                    self.to_client.write(self._link.as_claimed(frame))
                    await self.to_client.drain()

    async def _read_frame(self) -> bytes:
        """Return the next command of the protocol, with its payload where it has one."""
        line = await self._from_server.readuntil(b"\r\n")
        size = _SIZE.match(line)
        return line if size is None else line + await self._from_server.readexactly(int(size[1]) + 2)


@asynccontextmanager
async def open_link(server: Server) -> AsyncIterator[Link]:
    """Open a way to a server that clients can be sent along instead."""
    link = Link(server.port)
    async with listening(link._handle) as listener:
        link.url = f"nats://{_HOST}:{listener.port}"
        yield link
