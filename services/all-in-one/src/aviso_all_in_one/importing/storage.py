"""Rules of storage → those of a manifest, which leaves less to the installation: how long and where are its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from aviso_core.schema.manifest_rules import (
    LARGEST_STREAM,
    LONGEST_RETENTION,
    SHORTEST_RETENTION,
    SMALLEST_STREAM,
)
from aviso_core.schema.model import Schema, Storage

if TYPE_CHECKING:
    from aviso_all_in_one.importing.notes import Notes
    from aviso_core.schema.stream import StreamDefaults

_PATH: Final = "storage_policy"
_UNITS: Final = (("d", 86_400), ("h", 3600), ("m", 60))
_FEWER: Final = "a stream that keeps more is not cut before spec.storage.shrink is set to Allow"


def storage(schema: Schema, defaults: StreamDefaults, notes: Notes) -> dict[str, Any]:
    """Return how events are stored as they are now, where the manifest's own defaults mean something else."""
    own = schema.storage or Storage()
    part: dict[str, Any] = {"retention": _retention(own, defaults, notes)}
    if own.max_messages is not None:
        part["maxMessages"] = own.max_messages
    max_bytes = _max_bytes(own, notes)
    if max_bytes is not None:
        part["maxBytes"] = max_bytes
    if defaults.medium == "memory":
        part["medium"] = "Memory"
        notes.know(
            _PATH, "events are kept in memory, as jetstream.storage_type says: storage.medium is Memory"
        )
    if not own.keep_all:
        part["duplicates"] = "LatestPerSubject"
    if own.compression and defaults.medium == "memory":
        notes.change(
            f"{_PATH}.compression",
            "goes with files only, and events are kept in memory: it is left out",
            "set storage.medium to File to have it",
        )
    elif own.compression:
        part["compression"] = True
    return part


def _retention(own: Storage, defaults: StreamDefaults, notes: Notes) -> str:
    wanted = own.retention_seconds or defaults.max_age_seconds or 0
    path = f"{_PATH}.retention_time" if own.retention_seconds else _PATH
    if not wanted:
        notes.change(
            path,
            "keeps events for ever, and a manifest keeps them for 10 years at most",
            f"write what is needed to storage.retention; {_FEWER}",
        )
        return _duration(LONGEST_RETENTION)
    if not own.retention_seconds:
        notes.know(
            path,
            f"events are kept for {_duration(wanted)}, as jetstream.retention_time says: the manifest says so",
        )
    if wanted > LONGEST_RETENTION:
        notes.change(
            path,
            f"is {_duration(wanted)}, and a manifest keeps events for 10 years at most",
            f"shorten it; {_FEWER}",
        )
    if wanted < SHORTEST_RETENTION:
        notes.change(
            path,
            f"is {_duration(wanted)}, and a manifest keeps events for {_duration(SHORTEST_RETENTION)} at least",
            "nothing, if longer does no harm",
        )
    return _duration(min(max(wanted, SHORTEST_RETENTION), LONGEST_RETENTION))


def _duration(seconds: int) -> str:
    for unit, length in _UNITS:
        if not seconds % length:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"


def _max_bytes(own: Storage, notes: Notes) -> int | None:
    if own.max_bytes is None:
        return None
    if own.max_bytes <= SMALLEST_STREAM:
        notes.change(
            f"{_PATH}.max_size",
            f"is {own.max_bytes} bytes, and a manifest takes more than 1Mi: it is {SMALLEST_STREAM + 1}",
            "nothing, if more does no harm",
        )
        return SMALLEST_STREAM + 1
    if own.max_bytes > LARGEST_STREAM:
        notes.change(
            f"{_PATH}.max_size",
            f"is {own.max_bytes} bytes, and a manifest takes 1024Ti at most: it is that",
            f"nothing; {_FEWER}",
        )
        return LARGEST_STREAM
    return own.max_bytes
