"""What every registry promises (`registry.base`), asked of each: in memory, in a folder, in a bucket of a real broker.

A story runs in a *world*: a registry with ways to put good and bad versions into it. What only those can do that are
written to, or only those that can be cut off, stands in a part of its own.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol, TypeAlias

import msgspec
import pytest

from aviso_core.broker.connection import ApiRefusal, Connection, ConnectionOptions, open_connection
from aviso_core.clock import SystemClock
from aviso_core.errors import SchemaError, Unavailable
from aviso_core.registry.acknowledgements import (
    Acknowledgements,
    Answer,
    RollCall,
    Standing,
    reporting,
)
from aviso_core.registry.base import (
    KEPT_VERSIONS,
    Conflict,
    Owner,
    Published,
    Registry,
    Unreadable,
    Withdrawn,
    WritableRegistry,
    hash_of,
)
from aviso_core.registry.cluster_keys import ClusterKeys, KeysRefused
from aviso_core.registry.folder import FolderRegistry, open_folder_registry
from aviso_core.registry.jetstream.acknowledgements import (
    acknowledgement_bucket,
    open_jetstream_acknowledgements,
)
from aviso_core.registry.jetstream.bucket import Bucket, BucketRefused, Entry
from aviso_core.registry.jetstream.cluster_keys import (
    JetStreamClusterKeys,
    cluster_keys_bucket,
    open_jetstream_cluster_keys,
)
from aviso_core.registry.jetstream.registry import (
    JetStreamRegistry,
    open_jetstream_registry,
    read_version,
    schema_bucket,
)
from aviso_core.registry.memory import MemoryAcknowledgements, MemoryRegistry
from aviso_core.registry.open import OpenRegistry, open_registry
from aviso_core.registry.served import VANISHED
from aviso_core.schema.model import Topic, encode_schema
from aviso_core.settings.model import Application, JetStream, NotificationBackend, Settings
from aviso_core.settings.model import Registry as RegistrySettings
from aviso_core.startup import configured_catalog
from support.nats import Link, Server, open_link, running_server
from support.registries import ManualClock, manifest, schema, stored

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    from aviso_core.registry.cluster_keys import ReadClusterKeys
    from aviso_core.registry.follower import Follower

_PATIENCE_SECONDS: Final = 25.0
_NEVER_SECONDS: Final = 3600.0

Badness: TypeAlias = Literal["from the future", "broken", "with faults"]
BADNESSES: Final[tuple[Badness, ...]] = ("from the future", "broken", "with faults")


class World(Protocol):
    """A registry, and hands that reach into it."""

    @property
    def registry(self) -> Registry:
        """What is tested."""
        ...

    async def put(self, event_type: str, *, description: str = "") -> None:
        """Put a good version there."""
        ...

    async def spoil(self, event_type: str, badness: Badness) -> None:
        """Put a version there that this build cannot serve."""
        ...

    async def remove(self, event_type: str) -> None:
        """Withdraw an event type."""
        ...


# --- worlds that are written to --------------------------------------------------------------------------


def bad_value(event_type: str, badness: Badness) -> bytes:
    """Return what lies in a registry for a version that cannot be served."""
    good = schema(event_type)
    if badness == "broken":
        return b'{"schema":{"event_type":'
    if badness == "with faults":
        return stored(
            encode_schema(msgspec.structs.replace(good, topic=Topic(base="?", key_order=("nowhere",))))
        )
    return stored(
        encode_schema(good).replace(b'"type":"String"', b'"type":"Quaternion"'), specHash="sha256:new"
    )


class _Written:
    """What worlds have in common whose registry is written to."""

    registry: WritableRegistry

    async def latest_revision(self, event_type: str) -> int:
        version = await self.registry.get(event_type)
        return version.revision if version else 0

    async def put(self, event_type: str, *, description: str = "") -> None:
        revision = await self.latest_revision(event_type)
        await self.registry.publish(schema(event_type, description=description), expected_revision=revision)

    async def remove(self, event_type: str) -> None:
        await self.registry.withdraw(event_type, expected_revision=await self.latest_revision(event_type))


class MemoryWorld(_Written):
    def __init__(self) -> None:
        self.memory = MemoryRegistry()
        self.registry: WritableRegistry = self.memory
        self.other: WritableRegistry = self.memory

    async def spoil(self, event_type: str, badness: Badness) -> None:
        value = bad_value(event_type, badness)
        self.memory.write(
            [
                lambda revision: read_version(
                    Entry(key=event_type, revision=revision, value=value, is_tombstone=False)
                )
            ]
        )


class JetStreamWorld(_Written):
    """The operator's registry, which owns the bucket, and that of a service, each over a connection of its own."""

    def __init__(self, owner: JetStreamRegistry, service: JetStreamRegistry, bucket: Bucket) -> None:
        self.registry: WritableRegistry = owner
        self.other: WritableRegistry = service
        self.bucket = bucket

    async def spoil(self, event_type: str, badness: Badness) -> None:
        await self.bucket.put(event_type, bad_value(event_type, badness), expected=None)


# --- the world that is a folder --------------------------------------------------------------------------


class FolderWorld:
    """Files are written, and the folder looked at as often as it takes."""

    def __init__(self, folder: Path, registry: FolderRegistry, clock: ManualClock) -> None:
        self.registry = registry
        self._folder = folder
        self._clock = clock

    async def put(self, event_type: str, *, description: str = "") -> None:
        await self._write(event_type, json.dumps(manifest(event_type, description=description)))

    async def spoil(self, event_type: str, badness: Badness) -> None:
        bad = manifest(event_type)
        if badness == "with faults":
            bad["spec"]["topic"]["keyOrder"] = ["nowhere"]
        elif badness == "from the future":
            bad["spec"]["identifiers"][0]["type"] = "Quaternion"
        text = json.dumps(bad)
        await self._write(event_type, text[:-9] if badness == "broken" else text)

    async def remove(self, event_type: str) -> None:
        self._path(event_type).unlink()
        await self._settle()

    def _path(self, event_type: str) -> Path:
        return self._folder / f"{event_type}.yaml"

    async def _write(self, event_type: str, text: str) -> None:
        self._path(event_type).write_text(text, encoding="utf-8")
        await self._settle()

    async def _settle(self) -> None:
        await self.registry.look()
        self._clock.advance(1.0)
        await self.registry.look()


