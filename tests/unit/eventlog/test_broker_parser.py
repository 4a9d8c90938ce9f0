"""What comes over a connection to the broker, read as the client library reads it, wherever it was cut."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nats.errors import ProtocolError
from nats.protocol.parser import Parser

from aviso_core.broker.parser import Delivered, MessageParser

if TYPE_CHECKING:
    from collections.abc import Sequence

OURS: Final = 7
THEIRS: Final = 8
HEAD: Final = b"NATS/1.0\r\nNats-Msg-Id: 1\r\n\r\n"


class Client:
    """What a parser tells, in order."""

    def __init__(self) -> None:
        self.listeners = {OURS: lambda message: self.told.append((OURS, *message))}
        self.told: list[tuple[Any, ...]] = []

    async def _process_msg(self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: bytes) -> None:
        self.told.append((sid, subject, reply, data, headers or None))

    async def _process_ping(self) -> None:
        self.told.append(("ping",))

    async def _process_pong(self) -> None:
        self.told.append(("pong",))

    async def _process_err(self, message: str) -> None:
        self.told.append(("error", message))

    async def _process_info(self, info: dict[str, object]) -> None:
        self.told.append(("info", info))


def read(parser: type[Parser], pieces: Sequence[bytes]) -> list[tuple[Any, ...]]:
    """Return what is told of pieces that come one after another."""
    client = Client()
    reader = parser(client)

    async def take_all() -> None:
        for piece in pieces:
            await reader.parse(piece)

    asyncio.run(take_all())
    return client.told


def message(sid: int, reply: bytes, headers: bytes, data: bytes) -> bytes:
    """Return a message as the broker sends it."""
    words = [b"HMSG" if headers else b"MSG", b"runs.od", b"%d" % sid, *([reply] if reply else [])]
    sizes = [b"%d" % len(headers)] if headers else []
    line = b" ".join([*words, *sizes, b"%d" % (len(headers) + len(data))])
    return line + b"\r\n" + headers + data + b"\r\n"


_messages = st.builds(
    message,
    st.sampled_from([OURS, THEIRS]),
    st.sampled_from([b"", b"$JS.ACK.RUNS.c.1.5.5.17.0"]),
    st.sampled_from([b"", HEAD]),
    # Data may look like what stands between messages.
    st.one_of(st.binary(max_size=40), st.sampled_from([b"\r\n", b"PING\r\n", b"MSG a 7 1\r\n"])),
)
_others = st.sampled_from([b"PING\r\n", b"PONG\r\n", b"+OK\r\n", b"-ERR 'slow'\r\n", b'INFO {"a":1}\r\n'])


@given(st.lists(st.one_of(_messages, _others), max_size=8), st.lists(st.integers(0, 600), max_size=8))
def test_it_reads_what_the_library_reads(said: list[bytes], cuts: list[int]) -> None:
    """In the same order, in whatever pieces it comes."""
    stream = b"".join(said)
    places = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    pieces = [stream[first:last] for first, last in pairwise(places)]
    assert read(MessageParser, pieces) == read(Parser, [stream])


def test_a_message_that_comes_byte_by_byte_is_told_once() -> None:
    """And not before its last."""
    whole = message(OURS, b"r", HEAD, b"x" * 30)
    client = Client()
    reader = MessageParser(client)

    async def take_all() -> None:
        for place in range(len(whole)):
            assert not client.told
            await reader.parse(whole[place : place + 1])

    asyncio.run(take_all())
    assert client.told == [(OURS, *Delivered(b"runs.od", b"r", b"x" * 30, HEAD))]


@pytest.mark.parametrize(
    "said", [b"MSG\r\n", b"MSG a\r\n", b"HMSG a b c d\r\n", b"MSG a x 1\r\n", b"WHAT\r\n"]
)
def test_what_is_no_message_is_refused(said: bytes) -> None:
    """So that another connection is begun."""
    with pytest.raises(ProtocolError):
        read(MessageParser, [said])


def test_nothing_of_a_lost_connection_comes_with_the_next() -> None:
    """Neither half a message nor what stood behind a complaint that ended it."""

    class Ending(Client):
        async def _process_err(self, message: str) -> None:
            await super()._process_err(message)
            reader.reset()

    client = Ending()
    reader = MessageParser(client)

    async def take_all() -> None:
        await reader.parse(message(OURS, b"r", b"", b"first")[:-4])
        reader.reset()
        await reader.parse(b"-ERR 'gone'\r\n" + message(OURS, b"r", b"", b"second"))
        await reader.parse(message(OURS, b"r", b"", b"third"))

    asyncio.run(take_all())
    assert client.told == [("error", "'gone'"), (OURS, b"runs.od", b"r", b"third", None)]
