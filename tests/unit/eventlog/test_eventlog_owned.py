"""Streams in the hands of their owner: each thing done to one stream, as it was seen, and to no other."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import msgspec
import nats
import pytest

from aviso_core.broker.connection import open_connection
from aviso_core.broker.creation import create_stream
from aviso_core.errors import Unavailable
from aviso_core.eventlog.jetstream.owned import BrokerRefused, OwnedStreams, StreamChanged
from aviso_core.schema.stamps import Stamps
from aviso_core.schema.stream import StreamConfiguration, StreamDifference, differences
from support.asking import open_asking_connection
from support.event_logs import (
    ask_broker,
    asynchronous,
    fill,
    keep_all,
    numbered,
    open_owning_log,
    options,
    read_all,
    sequences,
)
from support.nats import Cluster, Server, open_link, running_cluster, running_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from aviso_core.eventlog.jetstream.owned import FoundStream

MARS: Final = keep_all("mars")
OURS: Final = Stamps(owner="weather/mars", uid="u1", event_type="mars")
THEIRS: Final = Stamps(owner="sea/mars", uid="u2", event_type="mars")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """Run a broker for one test."""
    with running_server(tmp_path) as server:
        yield server


@pytest.fixture
def url(server: Server) -> str:
    """Return where that broker is."""
    return server.url


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Run three brokers that keep streams together; every test has names of its own."""
    with running_cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@asynccontextmanager
async def owned(*urls: str, **other: Any) -> AsyncIterator[OwnedStreams]:
    """Open streams over a connection of their own."""
    async with open_connection(options(*urls, **other)) as connection:
        yield OwnedStreams(connection)


async def as_told(url: str, name: str = "MARS") -> dict[str, Any]:
    """Return a stream as the broker tells it, without what changes by itself."""
    told = await ask_broker(url, f"STREAM.INFO.{name}")
    assert "error" not in told, told
    return {name: told[name] for name in ("config", "created", "state")}


async def make(url: str, name: str = "MARS", **settings: Any) -> None:
    """Make a stream as somebody else would, also where one of that name is still being cleared away."""
    async with open_connection(options(url)) as connection:
        await create_stream(connection, name, {"name": name, "subjects": ["mars.>"]} | settings)


async def make_again(url: str, name: str = "MARS", **settings: Any) -> None:
    """Remove a stream and make it again, as somebody would by hand."""
    await ask_broker(url, f"STREAM.DELETE.{name}")
    await make(url, name, **settings)


def drift(found: FoundStream, **wanted: Any) -> tuple[StreamConfiguration, tuple[StreamDifference, ...]]:
    """Return what is wanted of a stream that was found, and how it differs."""
    changed = msgspec.structs.replace(found.configuration, **wanted)
    return changed, differences(changed, found.configuration)


async def found(streams: OwnedStreams, base: str = "mars") -> FoundStream:
    """Return a stream that must be there."""
    stream = await streams.find(base)
    assert stream is not None
    return stream


# --- found and made --------------------------------------------------------------------------------------


@asynchronous
async def test_a_stream_is_made_with_its_stamps_and_found_with_them(url: str) -> None:
    """Without the notes that the server writes beside them; what it holds is told too."""
    wanted = msgspec.structs.replace(MARS, subjects=("Mars.>",), max_messages=3, max_age_seconds=3600)
    async with owned(url) as streams:
        assert await streams.find("mars") is None
        made = await streams.create(wanted, OURS.metadata())
        assert (made.configuration, made.stamps, made.metadata) == (wanted, OURS, OURS.metadata())
        assert (made.name, made.base, made.messages) == ("MARS", "Mars", 0)
        assert any(name.startswith("_nats.") for name in (await as_told(url))["config"]["metadata"])
        async with open_owning_log(url, wanted=lambda _: wanted) as log:
            await fill(log, numbered(5, "Mars.od.1"))
        now = await found(streams)
        assert (now.created, now.stamps) == (made.created, OURS)
        assert (now.messages, now.first_sequence, now.last_sequence) == (3, 3, 5)
        assert now.bytes > 0


