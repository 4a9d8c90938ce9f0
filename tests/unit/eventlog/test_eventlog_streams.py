"""Streams of the broker: made as wanted, mended where they differ, never changed where they do not."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import msgspec
import nats
import pytest

from aviso_core.broker.connection import open_connection
from aviso_core.eventlog.base import (
    Appended,
    AppendFailed,
    EpochChanged,
    StreamMissing,
    StreamRefused,
    Unsupported,
)
from aviso_core.eventlog.jetstream.entries import find_entry, find_last_entry
from aviso_core.eventlog.jetstream.log import open_jetstream_log
from aviso_core.schema.model import Storage
from aviso_core.schema.stream import StreamConfiguration, StreamDefaults, stream_of_base
from support.event_logs import (
    ask_broker,
    asynchronous,
    fill,
    keep_all,
    numbered,
    open_owning_log,
    options,
    read_all,
    record,
    sequences,
)
from support.nats import Server, open_link, running_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from aviso_core.eventlog.jetstream.log import JetStreamLog

MARS: Final = keep_all("mars")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """Run a broker for one test: one that has removed streams may bring their entries back under the same names."""
    with running_server(tmp_path) as server:
        yield server


@pytest.fixture
def url(server: Server) -> str:
    """Return where that broker is."""
    return server.url


async def configuration(url: str, name: str = "MARS") -> dict[str, Any]:
    """Return a stream's settings as the broker tells them."""
    config = (await ask_broker(url, f"STREAM.INFO.{name}"))["config"]
    assert isinstance(config, dict)
    return config


async def make_stream(url: str, name: str = "MARS", **settings: Any) -> None:
    """Make a stream as somebody else would."""
    answer = await ask_broker(url, f"STREAM.CREATE.{name}", {"name": name} | settings)
    assert "error" not in answer, answer


async def bind(url: str, *wanted: StreamConfiguration) -> None:
    """Open a log that owns streams, and have it look at them."""
    for one in wanted:
        async with open_owning_log(url, wanted=lambda _, one=one: one) as log:  # type: ignore[misc]
            await log.bounds(one.name)


@asynccontextmanager
async def counted_updates(url: str) -> AsyncIterator[list[str]]:
    """Count which streams are updated while the block runs; the list is complete after it."""
    client = await nats.connect(url)
    updated: list[str] = []
    advisories = await client.subscribe("$JS.EVENT.ADVISORY.STREAM.UPDATED.>")
    await client.flush()
    try:
        yield updated
        # What the broker told of the updates comes before its answer to this.
        await client.flush()
        updated += [(await advisories.next_msg()).subject for _ in range(advisories.pending_msgs)]
    finally:
        await client.close()


# --- made as wanted --------------------------------------------------------------------------------------

_WANTED: Final = {
    "nothing said": MARS,
    "every limit": StreamConfiguration(
        name="MARS",
        subjects=("mars.>",),
        max_messages=1000,
        max_bytes=10_000_000,
        max_messages_per_subject=3,
        max_age_seconds=3600,
        compression="s2",
        discard="new",
        duplicate_window_seconds=60,
    ),
    "limits of nothing": StreamConfiguration(
        name="MARS", subjects=("mars.>",), max_messages=0, max_bytes=0, max_messages_per_subject=0, replicas=0
    ),
    "in memory": StreamConfiguration(name="MARS", subjects=("mars.>",), medium="memory"),
    "for interest": StreamConfiguration(name="MARS", subjects=("mars.>",), retention="interest"),
    "of a schema": stream_of_base("mars", Storage(retention_seconds=30, compression=True), StreamDefaults()),
    "of a schema without history": stream_of_base("mars", None, StreamDefaults(max_messages=5)),
}
every_wanted = pytest.mark.parametrize("wanted", _WANTED.values(), ids=_WANTED.keys())


