"""The floor of every delivery: for each announcement one bare `send()` of so many bytes to each open stream.

`python bare_send.py PORT BYTES`. It knows three requests by their paths: `/ready`, an announcement, and a stream,
which is whatever else is asked. `GET /bursts` tells how many seconds each burst took.
"""

from __future__ import annotations

import json
import selectors
import socket
import sys
import time
from typing import Final

_OPENED: Final = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n3\r\n:\n\n\r\n"
)
_MARK_BYTES: Final = 16
_HEAD: Final = b"event: live-notification\ndata: "
_END: Final = b"\n\n"


class Floor:
    """Streams without anything around them."""

    def __init__(self, listener: socket.socket, body_bytes: int) -> None:
        self._listener = listener
        self._body_bytes = body_bytes
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ)
        self._streams: dict[socket.socket, None] = {}
        self._bursts: list[float] = []

    def serve(self) -> None:
        """Serve until the process is ended."""
        while True:
            for key, _ in self._selector.select():
                connection = key.fileobj
                assert isinstance(connection, socket.socket)
                if connection is self._listener:
                    accepted, _ = connection.accept()
                    accepted.setblocking(False)
                    accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    self._selector.register(accepted, selectors.EVENT_READ)
                else:
                    self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        # Requests are small, and come in one piece.
        request = _received(connection)
        if not request:
            self._selector.unregister(connection)
            self._streams.pop(connection, None)
            connection.close()
        elif request.startswith(b"GET /bursts"):
            connection.send(_whole(json.dumps(self._bursts).encode()))
            self._bursts = []
        elif request.startswith(b"GET /ready"):
            connection.send(_whole(b"{}"))
        elif request.startswith(b"POST /api/v1/notification "):
            connection.send(_whole(b"{}"))
            at = request.index(b"mark")
            self._burst(request[at : at + _MARK_BYTES])
        else:
            connection.send(_OPENED)
            self._streams[connection] = None

    def _burst(self, mark: bytes) -> None:
        filler = b"x" * (self._body_bytes - len(_HEAD) - len(mark) - len(_END))
        chunk = b"%x\r\n%s%s%s%s\r\n" % (self._body_bytes, _HEAD, mark, filler, _END)
        began = time.perf_counter()
        for stream in self._streams:
            sent = stream.send(chunk)
            assert sent == len(chunk), "a reader does not keep up"
        self._bursts.append(time.perf_counter() - began)


def _received(connection: socket.socket) -> bytes:
    try:
        return connection.recv(65_536)
    except OSError:
        return b""


def _whole(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)


def main() -> None:
    """Listen on a port."""
    port, body_bytes = map(int, sys.argv[1:])
    Floor(socket.create_server(("127.0.0.1", port), backlog=2048), body_bytes).serve()


if __name__ == "__main__":
    main()