@asynchronous
async def test_a_stream_that_is_made_takes_atomic_batches(url: str) -> None:
    """As those do that the log makes."""
    async with owned(url) as streams:
        await streams.create(MARS, OURS.metadata())
    assert (await as_told(url))["config"]["allow_atomic"]


@asynchronous
async def test_making_a_stream_again_in_the_same_way_is_no_error(url: str) -> None:
    """It is the one that was made before, with all that it holds."""
    async with owned(url) as streams:
        made = await streams.create(MARS, OURS.metadata())
        async with open_owning_log(url) as log:
            await fill(log, numbered(2))
        again = await streams.create(MARS, OURS.metadata())
        assert (again.created, again.messages) == (made.created, 2)


@pytest.mark.parametrize(
    "there",
    [{}, {"metadata": THEIRS.metadata()}, {"metadata": OURS.metadata(), "max_msgs": 7}],
    ids=["nobody's", "somebody else's", "ours, otherwise"],
)
@asynchronous
async def test_a_stream_that_was_made_meanwhile_is_looked_at_again(there: dict[str, Any], url: str) -> None:
    """It is not taken for ours, and stays as it is."""
    await make(url, **there)
    before = await as_told(url)
    async with owned(url) as streams:
        with pytest.raises(StreamChanged, match="somebody else"):
            await streams.create(MARS, OURS.metadata())
    assert await as_told(url) == before


@asynchronous
async def test_creators_that_race_end_with_one_stream(url: str) -> None:
    """Those who make the same all have it; of those who do not, one has it and the others look again."""
    async with owned(url) as first, owned(url) as second:
        for round_ in range(20):
            name = f"same{round_}"
            made = await asyncio.gather(
                *(one.create(keep_all(name), OURS.metadata()) for one in (first, second, first))
            )
            assert len({one.created for one in made}) == 1
            name = f"other{round_}"
            outcomes = await asyncio.gather(
                first.create(keep_all(name), OURS.metadata()),
                second.create(keep_all(name), THEIRS.metadata()),
                return_exceptions=True,
            )
            [winner] = [one for one in outcomes if not isinstance(one, BaseException)]
            [loser] = [one for one in outcomes if isinstance(one, BaseException)]
            assert isinstance(loser, StreamChanged)
            assert await first.find(name) == winner


@asynchronous
async def test_all_streams_that_are_ours_are_listed_over_several_pages(url: str) -> None:
    """Those bound as ours are, stamped or not; the broker tells 256 at a time."""
    for name, subject in {"ORDERS": "orders.new", "EVENTS": "other.>", "KV_x": "$KV.x.>"}.items():
        await make(url, name, subjects=[subject])
    async with owned(url) as streams:
        for number in range(300):
            await streams.create(keep_all(f"base{number}"), OURS.metadata() if number % 2 else {})
        listed = await streams.all()
    assert sorted(one.name for one in listed) == sorted(f"BASE{number}" for number in range(300))
    assert [one.base for one in listed if one.name == "BASE7"] == ["base7"]
    assert {one.stamps for one in listed if one.name in ("BASE7", "BASE8")} == {OURS, None}


# --- changed ---------------------------------------------------------------------------------------------


@asynchronous
async def test_only_what_differs_is_changed(url: str) -> None:
    """Settings that we do not look at stay as somebody set them, and so do stamps and the words of others."""
    await make(
        url,
        max_msgs=7,
        max_age=10**10,
        duplicate_window=10**9,
        description="of the ancestors",
        max_msg_size=1_000_000,
        allow_rollup_hdrs=True,
        metadata=OURS.metadata() | {"team": "waves"},
    )
    async with owned(url) as streams:
        before = await found(streams)
        changed = await streams.change(*drift(before, max_messages=9), created=before.created)
        assert changed.created == before.created
        assert changed.configuration == msgspec.structs.replace(before.configuration, max_messages=9)
    config = (await as_told(url))["config"]
    assert (config["max_msgs"], config["max_age"], config["duplicate_window"]) == (9, 10**10, 10**9)
    assert (config["description"], config["max_msg_size"]) == ("of the ancestors", 1_000_000)
    assert config["allow_rollup_hdrs"]
    assert config["allow_atomic"], "what was made by others takes atomic batches from now on"
    assert config["metadata"].items() >= (OURS.metadata() | {"team": "waves"}).items()