@every_wanted
@asynchronous
async def test_a_stream_is_made_as_it_is_wanted(wanted: StreamConfiguration, url: str) -> None:
    """Every setting that we look at."""
    await bind(url, wanted)
    made = await configuration(url)
    assert made["subjects"] == ["mars.>"]
    assert made["max_msgs"] == (wanted.max_messages or -1)
    assert made["max_bytes"] == (wanted.max_bytes or -1)
    assert made["max_msgs_per_subject"] == (wanted.max_messages_per_subject or -1)
    assert made["max_age"] == wanted.max_age_seconds * 10**9
    assert made["storage"] == wanted.medium
    assert made["num_replicas"] == (wanted.replicas or 1)
    assert (made["compression"], made["discard"]) == (wanted.compression, wanted.discard)
    assert made["retention"] == wanted.retention
    assert made["duplicate_window"] == wanted.duplicate_window_seconds * 10**9


@every_wanted
@asynchronous
async def test_a_stream_that_is_as_wanted_is_never_updated(wanted: StreamConfiguration, url: str) -> None:
    """Defaults of the broker, and its own notes in the metadata, do not look like drift."""
    async with counted_updates(url) as updates:
        await bind(url, wanted, wanted, wanted)
    assert updates == []


@asynchronous
async def test_a_stream_of_others_is_mended_once(url: str) -> None:
    """The broker's defaults are what we want here, except that it takes no atomic batches yet."""
    await make_stream(url, subjects=["mars.>"])
    async with counted_updates(url) as updates:
        await bind(url, MARS, MARS, MARS)
    assert len(updates) == 1


@asynchronous
async def test_drift_is_mended_and_everything_else_left(url: str) -> None:
    """Settings that we do not look at stay as somebody set them."""
    await make_stream(
        url,
        subjects=["mars.old.>"],
        max_msgs=7,
        max_age=10**10,
        duplicate_window=10**9,
        description="of the ancestors",
        max_msg_size=1_000_000,
        allow_rollup_hdrs=True,
        metadata={"owner": "somebody"},
    )
    await bind(url, MARS)
    mended = await configuration(url)
    assert (mended["subjects"], mended["max_msgs"], mended["max_age"]) == (["mars.>"], -1, 0)
    assert mended["duplicate_window"] == 120 * 10**9
    assert (mended["description"], mended["max_msg_size"]) == ("of the ancestors", 1_000_000)
    assert mended["allow_rollup_hdrs"]
    assert mended["metadata"]["owner"] == "somebody"


@asynchronous
async def test_what_is_wanted_may_change_while_the_log_is_open(url: str) -> None:
    """The next use of the stream brings it there."""
    wanted = {"mars": MARS}
    async with open_owning_log(url, wanted=lambda base: wanted[base]) as log:
        await fill(log, numbered(5))
        wanted["mars"] = msgspec.structs.replace(MARS, max_messages=2)
        await fill(log, numbered(1))
        assert (await log.bounds("mars")).messages == 2


@asynchronous
async def test_the_case_of_subjects_is_not_drift(url: str) -> None:
    """A stream keeps the spelling it was made with: what is stored under it stays reachable."""
    await make_stream(url, subjects=["Mars.>"], allow_atomic=True)
    async with counted_updates(url) as updates, open_owning_log(url) as log:
        await log.append("mars", record("mars.a.1"))
        await log.append("MARS", record("MARS.a.2"))
        assert [entry.subject for entry in await read_all(log, pattern="mars.a.>")] == [
            "Mars.a.1",
            "Mars.a.2",
        ]
    assert updates == []


@asynchronous
async def test_an_age_below_a_second_is_not_taken_for_none(url: str) -> None:
    """A stream that forgets after half a second is not one that keeps for ever; what is refused names the half."""
    half = 5 * 10**8
    await make_stream(url, subjects=["mars.>"], max_age=half, duplicate_window=half)
    async with open_owning_log(url, wanted=lambda _: msgspec.structs.replace(MARS, replicas=3)) as log:
        with pytest.raises(StreamRefused, match=r"max_age_seconds: 0\.5 → 0;"):
            await log.bounds("mars")
    await bind(url, MARS)
    mended = await configuration(url)
    assert (mended["max_age"], mended["duplicate_window"]) == (0, 120 * 10**9)


