"""The cluster's keys in a bucket of their own: one key, and its last value holds.

The bucket is not that of the schemas, so that who may write the one need not be able to write the other: who writes
here can be any service account of the cluster.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import msgspec

from aviso_core.registry.cluster_keys import ClusterKeys, check_cluster_keys
from aviso_core.registry.jetstream.bucket import Bucket, BucketSettings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from aviso_core.broker.connection import Connection

_KEY: Final = "cluster"


class _Stored(msgspec.Struct, frozen=True, kw_only=True):
    """The value. It only gains members."""

    issuer: str
    jwks: msgspec.Raw


_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(_Stored).decode


def cluster_keys_bucket(name: str = "aviso-keys", *, replicas: int = 1) -> BucketSettings:
    """Return the settings of the bucket of the cluster's keys."""
    return BucketSettings(name=name, history=1, replicas=replicas)


class JetStreamClusterKeys:
    """The cluster's keys on the broker. Made by `open_jetstream_cluster_keys`."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket

    async def write(self, keys: ClusterKeys) -> None:
        """Publish keys in the place of those before; `KeysRefused` where they are none."""
        check_cluster_keys(keys)
        value = _encode(_Stored(issuer=keys.issuer, jwks=msgspec.Raw(keys.jwks)))
        await self._bucket.put(_KEY, value, expected=None)

    async def read(self) -> ClusterKeys | None:
        """Return what is published, or None where nothing is yet."""
        entry = await self._bucket.get(_KEY)
        if entry is None or entry.is_tombstone:
            return None
        try:
            stored = _decode(entry.value)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            what = f"what bucket '{self._bucket.settings.name}' holds cannot be read by this build"
            raise self._bucket.connection.unavailable(what, error) from error
        return ClusterKeys(issuer=stored.issuer, jwks=bytes(stored.jwks))


@asynccontextmanager
async def open_jetstream_cluster_keys(
    connection: Connection, bucket: BucketSettings, *, is_owner: bool
) -> AsyncIterator[JetStreamClusterKeys]:
    """Serve the keys in a bucket. The owner makes the bucket and keeps it as wanted; others take it as it is."""
    keys = Bucket(connection, bucket, is_owner=is_owner)
    if is_owner:
        await keys.ensure()
    yield JetStreamClusterKeys(keys)
