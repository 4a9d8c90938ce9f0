"""The keys that the cluster signs ServiceAccount tokens with, copied into the registry for the services.

The cluster tells any of its ServiceAccounts what its keys are. Services have no account that could ask, so they read
the copy; it is renewed often enough that a key which the cluster begins to sign with is known before many tokens of it.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import msgspec

from aviso_core.errors import AvisoError, Unavailable
from aviso_core.registry.cluster_keys import ClusterKeys
from aviso_core.registry.jetstream.bucket import BucketMissing
from aviso_http.records.log import Log

if TYPE_CHECKING:
    from aviso_core.registry.jetstream.cluster_keys import JetStreamClusterKeys
    from aviso_operator.cluster import Cluster

REFRESH_SECONDS: Final = 300.0
_RETRY_SECONDS: Final = 15.0
_KEYS: Final = "/openid/v1/jwks"
_DISCOVERY: Final = "/.well-known/openid-configuration"

log = Log("aviso_operator.keys")


class _Discovery(msgspec.Struct, frozen=True):
    issuer: str


async def copy_keys_for_ever(
    cluster: Cluster, published: JetStreamClusterKeys, is_due: asyncio.Event
) -> None:
    """Copy the keys now and then, and whenever it is said to be due: a broker that comes back may have lost them.

    What cannot be copied is logged, and what was copied before stays.
    """
    told: str | None = None
    while True:
        is_due.clear()
        try:
            await copy_keys(cluster, published)
        except AvisoError as error:
            if str(error) != told:
                log.warning(
                    "operator.keys.not_copied",
                    "the cluster's token keys cannot be copied: services cannot verify ServiceAccount tokens "
                    "of new keys; the operator may read them with the ClusterRole "
                    "system:service-account-issuer-discovery",
                    error=error,
                )
            told = str(error)
            await _wait_due(is_due, _RETRY_SECONDS)
        else:
            told = None
            await _wait_due(is_due, REFRESH_SECONDS)


async def _wait_due(is_due: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await is_due.wait()
    except TimeoutError:
        return


async def copy_keys(cluster: Cluster, published: JetStreamClusterKeys) -> bool:
    """Copy the keys where they are not what is published; tell whether that was so."""
    try:
        issuer = msgspec.json.decode(await cluster.read(_DISCOVERY), type=_Discovery).issuer
    except msgspec.MsgspecError as error:
        raise Unavailable(f"what the cluster says of its tokens cannot be read: {error}") from error
    keys = ClusterKeys(issuer=issuer, jwks=await cluster.read(_KEYS))
    try:
        before = await published.read()
    except BucketMissing:
        # It was there when the operator began: the broker is another one, and writing makes it anew.
        before = None
    if before == keys:
        return False
    await published.write(keys)
    log.info("operator.keys.copied", "the cluster's token keys are published", issuer=issuer)
    return True
