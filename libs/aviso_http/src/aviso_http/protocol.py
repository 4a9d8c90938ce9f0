"""One connection: uvicorn's HTTP protocol, with the bounds that it does not have.

The head of a request is bounded in bytes, because the parser takes it without end. Until its body begins it is bounded
in time, because a connection that sends half a request would be held for ever; and so is the time in which a client
reads nothing of its answer. The time is looked at by one sweep over all connections (`server`), not by a timer for each
request.

What ends a connection waits for its turn: requests that were complete before it have been accepted, and their answers
come first.

A request that asks to go on in another protocol, as some clients do with every one of theirs, is answered in this one.
The parser ends it with its head, whatever length it announces, so that its body would be the next request. Therefore
its head is read a second time, without the question.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import httptools
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.utils import is_ssl

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from uvicorn._types import ASGISendEvent
    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

LARGEST_HEAD: Final = 65_536

# Under which name a request's scope has the way to take its connection over.
HAND_OVER: Final = "aviso.hand_over"
# And its connection as it is, for what the kernel is to do.
CONNECTION: Final = "aviso.connection"

_CONNECT: Final = b"CONNECT"
_UPGRADE: Final = b"upgrade"
_TOO_LARGE: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
)
_TOO_SLOW: Final = b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


def _nothing() -> None:
    """Tell nobody."""


def _address(named: Any) -> tuple[str, int] | None:
    """Return host and port of an address; others than those of TCP have none."""
    return (str(named[0]), int(named[1])) if isinstance(named, tuple) else None


def _end_by_closing(cycle: RequestResponseCycle) -> None:
    """Have an answer without a length end with its connection: a client of HTTP/1.0 knows no chunks."""
    send = cycle.send
    is_endless = False

    async def send_plainly(message: ASGISendEvent) -> None:
        nonlocal is_endless
        if message["type"] == "http.response.start":
            is_endless = all(name.lower() != b"content-length" for name, _ in message["headers"])
            if is_endless:
                cycle.chunked_encoding = False
        elif message["type"] == "http.response.body" and is_endless:
            # Each piece is as long as it should be.
            cycle.expected_content_length = len(message.get("body", b""))
        await send(message)

    cycle.send = send_plainly  # type: ignore[method-assign]


class BoundedProtocol(HttpToolsProtocol):
    """A connection whose requests begin within bounds."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Whether a head is what comes next, what came of it, and since when it is owed; None is nothing owed.
        self._awaits_head = True
        self._unfinished_bytes = 0
        self._owing_since: float | None = None
        # Since when the client leaves unread what it was sent.
        self._unread_since: float | None = None
        # Whose answer is under way: the request before `cycle`, where that one came while it was not answered yet.
        self._served: RequestResponseCycle | None = None
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
        # Not as uvicorn does it: a socket that was asked for its addresses keeps them, which would be a seventh of what
        # an idle stream takes.
        self.connections.add(self)
        self.transport = transport
        self.flow = FlowControl(transport)
        self.server = _address(transport.get_extra_info("sockname"))
        self.client = _address(transport.get_extra_info("peername"))
        self.scheme = "https" if is_ssl(transport) else "http"
        self._owing_since = time.monotonic()

    def eof_received(self) -> None:
        """Let a client go that says nothing more in the midst of an answer: its end is not waited for."""
        served = self._served
        if self._is_answering and served and served.response_started and not served.more_body:
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Let go of the connection."""
        super().connection_lost(exc)
        if self._served is not None and self._served is not self.cycle:
            # It hears of nothing otherwise, and would be answered for ever.
            self._served.disconnected = True
            self._served.message_event.set()
        # After a reset as well: it would be held by its timer until its keep-alive ran out.
        self._unset_keepalive_if_required()
        self.on_lost()

    def pause_writing(self) -> None:
        """Wait for the client to read."""
        super().pause_writing()
        self._unread_since = time.monotonic()

    def resume_writing(self) -> None:
        """Go on: it has read most of what it was sent."""
        self._unread_since = None
        super().resume_writing()

    def data_received(self, data: bytes) -> None:
        """Take what came; a head beyond the bound ends the connection."""
        if self._refusal is not None:
            return
        if not self._awaits_head:
            # Where in it another head begins is not known, so that one is counted from the next piece on.
            self._read(data)
            return
        room = LARGEST_HEAD - self._unfinished_bytes
        self._unfinished_bytes += len(data)
        self._read(data[:room])
        if self._unfinished_bytes > LARGEST_HEAD:
            self._end(_TOO_LARGE)
        elif len(data) > room and not self.transport.is_closing():
            self.data_received(data[room:])
        elif self._unfinished_bytes and self._owing_since is None:
            # Empty lines, of which the parser tells nothing.
            self._owing_since = time.monotonic()

    def _read(self, data: bytes) -> None:
        """Have the parser read what came."""
        self._unset_keepalive_if_required()
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[self._read_one(rest) :]
        except httptools.HttpParserError:
            msg = "Invalid HTTP request received."
            self.logger.warning(msg)
            self.send_400_response(msg)

    def _read_one(self, data: memoryview) -> int:
        """Read on until another protocol is asked for, and return how much was read."""
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as asked:
            end: int = asked.args[0]
            if self.parser.get_method() == _CONNECT:
                # What follows is for somebody else, whom we do not know.
                self._end(b"")
                return len(data)
            self.parser.feed_data(self._plain_head())
            return end
        return len(data)

    @property
    def _is_asked_to_upgrade(self) -> bool:
        """Whether the request that is being read asks for another protocol, and will be read again."""
        return self.parser.should_upgrade() and self.parser.get_method() != _CONNECT

    def _plain_head(self) -> bytes:
        """Return the head that was read, without what asks for another protocol."""
        version = self.parser.get_http_version().encode()
        lines = [
            b"%s %s HTTP/%s" % (self.parser.get_method(), self.url, version),
            *(b"%s: %s" % line for line in self.headers if line[0] != _UPGRADE),
        ]
        return b"\r\n".join([*lines, b"\r\n"])

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        self._owing_since = time.monotonic()

    def on_headers_complete(self) -> None:
        """Begin to serve the request."""
        if self._is_asked_to_upgrade:
            return
        self._awaits_head = False
        self._unfinished_bytes = 0
        super().on_headers_complete()
        if not self.pipeline:
            self._served = self.cycle
        if self.scope["http_version"] == "1.0":
            _end_by_closing(self.cycle)
        self.scope["extensions"] = {HAND_OVER: self.hand_over, CONNECTION: self.transport}  # type: ignore[dict-item]
        # What stands behind a chunked body is told like a header, and would become one of the request being served.
        self.headers = []

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body; how long the rest may take is up to who reads it."""
        self._owing_since = None
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Have the whole of a request: the next thing is another."""
        if self._is_asked_to_upgrade:
            return
        self._owing_since = None
        self._awaits_head = True
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP."""
        self._refuse(partial(super().send_400_response, msg))

    def on_response_complete(self) -> None:
        """Go on with the next request, or with what ends the connection."""
        following = self.pipeline[-1][0] if self.pipeline else None
        super().on_response_complete()
        if following is not None:
            self._served = following
        if self._refusal is not None:
            self._refuse(self._refusal)

    def hand_over(self, heir: asyncio.Protocol) -> asyncio.Transport | None:
        """Give the connection away, its answer having begun in chunks, to somebody who then ends it.

        Nothing of the request is kept for it here. None where something else was to happen on the connection.
        """
        cycle = self.cycle
        is_plain = cycle.chunked_encoding and not cycle.more_body and self.scope["http_version"] == "1.1"
        # Of a head that began in the piece in which this request ended, only its beginning is known.
        is_begun = self._unfinished_bytes or self._owing_since is not None
        is_waited_for = self.pipeline or is_begun or self._refusal is not None
        if not is_plain or is_waited_for or self.transport.is_closing():
            return None
        transport = self.transport
        # For the server the request is over: it neither writes any more nor misses the end of the answer.
        cycle.disconnected = True
        self.connections.discard(self)
        self.parser = None  # type: ignore[assignment]
        self.flow.resume_reading()
        transport.set_protocol(heir)
        self.on_lost()
        return transport

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

    def end_if_unread(self, longest_seconds: float) -> None:
        """Drop the connection if its client reads nothing for too long: nothing can be told it any more."""
        if self._unread_since is not None and time.monotonic() - self._unread_since > longest_seconds:
            self.transport.abort()

    def _end(self, answer: bytes) -> None:
        self._refuse(partial(self._close, answer))

    def _close(self, answer: bytes) -> None:
        self.transport.write(answer)
        self.transport.close()
