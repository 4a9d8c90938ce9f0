"""Event types that ask for more than the settings have: authentication that is off, a plugin without a block.

A configuration with such an event type does not start. One that a registry brings later must not stop a process that
serves others, so it is served, closed to whoever it cannot let in, and the log says what to do about it. A manifest
asks for authentication unless it says otherwise, so this is the first thing that happens to somebody who tries one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aviso_core.settings.stream_refusals import plugin_faults, stream_auth_faults, stream_ecpds_faults
from aviso_core.startup import stream_facts
from aviso_http.records.log import Log

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aviso_core.errors import Fault
    from aviso_core.schema.catalog import Catalog
    from aviso_core.schema.model import Schema
    from aviso_core.settings.model import Settings

log = Log("aviso_http.access")


class UnmetDemands:
    """What was told already. Each demand is told once for as long as it stands."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._told: frozenset[tuple[str, Fault]] = frozenset()

    def tell(self, catalog: Catalog) -> None:
        """Log what the event types ask for and cannot have, as far as it is new."""
        unmet = [
            (name, fault)
            for name, event_type in catalog.event_types.items()
            for fault in unmet_by(self._settings, event_type.schema)
        ]
        for name, fault in unmet:
            if (name, fault) not in self._told:
                log.warning(
                    "configuration.schema.closed",
                    f"an event type asks for what the settings do not have: {fault}",
                    event_type=name,
                )
        self._told = frozenset(unmet)


def unmet_by(settings: Settings, schema: Schema) -> Iterator[Fault]:
    """Yield what an event type asks for and cannot have."""
    facts = [stream_facts(schema)]
    yield from plugin_faults(facts)
    yield from stream_auth_faults(settings.auth, facts)
    yield from stream_ecpds_faults(settings.ecpds, facts)
