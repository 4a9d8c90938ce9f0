"""The server: uvicorn's protocol on sockets of ours, and a way to stop that loses nothing.

uvicorn's own server catches signals, exits the process where it cannot listen, and ends what is open only after all
connections have ended, which streams never do. So listening and stopping are here, and signals are `__main__`'s.

Stopping goes in steps. Draining begins: the process is not ready any more, and every answer asks its client to connect
elsewhere, while requests are still taken, for a moment in which load balancers and clients notice. Then nothing new is
taken, idle connections are closed, and what was accepted is answered. What does not end in time is cancelled.

On a port that is shared nobody has to notice: what is new goes to another process as soon as this one does not listen
any more. So that comes first there, and nobody is sent away who would be served next door.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import time
from contextlib import asynccontextmanager
from email.utils import formatdate
from typing import TYPE_CHECKING, Final, NamedTuple

from uvicorn import Config
from uvicorn.server import ServerState

from aviso_core.alongside import alongside
from aviso_core.errors import Fault, SettingsError
from aviso_http.protocol import BoundedProtocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from aviso_http.asgi import Application
    from aviso_http.draining import Draining

_BACKLOG: Final = 2048
# For what is cancelled to tell its client so.
_LAST_WORDS_SECONDS: Final = 1.0


class Patience(NamedTuple):
    """How long connections may take for what, in seconds."""

    # Longer than proxies keep theirs, so that it is they who close.
    keep_alive: int = 75
    head: float = 30.0
    # For reading on in an answer. A slow line empties large buffers, before it is seen to go on.
    unread: float = 300.0
    # After draining began: how long new requests are still taken.
    drain: float = 1.0
    # After that: how long accepted ones may take.
    grace: float = 20.0


class Server:
    """A listening server. Made by `open_server`."""

    def __init__(
        self, application: Application, listener: socket.socket, patience: Patience, *, shares_port: bool
    ) -> None:
        # The port that was taken.
        self.port: int = listener.getsockname()[1]
        self._patience = patience
        self._listener = listener
        self._shares_port = shares_port
        self._config = Config(
            application,
            http=BoundedProtocol,
            ws="none",
            lifespan="off",
            access_log=False,
            log_config=None,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=patience.keep_alive,
        )
        self._config.load()
        self._state = ServerState()
        self._acceptor: asyncio.AbstractServer | None = None
        self._is_alone = asyncio.Event()

    async def start(self) -> None:
        """Begin to accept connections."""
        self._tick()
        self._acceptor = await asyncio.get_running_loop().create_server(
            self._new_connection, sock=self._listener, backlog=_BACKLOG
        )

    def _new_connection(self) -> BoundedProtocol:
        connection = BoundedProtocol(config=self._config, server_state=self._state, app_state={})
        connection.on_lost = self._connection_lost
        return connection

    def _connection_lost(self) -> None:
        if not self._state.connections:
            self._is_alone.set()

    async def _wait_alone(self) -> None:
        """Wait until the last connection has ended."""
        while self._state.connections:
            self._is_alone.clear()
            await self._is_alone.wait()

    async def keep_house(self) -> None:
        """Tell the date, and end connections that neither send nor read what they owe for too long, once a second."""
        while True:
            await asyncio.sleep(1)
            self._tick()
            for connection in self._connections():
                connection.end_if_too_slow(self._patience.head)
                connection.end_if_unread(self._patience.unread)

    def _tick(self) -> None:
        self._state.default_headers = [(b"date", formatdate(time.time(), usegmt=True).encode())]

    def _connections(self) -> list[BoundedProtocol]:
        return [one for one in self._state.connections if isinstance(one, BoundedProtocol)]

    async def drain(self) -> None:
        """Give clients a moment to notice; there is nothing to wait for once the last has left by itself."""
        if self._shares_port:
            await self._leave_port()
        answered = self._state.total_requests
        try:
            async with asyncio.timeout(self._patience.drain):
                await self._wait_alone()
                if self._state.total_requests > answered and not self._shares_port:
                    # Those were sent away with their answers, and who has nowhere else to go is back in a moment.
                    await asyncio.sleep(self._patience.drain)
        except TimeoutError:
            return

    async def _leave_port(self) -> None:
        """Stop listening, with the connections that the kernel has given to this process already: they are ours."""
        assert self._acceptor is not None
        loop = asyncio.get_running_loop()
        accepted = list(_waiting_connections(self._listener))
        self._acceptor.close()
        for connection in accepted:
            await loop.connect_accepted_socket(self._new_connection, connection)

    async def stop(self) -> None:
        """Take nothing new, answer what was accepted, and cancel what does not end in time."""
        assert self._acceptor is not None
        self._acceptor.close()
        for connection in self._connections():
            connection.shutdown()
        deadline = asyncio.get_running_loop().time() + self._patience.grace
        try:
            async with asyncio.timeout_at(deadline):
                await self._answer_accepted()
                for connection in self._connections():
                    connection.transport.close()
                # The end of an answer may still be here, because its client reads slowly.
                await self._wait_alone()
        except TimeoutError:
            await self._give_up()

    async def _answer_accepted(self) -> None:
        """Wait until every request that was accepted is answered; one may begin where another ends."""
        while tasks := set(self._state.tasks):
            await asyncio.wait(tasks)

    async def _give_up(self) -> None:
        if tasks := set(self._state.tasks):
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks, timeout=_LAST_WORDS_SECONDS)
        for connection in self._connections():
            connection.transport.abort()
        # What is left waited for a client to read, and sees now that it is gone.
        await self._answer_accepted()


def _waiting_connections(listener: socket.socket) -> Iterator[socket.socket]:
    """Yield the connections that wait to be accepted, until there is none or no more can be held."""
    while True:
        try:
            connection, _ = listener.accept()
        except ConnectionError:
            # It was gone before it was looked at.
            continue
        except OSError:
            return
        connection.setblocking(False)
        yield connection


@asynccontextmanager
async def open_server(
    application: Application,
    *,
    host: str,
    port: int,
    draining: Draining,
    patience: Patience | None = None,
    reuse_port: bool = False,
) -> AsyncIterator[Server]:
    """Serve an application for as long as the block runs; leaving it drains first."""
    patience = patience or Patience()
    listener = listen(host, port, reuse_port=reuse_port)
    server = Server(application, listener, patience, shares_port=reuse_port)
    await server.start()
    async with alongside(server.keep_house()):
        try:
            yield server
        finally:
            draining.begin()
            try:
                await server.drain()
            finally:
                await server.stop()


def listen(host: str, port: int, *, setting: str = "application", reuse_port: bool = False) -> socket.socket:
    """Return a socket that listens, or say which setting is at fault."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise SettingsError(
            [
                Fault(
                    path=f"{setting}.host",
                    message=f"'{host}' is no address to listen on: {error}",
                    remedy="0.0.0.0 is every one",
                )
            ]
        ) from error
    family, kind, protocol, _, address = found[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if reuse_port:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.bind(address)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        fault = Fault(
            path=f"{setting}.port",
            message=f"cannot listen on {host} port {port}: {error.strerror}",
            remedy=_remedy(error, setting, reuse_port=reuse_port),
        )
        raise SettingsError([fault]) from error
    return listener


def _remedy(error: OSError, setting: str, *, reuse_port: bool) -> str:
    if error.errno == errno.EACCES:
        return "choose one from 1024 on, or let the process have such a one (CAP_NET_BIND_SERVICE)"
    if reuse_port:
        return (
            f"choose another, or end what has it: a port is shared only by processes of one user of which "
            f"each sets {setting}.reuse_port"
        )
    return "choose another, or end what has it"