# --- refused ---------------------------------------------------------------------------------------------


@asynchronous
async def test_a_change_that_is_refused_is_an_error_of_whoever_needed_the_stream(url: str) -> None:
    """It names the stream, what was to change, and the broker's reason; nothing runs on the old settings."""
    await bind(url, MARS)
    wanted = msgspec.structs.replace(MARS, replicas=3)
    async with open_owning_log(url, wanted=lambda _: wanted) as log:
        with pytest.raises(StreamRefused, match=r"'MARS' cannot be changed \(replicas: 1 → 3\): .*replicas"):
            await log.append("mars", record())
        for _ in range(2):
            with pytest.raises(StreamRefused):
                await log.bounds("mars")
    assert (await ask_broker(url, "STREAM.INFO.MARS"))["state"]["messages"] == 0


@asynchronous
async def test_a_stream_that_cannot_be_made_is_an_error(url: str) -> None:
    """With the broker's reason: here another stream has the subjects."""
    await make_stream(url, "OTHER", subjects=["mars.a.>"])
    async with open_owning_log(url) as log:
        with pytest.raises(StreamRefused, match=r"'MARS': .*overlap"):
            await log.append("mars", record())


@asynchronous
async def test_storage_is_never_changed(url: str) -> None:
    """The contract's words; nothing else is updated before that is noticed."""
    await make_stream(url, subjects=["mars.>"], max_msgs=5)
    wanted = msgspec.structs.replace(MARS, medium="memory")
    async with counted_updates(url) as updates, open_owning_log(url, wanted=lambda _: wanted) as log:
        with pytest.raises(StreamRefused) as refused:
            await log.append("mars", record())
    assert str(refused.value) == (
        "Stream 'MARS' storage mismatch: current File, requested Memory; "
        "JetStream storage cannot be changed in place"
    )
    assert updates == []


@asynchronous
async def test_a_base_that_cannot_be_a_name_is_refused_before_it_is_asked_for(url: str) -> None:
    """The broker would take such a name for several tokens of a question, or for another command."""
    async with open_owning_log(url) as log:
        for base in ("a.b", "*", "a b", "a\r\nPING", "x" * 300):
            with pytest.raises(StreamRefused):
                await log.bounds(base)
        assert await log.append("mars", record()) == Appended(1)


# --- together and alone ----------------------------------------------------------------------------------


@asynchronous
async def test_creators_that_race_all_get_the_stream(url: str) -> None:
    """Those who want the same, and those who do not: the last one's wish holds."""
    several = [msgspec.structs.replace(MARS, max_messages=limit) for limit in (-1, -1, 100, 200)]

    async def append(wanted: StreamConfiguration) -> Appended:
        async with open_owning_log(url, wanted=lambda _: wanted) as log:
            return await log.append("mars", record())

    appended = await asyncio.gather(*(append(wanted) for wanted in several))
    assert sorted(one.sequence for one in appended) == [1, 2, 3, 4]
    assert (await configuration(url))["max_msgs"] in (-1, 100, 200)


@asynchronous
async def test_many_first_appends_look_at_the_stream_once(url: str) -> None:
    """However many there are at the same time."""
    client = await nats.connect(url)
    asked = await client.subscribe("$JS.API.STREAM.*.MARS")
    await client.flush()
    async with open_owning_log(url) as log:
        await asyncio.gather(*(log.append("mars", one) for one in numbered(100)))
    await client.flush()
    assert asked.pending_msgs == 2  # is it there, and make it
    await client.close()


