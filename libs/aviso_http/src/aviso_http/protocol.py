"""One connection: uvicorn's HTTP protocol, with the bounds that it does not have.

The head of a request is bounded in bytes, because the parser takes it without end. Until its body begins it is bounded
in time, because a connection that sends half a request would be held for ever. The time is looked at by one sweep over
all connections (`server`), not by a timer for each request.

What ends a connection waits for its turn: requests that were complete before it have been accepted, and their answers
come first.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

LARGEST_HEAD: Final = 65_536

_TOO_LARGE: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
)
_TOO_SLOW: Final = b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


def _nothing() -> None:
    """Tell nobody."""


class BoundedProtocol(HttpToolsProtocol):
    """A connection whose requests begin within bounds."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Whether a head is what comes next, what came of it, and since when it is owed; None is nothing owed.
        self._awaits_head = True
        self._unfinished_bytes = 0
        self._owing_since: float | None = None
        # What ends the connection, as soon as the requests before it are answered.
        self._refusal: Callable[[], None] | None = None
        self.on_lost: Callable[[], None] = _nothing

    @property
    def is_idle(self) -> bool:
        """Whether nothing is asked and nothing is being answered."""
        return self._unfinished_bytes == 0 and not self._is_answering

    @property
    def _is_answering(self) -> bool:
        # Before the first request there is no cycle, whatever the type says.
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a new connection: it owes its first request."""
        super().connection_made(transport)
        self._owing_since = time.monotonic()

    def connection_lost(self, exc: Exception | None) -> None:
        """Let go of the connection."""
        super().connection_lost(exc)
        self.on_lost()

    def data_received(self, data: bytes) -> None:
        """Take what came; a head beyond the bound ends the connection."""
        if self._refusal is not None:
            return
        if not self._awaits_head:
            # Where in it another head begins is not known, so that one is counted from the next piece on.
            super().data_received(data)
            return
        room = LARGEST_HEAD - self._unfinished_bytes
        self._unfinished_bytes += len(data)
        super().data_received(data[:room])
        if self._unfinished_bytes > LARGEST_HEAD:
            self._end(_TOO_LARGE)
        elif len(data) > room and not self.transport.is_closing():
            self.data_received(data[room:])
        elif self._unfinished_bytes and self._owing_since is None:
            # Empty lines, of which the parser tells nothing.
            self._owing_since = time.monotonic()

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        self._owing_since = time.monotonic()

    def on_headers_complete(self) -> None:
        """Begin to serve the request."""
        self._awaits_head = False
        self._unfinished_bytes = 0
        super().on_headers_complete()
        # What stands behind a chunked body is told like a header, and would become one of the request being served.
        self.headers = []

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body; how long the rest may take is up to who reads it."""
        self._owing_since = None
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Have the whole of a request: the next thing is another."""
        self._owing_since = None
        self._awaits_head = True
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP."""
        self._refuse(partial(super().send_400_response, msg))

    def on_response_complete(self) -> None:
        """Go on with the next request, or with what ends the connection."""
        super().on_response_complete()
        if self._refusal is not None:
            self._refuse(self._refusal)

    def _refuse(self, refusal: Callable[[], None]) -> None:
        """End the connection, after the answers to complete requests."""
        self._owing_since = None
        if self.transport.is_closing():
            return
        if self._owes_answers:
            self._refusal = refusal
        else:
            refusal()

    @property
    def _owes_answers(self) -> bool:
        """Whether there is a request that came as a whole and is not answered yet."""
        return bool(self.pipeline) or (self._is_answering and not self.cycle.more_body)

    def end_if_too_slow(self, longest_seconds: float) -> None:
        """End the connection if it owes the head of a request, or the beginning of a body, for too long."""
        if self._owing_since is None or time.monotonic() - self._owing_since <= longest_seconds:
            return
        waits = self._unfinished_bytes > 0 if self._awaits_head else not self.cycle.response_started
        self._end(_TOO_SLOW if waits else b"")

    def _end(self, answer: bytes) -> None:
        self._refuse(partial(self._close, answer))

    def _close(self, answer: bytes) -> None:
        self.transport.write(answer)
        self.transport.close()
