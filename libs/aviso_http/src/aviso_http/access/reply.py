"""Reading one answer of HTTP/1.1 from the bytes of a connection, within bounds, and nothing else.

No I/O here: bytes are fed as they come, and the answer is there or it is not. An answer of which more comes than it may
have, or whose end cannot be told, is none. Interim answers (1xx) are passed over.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import httptools

_LARGEST_HEAD: Final = 65_536
# A body in chunks may be mostly what stands between them.
_CHUNK_OVERHEAD: Final = 8


class Unanswered(Exception):
    """There was no answer that could be used; the message says why, in words of ours."""


class Reply(NamedTuple):
    """What the other service said. Names of headers are in lower case."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def header(self, name: str) -> str | None:
        """Return the first header of that name."""
        return next((value for key, value in self.headers if key == name), None)

    def __repr__(self) -> str:
        """Show neither headers nor body: both may be credentials."""
        return f"Reply(status={self.status})"


class ReplyReader:
    """Reads one answer."""

    def __init__(self, largest_body: int) -> None:
        self._largest_body = largest_body
        self._parser = httptools.HttpResponseParser(self)
        self._received = 0
        self._head_is_read = False
        self._status = 0
        self._headers: list[tuple[str, str]] = []
        self._body = bytearray()
        self._keeps_alive = False
        self._excess = False
        self.reply: Reply | None = None
        """The answer, once it is complete."""

    @property
    def has_begun(self) -> bool:
        """Whether anything came."""
        return self._received > 0

    @property
    def is_complete(self) -> bool:
        """Whether the answer is there."""
        return self.reply is not None

    @property
    def may_go_on(self) -> bool:
        """Whether the connection is good for another question after this answer."""
        return self._keeps_alive and not self._excess

    def feed(self, data: bytes) -> None:
        """Take what came, or raise `Unanswered`."""
        if self.reply is not None:
            self._excess = True
            return
        self._received += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserCallbackError as error:
            raise Unanswered(str(error.__context__)) from None
        except httptools.HttpParserUpgrade:
            raise Unanswered("wanted to speak another protocol") from None
        except httptools.HttpParserError:
            raise Unanswered("did not answer in HTTP") from None
        most = _LARGEST_HEAD + (_CHUNK_OVERHEAD * self._largest_body if self._head_is_read else 0)
        if self._received > most and not self.is_complete:
            raise self._too_much()

    def end(self) -> None:
        """Take that no more comes; an answer without a length is complete then."""
        if self.reply is None and self._head_is_read and not self._has_length():
            self._complete()

    # --- what the parser calls ---------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """Begin an answer, or the one after an interim one."""
        if self.reply is not None:
            raise Unanswered("answered twice")

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header."""
        self._headers.append((name.decode("latin-1").lower(), value.decode("latin-1")))

    def on_headers_complete(self) -> None:
        """Take the status."""
        self._status = self._parser.get_status_code()
        self._head_is_read = self._status >= 200

    def on_body(self, data: bytes) -> None:
        """Take a part of the body."""
        self._body += data
        if len(self._body) > self._largest_body:
            raise self._too_much()

    def on_message_complete(self) -> None:
        """Take that the answer is complete."""
        if self._head_is_read:
            # The parser knows this now and not a moment later.
            self._keeps_alive = self._parser.should_keep_alive()
            self._complete()
        else:
            self._headers.clear()

    def _complete(self) -> None:
        self.reply = Reply(self._status, tuple(self._headers), bytes(self._body))

    def _has_length(self) -> bool:
        return any(name in ("content-length", "transfer-encoding") for name, _ in self._headers)

    def _too_much(self) -> Unanswered:
        return Unanswered(f"answered with more than {self._largest_body} bytes")
