"""What an event type is: the checked form that every service works from.

Manifests and configuration files are read into these structs (`manifest`, `configuration`), and the registry carries
them as JSON. They only gain members, with defaults, so that an older process can read what a newer one wrote.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, TypeVar, cast

import msgspec

from aviso_core.fields import AnyField, SpatialField
from aviso_core.fields.base import JsonSchema
from aviso_core.geometry.plane import Edges

T = TypeVar("T")

RoleMap: TypeAlias = dict[str, tuple[str, ...]]
Compatibility: TypeAlias = Literal["Backward", "None"]

# One notification is never larger, and the payload is part of it.
LARGEST_PAYLOAD: Final = 262_144


class Topic(msgspec.Struct, frozen=True, kw_only=True):
    """Where events of this type are stored: the base of their subjects and the fields that follow it, in order."""

    base: str
    key_order: tuple[str, ...]


class PayloadRules(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a payload must be. `json_schema` is checked and compiled elsewhere (`payload`)."""

    required: bool = False
    max_bytes: int = LARGEST_PAYLOAD
    json_schema: JsonSchema | None = None


class Auth(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who may read and write. A role map goes from realm to roles. None is a key that is absent, not an empty one."""

    required: bool
    read_roles: RoleMap | None = None
    write_roles: RoleMap | None = None
    plugins: tuple[str, ...] | None = None


class Storage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the log keeps. None leaves the choice to the installation's own defaults."""

    retention_seconds: int | None = None
    max_messages: int | None = None
    max_bytes: int | None = None
    duplicate_window_seconds: int | None = None
    replicas: int | None = None
    medium: Literal["File", "Memory"] | None = None
    keep_all: bool | None = None
    compression: bool | None = None
    shrink: Literal["Reject", "Allow"] = "Reject"


class Schema(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One event type. `fields` stand in declaration order, which is the order in which faults are reported."""

    event_type: str
    description: str = ""
    topic: Topic | None = None
    fields: tuple[AnyField, ...] = ()
    payload: PayloadRules | None = None
    auth: Auth | None = None
    storage: Storage | None = None
    max_historical_notifications: int | None = None
    edges: Edges = "planar"
    compatibility: Compatibility = "None"

    @property
    def base(self) -> str:
        """The topic base: an event type without a topic is its own."""
        return self.topic.base if self.topic else self.event_type

    @property
    def routed(self) -> tuple[str, ...]:
        """The fields whose values make up the topic, in its order."""
        return self.topic.key_order if self.topic else tuple(sorted(field.name for field in self.fields))

    def field(self, name: str) -> AnyField | None:
        """Return the declared field of that name, or None."""
        return next((field for field in self.fields if field.name == name), None)

    @property
    def geometry_field(self) -> SpatialField | None:
        """The one field that holds a shape, or None."""
        return next((field for field in self.fields if isinstance(field, SpatialField)), None)


_encoder: Final = msgspec.json.Encoder(order="deterministic")
_decoder: Final = msgspec.json.Decoder(Schema)


def encode_schema(schema: Schema) -> bytes:
    """Return the JSON of a schema; equal schemas give equal bytes."""
    return _encoder.encode(_with_own_defaults(schema))


def _with_own_defaults(value: T) -> T:
    """Return a value in which members that equal their default are that default.

    The encoder leaves a default out by being the same object, not by being equal to it.
    """
    if isinstance(value, tuple):
        return cast("T", tuple(map(_with_own_defaults, value)))
    if not isinstance(value, msgspec.Struct):
        return value
    members = {}
    for member in msgspec.structs.fields(value):
        now = getattr(value, member.name)
        members[member.name] = member.default if now == member.default else _with_own_defaults(now)
    return cast("T", msgspec.structs.replace(value, **members))


def decode_schema(data: bytes) -> Schema:
    """Return the schema of its JSON; members of newer versions are passed over."""
    return _decoder.decode(data)
