"""The client library, where we go our own ways; nothing else of the product touches its inner parts.

Two of its paths cost more than all the rest of our work: a message for one of our listeners is handed over as the bytes
that came, and what we send is put into its buffer ready made. And where it gives up we do not: it would close for good
over a complaint of the server, wait for ever until a dead connection has taken what it was sent, and send a password
in the clear where TLS was asked for but is not offered. The version is pinned to those that were tried.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Final

from nats import errors as nats_errors
from nats.aio.client import Client, Srv
from nats.aio.transport import TcpTransport
from nats.protocol.parser import PERMISSIONS_ERR
from nkeys import NkeysError  # type: ignore[import-untyped] # it brings none

from aviso_core.broker.parser import MessageParser

if TYPE_CHECKING:
    from aviso_core.broker.parser import Listener

_CREDENTIALS_MARKS: Final = ("BEGIN NATS USER JWT", "BEGIN USER NKEY SEED")


class BrokerClient(Client):
    """The library's client. `credentials_file` and `needs_tls` are told before it connects."""

    def __init__(self, *, credentials_file: str | None = None, needs_tls: bool = False) -> None:
        super().__init__()
        self.listeners: dict[int, Listener] = {}
        self._ps = MessageParser(self)
        self._credentials_file = credentials_file
        self._needs_tls = needs_tls

    def is_at_least(self, major: int, minor: int) -> bool:
        """Tell whether the server is of that version or newer."""
        version = self.connected_server_version
        return (version.major, version.minor) >= (major, minor)

    def write(self, frame: bytes) -> None:
        """Put a frame of the protocol into the send buffer; it is on its way with the next turn of the loop."""
        self._pending.append(frame)
        self._pending_data_size += len(frame)
        queue = self._flush_queue
        if queue is not None and queue.empty():
            queue.put_nowait(asyncio.get_running_loop().create_future())

    def forget_unsent(self) -> None:
        """Empty the send buffer."""
        self._pending.clear()
        self._pending_data_size = 0

    def stop_listening(self, sid: int) -> None:
        """End a subscription: at once here, and at the broker as soon as it hears of it."""
        self.listeners.pop(sid, None)
        self._remove_sub(sid)
        if self.is_connected:
            self.write(b"UNSUB %d\r\n" % sid)

    def abort(self) -> None:
        """Drop the connection without waiting for anybody, and make no other."""
        self._drop_transport()
        self._status = Client.CLOSED

    def _drop_transport(self) -> None:
        if isinstance(self._transport, TcpTransport) and self._transport._io_writer is not None:
            self._transport._io_writer.transport.abort()

    # --- what the library calls --------------------------------------------------------------------------

    async def _process_err(self, err_msg: str) -> None:
        """Take a complaint of the server: only those about permissions leave the connection as it is."""
        if PERMISSIONS_ERR in err_msg:
            await super()._process_err(err_msg)
        else:
            await self._process_op_err(nats_errors.Error(f"nats: {err_msg}"))

    async def _process_op_err(self, e: Exception) -> None:
        """Begin another connection; a peer that reads nothing would never let this one close."""
        if self.is_connected:
            await self._error_cb(e)
            self._drop_transport()
        await super()._process_op_err(e)

    async def _connect_to_server(self, s: Srv) -> None:
        """Connect; the library forgets to close what an attempt has left that failed half-way."""
        self._drop_transport()
        await super()._connect_to_server(s)

    async def _attempt_reconnect(self) -> None:
        """Connect again, whatever the library stumbles over: its task would end unnoticed, and no other would begin."""
        while True:
            try:
                return await super()._attempt_reconnect()
            except Exception as error:  # noqa: BLE001 (told, and tried again)
                await self._error_cb(error)
                self._status = Client.RECONNECTING
                await asyncio.sleep(self.options["reconnect_time_wait"])

    def _setup_nkeys_connect(self) -> None:
        try:
            super()._setup_nkeys_connect()
        except NkeysError as error:
            raise _unusable(error) from error

    def _connect_command(self) -> bytes:
        """Introduce ourselves, if that is safe; what is wrong with our keys is an error that is tried again."""
        if self._needs_tls and not self._is_encrypted():
            raise nats_errors.Error("TLS is asked for, and the server offers none")
        self._check_credentials_file()
        try:
            return super()._connect_command()
        except NkeysError as error:
            raise _unusable(error) from error

    def _is_encrypted(self) -> bool:
        transport = self._transport
        return (
            not isinstance(transport, TcpTransport)
            or transport._io_writer is None
            or transport._io_writer.get_extra_info("sslcontext") is not None
        )

    def _check_credentials_file(self) -> None:
        """Refuse a file without credentials, in which the library would look for them for ever."""
        if self._credentials_file is None:
            return
        content = Path(self._credentials_file).read_text(encoding="utf-8", errors="replace")
        if not all(mark in content for mark in _CREDENTIALS_MARKS):
            raise nats_errors.Error(f"there are no credentials in '{self._credentials_file}'")


def _unusable(error: Exception) -> nats_errors.Error:
    """Return an error that leads to another attempt: a key may be put right while we run."""
    return nats_errors.Error(f"the key cannot be used: {error}")