@asynchronous
async def test_a_change_that_is_made_again_touches_nothing(url: str) -> None:
    """The broker is not even asked for an update."""
    async with owned(url) as streams:
        before = await streams.create(MARS, OURS.metadata())
        change = drift(before, max_messages=9)
        once = await streams.change(*change, created=before.created)
        client = await nats.connect(url)
        updates = await client.subscribe("$JS.API.STREAM.UPDATE.>")
        await client.flush()
        assert await streams.change(*change, created=before.created) == once
        assert await streams.stamp("MARS", OURS, created=before.created, before=None) == once
        await client.flush()
        assert updates.pending_msgs == 0
        await client.close()


@asynchronous
async def test_a_setting_that_was_changed_meanwhile_is_left(url: str) -> None:
    """From what it is by now, the same change might lose what is stored."""
    async with owned(url) as streams:
        before = await streams.create(msgspec.structs.replace(MARS, max_messages=10), OURS.metadata())
        change = drift(before, max_messages=20)
        widened = await streams.change(*drift(before, max_messages=100), created=before.created)
        with pytest.raises(StreamChanged, match="max_messages of stream 'MARS' is 100 by now, no more 10"):
            await streams.change(*change, created=before.created)
        assert await streams.find("mars") == widened


@asynchronous
async def test_other_changes_meanwhile_are_kept(url: str) -> None:
    """Whoever set something else is not undone."""
    async with owned(url) as streams:
        before = await streams.create(MARS, OURS.metadata())
        await streams.change(*drift(before, max_bytes=10**9), created=before.created)
        after = await streams.change(*drift(before, max_messages=9), created=before.created)
    assert (after.configuration.max_bytes, after.configuration.max_messages) == (10**9, 9)


@asynchronous
async def test_nothing_stored_is_touched_by_changes_and_stamps(url: str) -> None:
    """The stream stays the one that it was."""
    async with owned(url) as streams, open_owning_log(url) as log:
        made = await streams.create(MARS, {})
        await fill(log, numbered(20))
        stamped = await streams.stamp("MARS", OURS, created=made.created, before=None)
        changed = await streams.change(
            *drift(stamped, max_age_seconds=86400, compression="s2"), created=made.created
        )
        assert (changed.created, changed.messages) == (made.created, 20)
        assert sequences(await read_all(log)) == list(range(1, 21))


# --- stamped ---------------------------------------------------------------------------------------------


@asynchronous
async def test_stamps_take_the_place_of_those_before(url: str) -> None:
    """The words of others and every setting stay; a mark that is no more said is gone."""
    orphaned = msgspec.structs.replace(THEIRS, orphaned_at="2026-01-01T00:00:00Z")
    await make(url, max_msgs=7, metadata=orphaned.metadata() | {"team": "waves"})
    async with owned(url) as streams:
        before = await found(streams)
        assert before.stamps == orphaned
        after = await streams.stamp("MARS", OURS, created=before.created, before=orphaned)
        assert (after.stamps, after.metadata["team"]) == (OURS, "waves")
        assert (after.configuration, after.created) == (before.configuration, before.created)
    assert (await as_told(url))["config"]["allow_atomic"]


@asynchronous
async def test_a_stamp_that_was_set_meanwhile_is_left(url: str) -> None:
    """Two who want to take over the same stream do not take it from each other."""
    await make(url)
    async with owned(url) as streams:
        before = await found(streams)
        await streams.stamp("MARS", THEIRS, created=before.created, before=None)
        with pytest.raises(StreamChanged, match="sea/mars"):
            await streams.stamp("MARS", OURS, created=before.created, before=None)
        assert (await found(streams)).stamps == THEIRS


# --- another stream of the same name ---------------------------------------------------------------------

_ACTS: Final = ("change", "stamp", "delete")


