"""The body of a batch: how much room it takes, for how long, and who may not keep others waiting."""

from __future__ import annotations

import asyncio
import gzip
from typing import TYPE_CHECKING, Any, Final

import pytest
import zstandard

from aviso_http.body import BodyTooLarge, BodyTooSlow, ClientGone
from aviso_http.encoding import LARGEST_WINDOW, InvalidEncoding
from aviso_ingest.batch.reading import Extent, Tracked, held_body
from aviso_ingest.pressure import Pressure
from support.event_logs import asynchronous

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aviso_http.asgi import Receive

EXTENT: Final = Extent(1000, 10, b"\n")
# What is held for what is told of one record.
ANSWER: Final = 600


def pressure(most_bytes: int = 10**9) -> Pressure:
    """Return one that keeps nobody waiting for long."""
    return Pressure(most_bytes=most_bytes, waiting_seconds=0)


def coming(*parts: bytes, ends: bool = True) -> Receive:
    """Return a body that comes in parts, and then ends, or stays away."""
    messages: list[dict[str, Any]] = [
        {"type": "http.request", "body": part, "more_body": not ends or place < len(parts)}
        for place, part in enumerate(parts, start=1)
    ]

    async def receive() -> dict[str, Any]:
        if not messages:
            await asyncio.get_running_loop().create_future()
        return messages.pop(0)

    return receive


def lengthy(size: int) -> list[tuple[bytes, bytes]]:
    """Return the headers of a body of that size."""
    return [(b"content-length", b"%d" % size)]


@pytest.mark.parametrize(
    ("headers", "before"),
    [
        (lengthy(4), 4 + 4 * ANSWER),
        (lengthy(300), 300 + 10 * ANSWER),
        ([], 1000 + 10 * ANSWER),
        ([(b"content-encoding", b"gzip"), *lengthy(30)], 1000 + 10 * ANSWER + LARGEST_WINDOW),
    ],
)
@asynchronous
async def test_room_is_taken_for_what_may_come_and_kept_for_what_came(
    headers: list[tuple[bytes, bytes]], before: int
) -> None:
    """The answer counts as well: two bytes of a record are answered with hundreds."""
    held = pressure()
    body = b"1\n2\n"
    sent = gzip.compress(body) if headers and headers[0][0] == b"content-encoding" else body
    seen: list[int] = []
    whole = coming(sent)

    async def receive() -> Any:
        seen.append(held.bytes_in_flight)
        return await whole()

    async with held_body(headers, receive, extent=EXTENT, pressure=held) as read:
        assert read == body
        assert seen == [before]
        assert held.bytes_in_flight == min(before, len(body) + 3 * ANSWER)
    assert held.bytes_in_flight == 0


async def read_whole(
    headers: Iterable[tuple[bytes, bytes]], receive: Receive, *, grace_seconds: float = 10
) -> bytes:
    """Return a body, and see that nothing is held once it was refused."""
    held = pressure()
    try:
        async with held_body(
            headers, receive, extent=EXTENT, pressure=held, grace_seconds=grace_seconds
        ) as body:
            return bytes(body)
    finally:
        assert held.bytes_in_flight == 0


@asynchronous
async def test_the_limit_holds_to_the_byte() -> None:
    """Announced or not, in one part or in many, plain or compressed."""
    body, more = b"x" * 1000, b"x" * 1001
    for good in (coming(body), coming(body[:1], body[1:], b"")):
        assert await read_whole([], good) == body
    packed = [(b"content-encoding", b"zstd")]
    compressor = zstandard.ZstdCompressor()
    assert await read_whole(packed, coming(compressor.compress(body))) == body
    for headers, bad in (
        (lengthy(1001), coming(more)),
        ([], coming(more)),
        ([], coming(body, b"x", ends=False)),
        (packed, coming(compressor.compress(more))),
    ):
        with pytest.raises(
            BodyTooLarge, match="at most 1000 bytes, counted after decompression: send several"
        ):
            await read_whole(headers, bad)


@asynchronous
async def test_a_body_that_is_too_large_takes_no_room() -> None:
    """Nor does one in a coding that nobody knows."""
    full = pressure(most_bytes=1)
    await full.enter(1)
    with pytest.raises(BodyTooLarge):
        async with held_body(lengthy(1001), coming(), extent=EXTENT, pressure=full):
            pytest.fail("it was taken")


@asynchronous
async def test_a_bomb_is_not_decoded_further_than_the_limit() -> None:
    """What is not asked for is never made."""
    bomb = zstandard.ZstdCompressor().compress(bytes(2**26))
    with pytest.raises(BodyTooLarge):
        await read_whole([(b"content-encoding", b"zstd")], coming(bomb))


@pytest.mark.parametrize(
    "sent", [b"", gzip.compress(b"x", mtime=0)[:-1], gzip.compress(b"x", mtime=0) + b"x", b"x"]
)
@asynchronous
async def test_what_is_not_what_it_says_is_refused(sent: bytes) -> None:
    """As a whole."""
    with pytest.raises(InvalidEncoding, match="The body is not gzip"):
        await read_whole([(b"content-encoding", b"gzip")], coming(sent))


@asynchronous
async def test_who_holds_room_must_send() -> None:
    """After a moment of grace, what came decides how long one may take."""
    with pytest.raises(BodyTooSlow):
        await read_whole([], coming(b"x", ends=False), grace_seconds=0.01)


@asynchronous
async def test_a_client_that_left_is_nobody_to_answer() -> None:
    """Whatever it had sent."""

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    with pytest.raises(ClientGone):
        await read_whole([], receive)


@asynchronous
async def test_a_body_knows_when_it_is_complete() -> None:
    """Only then may the connection be used again."""
    body = Tracked(coming(b"a", b"b"))
    await body()
    assert not body.is_complete
    await body()
    assert body.is_complete