@asynchronous
async def test_who_does_not_own_streams_makes_none(url: str) -> None:
    """Every call says that there is none, until somebody has made it."""
    async with open_jetstream_log(options(url)) as log:
        for call in (
            log.append("mars", record()),
            log.append_all("mars", [record()]),
            log.append_atomically("mars", [record()]),
            log.bounds("mars"),
            log.latest("mars"),
            log.seek("mars", 0),
            read_all(log, last=9),
        ):
            with pytest.raises(StreamMissing, match="'MARS'"):
                await call
        assert not await log.wipe("mars")
        assert not await log.delete("mars", 1)
        await make_stream(url, subjects=["mars.>"])
        assert await log.append("mars", record()) == Appended(1)


@asynchronous
async def test_who_does_not_own_streams_changes_none(url: str) -> None:
    """They are taken as they are, also without atomic batches."""
    await make_stream(url, subjects=["mars.>"], max_msgs=2)
    before = await configuration(url)
    async with open_jetstream_log(options(url)) as log:
        await fill(log, numbered(3))
        with pytest.raises(Unsupported, match="atomic"):
            await log.append_atomically("mars", [record(), record()])
    assert await configuration(url) == before


@asynchronous
async def test_brokers_that_are_too_old_take_no_atomic_batches(server: Server) -> None:
    """They would take the members for records like any others, and store them one by one."""
    async with open_link(server) as link:
        link.claim_version("2.11.9")
        async with open_owning_log(link.url) as log:
            with pytest.raises(Unsupported, match="atomic"):
                await log.append_atomically("mars", [record(), record()])
            assert await log.append("mars", record()) == Appended(1)


@asynchronous
async def test_a_batch_that_came_incomplete_may_be_repeated(url: str) -> None:
    """More batches than a stream takes are under way: what is beyond them loses its first members."""
    async with open_owning_log(url) as log:
        epoch = (await log.bounds("mars")).epoch
        client = await nats.connect(url)
        for number in range(100):
            headers = {"Nats-Batch-Id": f"unfinished-{number}", "Nats-Batch-Sequence": "1"}
            # An answer says that the stream has seen it.
            await client.request("mars.od.1", b"", headers=headers, timeout=10)
        await client.close()
        with pytest.raises(AppendFailed, match="incomplete") as failed:
            await log.append_atomically("mars", [record(), record()])
        assert failed.value.may_retry
        bounds = await log.bounds("mars")
        assert (bounds.last, bounds.epoch) == (0, epoch)


@asynchronous
async def test_a_stream_that_somebody_else_made_again_is_mended(url: str) -> None:
    """As soon as it is noticed, which is when its bounds are asked for."""
    async with open_owning_log(url) as log:
        await fill(log, numbered(3))
        await ask_broker(url, "STREAM.DELETE.MARS")
        await make_stream(url, subjects=["mars.>"], max_msgs=2)
        assert (await log.bounds("mars")).last == 0
        assert (await configuration(url))["max_msgs"] == -1


@asynchronous
async def test_a_removed_stream_is_made_again_by_its_owner(url: str) -> None:
    """Whoever asks for it next gets an empty one, of another epoch."""
    async with open_owning_log(url) as log:
        await fill(log, numbered(3))
        epoch = (await log.bounds("mars")).epoch
        await ask_broker(url, "STREAM.DELETE.MARS")
        bounds = await log.bounds("mars")
        assert (bounds.last, bounds.epoch == epoch) == (0, False)


@asynchronous
async def test_a_removed_stream_is_made_again_by_whoever_writes_or_reads_next(url: str) -> None:
    """Each by its own first call; one that reads may find that it is gone before it makes it."""
    bases = ("one", "several", "batch", "read")
    async with open_owning_log(url) as log:
        for base in bases:
            await fill(log, numbered(3, f"{base}.a"), base)
            await ask_broker(url, f"STREAM.DELETE.{base.upper()}")
        assert await log.append("one", record("one.a")) == Appended(1)
        assert await fill(log, numbered(2, "several.a"), "several") == [1, 2]
        batch = [record("batch.a"), record("batch.a")]
        assert await log.append_atomically("batch", batch) == [Appended(1), Appended(2)]
        with pytest.raises(StreamMissing):
            await read_all(log, "read", last=9)
        assert await read_all(log, "read", last=9) == []


