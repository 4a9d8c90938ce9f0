"""The body of a batch: room for it first, then the bytes, at no less than a certain rate, decoded as they come.

Room is taken for what the body may become and for the answer to it, because a body that was half read and then had to
wait would keep others waiting with it. What turns out not to be needed is given back as soon as the size is known.
Whoever holds room must use it: a client that sends more slowly than a modest line is told so, and lets the next one in.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from aviso_http.body import BodyTooLarge, BodyTooSlow, ClientGone, announced_length, whole_header
from aviso_http.encoding import LARGEST_WINDOW, decoder_for

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from aviso_http.asgi import Message, Receive
    from aviso_http.encoding import Decoder
    from aviso_ingest.pressure import Pressure

# A client may think for so long, and no longer than it takes to send what it sent at this rate.
_GRACE_SECONDS: Final = 10.0
_LEAST_BYTES_A_SECOND: Final = 128 * 1024
# What is told of one record, as a rule at most; records of two bytes are answered with far more than they are.
_ANSWER_BYTES: Final = 600


class Extent(NamedTuple):
    """How much a body may hold. No two records stand in it without the separator between them."""

    most_bytes: int
    most_records: int = 1
    separator: bytes = b""

    def room_before(self, length: int | None, decoder: Decoder | None) -> int:
        """Return the room for a body of which no more than its length is known, if that."""
        if decoder is not None:
            return self._room(self.most_bytes, records=self.most_bytes) + LARGEST_WINDOW
        size = self.most_bytes if length is None else length
        return self._room(size, records=size)

    def room_after(self, body: bytearray) -> int:
        """Return the room for a body that was read."""
        return self._room(len(body), records=body.count(self.separator) + 1 if self.separator else 1)

    def _room(self, size: int, *, records: int) -> int:
        return size + min(records, self.most_records) * _ANSWER_BYTES

    def too_large(self) -> BodyTooLarge:
        """Return the refusal of a body that is larger than it may be."""
        remedy = ": send several" if self.most_records > 1 else ""
        return BodyTooLarge(
            f"The body has at most {self.most_bytes} bytes, counted after decompression{remedy}"
        )


@asynccontextmanager
async def held_body(
    headers: Iterable[tuple[bytes, bytes]],
    receive: Receive,
    *,
    extent: Extent,
    pressure: Pressure,
    grace_seconds: float = _GRACE_SECONDS,
) -> AsyncIterator[bytearray]:
    """Read a body within its extent, counted in decoded bytes, and keep its room for as long as the block runs."""
    decoder = decoder_for(whole_header(headers, b"content-encoding"))
    length = announced_length(headers)
    if length is not None and length > extent.most_bytes:
        raise extent.too_large()
    held = await pressure.enter(extent.room_before(length, decoder))
    try:
        body = await _read(receive, decoder, extent, grace_seconds=grace_seconds)
        needed = min(held, extent.room_after(body))
        pressure.leave(held - needed)
        held = needed
        yield body
    finally:
        pressure.leave(held)


async def _read(
    receive: Receive, decoder: Decoder | None, extent: Extent, *, grace_seconds: float
) -> bytearray:
    body = bytearray()
    received = 0
    more = True
    began = asyncio.get_running_loop().time()
    try:
        async with asyncio.timeout_at(began + grace_seconds) as patience:
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientGone("before its request was complete")
                data: bytes = message.get("body", b"")
                more = message.get("more_body", False)
                for piece in (data,) if decoder is None else decoder.decode(data):
                    body += piece
                    if len(body) > extent.most_bytes:
                        raise extent.too_large()
                received += len(data)
                patience.reschedule(began + grace_seconds + received / _LEAST_BYTES_A_SECOND)
    except TimeoutError as error:
        raise BodyTooSlow from error
    if decoder is not None:
        decoder.finish()
    return body


class Tracked:
    """A body as it comes, which knows whether there is more of it."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self.is_complete = False

    async def __call__(self) -> Message:
        """Return the next part."""
        message = await self._receive()
        if message["type"] == "http.disconnect" or not message.get("more_body", False):
            self.is_complete = True
        return message
