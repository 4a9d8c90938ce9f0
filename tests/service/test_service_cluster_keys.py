"""Tokens of a cluster's service accounts, verified by the keys that lie in the registry."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from aviso_core.broker.connection import open_connection
from aviso_core.registry.cluster_keys import ClusterKeys
from aviso_core.registry.jetstream.cluster_keys import cluster_keys_bucket, open_jetstream_cluster_keys
from aviso_core.registry.jetstream.registry import open_jetstream_registry, schema_bucket
from aviso_core.schema.model import Auth
from support.event_logs import asynchronous, open_owning_log, options
from support.nats import running_server
from support.registries import schema
from support.services import running_service
from support.tokens import KeyPair, elliptic_pair, key_set, rsa_pair

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from aviso_core.registry.jetstream.cluster_keys import JetStreamClusterKeys
    from support.services import Service

CLUSTER: Final = "https://kubernetes.default.svc.cluster.local"
# Both under one name: which of them signed is seen only by the signature.
OLD, STRANGER = rsa_pair("cluster"), rsa_pair("cluster")
FRESH: Final = elliptic_pair("fresh")
NOTE: Final = {"event_type": "storms", "identifier": {"place": "here"}}
KEPT: Final = replace(
    schema("storms"), auth=Auth(required=True, write_roles={"kubernetes": ("weather:job",)})
)


def configuration(url: str) -> dict[str, Any]:
    """Return the configuration of a service in a cluster."""
    return {
        "auth": {
            "enabled": True,
            "mode": "trusted_proxy",
            "admin_roles": {"main": ["operator"]},
            "kubernetes": {"enabled": True},
            "jwks_refresh_seconds": 1,
        },
        "registry": {"kind": "jetstream"},
        "notification_backend": {"kind": "jetstream", "jetstream": {"nats_url": url}},
    }


def token(key: KeyPair, *, account: str = "job", issuer: str = CLUSTER) -> str:
    """Return the token of a pod of the namespace `weather`."""
    now = int(time.time())
    return key.sign(
        {
            "iss": issuer,
            "aud": ["aviso"],
            "iat": now,
            "nbf": now,
            "exp": now + 3600,
            "sub": f"system:serviceaccount:weather:{account}",
            "kubernetes.io": {"namespace": "weather", "serviceaccount": {"name": account, "uid": "1"}},
        }
    )


def keys(*pairs: KeyPair) -> ClusterKeys:
    """Return what the cluster publishes."""
    return ClusterKeys(issuer=CLUSTER, jwks=json.dumps(key_set(*pairs)).encode())


async def status(service: Service, token: str) -> int:
    """Publish with a token; return how that is answered."""
    return (await service.notify(NOTE, headers={"Authorization": f"Bearer {token}"})).status


async def wait_status(service: Service, token: str, expected: int) -> None:
    """Ask until a token is answered so: when a service has read its keys again, it tells nobody who does not ask."""
    async with asyncio.timeout(15):
        while (answered := await status(service, token)) != expected:
            assert answered in (200, 401, 503)
            await asyncio.sleep(0.05)


@asynccontextmanager
async def running_in_cluster(folder: Path) -> AsyncIterator[tuple[JetStreamClusterKeys, Service]]:
    """Run a service beside an operator who has declared an event type and made its stream."""
    with running_server(folder) as server:
        async with (
            open_connection(options(server.url)) as connection,
            open_jetstream_registry(connection, schema_bucket(), is_owner=True) as registry,
            open_jetstream_cluster_keys(connection, cluster_keys_bucket(), is_owner=True) as cluster_keys,
            open_owning_log(server.url) as log,
        ):
            await registry.publish(KEPT, expected_revision=0)
            await log.bounds("storms")
            async with running_service(configuration(server.url)) as service:
                yield cluster_keys, service


@asynchronous
async def test_an_account_is_believed_by_the_keys_in_the_registry(tmp_path: Path) -> None:
    """It may write where it is named; nobody else does, whatever they say of themselves."""
    async with running_in_cluster(tmp_path) as (cluster_keys, service):
        # Whose token it is cannot be told yet, so it is neither good nor bad.
        await wait_status(service, token(OLD), 503)
        await cluster_keys.write(keys(OLD))
        await wait_status(service, token(OLD), 200)
        assert await status(service, token(OLD, account="other")) == 403
        assert await status(service, token(OLD, issuer="https://other")) == 401
        assert await status(service, token(STRANGER)) == 401


@asynchronous
async def test_keys_that_are_rotated_are_followed(tmp_path: Path) -> None:
    """First there are both, then only the new one: then the old one's tokens are nobody's."""
    async with running_in_cluster(tmp_path) as (cluster_keys, service):
        await cluster_keys.write(keys(OLD))
        await wait_status(service, token(OLD), 200)
        assert await status(service, token(FRESH)) == 401
        await cluster_keys.write(keys(OLD, FRESH))
        await wait_status(service, token(FRESH), 200)
        assert await status(service, token(OLD)) == 200
        await cluster_keys.write(keys(FRESH))
        await wait_status(service, token(OLD), 401)
        assert await status(service, token(FRESH)) == 200
