"""Schemas in a bucket: key = event type, value = the compiled schema with its hash and owner.

The revision of a version is the bucket's. The history of each key is kept, so a process that begins with versions it
cannot read finds the last one that it can.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import msgspec

from aviso_core.alongside import alongside
from aviso_core.registry.base import (
    KEPT_VERSIONS,
    Conflict,
    Owner,
    Published,
    Unreadable,
    Version,
    Withdrawn,
    check_publishable,
    hash_of,
)
from aviso_core.registry.follower import Follower
from aviso_core.registry.jetstream.bucket import Bucket, BucketSettings, Entry, WrongRevision
from aviso_core.registry.jetstream.watch import read_bucket, read_key, watch_for_ever
from aviso_core.schema.model import Schema, decode_schema
from aviso_core.topic.base import is_base

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from aviso_core.broker.connection import Connection
    from aviso_core.registry.base import OnChange


class _Stored(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    # Raw, so that who wrote a schema can be told where the schema itself cannot be read.
    schema: msgspec.Raw
    spec_hash: str = ""
    owner: Owner | None = None
    uid: str | None = None


_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(_Stored).decode


def schema_bucket(name: str = "aviso-schemas", *, replicas: int = 1) -> BucketSettings:
    """Return the settings of a bucket of schemas."""
    return BucketSettings(name=name, history=KEPT_VERSIONS, replicas=replicas)


class JetStreamRegistry:
    """A `WritableRegistry` on the broker. Made by `open_jetstream_registry`."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket

    async def publish(
        self, schema: Schema, *, expected_revision: int, owner: Owner | None = None, uid: str | None = None
    ) -> int:
        """Publish a schema over the latest revision."""
        data = check_publishable(schema)
        value = _encode(_Stored(schema=msgspec.Raw(data), spec_hash=hash_of(data), owner=owner, uid=uid))
        try:
            return await self._bucket.put(schema.event_type, value, expected=expected_revision)
        except WrongRevision as error:
            raise await self._conflict(schema.event_type, expected_revision) from error

    async def withdraw(self, event_type: str, *, expected_revision: int) -> int:
        """Withdraw an event type at its latest revision."""
        assert is_base(event_type), "nothing is published under such a name"
        try:
            return await self._bucket.delete(event_type, expected=expected_revision)
        except WrongRevision as error:
            raise await self._conflict(event_type, expected_revision) from error

    async def _conflict(self, event_type: str, expected: int) -> Conflict:
        latest = await self.get(event_type)
        owner = None if latest is None or isinstance(latest, Withdrawn) else latest.owner
        revision = latest.revision if latest else 0
        return Conflict(event_type, expected=expected, revision=revision, owner=owner)

    async def get(self, event_type: str) -> Version | None:
        """Return the latest version, or None."""
        if not is_base(event_type):
            # Such as a wildcard, which the broker would take for the name of any.
            return None
        entry = await self._bucket.get(event_type)
        return None if entry is None else read_version(entry)

    async def all(self) -> Mapping[str, Version]:
        """Return the latest version of each event type."""
        latest = {entry.key: entry for entry in await read_bucket(self._bucket)}
        return {event_type: read_version(entry) for event_type, entry in latest.items()}

    async def history(self, event_type: str) -> Sequence[Version]:
        """Return the versions that are kept."""
        if not is_base(event_type):
            return ()
        return tuple(map(read_version, await read_key(self._bucket, event_type)))

    @asynccontextmanager
    async def follow(self, on_change: OnChange, *, strict: bool | None = None) -> AsyncIterator[Follower]:
        """Follow for as long as the block runs."""
        follower = Follower(on_change, strict=strict)
        following = watch_for_ever(
            self._bucket,
            on_everything=lambda entries: follower.take_all(map(read_version, entries)),
            on_more=lambda entries: follower.take_in(map(read_version, entries)),
        )
        async with alongside(following):
            yield follower


def read_version(entry: Entry) -> Version:
    """Return what a version of a key says of its event type."""
    name, revision = entry.key, entry.revision
    if entry.is_tombstone:
        return Withdrawn(event_type=name, revision=revision)
    owner: Owner | None = None
    try:
        stored = _decode(entry.value)
        owner = stored.owner
        schema = decode_schema(bytes(stored.schema))
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        reason = f"cannot be read by this build: {error}"
        return Unreadable(event_type=name, revision=revision, reason=reason, owner=owner)
    if schema.event_type != name:
        reason = f"is a schema of '{schema.event_type}' in the place of '{name}'"
        return Unreadable(event_type=name, revision=revision, reason=reason, owner=owner)
    return Published(
        event_type=name,
        revision=revision,
        schema=schema,
        spec_hash=stored.spec_hash,
        owner=owner,
        uid=stored.uid,
    )


@asynccontextmanager
async def open_jetstream_registry(
    connection: Connection, bucket: BucketSettings, *, is_owner: bool
) -> AsyncIterator[JetStreamRegistry]:
    """Serve the registry in a bucket. The owner makes the bucket and keeps it as wanted; others take it as it is."""
    schemas = Bucket(connection, bucket, is_owner=is_owner)
    if is_owner:
        await schemas.ensure()
    yield JetStreamRegistry(schemas)
