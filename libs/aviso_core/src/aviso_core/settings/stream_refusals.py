"""What a process refuses to start with, as far as settings and event types decide it together.

The schema package is not imported: a stream is described by the few facts that these rules ask about. Rules about
schemas alone (bases, key order, spatial keys) are the schema package's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from aviso_core.errors import Fault
from aviso_core.settings.model import Roles
from aviso_core.settings.refusals import ecpds_faults, role_map_faults

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from aviso_core.settings.model import Auth, Ecpds, NotificationBackend

ECPDS: Final = "ecpds"
_SPATIAL: Final = frozenset({"Polygon", "PointCloud"})
_SPATIAL_KEYS: Final = frozenset({"polygon", "point_cloud"})


class FieldFacts(msgspec.Struct, frozen=True, kw_only=True):
    """An identifier field: its kind, such as `String` or `Polygon`, and whether readers must give it."""

    kind: str
    required: bool


class AuthFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The `auth` block of an event type. None is a key that is absent, which is not the same as an empty one."""

    required: bool
    read_roles: Roles | None = None
    write_roles: Roles | None = None
    plugins: tuple[str, ...] | None = None

    @property
    def lists_roles(self) -> bool:
        """Whether any role is asked for."""
        return bool(self.read_roles or self.write_roles)


class StreamFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What the rules here ask about one event type."""

    event_type: str
    has_topic: bool = False
    key_order: tuple[str, ...] = ()
    fields: Mapping[str, FieldFacts] = {}
    auth: AuthFacts | None = None
    has_storage_policy: bool = False
    """Whether the `storage_policy` block has any key; an empty block asks for nothing."""

    @property
    def path(self) -> str:
        """Where the event type stands in the configuration."""
        return f"notification_schema.{self.event_type}"

    @property
    def uses_ecpds(self) -> bool:
        """Whether reading asks the ECPDS servers."""
        return self.auth is not None and ECPDS in (self.auth.plugins or ())


# --- the event log ---------------------------------------------------------------------------------------


def storage_faults(backend: NotificationBackend, streams: Sequence[StreamFacts]) -> Iterator[Fault]:
    """Yield the storage policies that the chosen event log has no means to keep."""
    if backend.kind != "in_memory":
        return
    for stream in streams:
        if stream.has_storage_policy:
            yield Fault(
                path=f"{stream.path}.storage_policy",
                message="is not supported by the in_memory backend",
                remedy="remove it, or set notification_backend.kind to jetstream",
            )


# --- plugins and roles -----------------------------------------------------------------------------------


def plugin_faults(streams: Sequence[StreamFacts]) -> Iterator[Fault]:
    """Yield the plugins that are not there, or that would never be asked."""
    for stream in streams:
        if stream.auth is not None and stream.auth.plugins is not None:
            yield from _plugin_faults(f"{stream.path}.auth", stream.auth, stream.auth.plugins)


def _plugin_faults(path: str, auth: AuthFacts, plugins: Sequence[str]) -> Iterator[Fault]:
    if not plugins:
        yield Fault(path=f"{path}.plugins", message="is empty", remedy=f"name {ECPDS}, or remove the key")
    for index, plugin in enumerate(plugins):
        if plugin != ECPDS:
            place = f"{path}.plugins[{index}]"
            yield Fault(
                path=place, message=f"{plugin!r} is not a plugin of this server", remedy=f"name {ECPDS}"
            )
    if plugins and not auth.required:
        # A plugin decides about a user, and without `required` there need not be one.
        yield Fault(
            path=f"{path}.required", message="must be true where plugins are named", remedy="write true"
        )


def stream_auth_faults(auth: Auth, streams: Sequence[StreamFacts]) -> Iterator[Fault]:
    """Yield the access rules that could not be kept, or that say nothing."""
    for stream in streams:
        if stream.auth is not None:
            path = f"{stream.path}.auth"
            yield from _stream_roles_faults(f"{path}.read_roles", stream.auth.read_roles)
            yield from _stream_roles_faults(f"{path}.write_roles", stream.auth.write_roles)
            yield from _enforcement_faults(path, stream.auth, enabled=auth.enabled)


def _stream_roles_faults(path: str, roles: Roles | None) -> Iterator[Fault]:
    if roles is None:
        return
    if not roles:
        # It could mean nobody as well as everybody.
        yield Fault(path=path, message="is an empty map", remedy="list realms and roles, or remove the key")
    yield from role_map_faults(path, roles)


def _enforcement_faults(path: str, auth: AuthFacts, *, enabled: bool) -> Iterator[Fault]:
    if not enabled:
        remedy = "set auth.enabled to true, or remove the rule"
        if auth.required:
            message = "asks for authentication while auth is disabled"
            yield Fault(path=f"{path}.required", message=message, remedy=remedy)
        if auth.lists_roles:
            yield Fault(path=path, message="lists roles while auth is disabled", remedy=remedy)
    elif auth.lists_roles and not auth.required:
        message = "must be true where roles are listed"
        yield Fault(path=f"{path}.required", message=message, remedy="write true, or remove the roles")


# --- ECPDS -----------------------------------------------------------------------------------------------


def stream_ecpds_faults(ecpds: Ecpds | None, streams: Sequence[StreamFacts]) -> Iterator[Fault]:
    """Yield what keeps the ECPDS plugin from deciding about the streams that name it."""
    users = [stream for stream in streams if stream.uses_ecpds]
    if not users:
        return
    if ecpds is None:
        names = ", ".join(stream.event_type for stream in users)
        remedy = "write the block: username, password, servers and match_key"
        yield Fault(path="ecpds", message=f"is required by the plugins of: {names}", remedy=remedy)
        return
    yield from ecpds_faults(ecpds)
    if ecpds.match_key:
        for stream in users:
            yield from _match_key_faults(ecpds.match_key, stream)


def _match_key_faults(key: str, stream: StreamFacts) -> Iterator[Fault]:
    """Yield why not every request on the stream would name one destination."""
    field = stream.fields.get(key)
    if field is None:
        yield Fault(
            path=f"{stream.path}.identifier",
            message=f"has no field '{key}', which ecpds.match_key names",
            remedy="declare the field, or correct ecpds.match_key",
        )
        return
    path = f"{stream.path}.identifier.{key}"
    if field.kind in _SPATIAL or key in _SPATIAL_KEYS:
        message = "is spatial and cannot be the field that ecpds.match_key names"
        yield Fault(path=path, message=message, remedy="name a field of text or numbers")
        return
    if not field.required:
        message = "must be true for the field that ecpds.match_key names"
        yield Fault(path=f"{path}.required", message=message, remedy="write true")
    if stream.has_topic and key not in stream.key_order:
        message = f"must include '{key}', which ecpds.match_key names"
        yield Fault(path=f"{stream.path}.topic.key_order", message=message, remedy="add the field")
