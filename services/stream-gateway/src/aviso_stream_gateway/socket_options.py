"""What the kernel is asked to do for the connection of a stream, whoever carries it."""

from __future__ import annotations

import socket
import sys
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    import asyncio

# A client that vanished without a word is found out by the kernel within about a minute.
_PROBE_AFTER_SECONDS: Final = 30
_PROBE_EVERY_SECONDS: Final = 10
_PROBES: Final = 3


def set_options(transport: asyncio.Transport, *, send_buffer_bytes: int) -> None:
    """Bound what the kernel holds for a reader that has stalled, and have it ask whether one is still there."""
    if transport.is_closing():
        # Its client left before there was an answer, and its socket may be gone already.
        return
    kept = cast("socket.socket | None", transport.get_extra_info("socket"))
    if kept is None or kept.family not in (socket.AF_INET, socket.AF_INET6):
        return
    # The transport's own stand-in for a socket makes another one for each option.
    connection = socket.socket(kept.family, kept.type, kept.proto, fileno=kept.fileno())
    try:
        _set_options(connection, send_buffer_bytes)
    finally:
        connection.detach()


def _set_options(connection: socket.socket, send_buffer_bytes: int) -> None:
    # Linux takes twice what it is told, for its own book-keeping, and fills nearly all of that with data.
    told = send_buffer_bytes // 2 if sys.platform == "linux" else send_buffer_bytes
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, told)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", _PROBE_AFTER_SECONDS),
        ("TCP_KEEPINTVL", _PROBE_EVERY_SECONDS),
        ("TCP_KEEPCNT", _PROBES),
        # The same for a client to which something is under way.
        ("TCP_USER_TIMEOUT", 1000 * (_PROBE_AFTER_SECONDS + _PROBES * _PROBE_EVERY_SECONDS)),
    ):
        option = getattr(socket, name, None)
        if option is not None:
            connection.setsockopt(socket.IPPROTO_TCP, option, value)
