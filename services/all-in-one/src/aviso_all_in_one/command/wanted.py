"""What a user asks `avisod` for, once it is understood: one struct for each command.

They are made by `arguments` from a command line. Paths are as they were typed, because messages repeat them.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec


class Serve(msgspec.Struct, frozen=True, kw_only=True, tag="serve"):
    """Run the service. None is a flag that was not given, so that files and environment decide."""

    config: str | None = None
    schemas: str | None = None
    samples: bool = False
    host: str | None = None
    port: int | None = None
    log: str | None = None
    metrics_port: int | None = None
    log_level: str | None = None


class Check(msgspec.Struct, frozen=True, kw_only=True, tag="check"):
    """Tell every fault of these files and folders."""

    paths: tuple[str, ...]
    json: bool = False


class SchemaDiff(msgspec.Struct, frozen=True, kw_only=True, tag="schema diff"):
    """Tell whether the event types of one place may replace those of another."""

    old: str
    new: str
    json: bool = False


class SchemaLive(msgspec.Struct, frozen=True, kw_only=True, tag="schema diff --live"):
    """Tell what applying manifests would change of what there is on the broker."""

    path: str
    config: str | None = None
    log: str | None = None
    namespace: str | None = None
    json: bool = False


class SchemaImport(msgspec.Struct, frozen=True, kw_only=True, tag="schema import"):
    """Make manifests of the event types of a configuration."""

    path: str
    output: str = "-"
    adopt: bool = False
    json: bool = False


class ShowVersion(msgspec.Struct, frozen=True, kw_only=True, tag="version"):
    """Tell which version this is."""


Wanted: TypeAlias = Serve | Check | SchemaDiff | SchemaLive | SchemaImport | ShowVersion
