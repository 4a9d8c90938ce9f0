"""Answers as values, and the few lines that put one on the wire.

A handler returns or sends one of these; nobody builds a response piece by piece. The outermost application adds what
every answer has (the request's id), so it is not here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aviso_http.asgi import Send

HeaderLine: TypeAlias = tuple[bytes, bytes]

JSON: Final = b"application/json"
TEXT: Final = b"text/plain; charset=utf-8"
CLOSE: Final = (b"connection", b"close")

encode_sorted: Final = msgspec.json.Encoder(order="sorted").encode
encode: Final = msgspec.json.Encoder().encode


class Answer(NamedTuple):
    """A complete answer. Without a content type the body is empty."""

    status: int
    body: bytes = b""
    content_type: bytes | None = None
    headers: tuple[HeaderLine, ...] = ()

    def header_lines(self) -> list[HeaderLine]:
        """Return all headers, those of the body among them."""
        lines = [*self.headers, (b"content-length", b"%d" % len(self.body))]
        if self.content_type is not None:
            lines.append((b"content-type", self.content_type))
        return lines


def json_answer(status: int, members: Mapping[str, object], *headers: HeaderLine) -> Answer:
    """Return an answer in JSON, its members in alphabetical order."""
    return Answer(status, encode_sorted(members), JSON, headers)


def text_answer(status: int, text: str, *headers: HeaderLine) -> Answer:
    """Return an answer in plain text."""
    return Answer(status, text.encode(), TEXT, headers)


async def send_answer(send: Send, answer: Answer, *, is_last: bool = True) -> None:
    """Send an answer; where something is still to be read before the connection may close, it is not the last."""
    await send({"type": "http.response.start", "status": answer.status, "headers": answer.header_lines()})
    await send({"type": "http.response.body", "body": answer.body, "more_body": not is_last})
