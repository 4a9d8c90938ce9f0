"""Whether what is wanted keeps the promises of what is there: what `Backward` means where something was published.

Two made promises: the published version, to producers and readers, and the stream, whose subjects are read by their
order for as long as they are stored. What was withdrawn promised nothing to anybody who is there, but its events are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aviso_core.registry.base import Published, Version
from aviso_core.schema.compatibility import incompatibilities

if TYPE_CHECKING:
    from aviso_core.schema.model import Schema
    from aviso_core.schema.stamps import Stamps

_TO_MEAN_IT = "set spec.compatibility: None to mean it"


def broken_promise(schema: Schema, latest: Version | None) -> str | None:
    """Return what a new version breaks of the published one, and what to do, or None."""
    if schema.compatibility == "None" or not isinstance(latest, Published):
        return None
    breaks = incompatibilities(latest.schema, schema)
    if not breaks:
        return None
    return f"revision {latest.revision} stays in force: {'; '.join(map(str, breaks))}; or {_TO_MEAN_IT}"


def misread_events(schema: Schema, stamps: Stamps | None, *, messages: int) -> str | None:
    """Return what would become of stored events whose subjects were made in another order, or None."""
    stored = () if stamps is None else stamps.key_order
    if schema.compatibility == "None" or not messages or stored in ((), schema.routed):
        return None
    return (
        f"its stream has {messages} messages that were stored with the key order [{', '.join(stored)}] and would be "
        f"read wrongly with [{', '.join(schema.routed)}]: keep that order, declare a topic base of its own, "
        f"or {_TO_MEAN_IT}"
    )
