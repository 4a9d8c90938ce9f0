"""Schemas, manifests and versions for tests of the registry, and a clock that is moved by hand."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from aviso_core.registry.base import Published, Unreadable, Version, Withdrawn, hash_of
from aviso_core.schema.manifest import read_manifest
from aviso_core.schema.model import Schema, encode_schema


class ManualClock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self._seconds = 1000.0

    def now_ns(self) -> int:
        """Return the wall clock's instant."""
        return int(self._seconds * 1e9)

    def monotonic(self) -> float:
        """Return the seconds."""
        return self._seconds

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._seconds += seconds


def manifest(event_type: str, *, base: str | None = None, description: str = "") -> dict[str, Any]:
    """Return the manifest of an event type with one identifier."""
    return {
        "apiVersion": "aviso.dev/v1alpha1",
        "kind": "EventSchema",
        "metadata": {"name": event_type},
        "spec": {
            "description": description,
            "topic": {"base": base or event_type, "keyOrder": ["place"]},
            "identifiers": [{"name": "place", "type": "String"}],
        },
    }


def schema(event_type: str, *, base: str | None = None, description: str = "") -> Schema:
    """Return the schema of such a manifest, with a description that may be longer than that of a manifest."""
    read, faults = read_manifest(manifest(event_type, base=base))
    assert read is not None, faults
    return msgspec.structs.replace(read, description=description)


def published(event_type: str, revision: int, *, base: str | None = None, description: str = "") -> Published:
    """Return a version with such a schema."""
    return published_schema(schema(event_type, base=base, description=description), revision)


def published_schema(schema: Schema, revision: int) -> Published:
    """Return a version with a schema, whether it can be served or not."""
    return Published(
        event_type=schema.event_type,
        revision=revision,
        schema=schema,
        spec_hash=hash_of(encode_schema(schema)),
    )


def withdrawn(event_type: str, revision: int) -> Version:
    """Return a mark of withdrawal."""
    return Withdrawn(event_type=event_type, revision=revision)


def unreadable(event_type: str, revision: int, reason: str = "is no schema") -> Version:
    """Return a version that cannot be read."""
    return Unreadable(event_type=event_type, revision=revision, reason=reason)


def stored(schema: bytes, **members: object) -> bytes:
    """Return a schema's JSON as it lies in a bucket."""
    others = "".join(f",{json.dumps(name)}:{json.dumps(value)}" for name, value in members.items())
    return b'{"schema":' + schema + others.encode() + b"}"
