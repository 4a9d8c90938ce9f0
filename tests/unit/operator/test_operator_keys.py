"""The cluster's token keys on their way into the registry: copied when they are others, kept when they cannot be."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

import pytest

from aviso_core.alongside import alongside
from aviso_core.broker.connection import open_connection
from aviso_core.errors import AvisoError, Unavailable
from aviso_core.registry.cluster_keys import ClusterKeys, KeysRefused
from aviso_core.registry.jetstream.cluster_keys import (
    JetStreamClusterKeys,
    cluster_keys_bucket,
    open_jetstream_cluster_keys,
)
from aviso_operator.cluster import ClusterRefused
from aviso_operator.keys import copy_keys, copy_keys_for_ever
from support.event_logs import asynchronous, options
from support.http_server import answering
from support.nats import Server, running_server
from support.stand_in_cluster import StandInCluster, standing_in

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from aviso_operator.cluster import Cluster

ISSUER: Final = "https://kubernetes.default.svc.cluster.local"
DISCOVERY: Final = "/.well-known/openid-configuration"
KEYS: Final = "/openid/v1/jwks"
FIRST: Final = b'{"keys":[{"kid":"first","kty":"RSA"}]}'
SECOND: Final = b'{"keys":[{"kid":"second","kty":"RSA"}]}'


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("broker")) as server:
        yield server


class Way(NamedTuple):
    """From where keys are copied, and where to."""

    kept: StandInCluster
    cluster: Cluster
    published: JetStreamClusterKeys

    async def read(self) -> ClusterKeys | None:
        """Return what is published."""
        return await self.published.read()


@asynccontextmanager
async def way(server: Server, name: str) -> AsyncIterator[Way]:
    kept = StandInCluster()
    kept.documents = {DISCOVERY: json.dumps({"issuer": ISSUER}).encode(), KEYS: FIRST}
    async with (
        standing_in(kept) as cluster,
        open_connection(options(server.url)) as connection,
        open_jetstream_cluster_keys(connection, cluster_keys_bucket(name), is_owner=True) as published,
    ):
        yield Way(kept, cluster, published)


@asynchronous
async def test_keys_are_copied_when_they_are_others(server: Server) -> None:
    async with way(server, "others") as on:
        assert await copy_keys(on.cluster, on.published)
        assert await on.read() == ClusterKeys(issuer=ISSUER, jwks=FIRST)
        assert not await copy_keys(on.cluster, on.published)
        on.kept.documents[KEYS] = SECOND
        assert await copy_keys(on.cluster, on.published)
        assert await on.read() == ClusterKeys(issuer=ISSUER, jwks=SECOND)


@pytest.mark.parametrize(
    ("path", "status", "body", "error"),
    [
        (DISCOVERY, 403, b"", ClusterRefused),
        (KEYS, 403, b"", ClusterRefused),
        (KEYS, 503, b"", Unavailable),
        (DISCOVERY, 200, b"<html>", Unavailable),
        (DISCOVERY, 200, b"{}", Unavailable),
        (KEYS, 200, b'{"keys": "none"}', KeysRefused),
    ],
)
@asynchronous
async def test_what_is_published_stays_when_there_are_no_keys_to_be_had(
    server: Server, path: str, status: int, body: bytes, error: type[AvisoError]
) -> None:
    async with way(server, f"stays-{abs(hash((path, status, body)))}") as on:
        await copy_keys(on.cluster, on.published)
        on.kept.before = lambda asked: answering(status, body) if asked.target == path else None
        with pytest.raises(error):
            await copy_keys(on.cluster, on.published)
        assert await on.read() == ClusterKeys(issuer=ISSUER, jwks=FIRST)


@asynchronous
async def test_a_missing_right_is_told_with_the_role_that_has_it_and_nothing_else_ends(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    async with way(server, "right") as on:
        refused = {"message": 'cannot get path "/openid/v1/jwks"'}
        on.kept.before = lambda asked: answering(403, refused) if asked.target == KEYS else None
        async with alongside(copy_keys_for_ever(on.cluster, on.published, asyncio.Event())):
            while not caplog.records:
                await on.read()
        (told,) = [record for record in caplog.records if record.name == "aviso_operator.keys"]
    assert "system:service-account-issuer-discovery" in told.getMessage()