async def act(streams: OwnedStreams, what: str, seen: FoundStream) -> None:
    """Do one of the things that are done to a stream that was seen."""
    if what == "change":
        await streams.change(*drift(seen, max_messages=9), created=seen.created)
    elif what == "stamp":
        await streams.stamp(seen.name, THEIRS, created=seen.created, before=OURS)
    else:
        await streams.delete(seen.name, seen.created)


@asynchronous
async def test_a_stream_that_was_made_again_is_neither_changed_nor_stamped_nor_deleted(url: str) -> None:
    """It is another one, whoever made it, though it looks the same."""
    async with owned(url) as streams:
        before = await streams.create(MARS, OURS.metadata())
        await make_again(url, metadata=OURS.metadata())
        another = await as_told(url)
        for what in _ACTS:
            with pytest.raises(StreamChanged, match="made again"):
                await act(streams, what, before)
        assert await as_told(url) == another


@asynchronous
async def test_a_stream_that_is_gone_is_looked_at_again(url: str) -> None:
    """Nothing is made by a change; who wanted it deleted has what they wanted."""
    async with owned(url) as streams:
        before = await streams.create(MARS, OURS.metadata())
        assert await streams.delete("MARS", before.created)
        assert not await streams.delete("MARS", before.created)
        for what in ("change", "stamp"):
            with pytest.raises(StreamChanged, match="gone"):
                await act(streams, what, before)
        assert await streams.find("mars") is None


@pytest.mark.parametrize("what", _ACTS)
@asynchronous
async def test_what_may_have_been_done_is_not_sent_again(what: str, server: Server) -> None:
    """A stream that was made again while the answer was lost would get it, and it is not the one that was meant."""
    doing = f"STREAM.{'DELETE' if what == 'delete' else 'UPDATE'}.MARS"
    client = await nats.connect(server.url)
    sent = await client.subscribe(f"$JS.API.{doing}")
    await client.flush()
    async with open_link(server) as link:

        async def lose_its_answer(subject: str) -> None:
            if subject == doing:
                link.lose_answers()

        settings = options(link.url, request_seconds=2.5)
        async with open_asking_connection(settings, lose_its_answer) as connection:
            streams = OwnedStreams(connection)
            before = await streams.create(MARS, OURS.metadata())
            with pytest.raises(Unavailable):
                await act(streams, what, before)
            link.mend()
    await client.flush()
    assert sent.pending_msgs == 1
    await client.close()


@pytest.mark.parametrize("what", _ACTS)
@asynchronous
async def test_what_was_made_again_right_before_is_noticed(what: str, url: str) -> None:
    """The last look is taken as late as can be; an answer from another stream is not taken for one from ours."""

    async def make_it_again(subject: str) -> None:
        if subject == "STREAM.INFO.MARS":
            await make_again(url, metadata=OURS.metadata())

    async with owned(url) as streams:
        before = await streams.create(MARS, OURS.metadata())
    async with open_asking_connection(options(url), make_it_again) as connection:
        streams = OwnedStreams(connection)
        with pytest.raises(StreamChanged, match="made again"):
            await act(streams, what, before)
    told = (await as_told(url))["config"]
    assert (told["max_msgs"], told["metadata"]["aviso.dev/owner"]) == (-1, OURS.owner)


# --- refused ---------------------------------------------------------------------------------------------


@asynchronous
async def test_what_the_broker_refuses_has_its_number_and_its_words(url: str) -> None:
    """A status tells people by the number what to do."""
    await make(url, "OTHER", subjects=["sea.a.>"])
    async with owned(url) as streams:
        with pytest.raises(BrokerRefused, match=r"'SEA': .*overlap") as overlap:
            await streams.create(keep_all("sea"), OURS.metadata())
        with pytest.raises(BrokerRefused, match=r"'MARS': .*replicas") as several:
            await streams.create(msgspec.structs.replace(MARS, replicas=3), OURS.metadata())
        before = await streams.create(MARS, OURS.metadata())
        with pytest.raises(BrokerRefused, match=r"'MARS': .*storage") as storage:
            await streams.change(*drift(before, medium="memory"), created=before.created)
        with pytest.raises(BrokerRefused, match=r"'MARS': .*replicas") as more:
            await streams.change(*drift(before, replicas=3), created=before.created)
        assert await streams.find("mars") == before
    numbers = [one.value.number for one in (overlap, several, storage, more)]
    assert numbers == [10065, 10074, 10052, 10074]


