"""What there is on the broker, for whoever only looks: nothing is made, changed or reported.

A bucket that is not there yet holds nothing: before the operator has run for the first time there is none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from aviso_core.broker.connection import Connection, open_connection
from aviso_core.broker.options import connection_options
from aviso_core.eventlog.jetstream.log import open_jetstream_log
from aviso_core.eventlog.jetstream.owned import OwnedStreams
from aviso_core.planning.plan import SeenStream
from aviso_core.registry.acknowledgements import Report, RollCall
from aviso_core.registry.base import Version
from aviso_core.registry.jetstream.acknowledgements import JetStreamAcknowledgements, acknowledgement_bucket
from aviso_core.registry.jetstream.bucket import Bucket, BucketMissing
from aviso_core.registry.jetstream.registry import open_jetstream_registry, schema_bucket

if TYPE_CHECKING:
    from aviso_core.clock import Clock
    from aviso_core.eventlog.base import EventLog
    from aviso_core.eventlog.jetstream.owned import FoundStream
    from aviso_core.settings.model import JetStream

_PATIENCE_SECONDS: Final = 10.0
_SECOND: Final = 1_000_000_000


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """Which stream is looked for, and how long its events are to be kept; 0 is for ever."""

    base: str
    max_age_seconds: float


class Stream(msgspec.Struct, frozen=True, kw_only=True):
    """A stream, and how many of its messages at most are older than was wished."""

    seen: SeenStream
    too_old: int = 0


class Sight(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that was seen: the latest version of each event type, streams by base, what processes report."""

    versions: Mapping[str, Version] = {}
    streams: Mapping[str, Stream] = {}
    reports: Mapping[str, Report] = {}


class Look(Protocol):
    """Looks at a broker, or raises `AvisoError`."""

    def __call__(self, jetstream: JetStream, wishes: Sequence[Wish]) -> Coroutine[Any, Any, Sight]:
        """Return what is seen."""
        ...


async def look(jetstream: JetStream, wishes: Sequence[Wish], *, clock: Clock) -> Sight:
    """Look at the broker that the settings name."""
    options = connection_options(jetstream)
    async with open_connection(options) as connection, open_jetstream_log(options, wanted=None) as log:
        owned = OwnedStreams(connection)
        found = {wish.base: (await owned.find(wish.base), wish) for wish in wishes}
        return Sight(
            versions=await _versions(connection),
            streams={
                base: Stream(seen=_seen(stream), too_old=await _too_old(log, stream, wish, clock.now_ns()))
                for base, (stream, wish) in found.items()
                if stream is not None
            },
            reports=await _reports(connection),
        )


def _seen(found: FoundStream) -> SeenStream:
    return SeenStream(
        configuration=found.configuration,
        created=found.created,
        stamps=found.stamps,
        messages=found.messages,
        bytes=found.bytes,
        first_sequence=found.first_sequence,
        last_sequence=found.last_sequence,
    )


async def _too_old(log: EventLog, stream: FoundStream, wish: Wish, now: int) -> int:
    """Return how many messages were stored too long ago; those that were removed between them count as well."""
    if not wish.max_age_seconds or not stream.messages:
        return 0
    first = await log.seek(wish.base, now - int(wish.max_age_seconds * _SECOND), epoch=stream.created)
    return min(stream.messages, max(0, first - stream.first_sequence))


async def _versions(connection: Connection) -> Mapping[str, Version]:
    async with open_jetstream_registry(connection, schema_bucket(), is_owner=False) as registry:
        try:
            return await registry.all()
        except BucketMissing:
            return {}


async def _reports(connection: Connection) -> Mapping[str, Report]:
    bucket = Bucket(connection, acknowledgement_bucket(), is_owner=False)
    try:
        await bucket.state()
    except BucketMissing:
        return {}
    loaded = asyncio.Event()

    def heard(call: RollCall) -> None:
        loaded.set()

    async with JetStreamAcknowledgements(bucket).follow(heard) as call:
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                await loaded.wait()
        except TimeoutError as error:
            raise connection.unavailable("what processes serve could not be read", error) from error
        return dict(call.reports)