@asynchronous
async def test_positions_of_a_stream_that_somebody_made_again_are_refused(url: str) -> None:
    """By the very next call, without asking for the bounds in between; it looks at the stream itself after that."""

    async def ask(log: JetStreamLog, what: str, base: str, epoch: str | None = None) -> list[int]:
        if what == "read":
            return sequences(await read_all(log, base, first=1, last=9, epoch=epoch))
        if what == "latest":
            return sequences(await log.latest(base, epoch=epoch))
        return [await log.seek(base, 0, epoch=epoch)]

    async with open_owning_log(url) as log:
        for what in ("read", "latest", "seek"):
            await fill(log, numbered(5, f"{what}.a"), what)
            epoch = (await log.bounds(what)).epoch
            name = what.upper()
            await ask_broker(url, f"STREAM.DELETE.{name}")
            await make_stream(url, name, subjects=[f"{what}.>"], max_msgs=5)
            async with open_jetstream_log(options(url)) as other:
                await fill(other, numbered(3, f"{what}.b"), what)
            with pytest.raises(EpochChanged, match=f"'{name}'.*{epoch}"):
                await ask(log, what, what, epoch)
            assert await ask(log, what, what) == {"read": [1, 2, 3], "latest": [3], "seek": [1]}[what]
            assert (await configuration(url, name))["max_msgs"] == -1


@asynchronous
async def test_positions_of_a_stream_that_is_gone_are_refused(url: str) -> None:
    """Also where nobody here may make it again; without an epoch it is missing."""
    await make_stream(url, subjects=["mars.>"])
    async with open_jetstream_log(options(url)) as log:
        await fill(log, numbered(3))
        epoch = (await log.bounds("mars")).epoch
        await ask_broker(url, "STREAM.DELETE.MARS")
        for _ in range(2):
            for asking in (
                read_all(log, last=9, epoch=epoch),
                log.latest("mars", epoch=epoch),
                log.seek("mars", 0, epoch=epoch),
            ):
                with pytest.raises(EpochChanged, match="none any more"):
                    await asking
            for asking in (read_all(log, last=9), log.latest("mars"), log.seek("mars", 0)):
                with pytest.raises(StreamMissing):
                    await asking


@pytest.mark.parametrize("is_left", [False, True], ids=["for a moment", "for good"])
@asynchronous
async def test_a_broker_that_still_clears_away_is_asked_again(
    is_left: bool, server: Server, tmp_path: Path
) -> None:
    """It has no place for a new stream as long as that lasts; one that never has is an error, with its words."""
    place = tmp_path / "store" / "jetstream"
    place.rename(tmp_path / "elsewhere")
    place.write_text("")
    async with open_owning_log(server.url) as log:
        asking = asyncio.ensure_future(log.append("mars", record()))
        await asyncio.to_thread(server.wait_logged, "Stream create failed")
        if is_left:
            with pytest.raises(StreamRefused, match="'MARS': error creating store"):
                await asking
        else:
            place.unlink()
            assert await asking == Appended(1)


@asynchronous
async def test_a_removed_stream_is_missing_where_nobody_may_make_it(url: str) -> None:
    """An append that found it before says so as soon as the broker does."""
    await make_stream(url, subjects=["mars.>"])
    async with open_jetstream_log(options(url)) as log:
        await fill(log, numbered(3))
        await ask_broker(url, "STREAM.DELETE.MARS")
        with pytest.raises(StreamMissing):
            await log.append("mars", record())
        with pytest.raises(StreamMissing):
            await log.bounds("mars")


# --- of others -------------------------------------------------------------------------------------------


