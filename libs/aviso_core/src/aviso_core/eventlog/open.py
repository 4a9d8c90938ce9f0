"""From settings to a log: the one place that knows which logs there are."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, TypeAlias

from aviso_core.broker.options import connection_options
from aviso_core.eventlog.jetstream.log import WantedStreams, open_jetstream_log
from aviso_core.eventlog.memory import MemoryLimits, MemoryLog
from aviso_core.schema.catalog import Catalog
from aviso_core.schema.stream import StreamConfiguration, StreamDefaults, stream_of_base
from aviso_core.units import parse_duration

if TYPE_CHECKING:
    from aviso_core.clock import Clock
    from aviso_core.eventlog.base import EventLog
    from aviso_core.settings.model import JetStream, NotificationBackend

# Undeclared event types have any name, so what is known of names is forgotten now and then.
_MOST_KNOWN: Final = 1000

# The event types of this moment; a catalog is replaced, so it is asked for each time.
CurrentCatalog: TypeAlias = Callable[[], Catalog]


@asynccontextmanager
async def open_event_log(
    backend: NotificationBackend, *, owner_of: CurrentCatalog | None = None, clock: Clock | None = None
) -> AsyncIterator[EventLog]:
    """Open the log that the settings name.

    `owner_of` is given by a process that makes and mends the streams of its event types; without it they are bound
    as somebody else made them. In memory there is nothing to own.
    """
    if backend.kind == "in_memory":
        yield MemoryLog(
            MemoryLimits(
                max_history_per_topic=backend.in_memory.history_per_topic,
                max_topics=backend.in_memory.max_topics,
            ),
            clock,
        )
        return
    wanted = None if owner_of is None else wanted_streams(owner_of, stream_defaults(backend.jetstream))
    async with open_jetstream_log(connection_options(backend.jetstream), wanted=wanted) as log:
        yield log


def stream_defaults(jetstream: JetStream) -> StreamDefaults:
    """Return what all streams are like unless their schema says otherwise."""
    age = jetstream.retention_time
    assert jetstream.retention_policy != "workqueue", "refused before anything is opened"
    return StreamDefaults(
        max_messages=jetstream.max_messages,
        max_bytes=jetstream.max_bytes,
        max_age_seconds=None if age is None else parse_duration(age),
        replicas=jetstream.replicas,
        medium=jetstream.storage_type,
        retention=jetstream.retention_policy,
        discard=jetstream.discard_policy,
    )


def wanted_streams(catalog: CurrentCatalog, defaults: StreamDefaults) -> WantedStreams:
    """Return a function from a base to the stream that it should have, following the catalog as it changes.

    It is asked at every append, so what a catalog says is worked out once, for as long as it is the current one.
    """
    current: Catalog | None = None
    known: dict[str, StreamConfiguration] = {}

    def wanted(base: str) -> StreamConfiguration:
        nonlocal current, known
        now = catalog()
        if now is not current or len(known) > _MOST_KNOWN:
            current, known = now, {}
        if base not in known:
            event_type = now.by_base(base)
            storage = event_type.schema.storage if event_type else None
            known[base] = stream_of_base(event_type.base if event_type else base, storage, defaults)
        return known[base]

    return wanted