@asynchronous
async def test_a_stream_that_takes_a_change_and_stays_as_it_is_refuses_it(url: str) -> None:
    """Sealed by hand, a stream has no limits any more, whatever is asked for."""
    async with owned(url) as streams:
        made = await streams.create(msgspec.structs.replace(MARS, max_age_seconds=3600), OURS.metadata())
        told = (await as_told(url))["config"]
        await ask_broker(url, "STREAM.UPDATE.MARS", told | {"sealed": True})
        sealed = await streams.find("mars")
        assert sealed is not None
        with pytest.raises(BrokerRefused, match="sealed: max_age_seconds: 0 → 3600") as refused:
            await streams.change(*drift(sealed, max_age_seconds=3600), created=made.created)
        assert refused.value.number == 0
        assert await streams.find("mars") == sealed


@asynchronous
async def test_a_broker_that_is_away_is_told_as_such(server: Server) -> None:
    """And nothing is lost by it: the streams are there when it is back, with their stamps."""
    async with owned(server.url, request_seconds=0.3) as streams:
        made = await streams.create(MARS, OURS.metadata())
        server.kill()
        for doing in (
            streams.find("mars"),
            streams.all(),
            streams.create(keep_all("sea"), {}),
            streams.change(*drift(made, max_messages=9), created=made.created),
            streams.stamp("MARS", THEIRS, created=made.created, before=OURS),
            streams.delete("MARS", made.created),
        ):
            with pytest.raises(Unavailable):
                await doing
        server.start()
    async with owned(server.url) as streams:
        assert await streams.find("mars") == made


# --- on several brokers ----------------------------------------------------------------------------------


@asynchronous
async def test_on_a_cluster_the_same_holds(cluster: Cluster) -> None:
    """Each of the steps is seen by whoever asks another server."""
    first, second, third = cluster.urls
    wanted = msgspec.structs.replace(MARS, replicas=3)
    async with owned(first) as one, owned(second) as two, owned(third) as three:
        made, same = await asyncio.gather(
            one.create(wanted, OURS.metadata()), two.create(wanted, OURS.metadata())
        )
        assert made.created == same.created
        with pytest.raises(StreamChanged, match="somebody else"):
            await three.create(MARS, OURS.metadata())
        changed = await two.change(*drift(made, max_messages=9), created=made.created)
        stamped = await three.stamp("MARS", THEIRS, created=made.created, before=OURS)
        assert (stamped.created, stamped.configuration) == (made.created, changed.configuration)
        fewer = await one.change(*drift(stamped, replicas=1), created=made.created)
        assert (fewer.configuration.replicas, fewer.stamps, fewer.created) == (1, THEIRS, made.created)
        with pytest.raises(BrokerRefused) as refused:
            await one.create(msgspec.structs.replace(keep_all("sea"), replicas=5), {})
        assert refused.value.number in (10005, 10074)
        [listed] = await two.all()
        assert (listed.name, listed.stamps) == ("MARS", THEIRS)
        await make_again(third)
        with pytest.raises(StreamChanged, match="made again"):
            await one.delete("MARS", made.created)
        again = await found(two)
        assert await one.delete("MARS", again.created)
        assert not await three.delete("MARS", again.created)


@asynchronous
async def test_creators_that_race_on_a_cluster_end_with_one_stream(cluster: Cluster) -> None:
    """However they come to different servers; those who lost look again and find it."""
    first, second, _ = cluster.urls
    async with owned(first) as one, owned(second) as two:
        for round_ in range(5):
            name = f"race{round_}"
            outcomes = await asyncio.gather(
                one.create(keep_all(name), OURS.metadata()),
                two.create(keep_all(name), THEIRS.metadata()),
                return_exceptions=True,
            )
            [winner] = [one for one in outcomes if not isinstance(one, BaseException)]
            [loser] = [one for one in outcomes if isinstance(one, BaseException)]
            assert isinstance(loser, StreamChanged), loser
            assert (await found(one, name)).created == winner.created
