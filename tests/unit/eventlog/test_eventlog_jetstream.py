"""What the log on JetStream does beside the contract: what it leaves behind, and what it makes of others' doings."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Final

import nats
import pytest

from aviso_core.broker.options import connection_options
from aviso_core.eventlog.base import Appended, RecordRefused, RecordTooLarge, WrongLastSequence
from aviso_core.eventlog.jetstream.log import JetStreamLog
from aviso_core.eventlog.memory import MemoryLog
from aviso_core.eventlog.open import open_event_log, stream_defaults, wanted_streams
from aviso_core.plain.secret import Secret
from aviso_core.schema.catalog import build_catalog
from aviso_core.schema.model import Storage
from aviso_core.schema.stream import StreamConfiguration
from aviso_core.settings.model import InMemory, JetStream, NotificationBackend
from support.catalogs import STORMS
from support.event_logs import (
    ask_broker,
    asynchronous,
    fill,
    numbered,
    open_owning_log,
    payloads,
    read_all,
    record,
    sequences,
    take,
)
from support.nats import Server, open_link, running_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

SMALL_PAYLOAD: Final = 50_000


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """Run a broker for one test: one that has removed streams may bring their entries back under the same names."""
    with running_server(tmp_path) as server:
        yield server


# --- what is left behind ---------------------------------------------------------------------------------


@asynccontextmanager
async def all_let_go(server: Server) -> AsyncIterator[None]:
    """Wait, at the end of the block, until as many consumers were removed as were made in it, and some were."""
    client = await nats.connect(server.url)
    made, removed = [
        await client.subscribe(f"$JS.EVENT.ADVISORY.CONSUMER.{what}.>") for what in ("CREATED", "DELETED")
    ]
    await client.flush()
    try:
        yield
        await client.flush()
        count = made.pending_msgs
        assert count
        for _ in range(count):
            await removed.next_msg(timeout=5)
    finally:
        await client.close()


@asynchronous
async def test_calls_leave_no_consumers_behind(server: Server) -> None:
    """Whether they ran to their end, were left early or cancelled."""
    async with open_owning_log(server.url) as log:
        await fill(log, [record(payload=b"x" * 1000) for _ in range(5000)])
        epoch = (await log.bounds("mars")).epoch
        async with all_let_go(server):
            await read_all(log)
            await log.latest("mars")
            await log.seek("mars", 0)
            async with aclosing(log.read("mars", first=1, last=5000, batch_bytes=10_000)) as batches:
                await anext(batches)
            async with log.tail("mars", after=0, epoch=epoch) as tail:
                await anext(aiter(tail))
            reading = asyncio.ensure_future(read_all(log))
            await asyncio.sleep(0)
            reading.cancel()
    assert (await ask_broker(server.url, "STREAM.INFO.MARS"))["state"]["consumer_count"] == 0


@asynchronous
async def test_a_long_tail_does_not_pile_up_questions(server: Server) -> None:
    """The broker takes a few hundred pulls at a time; here thousands would have been sent."""
    async with open_link(server) as link, open_owning_log(link.url) as log:
        epoch = (await log.bounds("mars")).epoch
        async with log.tail("mars", after=0, epoch=epoch) as tail:
            for begin in range(0, 60_000, 6000):
                coming = asyncio.ensure_future(take(tail, 6000))
                await fill(log, numbered(6000, begin=begin + 1))
                assert sequences(await coming)[-1] == begin + 6000
            consumers = (await ask_broker(server.url, "CONSUMER.LIST.MARS"))["consumers"]
    assert len(consumers) == 1
    assert consumers[0]["num_waiting"] <= 2
    assert consumers[0]["delivered"]["consumer_seq"] == 60_000


# --- what gets lost on the way ---------------------------------------------------------------------------


@asynchronous
async def test_a_delivery_that_is_lost_is_fetched_again(server: Server) -> None:
    """One in the middle is noticed with the next, one at the end by the broker's heartbeat."""
    async with open_link(server) as link, open_owning_log(link.url) as log:
        epoch = (await log.bounds("mars")).epoch
        async with log.tail("mars", after=0, epoch=epoch) as tail:
            await fill(log, numbered(3))
            assert sequences(await take(tail, 3)) == [1, 2, 3]
            link.lose_deliveries(2)
            await fill(log, numbered(5))
            assert sequences(await take(tail, 5)) == [4, 5, 6, 7, 8]
            link.lose_deliveries(1)
            await fill(log, numbered(1))
            assert sequences(await take(tail, 1)) == [9]
        assert link.lost == 3


