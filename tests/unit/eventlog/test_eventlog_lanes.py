"""The ways of records to their streams: how many are kept, and what becomes of those that have nothing to do."""

from __future__ import annotations

import asyncio
import uuid
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import pytest

from aviso_core.broker.connection import open_connection
from aviso_core.eventlog.base import Appended
from aviso_core.eventlog.jetstream.publisher import Publisher, open_publisher
from aviso_core.eventlog.jetstream.streams import get_stream
from support.event_logs import ask_broker, asynchronous, open_owning_log, options, record
from support.nats import Server, open_link, running_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from aviso_core.eventlog.jetstream.bound import Bound

BASES: Final = [f"b{number}" for number in range(40)]
MOST: Final = 4


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with running_server(tmp_path) as server:
        yield server


@asynccontextmanager
async def open_small_publisher(url: str) -> AsyncIterator[Publisher]:
    """Publish to streams that are there, with few lanes."""
    async with open_owning_log(url) as log:
        await asyncio.gather(*(log.bounds(base) for base in BASES))
    async with open_connection(options(url)) as connection:

        async def confirm(base: str) -> Bound:
            info = await get_stream(connection, base)
            return info.bound(base, None, seen=0)

        async with open_publisher(connection, confirm, deadline_seconds=10.0, most_lanes=MOST) as publisher:
            yield publisher


async def publish(publisher: Publisher, base: str) -> asyncio.Future[Appended]:
    one = record(f"{base}.a")
    return await publisher.publish(base, one, str(uuid.uuid4()), one.size)


@asynchronous
async def test_lanes_that_have_nothing_to_do_are_let_go(server: Server) -> None:
    """And their tasks with them; a stream that is written again later has another one, and counts on."""
    async with open_small_publisher(server.url) as publisher:
        before = len(asyncio.all_tasks())
        for sequence in (1, 2):
            for base in BASES:
                assert await (await publish(publisher, base)) == Appended(sequence)
        await asyncio.sleep(0)
        assert 0 < len(asyncio.all_tasks()) - before <= MOST
        assert [base for base in BASES if publisher.has_lane(base)] == BASES[-MOST:]


@asynchronous
async def test_lanes_with_records_on_their_way_are_kept(server: Server) -> None:
    """However many there are: what was sent before the connection broke is sent again, and answered."""
    async with open_link(server) as link, open_small_publisher(link.url) as publisher:
        link.lose_answers()
        under_way = [await publish(publisher, base) for base in BASES]
        assert all(map(publisher.has_lane, BASES))
        link.cut()
        link.mend()
        assert await asyncio.gather(*under_way) == [Appended(1)] * len(BASES)
    for base in BASES:
        assert (await ask_broker(server.url, f"STREAM.INFO.{base.upper()}"))["state"]["messages"] == 1


@asynchronous
async def test_an_answer_that_comes_after_its_lane_was_let_go_is_nobodys(server: Server) -> None:
    """Such as the second one to a record that was sent twice; it does the connection no harm."""
    async with open_link(server) as link, open_small_publisher(link.url) as publisher:
        assert await (await publish(publisher, BASES[0])) == Appended(1)
        for base in BASES[1 : MOST + 1]:
            await (await publish(publisher, base))
        assert not publisher.has_lane(BASES[0])
        connections = link.connections
        async with open_connection(options(server.url)) as other:
            await other.client.publish(f"{publisher.inbox}.0.1", b'{"stream":"B0","seq":1}')
            await other.client.flush()
        assert await (await publish(publisher, BASES[0])) == Appended(2)
        assert link.connections == connections
