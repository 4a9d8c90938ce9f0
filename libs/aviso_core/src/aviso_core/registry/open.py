"""From settings to a registry: the one place that knows which registries there are.

The event types that a configuration declares come as the catalog that `startup` made of them, so whatever is wrong with
the configuration has been told before anything is opened.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, assert_never

from aviso_core.broker.connection import open_connection
from aviso_core.broker.options import connection_options
from aviso_core.registry.folder import open_folder_registry
from aviso_core.registry.jetstream.acknowledgements import (
    acknowledgement_bucket,
    open_jetstream_acknowledgements,
)
from aviso_core.registry.jetstream.cluster_keys import cluster_keys_bucket, open_jetstream_cluster_keys
from aviso_core.registry.jetstream.registry import open_jetstream_registry, schema_bucket
from aviso_core.registry.memory import MemoryAcknowledgements, MemoryRegistry, publication

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from aviso_core.clock import Clock
    from aviso_core.registry.acknowledgements import Acknowledgements
    from aviso_core.registry.base import Registry
    from aviso_core.registry.cluster_keys import ReadClusterKeys
    from aviso_core.schema.catalog import Catalog
    from aviso_core.settings.model import JetStream, Settings


class OpenRegistry(NamedTuple):
    """A registry, where those who follow it say which revisions they serve, and what else is published beside it."""

    registry: Registry
    acknowledgements: Acknowledgements
    # None where nobody publishes the keys of a cluster.
    cluster_keys: ReadClusterKeys | None = None


@asynccontextmanager
async def open_registry(
    settings: Settings, *, configured: Catalog, clock: Clock
) -> AsyncIterator[OpenRegistry]:
    """Open the registry that the settings name, to be followed, or raise `Unavailable`.

    `configured` holds the event types of the configuration itself. They are served from the beginning and stay as they
    are; on the broker there are none, for only the operator declares there.
    """
    schemas = [event_type.schema for event_type in configured.event_types.values()]
    match settings.registry.kind:
        case "memory":
            memory = MemoryRegistry(is_configured=configured.is_configured)
            memory.write([publication(schema) for schema in schemas])
            yield OpenRegistry(memory, MemoryAcknowledgements(clock))
        case "folder":
            folder = settings.registry.folder
            assert folder is not None, "refused before anything is opened"
            async with open_folder_registry(Path(folder), clock=clock, configured=schemas) as registry:
                yield OpenRegistry(registry, MemoryAcknowledgements(clock))
        case "jetstream":
            assert not schemas, "refused before anything is opened"
            async with _open_on_broker(settings.notification_backend.jetstream) as opened:
                yield opened
        case never:
            assert_never(never)


@asynccontextmanager
async def _open_on_broker(jetstream: JetStream) -> AsyncIterator[OpenRegistry]:
    """Open the operator's buckets, which are there already or will be."""
    async with (
        open_connection(connection_options(jetstream)) as connection,
        open_jetstream_registry(connection, schema_bucket(), is_owner=False) as registry,
        open_jetstream_acknowledgements(
            connection, acknowledgement_bucket(), is_owner=False
        ) as acknowledgements,
        open_jetstream_cluster_keys(connection, cluster_keys_bucket(), is_owner=False) as cluster_keys,
    ):
        yield OpenRegistry(registry, acknowledgements, cluster_keys.read)