# --- telling stories -------------------------------------------------------------------------------------


def options(*servers: str) -> ConnectionOptions:
    return ConnectionOptions(servers=servers, reconnect_delay_seconds=0.05)


@asynccontextmanager
async def jetstream_world(server: Server, *, service_at: str | None = None) -> AsyncIterator[JetStreamWorld]:
    async with AsyncExitStack() as stack:
        own = await stack.enter_async_context(open_connection(options(server.url)))
        theirs = await stack.enter_async_context(open_connection(options(service_at or server.url)))
        owner = await stack.enter_async_context(open_jetstream_registry(own, schema_bucket(), is_owner=True))
        service = await stack.enter_async_context(
            open_jetstream_registry(theirs, schema_bucket(), is_owner=False)
        )
        yield JetStreamWorld(owner, service, Bucket(own, schema_bucket(), is_owner=True))


@asynccontextmanager
async def open_world(kind: str, folder: Path) -> AsyncIterator[Any]:
    if kind == "memory":
        yield MemoryWorld()
    elif kind == "folder":
        clock = ManualClock()
        async with open_folder_registry(
            folder, clock=clock, interval_seconds=_NEVER_SECONDS, settle_seconds=0.5
        ) as registry:
            yield FolderWorld(folder, registry, clock)
    else:
        with running_server(folder) as server:
            async with jetstream_world(server) as world:
                yield world


def tell(kind: str, folder: Path, story: Callable[[Any], Awaitable[None]]) -> None:
    async def main() -> None:
        async with asyncio.timeout(_PATIENCE_SECONDS), open_world(kind, folder) as world:
            await story(world)

    asyncio.run(main())


every_registry: Final = pytest.mark.parametrize("kind", ["memory", "folder", "jetstream"])
writable: Final = pytest.mark.parametrize("kind", ["memory", "jetstream"])


async def until(follower: Follower, is_so: Callable[[Follower], bool]) -> None:
    """Wait for what is expected of a follower."""
    while not is_so(follower):
        await follower.wait_changed(follower.served)


async def until_served(follower: Follower, **descriptions: str) -> None:
    """Wait until just these event types are in force, with these descriptions."""
    await until(follower, lambda follower: served(follower) == descriptions)


async def until_refused(follower: Follower, *event_types: str) -> None:
    await until(follower, lambda follower: set(follower.refused) == set(event_types))


def served(follower: Follower) -> dict[str, str]:
    return {name: one.schema.description for name, one in follower.catalog.event_types.items()}


def ignore(_: Follower) -> None:
    """Be told nothing."""


# --- every registry --------------------------------------------------------------------------------------


@every_registry
def test_an_empty_registry_is_loaded_and_holds_nothing(kind: str, tmp_path: Path) -> None:
    async def story(world: World) -> None:
        async with world.registry.follow(ignore) as follower:
            await follower.wait_loaded()
            assert served(follower) == {}
        assert await world.registry.get("storms") is None
        assert await world.registry.all() == {}
        assert await world.registry.history("storms") == ()

    tell(kind, tmp_path, story)


@every_registry
def test_who_joins_late_gets_everything_at_once(kind: str, tmp_path: Path) -> None:
    """And is told of it as one change."""

    async def story(world: World) -> None:
        for name in ("storms", "buoys", "runs"):
            await world.put(name)
        await world.remove("runs")
        told: list[dict[str, str]] = []
        async with world.registry.follow(lambda follower: told.append(served(follower))) as follower:
            await follower.wait_loaded()
            assert served(follower) == {"storms": "", "buoys": ""}
            assert told == [{"storms": "", "buoys": ""}]

    tell(kind, tmp_path, story)


@every_registry
def test_a_follower_is_told_once_of_each_change(kind: str, tmp_path: Path) -> None:
    async def story(world: World) -> None:
        told: list[dict[str, str]] = []
        async with world.registry.follow(lambda follower: told.append(served(follower))) as follower:
            await follower.wait_loaded()
            await world.put("storms", description="one")
            await until_served(follower, storms="one")
            await world.put("buoys")
            await until_served(follower, storms="one", buoys="")
            await world.put("storms", description="two")
            await until_served(follower, storms="two", buoys="")
            await world.remove("buoys")
            await until_served(follower, storms="two")
        assert told == [
            {},
            {"storms": "one"},
            {"storms": "one", "buoys": ""},
            {"storms": "two", "buoys": ""},
            {"storms": "two"},
        ]

    tell(kind, tmp_path, story)