@asynchronous
async def test_a_read_loses_nothing_that_is_lost_on_the_way(server: Server) -> None:
    """Each entry once, whichever of them were lost, and in whichever call."""
    async with open_link(server) as link, open_owning_log(link.url) as log:
        await fill(log, numbered(3000))
        link.lose_deliveries(1)
        assert sequences(await read_all(log)) == list(range(1, 3001))
        link.lose_deliveries(1)
        assert sequences(await log.latest("mars")) == [3000]
        link.lose_deliveries(1)
        assert await log.seek("mars", 0) == 1
        assert link.lost == 3


# --- what others do --------------------------------------------------------------------------------------


@asynchronous
async def test_a_record_larger_than_the_server_takes_is_refused_before_it_is_sent(tmp_path: Path) -> None:
    """It would break the connection, and everything in flight with it. Headers count."""
    with running_server(tmp_path, settings=[f"max_payload: {SMALL_PAYLOAD}"]) as server:
        async with open_link(server) as link, open_owning_log(link.url) as log:
            await log.append("mars", record(payload=b"x" * (SMALL_PAYLOAD - 200)))
            for too_large in (
                record(payload=b"x" * SMALL_PAYLOAD),
                record(payload=b"x" * (SMALL_PAYLOAD - 100), headers={"h": "x" * 100}),
            ):
                with pytest.raises(RecordTooLarge, match=str(SMALL_PAYLOAD)):
                    await log.append("mars", too_large)
                with pytest.raises(RecordTooLarge):
                    await log.append_atomically("mars", [record(), too_large])
            assert link.connections == 1
            assert (await log.bounds("mars")).last == 1


@asynchronous
async def test_a_record_that_waited_for_a_server_that_takes_less_stops_nobody(tmp_path: Path) -> None:
    """It was small enough for the one that was there when it was handed over."""
    with running_server(tmp_path) as server:
        async with open_link(server) as link, open_owning_log(link.url) as log:
            await log.append("mars", record())
            server.kill()
            await link.wait_connections(2)
            large, small = (
                asyncio.ensure_future(log.append("mars", record(payload=b"x" * size)))
                for size in (SMALL_PAYLOAD, 1)
            )
            await asyncio.sleep(0)
            server.configure([f"max_payload: {SMALL_PAYLOAD}"])
            server.start()
            with pytest.raises(RecordTooLarge, match=str(SMALL_PAYLOAD)):
                await large
            assert await small == Appended(2)


@asynchronous
async def test_a_subject_that_is_the_base_alone_is_refused(server: Server) -> None:
    """The stream has what is below its base."""
    async with open_owning_log(server.url) as log:
        for call in (log.append("mars", record("mars")), log.append_atomically("mars", [record("mars")])):
            with pytest.raises(RecordRefused, match="nothing behind the base"):
                await call


@asynchronous
async def test_entries_that_others_stored_are_entries(server: Server) -> None:
    """Without headers, with some, with the broker's own; as released servers and other programs write them."""
    async with open_owning_log(server.url) as log:
        await log.bounds("mars")
        client = await nats.connect(server.url)
        stream = client.jetstream()
        await stream.publish("mars.a", b"null")
        await stream.publish("mars.b", b"{}", headers={"spatial_bbox": "1,2,3,4", "Nats-Msg-Id": "x"})
        await client.close()
        entries = await read_all(log)
        assert [(entry.subject, entry.payload, dict(entry.headers)) for entry in entries] == [
            ("mars.a", b"null", {}),
            ("mars.b", b"{}", {"spatial_bbox": "1,2,3,4"}),
        ]
        assert await log.append("mars", record(message_id="x")) == Appended(2, is_duplicate=True)