@asynchronous
async def test_nothing_is_removed_from_streams_that_are_not_ours(url: str) -> None:
    """Neither with everything nor by name: ours has its base in its name and in its subject."""
    foreign: dict[str, list[str]] = {
        "ORDERS": ["orders.new", "orders.old"],
        "PLAIN": ["plain"],
        "Mixed": ["mixed.>"],
        "EVENTS": ["other.>"],
        "DEEP": ["deep.er.>"],
        "STAR": ["star.*"],
        "KV_settings": ["$KV.settings.>"],
    }
    for name, subjects in foreign.items():
        await make_stream(url, name, subjects=subjects)
    client = await nats.connect(url)
    for subjects in foreign.values():
        subject = subjects[0].replace(">", "x").replace("*", "x")
        await client.jetstream().publish(subject, b"")
    await client.close()
    async with open_owning_log(url) as log:
        await log.append("mars", record())
        await log.append("diss", record("diss.a"))
        await log.wipe_all()
        assert (await log.bounds("mars")).messages == (await log.bounds("diss")).messages == 0
        for name in foreign:
            assert not await log.wipe(name)
            assert not await log.delete(name, 1)
    for name in foreign:
        assert (await ask_broker(url, f"STREAM.INFO.{name}"))["state"]["messages"] == 1, name


@asynchronous
async def test_a_stream_that_refuses_does_not_keep_the_others_from_being_wiped(url: str) -> None:
    """Which ones did, and why, is told in the end."""
    bases = ("alpha", "beta", "gamma", "delta")
    for base in bases:
        await make_stream(url, base.upper(), subjects=[f"{base}.>"], deny_purge=base in ("alpha", "gamma"))
    async with open_jetstream_log(options(url)) as log:
        for base in bases:
            await log.append(base, record(f"{base}.a"))
        with pytest.raises(
            StreamRefused, match=r"'ALPHA': .*purge not permitted.*'GAMMA': .*purge"
        ) as refused:
            await log.wipe_all()
        assert "BETA" not in str(refused.value)
        assert [(await log.bounds(base)).messages for base in bases] == [1, 0, 1, 0]


@asynchronous
async def test_an_entry_that_cannot_be_looked_at_is_not_told_to_be_missing(url: str) -> None:
    """Only the broker's word that there is none says so, or that there is no stream."""
    await make_stream(url, subjects=["mars.>"])
    async with open_connection(options(url)) as connection:
        assert await find_entry(connection, "mars", 1) is None
        assert await find_last_entry(connection, "mars", "mars.a") is None
        assert await find_entry(connection, "diss", 1) is None
        with pytest.raises(StreamRefused, match="'MARS': bad request"):
            await find_entry(connection, "mars", 0)


@asynchronous
async def test_what_a_stream_forbids_is_an_error(url: str) -> None:
    """Entries that are there and may not be removed are not told to be missing."""
    await make_stream(url, subjects=["mars.>"], deny_delete=True, deny_purge=True)
    async with open_jetstream_log(options(url)) as log:
        await fill(log, numbered(2))
        with pytest.raises(StreamRefused, match="'MARS'"):
            await log.delete("mars", 1)
        assert not await log.delete("mars", 3)
        with pytest.raises(StreamRefused, match="'MARS'"):
            await log.wipe("mars")
        assert (await log.bounds("mars")).messages == 2


@asynchronous
async def test_a_stream_that_is_full_refuses_and_may_take_it_later(url: str) -> None:
    """Where it is told to keep its oldest; the reason is the broker's."""
    await make_stream(url, subjects=["mars.>"], max_msgs=2, discard="new")
    async with open_jetstream_log(options(url)) as log:
        await fill(log, numbered(2))
        with pytest.raises(AppendFailed, match="maximum messages") as failed:
            await log.append("mars", record())
        assert failed.value.may_retry
        await log.delete("mars", 1)
        assert await log.append("mars", record()) == Appended(3)