@every_registry
def test_followers_agree_on_what_is_in_force(kind: str, tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await world.put("storms", description="one")
        async with world.registry.follow(ignore) as early:
            await world.put("storms", description="two")
            async with world.registry.follow(ignore) as late:
                await until_served(early, storms="two")
                await until_served(late, storms="two")
                latest = await world.registry.get("storms")
                assert latest is not None
                assert early.revision_of("storms") == late.revision_of("storms") == latest.revision
                assert early.revision_of("buoys") is None

    tell(kind, tmp_path, story)


@every_registry
def test_a_catalog_that_is_held_never_changes(kind: str, tmp_path: Path) -> None:
    """A request is served to its end by what it began with."""

    async def story(world: World) -> None:
        await world.put("storms", description="one")
        async with world.registry.follow(ignore) as follower:
            await until_served(follower, storms="one")
            held = follower.catalog
            event_type = held.event_types["storms"]
            await world.put("storms", description="two")
            await until_served(follower, storms="two")
            await world.remove("storms")
            await until_served(follower)
            assert held.event_types == {"storms": event_type}
            assert event_type.schema.description == "one"
            assert follower.catalog is not held

    tell(kind, tmp_path, story)


@every_registry
@pytest.mark.parametrize("badness", BADNESSES)
def test_a_bad_version_leaves_the_last_good_one_in_force(kind: str, badness: Badness, tmp_path: Path) -> None:
    """It is reported with its revision, other event types go on, and a good one ends the report."""

    async def story(world: World) -> None:
        await world.put("storms", description="good")
        async with world.registry.follow(ignore) as follower:
            await until_served(follower, storms="good")
            revision = follower.revision_of("storms")
            assert revision is not None
            await world.spoil("storms", badness)
            await until_refused(follower, "storms")
            assert follower.revision_of("storms") == revision
            assert follower.refused["storms"].revision > revision
            assert follower.refused["storms"].reason
            await world.put("buoys")
            await until_served(follower, storms="good", buoys="")
            await world.put("storms", description="mended")
            await until_served(follower, storms="mended", buoys="")
            assert follower.refused == {}

    tell(kind, tmp_path, story)


@every_registry
@pytest.mark.parametrize("badness", BADNESSES)
def test_who_joins_after_a_bad_version_has_the_last_good_one(
    kind: str, badness: Badness, tmp_path: Path
) -> None:
    """A process that starts again must not serve less than those that did not."""

    async def story(world: World) -> None:
        await world.put("storms", description="good")
        await world.spoil("storms", badness)
        async with world.registry.follow(ignore) as follower:
            await follower.wait_loaded()
            assert served(follower) == {"storms": "good"}
            assert set(follower.refused) == {"storms"}

    tell(kind, tmp_path, story)


@every_registry
def test_revisions_grow_across_withdrawal(kind: str, tmp_path: Path) -> None:
    async def story(world: World) -> None:
        revisions: list[int] = []
        async with world.registry.follow(ignore) as follower:
            for description in ("one", "two"):
                await world.put("storms", description=description)
                await until_served(follower, storms=description)
                revisions.append(follower.revision_of("storms") or 0)
                await world.remove("storms")
                await until_served(follower)
                mark = await world.registry.get("storms")
                assert isinstance(mark, Withdrawn)
                revisions.append(mark.revision)
        assert revisions == sorted(set(revisions))

    tell(kind, tmp_path, story)


@every_registry
def test_the_last_versions_are_kept(kind: str, tmp_path: Path) -> None:
    """Ascending, of one event type alone, and with the hash of their schemas."""

    async def story(world: World) -> None:
        for number in range(KEPT_VERSIONS + 1):
            await world.put("storms", description=str(number))
        await world.put("buoys")
        history = await world.registry.history("storms")
        assert all(isinstance(version, Published) for version in history)
        kept = [version for version in history if isinstance(version, Published)]
        assert [one.schema.description for one in kept] == [
            str(number + 1) for number in range(KEPT_VERSIONS)
        ]
        assert sorted({one.revision for one in kept}) == [one.revision for one in kept]
        assert {one.spec_hash == hash_of(encode_schema(one.schema)) for one in kept} == {True}
        assert kept[-1] == await world.registry.get("storms") == (await world.registry.all())["storms"]

    tell(kind, tmp_path, story)


@every_registry
def test_what_is_unreadable_is_a_version_too(kind: str, tmp_path: Path) -> None:
    """Whoever wants to write over it has to know its revision."""

    async def story(world: World) -> None:
        await world.put("storms")
        await world.spoil("storms", "broken")
        latest = await world.registry.get("storms")
        assert isinstance(latest, Unreadable)
        assert (await world.registry.all())["storms"] == latest
        assert (await world.registry.history("storms"))[-1] == latest

    tell(kind, tmp_path, story)


@every_registry
@pytest.mark.parametrize("name", ["*", ">", "storms.>", "", "stor ms"])
def test_what_cannot_be_the_name_of_an_event_type_names_none(kind: str, name: str, tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await world.put("storms")
        assert await world.registry.get(name) is None
        assert await world.registry.history(name) == ()

    tell(kind, tmp_path, story)


@every_registry
def test_strictness_is_passed_on(kind: str, tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await world.put("storms")
        async with world.registry.follow(ignore, strict=False) as follower:
            await until_served(follower, storms="")
            assert follower.catalog.get("buoys") is None

    tell(kind, tmp_path, story)


# --- registries that are written to ----------------------------------------------------------------------


class TwoWriters(Protocol):
    """A world with two who write."""

    registry: WritableRegistry
    other: WritableRegistry


@writable
def test_of_two_writers_one_loses_and_learns_to_whom(kind: str, tmp_path: Path) -> None:
    """Many times over, so that each side wins; the loser's schema is nowhere."""

    async def story(world: TwoWriters) -> None:
        revision = 0
        for _ in range(20):
            outcomes = await asyncio.gather(
                world.registry.publish(
                    schema("storms", description="a"), expected_revision=revision, owner=Owner("weather", "a")
                ),
                world.other.publish(
                    schema("storms", description="b"), expected_revision=revision, owner=Owner("weather", "b")
                ),
                return_exceptions=True,
            )
            (lost,) = (outcome for outcome in outcomes if isinstance(outcome, Conflict))
            (won,) = (outcome for outcome in outcomes if isinstance(outcome, int))
            winner = "a" if isinstance(outcomes[0], int) else "b"
            assert (lost.expected, lost.revision, lost.owner) == (revision, won, Owner("weather", winner))
            assert f"'storms' was expected at revision {revision}, it is at {won}" in str(lost)
            latest = await world.registry.get("storms")
            assert isinstance(latest, Published)
            assert (latest.schema.description, latest.revision) == (winner, won)
            revision = won

    tell(kind, tmp_path, story)


@writable
def test_what_is_published_comes_back_whole(kind: str, tmp_path: Path) -> None:
    async def story(world: TwoWriters) -> None:
        wanted = schema("storms", description="äöü")
        revision = await world.registry.publish(
            wanted, expected_revision=0, owner=Owner("weather", "storms"), uid="1-2-3"
        )
        assert await world.other.get("storms") == Published(
            event_type="storms",
            revision=revision,
            schema=wanted,
            spec_hash=hash_of(encode_schema(wanted)),
            owner=Owner("weather", "storms"),
            uid="1-2-3",
        )

    tell(kind, tmp_path, story)


@writable
@pytest.mark.parametrize("expected", [0, 999])
def test_a_withdrawal_at_another_revision_is_refused(kind: str, expected: int, tmp_path: Path) -> None:
    async def story(world: TwoWriters) -> None:
        revision = await world.registry.publish(schema("storms"), expected_revision=0)
        with pytest.raises(Conflict) as raised:
            await world.other.withdraw("storms", expected_revision=expected)
        assert raised.value.revision == revision
        assert isinstance(await world.registry.get("storms"), Published)

    tell(kind, tmp_path, story)


@writable
def test_who_did_not_hear_of_a_withdrawal_does_not_undo_it(kind: str, tmp_path: Path) -> None:
    """Not even as one who believes that there never was anything."""

    async def story(world: TwoWriters) -> None:
        first = await world.registry.publish(schema("storms"), expected_revision=0, owner=Owner("a", "b"))
        mark = await world.registry.withdraw("storms", expected_revision=first)
        for expected in (0, first):
            with pytest.raises(Conflict) as raised:
                await world.other.publish(schema("storms"), expected_revision=expected)
            assert (raised.value.revision, raised.value.owner) == (mark, None)
        assert await world.other.publish(schema("storms"), expected_revision=mark) > mark

    tell(kind, tmp_path, story)


@writable
def test_a_version_that_nobody_can_read_can_be_replaced(kind: str, tmp_path: Path) -> None:
    async def story(world: Any) -> None:
        await world.spoil("storms", "from the future")
        latest = await world.registry.get("storms")
        with pytest.raises(Conflict):
            await world.registry.publish(schema("storms"), expected_revision=0)
        assert (
            await world.registry.publish(schema("storms"), expected_revision=latest.revision)
            > latest.revision
        )

    tell(kind, tmp_path, story)


@writable
def test_a_schema_with_faults_is_not_published(kind: str, tmp_path: Path) -> None:
    """All of its faults are named."""

    async def story(world: TwoWriters) -> None:
        faulty = msgspec.structs.replace(
            schema("storms"), event_type="storms.*", topic=Topic(base="?", key_order=("nowhere",))
        )
        with pytest.raises(SchemaError) as raised:
            await world.registry.publish(faulty, expected_revision=0)
        assert len(raised.value.faults) == 3
        huge = schema("storms", description="x" * 600_000)
        with pytest.raises(SchemaError, match="at most 524288 are published"):
            await world.registry.publish(huge, expected_revision=0)
        assert await world.registry.all() == {}

    tell(kind, tmp_path, story)


# --- registries opened from settings ---------------------------------------------------------------------


class Opened(NamedTuple):
    """The registry that a process has by its settings, and the hand of whoever declares event types there."""

    process: OpenRegistry
    put: Callable[[str], Awaitable[None]]


@asynccontextmanager
async def open_from_settings(kind: str, folder: Path) -> AsyncIterator[Opened]:
    if kind == "jetstream":
        with running_server(folder) as server:
            async with (
                jetstream_world(server) as world,
                open_connection(options(server.url)) as own,
                open_jetstream_acknowledgements(own, acknowledgement_bucket(), is_owner=True),
                opened(RegistrySettings(kind="jetstream"), server.url) as process,
            ):
                yield Opened(process, world.put)
    elif kind == "folder":
        async with opened(RegistrySettings(kind="folder", folder=str(folder))) as process:

            async def write(event_type: str) -> None:
                (folder / f"{event_type}.json").write_text(json.dumps(manifest(event_type)))

            yield Opened(process, write)
    else:
        async with opened(RegistrySettings()) as process:

            async def publish(event_type: str) -> None:
                assert isinstance(process.registry, MemoryRegistry)
                await process.registry.publish(schema(event_type), expected_revision=0)

            yield Opened(process, publish)


def opened(
    registry: RegistrySettings, url: str = "nats://nowhere"
) -> AbstractAsyncContextManager[OpenRegistry]:
    settings = Settings(
        application=Application(host="127.0.0.1", port=0),
        notification_backend=NotificationBackend(kind="jetstream", jetstream=JetStream(nats_url=url)),
        registry=registry,
    )
    return open_registry(settings, configured=configured_catalog(settings), clock=SystemClock())


@every_registry
def test_what_is_declared_reaches_a_process_by_its_settings_alone(kind: str, tmp_path: Path) -> None:
    """What was there before it, and what comes later."""

    async def main() -> None:
        async with asyncio.timeout(_PATIENCE_SECONDS), open_from_settings(kind, tmp_path) as (process, put):
            await put("storms")
            async with process.registry.follow(ignore) as follower:
                await until_served(follower, storms="")
                await put("buoys")
                await until_served(follower, storms="", buoys="")
                assert set(await process.registry.all()) == {"storms", "buoys"}

    asyncio.run(main())


@every_registry
def test_a_process_says_what_it_serves_where_its_settings_lead(kind: str, tmp_path: Path) -> None:
    """And whoever takes the roll there sees it."""

    async def main() -> None:
        roll = Roll()
        async with (
            asyncio.timeout(_PATIENCE_SECONDS),
            open_from_settings(kind, tmp_path) as (process, put),
            process.registry.follow(ignore) as follower,
            reporting(process.acknowledgements, follower, process="ingest/one", clock=SystemClock()),
            process.acknowledgements.follow(roll.on_change),
        ):
            await put("storms")
            await until_served(follower, storms="")
            revision = follower.revision_of("storms")
            assert revision is not None
            current = Standing(state="current", revision=revision)
            await roll.until(lambda call: call.acknowledged("storms", revision) == {"ingest/one": current})

    asyncio.run(main())


# --- the broker fails ------------------------------------------------------------------------------------


def tell_of_broker(folder: Path, story: Callable[[JetStreamWorld, Server, Link], Awaitable[None]]) -> None:
    """Tell a story in which the service reaches the broker over a link."""

    async def main(server: Server) -> None:
        async with (
            asyncio.timeout(_PATIENCE_SECONDS),
            open_link(server) as link,
            jetstream_world(server, service_at=link.url) as world,
        ):
            await story(world, server, link)

    with running_server(folder) as server:
        asyncio.run(main(server))


async def until_written(world: JetStreamWorld, event_type: str, description: str) -> None:
    """Publish as soon as the broker takes it: what it missed by a restart may be tried again."""
    while True:
        try:
            await world.put(event_type, description=description)
        except Unavailable:
            continue
        return


def test_a_follower_that_was_cut_off_misses_nothing(tmp_path: Path) -> None:
    """What it served meanwhile is what it had; of all that happened it is told as one change."""

    async def story(world: JetStreamWorld, _: Server, link: Link) -> None:
        await world.put("storms", description="one")
        await world.put("buoys")
        told: list[dict[str, str]] = []
        async with world.other.follow(lambda follower: told.append(served(follower))) as follower:
            await until_served(follower, storms="one", buoys="")
            link.cut()
            await world.put("storms", description="two")
            await world.put("storms", description="three")
            await world.remove("buoys")
            await world.put("runs")
            await world.spoil("runs", "from the future")
            assert served(follower) == {"storms": "one", "buoys": ""}
            link.mend()
            await until_served(follower, storms="three", runs="")
            assert set(follower.refused) == {"runs"}
        assert told[1:] == [{"storms": "three", "runs": ""}]

    tell_of_broker(tmp_path, story)


def test_a_follower_whose_link_fell_silent_misses_nothing(tmp_path: Path) -> None:
    """Nobody says that the connection is gone: it is the silence that tells."""

    async def story(world: JetStreamWorld, _: Server, link: Link) -> None:
        await world.put("storms", description="one")
        async with world.other.follow(ignore) as follower:
            await until_served(follower, storms="one")
            link.abandon()
            await world.put("storms", description="two")
            link.cut()
            link.mend()
            await until_served(follower, storms="two")

    tell_of_broker(tmp_path, story)


def test_a_delivery_that_is_lost_on_the_way_is_noticed(tmp_path: Path) -> None:
    """The broker thinks that it was delivered; its count says otherwise."""

    async def story(world: JetStreamWorld, _: Server, link: Link) -> None:
        async with world.other.follow(ignore) as follower:
            await follower.wait_loaded()
            link.lose_deliveries(1)
            await world.put("storms")
            await until_served(follower, storms="")
        assert link.lost == 1

    tell_of_broker(tmp_path, story)


def test_a_follower_outlives_the_broker(tmp_path: Path) -> None:
    """Killed and started again on its store, with changes before and after."""

    async def story(world: JetStreamWorld, server: Server, _: Link) -> None:
        await world.put("storms", description="one")
        async with world.registry.follow(ignore) as owner, world.other.follow(ignore) as follower:
            await until_served(follower, storms="one")
            await until_served(owner, storms="one")
            await world.remove("storms")
            server.kill()
            server.start()
            await until_written(world, "buoys", "two")
            await until_served(follower, buoys="two")
            await until_served(owner, buoys="two")
            assert follower.refused == {}

    tell_of_broker(tmp_path, story)


def test_a_follower_outlives_its_consumer(tmp_path: Path) -> None:
    async def story(world: JetStreamWorld, _server: Server, _link: Link) -> None:
        async with world.other.follow(ignore) as follower:
            await follower.wait_loaded()
            names = msgspec.json.decode(await world.bucket.connection.ask("CONSUMER.NAMES.KV_aviso-schemas"))
            assert len(names["consumers"]) == 1
            for name in names["consumers"]:
                await world.bucket.connection.ask(f"CONSUMER.DELETE.KV_aviso-schemas.{name}")
            await world.put("storms")
            await until_served(follower, storms="")

    tell_of_broker(tmp_path, story)


def test_a_registry_that_is_lost_stops_nothing_and_is_made_anew(tmp_path: Path) -> None:
    """The owner makes the bucket again when it writes; revisions begin anew, and so does what they stand for."""

    async def story(world: JetStreamWorld, _server: Server, _link: Link) -> None:
        await world.put("buoys")
        await world.put("storms", description="before")
        async with world.other.follow(ignore) as follower:
            await until_served(follower, storms="before", buoys="")
            await world.bucket.connection.ask("STREAM.DELETE.KV_aviso-schemas")
            with pytest.raises(Unavailable, match="there is no bucket 'aviso-schemas'"):
                await world.other.publish(schema("storms"), expected_revision=0)
            await world.registry.publish(schema("storms", description="after"), expected_revision=0)
            await until_served(follower, storms="after", buoys="")
            assert follower.revision_of("storms") == 1
            assert follower.refused["buoys"].reason == VANISHED
            assert "storms" not in follower.refused

    tell_of_broker(tmp_path, story)


def test_a_registry_that_is_lost_is_reported_by_those_who_may_not_make_it(tmp_path: Path) -> None:
    """What it said stays in force."""

    async def story(world: JetStreamWorld, _server: Server, _link: Link) -> None:
        await world.put("storms")
        async with world.other.follow(ignore) as follower:
            await until_served(follower, storms="")
            await world.bucket.connection.ask("STREAM.DELETE.KV_aviso-schemas")
            await until_refused(follower, "storms")
            assert follower.refused["storms"].reason == VANISHED
            assert follower.revision_of("storms") == 1

    tell_of_broker(tmp_path, story)


def test_a_version_that_was_removed_by_hand_keeps_nobody_waiting(tmp_path: Path) -> None:
    """It was the last one of all, which a follower looks out for."""

    async def story(world: JetStreamWorld, _server: Server, _link: Link) -> None:
        await world.put("storms")
        await world.put("buoys")
        await world.bucket.connection.ask(
            "STREAM.PURGE.KV_aviso-schemas", {"filter": world.bucket.subject_of("buoys")}
        )
        async with world.other.follow(ignore) as follower:
            await until_served(follower, storms="")
            assert set(await world.other.all()) == {"storms"}

    tell_of_broker(tmp_path, story)


def test_an_owner_that_follows_makes_the_registry_anew(tmp_path: Path) -> None:
    async def story(world: JetStreamWorld, _server: Server, _link: Link) -> None:
        await world.put("storms")
        async with world.registry.follow(ignore) as follower:
            await until_served(follower, storms="")
            await world.bucket.connection.ask("STREAM.DELETE.KV_aviso-schemas")
            await until_refused(follower, "storms")
            assert await world.other.all() == {}

    tell_of_broker(tmp_path, story)


def test_a_service_may_start_before_the_registry_is_made(tmp_path: Path) -> None:
    """It waits to be loaded, and until then knows nothing and lets nothing through."""

    async def main(server: Server) -> None:
        async with (
            asyncio.timeout(_PATIENCE_SECONDS),
            open_connection(options(server.url)) as connection,
            open_jetstream_registry(connection, schema_bucket(), is_owner=False) as service,
            service.follow(ignore) as follower,
        ):
            with pytest.raises(Unavailable, match="there is no bucket"):
                await service.get("storms")
            assert not follower.is_loaded
            assert follower.catalog.strict
            async with open_jetstream_registry(connection, schema_bucket(), is_owner=True) as owner:
                await owner.publish(schema("storms"), expected_revision=0)
                await until_served(follower, storms="")

    with running_server(tmp_path) as server:
        asyncio.run(main(server))


def test_a_write_whose_answer_is_lost_with_the_connection_may_have_happened(tmp_path: Path) -> None:
    """The writer is told at once which broker it was, and sees what happened when it looks again."""

    async def story(world: JetStreamWorld, _: Server, link: Link) -> None:
        async with world.registry.follow(ignore) as follower:
            link.lose_answers()
            writing = asyncio.create_task(world.other.publish(schema("storms"), expected_revision=0))
            await until_served(follower, storms="")
            link.cut()
            with pytest.raises(
                Unavailable, match=r"NATS at nats://127\.0\.0\.1.*connection was lost while writing"
            ):
                await writing
            link.mend()
            assert isinstance(await world.other.get("storms"), Published)

    tell_of_broker(tmp_path, story)


def test_without_a_broker_nothing_is_written(tmp_path: Path) -> None:
    """Nor does anybody wait for it."""

    async def story(world: JetStreamWorld, _: Server, link: Link) -> None:
        lost, back = asyncio.Event(), asyncio.Event()
        async with open_connection(options(link.url)) as connection:
            connection.on_lost.append(lost.set)
            connection.on_back.append(back.set)
            link.cut()
            await lost.wait()
            bucket = Bucket(connection, schema_bucket(), is_owner=False)
            with pytest.raises(Unavailable, match="connection was lost"):
                await bucket.put("storms", b"", expected=0)
            link.mend()
            await back.wait()
        assert await world.registry.get("storms") is None

    tell_of_broker(tmp_path, story)


# --- the cluster's keys ----------------------------------------------------------------------------------

CLUSTER_KEYS: Final = ClusterKeys(issuer="https://cluster", jwks=b'{"keys": [{"kty": "RSA", "kid": "one"}]}')
OTHER_KEYS: Final = ClusterKeys(issuer="https://other", jwks=b'{"keys":[]}')


@pytest.mark.parametrize("kind", ["memory", "folder"])
def test_where_no_cluster_declares_there_are_no_keys_of_one(kind: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with open_from_settings(kind, tmp_path) as (process, _):
            assert process.cluster_keys is None

    asyncio.run(main())


@asynccontextmanager
async def open_cluster_keys(server: Server) -> AsyncIterator[tuple[JetStreamClusterKeys, ReadClusterKeys]]:
    """Open the operator's side, and a service's as its settings lead there."""
    async with (
        asyncio.timeout(_PATIENCE_SECONDS),
        open_connection(options(server.url)) as own,
        open_jetstream_cluster_keys(own, cluster_keys_bucket(), is_owner=True) as operator,
        opened(RegistrySettings(kind="jetstream"), server.url) as process,
    ):
        assert process.cluster_keys is not None
        yield operator, process.cluster_keys


def test_the_cluster_s_keys_reach_a_process_by_its_settings_alone(tmp_path: Path) -> None:
    """None at first; then the last that were written, to the byte, whoever wrote them."""

    async def main(server: Server) -> None:
        async with open_cluster_keys(server) as (operator, read):
            assert await read() is None
            await operator.write(CLUSTER_KEYS)
            assert await read() == CLUSTER_KEYS
            async with open_cluster_keys(server) as (another, _):
                await another.write(OTHER_KEYS)
            assert await read() == OTHER_KEYS
            async with open_connection(options(server.url)) as connection:
                info = msgspec.json.decode(await connection.ask("STREAM.INFO.KV_aviso-keys"))
            assert info["state"]["messages"] == info["config"]["max_msgs_per_subject"] == 1

    with running_server(tmp_path) as server:
        asyncio.run(main(server))


@pytest.mark.parametrize(
    ("issuer", "jwks"),
    [
        ("", CLUSTER_KEYS.jwks),
        ("https://cluster", b""),
        ("https://cluster", b"<html>Sign in</html>"),
        ("https://cluster", b'{"kind":"Status","code":403}'),
        ("https://cluster", b'{"keys":{}}'),
        ("https://cluster", b'{"keys":[1]}'),
        ("https://cluster", b'{"keys":[]} and more'),
        ("https://cluster", b'{"keys":[' + b"[" * 100_000),
    ],
)
def test_what_is_no_key_set_does_not_replace_one(issuer: str, jwks: bytes, tmp_path: Path) -> None:
    async def main(server: Server) -> None:
        async with open_cluster_keys(server) as (operator, read):
            await operator.write(CLUSTER_KEYS)
            with pytest.raises(KeysRefused):
                await operator.write(ClusterKeys(issuer=issuer, jwks=jwks))
            assert await read() == CLUSTER_KEYS

    with running_server(tmp_path) as server:
        asyncio.run(main(server))


def test_keys_that_cannot_be_had_are_not_taken_for_none(tmp_path: Path) -> None:
    """Where there is no bucket, and where what lies there is of another make."""

    async def main(server: Server) -> None:
        async with (
            asyncio.timeout(_PATIENCE_SECONDS),
            opened(RegistrySettings(kind="jetstream"), server.url) as process,
        ):
            assert process.cluster_keys is not None
            with pytest.raises(Unavailable, match="there is no bucket 'aviso-keys'"):
                await process.cluster_keys()
            async with open_connection(options(server.url)) as own:
                bucket = Bucket(own, cluster_keys_bucket(), is_owner=True)
                await bucket.ensure()
                await bucket.put("cluster", b"[1]", expected=None)
                with pytest.raises(Unavailable, match="'aviso-keys' holds cannot be read by this build"):
                    await process.cluster_keys()
                await bucket.delete("cluster", expected=None)
                assert await process.cluster_keys() is None

    with running_server(tmp_path) as server:
        asyncio.run(main(server))


# --- buckets ---------------------------------------------------------------------------------------------


def tell_of_bucket(folder: Path, story: Callable[[Connection], Awaitable[None]]) -> None:
    async def main(server: Server) -> None:
        async with asyncio.timeout(_PATIENCE_SECONDS), open_connection(options(server.url)) as connection:
            await story(connection)

    with running_server(folder) as server:
        asyncio.run(main(server))


def test_a_bucket_is_mended_where_it_differs(tmp_path: Path) -> None:
    """By its owner, who may be several at once; what it holds stays."""

    async def story(connection: Connection) -> None:
        old = msgspec.structs.replace(schema_bucket(), history=2, max_age_seconds=3600.0)
        several = (old, schema_bucket()) * 4
        await asyncio.gather(*(Bucket(connection, one, is_owner=True).ensure() for one in several))
        bucket = Bucket(connection, schema_bucket(), is_owner=True)
        await bucket.put("storms", b"kept", expected=0)
        await asyncio.gather(*(bucket.ensure() for _ in range(5)))
        info = msgspec.json.decode(await connection.ask("STREAM.INFO.KV_aviso-schemas"))
        assert info["config"]["max_msgs_per_subject"] == KEPT_VERSIONS
        assert info["config"].get("max_age", 0) == 0
        entry = await bucket.get("storms")
        assert entry is not None
        assert entry.value == b"kept"

    tell_of_bucket(tmp_path, story)


def test_a_broker_that_still_clears_away_is_asked_again_for_a_bucket(tmp_path: Path) -> None:
    """It has no place for it as long as that lasts."""

    async def main(server: Server) -> None:
        place = tmp_path / "store" / "jetstream"
        place.rename(tmp_path / "elsewhere")
        place.write_text("")
        async with asyncio.timeout(_PATIENCE_SECONDS), open_connection(options(server.url)) as connection:
            bucket = Bucket(connection, schema_bucket(), is_owner=True)
            making = asyncio.create_task(bucket.ensure())
            await asyncio.to_thread(server.wait_logged, "Stream create failed")
            place.unlink()
            await making
            assert (await bucket.state()).messages == 0

    with running_server(tmp_path) as server:
        asyncio.run(main(server))


def test_a_bucket_that_the_broker_refuses_is_an_error_of_its_owner(tmp_path: Path) -> None:
    async def story(connection: Connection) -> None:
        with pytest.raises(BucketRefused, match=r"'aviso-schemas'.*replicas"):
            async with open_jetstream_registry(connection, schema_bucket(replicas=3), is_owner=True):
                pass

    tell_of_bucket(tmp_path, story)


def test_questions_to_the_broker_are_told_with_what_came_of_them(tmp_path: Path) -> None:
    """Well, refused with the broker's own number, or without an answer."""

    async def story(connection: Connection) -> None:
        told: list[tuple[str, int | None]] = []
        connection.on_asked.append(lambda subject, code: told.append((subject, code)))
        await connection.ask("STREAM.LIST")
        with pytest.raises(ApiRefusal):
            await connection.ask("STREAM.INFO.NONE")
        connection.client.abort()
        with pytest.raises(Unavailable):
            await connection.ask("STREAM.LIST", may_repeat=False)
        assert told == [("STREAM.LIST", 0), ("STREAM.INFO.NONE", 10059), ("STREAM.LIST", None)]

    tell_of_bucket(tmp_path, story)


def test_what_is_larger_than_the_broker_takes_is_told_and_not_sent(tmp_path: Path) -> None:
    """It would break the connection, and with it everything else that goes over it."""

    async def main(server: Server) -> None:
        losses: list[None] = []
        async with (
            asyncio.timeout(_PATIENCE_SECONDS),
            open_connection(options(server.url)) as connection,
            open_jetstream_registry(connection, schema_bucket(), is_owner=True) as registry,
        ):
            connection.on_lost.append(lambda: losses.append(None))
            with pytest.raises(Unavailable, match="at most 20000 are taken"):
                await registry.publish(schema("storms", description="x" * 30_000), expected_revision=0)
            assert await registry.get("storms") is None
            assert not losses

    with running_server(tmp_path, settings=["max_payload: 20000"]) as server:
        asyncio.run(main(server))


def test_the_tools_of_the_broker_can_look_into_a_bucket(tmp_path: Path) -> None:
    """Through the client library's own buckets, which know nothing of ours."""

    async def story(connection: Connection) -> None:
        async with open_jetstream_registry(connection, schema_bucket(), is_owner=True) as registry:
            revision = await registry.publish(schema("storms"), expected_revision=0)
            theirs = await connection.client.jetstream().key_value("aviso-schemas")
            entry = await theirs.get("storms")
            assert entry.revision == revision
            await theirs.delete("storms")
            mark = await registry.get("storms")
            assert isinstance(mark, Withdrawn)
            assert mark.revision > revision

    tell_of_bucket(tmp_path, story)


# --- acknowledgements ------------------------------------------------------------------------------------


class _Acknowledged(NamedTuple):
    """A registry, where its readers report, and the same as the one sees it who takes the roll."""

    registry: WritableRegistry
    spoil: Callable[[str, Badness], Awaitable[None]]
    acknowledgements: Acknowledgements
    owner: Acknowledgements


@asynccontextmanager
async def open_acknowledgements(
    kind: str, folder: Path, time_to_live_seconds: float
) -> AsyncIterator[_Acknowledged]:
    if kind == "memory":
        world = MemoryWorld()
        kept = MemoryAcknowledgements(SystemClock(), time_to_live_seconds=time_to_live_seconds)
        yield _Acknowledged(world.registry, world.spoil, kept, kept)
        return
    bucket = acknowledgement_bucket(time_to_live_seconds=time_to_live_seconds)
    with running_server(folder) as server:
        async with (
            jetstream_world(server) as far,
            open_connection(options(server.url)) as connection,
            open_jetstream_acknowledgements(far.bucket.connection, bucket, is_owner=True) as owner,
            open_jetstream_acknowledgements(connection, bucket, is_owner=False) as service,
        ):
            yield _Acknowledged(far.registry, far.spoil, service, owner)


def tell_of_acknowledgements(
    kind: str,
    folder: Path,
    story: Callable[[_Acknowledged], Awaitable[None]],
    *,
    time_to_live_seconds: float = 60.0,
) -> None:
    async def main() -> None:
        async with (
            asyncio.timeout(_PATIENCE_SECONDS),
            open_acknowledgements(kind, folder, time_to_live_seconds) as world,
        ):
            await story(world)

    asyncio.run(main())


class Roll:
    """A roll call that can be waited for."""

    def __init__(self) -> None:
        self.call: RollCall | None = None
        self.told: list[set[str]] = []
        self._changed = asyncio.Event()

    def on_change(self, call: RollCall) -> None:
        self.call = call
        self.told.append(set(call.reports))
        self._changed.set()

    async def until(self, is_so: Callable[[RollCall], bool]) -> RollCall:
        while self.call is None or not is_so(self.call):
            self._changed.clear()
            await self._changed.wait()
        return self.call


@writable
def test_every_process_acknowledges_what_it_serves(kind: str, tmp_path: Path) -> None:
    """A new version, one that it cannot serve, and a withdrawal: each at once, not with the next renewal."""

    async def story(world: _Acknowledged) -> None:
        roll = Roll()
        async with (
            world.owner.follow(roll.on_change),
            world.registry.follow(ignore) as follower,
            reporting(world.acknowledgements, follower, process="ingest/one", clock=SystemClock()),
        ):

            async def until_stands(revision: int, standing: Standing) -> None:
                await roll.until(
                    lambda call: call.acknowledged("storms", revision) == {"ingest/one": standing}
                )

            await until_stands(1, Standing(state="behind"))
            first = await world.registry.publish(schema("storms"), expected_revision=0)
            await until_stands(first, Standing(state="current", revision=first))
            await until_stands(first + 1, Standing(state="behind", revision=first))
            await world.spoil("storms", "with faults")
            bad = await world.registry.get("storms")
            assert bad is not None
            call = await roll.until(
                lambda call: call.acknowledged("storms", bad.revision)["ingest/one"].state == "rejected"
            )
            assert "undeclared" in str(call.acknowledged("storms", bad.revision)["ingest/one"].error)
            mark = await world.registry.withdraw("storms", expected_revision=bad.revision)
            await until_stands(mark, Standing(state="current", revision=mark))

    tell_of_acknowledgements(kind, tmp_path, story)


@writable
def test_a_process_that_ends_in_good_order_is_off_the_roll_at_once(kind: str, tmp_path: Path) -> None:
    async def story(world: _Acknowledged) -> None:
        roll = Roll()
        async with world.owner.follow(roll.on_change), world.registry.follow(ignore) as follower:
            async with reporting(world.acknowledgements, follower, process="ingest/one", clock=SystemClock()):
                await roll.until(lambda call: set(call.reports) == {"ingest/one"})
            await roll.until(lambda call: not call.reports)

    tell_of_acknowledgements(kind, tmp_path, story)


@writable
def test_a_process_that_falls_silent_is_off_the_roll_and_one_that_renews_stays(
    kind: str, tmp_path: Path
) -> None:
    """Twice over, which is longer than any report lives that is not renewed."""

    async def story(world: _Acknowledged) -> None:
        roll = Roll()
        async with (
            world.owner.follow(roll.on_change),
            world.registry.follow(ignore) as follower,
            reporting(world.acknowledgements, follower, process="ingest/one", clock=SystemClock()),
        ):
            await roll.until(lambda call: "ingest/one" in call.reports)
            before = len(roll.told)
            for _ in range(2):
                await world.acknowledgements.report("ingest/two", {"storms": Answer(revision=1)})
                await roll.until(lambda call: "ingest/two" in call.reports)
                await roll.until(lambda call: "ingest/two" not in call.reports)
            assert all("ingest/one" in told for told in roll.told[before:])

    tell_of_acknowledgements(kind, tmp_path, story, time_to_live_seconds=1.2)


@writable
def test_who_takes_the_roll_late_hears_everybody(kind: str, tmp_path: Path) -> None:
    """As one change."""

    async def story(world: _Acknowledged) -> None:
        await world.acknowledgements.report("ingest/one", {"storms": Answer(revision=1)})
        await world.acknowledgements.report("ingest/two", {"storms": Answer(revision=2, error="no")})
        roll = Roll()
        async with world.owner.follow(roll.on_change):
            call = await roll.until(lambda call: call.is_loaded)
            assert call.acknowledged("storms", 2) == {
                "ingest/one": Standing(state="behind", revision=1),
                "ingest/two": Standing(state="rejected", revision=2, error="no"),
            }
            assert roll.told == [{"ingest/one", "ingest/two"}]

    tell_of_acknowledgements(kind, tmp_path, story)


def test_a_report_that_cannot_be_read_still_counts_its_process(tmp_path: Path) -> None:
    """A newer process may say it in other words; it is there, and behind."""

    async def story(connection: Connection) -> None:
        settings = acknowledgement_bucket()
        async with open_jetstream_acknowledgements(connection, settings, is_owner=True) as acknowledgements:
            await Bucket(connection, settings, is_owner=True).put("ingest/one", b"[1]", expected=None)
            roll = Roll()
            async with acknowledgements.follow(roll.on_change):
                call = await roll.until(lambda call: call.is_loaded)
                assert call.acknowledged("storms", 1) == {"ingest/one": Standing(state="behind")}

    tell_of_bucket(tmp_path, story)


def test_reports_go_on_after_the_broker_was_away(tmp_path: Path) -> None:
    """It came back with an empty store: the bucket is made anew by its owner, and everybody reports again."""

    async def main(server: Server, folder: Path) -> None:
        bucket = acknowledgement_bucket(time_to_live_seconds=3.0)
        roll, registry = Roll(), MemoryRegistry()
        async with (
            asyncio.timeout(_PATIENCE_SECONDS),
            open_connection(options(server.url)) as own,
            open_connection(options(server.url)) as theirs,
            open_jetstream_acknowledgements(own, bucket, is_owner=True) as owner,
            open_jetstream_acknowledgements(theirs, bucket, is_owner=False) as service,
            registry.follow(ignore) as follower,
            owner.follow(roll.on_change),
            reporting(service, follower, process="ingest/one", clock=SystemClock()),
        ):
            await roll.until(lambda call: set(call.reports) == {"ingest/one"})
            server.kill()
            (folder / "store").rename(folder / "lost")
            server.start()
            await registry.publish(schema("storms"), expected_revision=0)
            current = Standing(state="current", revision=1)
            await roll.until(lambda call: call.acknowledged("storms", 1) == {"ingest/one": current})

    with running_server(tmp_path) as server:
        asyncio.run(main(server, tmp_path))