@asynchronous
async def test_an_expectation_is_about_the_stream_and_not_about_this_log(server: Server) -> None:
    """Two that append on the same condition: one of them succeeds."""
    async with open_owning_log(server.url) as one, open_owning_log(server.url) as other:
        results = await asyncio.gather(
            *(log.append("mars", record(expected_last_sequence=0)) for log in (one, other)),
            return_exceptions=True,
        )
    assert sorted(type(result).__name__ for result in results) == [
        Appended.__name__,
        WrongLastSequence.__name__,
    ]


# --- from settings ---------------------------------------------------------------------------------------


def test_every_setting_of_the_connection_is_handed_on() -> None:
    """Under the names that a connection has for them."""
    settings = JetStream(
        nats_url="nats://a:1, nats://b:2",
        token=Secret("t"),
        user="u",
        password=Secret("p"),
        credentials_file="c",
        nkey_seed_file="n",
        tls_ca_file="ca",
        tls_certificate_file="tc",
        tls_key_file="tk",
        timeout_seconds=7,
        retry_attempts=4,
        reconnect_delay_ms=250,
        max_reconnect_attempts=0,
    )
    made = connection_options(settings)
    assert made.servers == ("nats://a:1", "nats://b:2")
    assert (made.token, made.user, made.password) == (Secret("t"), "u", Secret("p"))
    assert (made.credentials_file, made.nkey_seed_file) == ("c", "n")
    assert (made.tls_ca_file, made.tls_certificate_file, made.tls_key_file) == ("ca", "tc", "tk")
    assert (made.connect_seconds, made.connect_attempts) == (7, 4)
    assert (made.reconnect_delay_seconds, made.reconnect_attempts) == (0.25, None)
    assert connection_options(JetStream(max_reconnect_attempts=9)).reconnect_attempts == 9


def test_streams_follow_the_catalog_as_it_is_replaced() -> None:
    """Defaults of the installation, then the schema's own, under the base as the schema spells it."""
    defaults = stream_defaults(
        JetStream(max_messages=5, max_bytes=6, retention_time="1d", replicas=3, storage_type="memory")
    )
    catalogs = [build_catalog([STORMS])]
    wanted = wanted_streams(lambda: catalogs[-1], defaults)
    plain = StreamConfiguration(
        name="STORMS",
        subjects=("storms.>",),
        max_messages=5,
        max_bytes=6,
        max_messages_per_subject=1,
        max_age_seconds=86_400,
        replicas=3,
        medium="memory",
    )
    assert wanted("Storms") == wanted("storms") == plain
    kept = STORMS.__class__(
        event_type=STORMS.event_type,
        topic=STORMS.topic,
        fields=STORMS.fields,
        storage=Storage(keep_all=True, max_messages=7),
    )
    catalogs.append(build_catalog([kept]))
    followed = wanted("storms")
    assert followed is not None
    assert (followed.max_messages, followed.max_messages_per_subject) == (7, -1)
    unknown = wanted("Other")
    assert unknown is not None
    assert (unknown.name, unknown.subjects) == ("OTHER", ("Other.>",))


@asynchronous
async def test_the_kind_of_log_is_that_of_the_settings(server: Server) -> None:
    """In memory with its limits; on JetStream as owner of the streams or not."""
    in_memory = NotificationBackend(kind="in_memory", in_memory=InMemory(max_history_per_topic=2))
    async with open_event_log(in_memory) as log:
        assert isinstance(log, MemoryLog)
        await fill(log, numbered(3))
        assert payloads(await read_all(log)) == [b"2", b"3"]
    on_broker = NotificationBackend(kind="jetstream", jetstream=JetStream(nats_url=server.url))
    catalog = build_catalog([STORMS])
    async with open_event_log(on_broker, owner_of=lambda: catalog) as log:
        assert isinstance(log, JetStreamLog)
        assert await log.append("storms", record("storms.a")) == Appended(1)
    async with open_event_log(on_broker) as log:
        assert (await log.bounds("storms")).last == 1
