"""`EventSchema` manifests: the custom resource `aviso.dev/v1alpha1`, as people write it → the schema.

The structs here are the shape of the resource; what the cluster's API server checks with the CRD's rules is checked
here too, because the same manifests also come from a plain folder, where nobody else looks at them. Unlike a
configuration file of the reference server, a manifest asks for authentication when it does not mention it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Meta

from aviso_core.errors import Fault
from aviso_core.fields.calendar_date import DateField, DateFormat
from aviso_core.fields.choice import ChoiceField
from aviso_core.fields.expver import ExpverField
from aviso_core.fields.integer import IntegerField
from aviso_core.fields.point_cloud import MOST_POINTS, PointCloudField
from aviso_core.fields.polygon import PolygonField
from aviso_core.fields.real import RealField
from aviso_core.fields.text import TextField
from aviso_core.fields.time_of_day import TimeField
from aviso_core.geometry.plane import Edges
from aviso_core.plain.decode import decode
from aviso_core.schema.check import POINT_KEY
from aviso_core.schema.model import (
    LARGEST_PAYLOAD,
    Auth,
    Compatibility,
    PayloadRules,
    RoleMap,
    Schema,
    Storage,
    Topic,
)
from aviso_core.units import QUANTITY_SUFFIXES, UnitError, parse_duration, parse_size

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from aviso_core.fields import AnyField

API_VERSION: Final = "aviso.dev/v1alpha1"
KIND: Final = "EventSchema"

FieldKind: TypeAlias = Literal[
    "String", "Enum", "Date", "Time", "Int", "Float", "Expver", "Polygon", "PointCloud"
]
DeletionPolicy: TypeAlias = Literal["Retain", "Delete"]
ReconcilePolicy: TypeAlias = Literal["Enforce", "Observe", "Paused"]

_Whole: TypeAlias = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]


class _Part(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A part of a manifest: keys in camel case, unknown ones refused."""


class TopicPart(_Part, frozen=True, kw_only=True):
    """`topic`: the root of stored subjects and the identifiers that follow it, in order. Cannot be changed."""

    base: str
    key_order: tuple[str, ...]


class StringPart(_Part, frozen=True, kw_only=True):
    """`string`: the longest value in UTF-8 bytes, and an RE2 pattern."""

    max_length: Annotated[int, Meta(ge=1, le=256)] | None = None
    pattern: str | None = None


class EnumPart(_Part, frozen=True, kw_only=True):
    """`enum`: the values, in any case. They may only be added to."""

    values: tuple[str, ...]


class IntPart(_Part, frozen=True, kw_only=True):
    """`int`: inclusive limits."""

    min: _Whole | None = None
    max: _Whole | None = None


class FloatPart(_Part, frozen=True, kw_only=True):
    """`float`: inclusive limits, as text."""

    min: str | None = None
    max: str | None = None


class DatePart(_Part, frozen=True, kw_only=True):
    """`date`: the format of stored days."""

    canonical_format: DateFormat = "%Y%m%d"


class ExpverPart(_Part, frozen=True, kw_only=True):
    """`expver`: what an explicitly empty value stands for."""

    default: str | None = None


class PointCloudPart(_Part, frozen=True, kw_only=True):
    """`pointCloud`: the most points of one notification."""

    max_points: Annotated[int, Meta(ge=1, le=MOST_POINTS)] = MOST_POINTS


class IdentifierPart(_Part, frozen=True, kw_only=True):
    """One of `identifiers`: its name and type, and the settings block of that type."""

    name: str
    type: FieldKind
    required: bool = False
    description: str = ""
    default: str | None = None
    string: StringPart | None = None
    enum: EnumPart | None = None
    int: IntPart | None = None
    float: FloatPart | None = None
    date: DatePart | None = None
    expver: ExpverPart | None = None
    point_cloud: PointCloudPart | None = None


class PayloadPart(_Part, frozen=True, kw_only=True):
    """`payload`: whether there must be one, its largest size, and its JSON Schema."""

    required: bool = False
    max_bytes: Annotated[int, Meta(ge=1, le=LARGEST_PAYLOAD)] = LARGEST_PAYLOAD
    json_schema: dict[str, Any] | None = None


class RolePart(_Part, frozen=True, kw_only=True):
    """One realm of a role list."""

    realm: str
    roles: tuple[str, ...]


class AuthPart(_Part, frozen=True, kw_only=True):
    """`auth`: whether a reader or writer must be known, and which roles may. Required unless it says otherwise."""

    required: bool = True
    read: tuple[RolePart, ...] = ()
    write: tuple[RolePart, ...] = ()
    plugins: tuple[str, ...] = ()


class StoragePart(_Part, frozen=True, kw_only=True):
    """`storage`: what the log keeps."""

    retention: str = "7d"
    max_messages: Annotated[int, Meta(ge=1, le=2**63 - 1)] | None = None
    max_bytes: str | None = None
    duplicate_window: str | None = None
    replicas: Literal[1, 3, 5] | None = None
    medium: Literal["File", "Memory"] = "File"
    duplicates: Literal["KeepAll", "LatestPerSubject"] = "KeepAll"
    compression: bool = False
    shrink: Literal["Reject", "Allow"] = "Reject"


class GeometryPart(_Part, frozen=True, kw_only=True):
    """`geometry`: what an edge from 179 to -179 means."""

    edges: Edges = "planar"


class Spec(_Part, frozen=True, kw_only=True):
    """`spec`: the event type. `eventType` is the manifest's name unless it says otherwise."""

    topic: TopicPart
    identifiers: tuple[IdentifierPart, ...]
    event_type: str | None = None
    description: str = ""
    compatibility: Compatibility = "Backward"
    deletion_policy: DeletionPolicy = "Retain"
    reconcile_policy: ReconcilePolicy = "Enforce"
    payload: PayloadPart = PayloadPart()
    auth: AuthPart = AuthPart()
    storage: StoragePart = StoragePart()
    geometry: GeometryPart = GeometryPart()
    max_historical_notifications: Annotated[int, Meta(ge=1)] | None = None


class Metadata(msgspec.Struct, frozen=True, kw_only=True):
    """`metadata`, of which only the name matters here."""

    name: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A manifest. `status` is the operator's and is passed over."""

    api_version: Literal["aviso.dev/v1alpha1"]
    kind: Literal["EventSchema"]
    metadata: Metadata
    spec: Spec


def read_manifest(document: Mapping[str, object]) -> tuple[Schema | None, list[Fault]]:
    """Return the schema of a manifest, or None and everything that is wrong with the manifest itself."""
    manifest, faults = decode(Manifest, document)
    if manifest is None:
        return None, faults
    faults = [*_name_faults(manifest), *_spec_faults(manifest.spec)]
    return (None, faults) if faults else (_schema(manifest), [])


def event_type_of(manifest: Manifest) -> str:
    """Return the event type that a manifest declares."""
    return manifest.spec.event_type or manifest.metadata.name


# --- what the CRD's rules say, in the same words ---------------------------------------------------------

_NAME: Final = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)
_BASE: Final = re.compile(r"[a-z][a-z0-9_-]*", re.ASCII)
_DECIMAL: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?", re.ASCII)
_RESERVED: Final = (
    POINT_KEY,
    "payload",
    "from_id",
    "from_date",
    "to_id",
    "to_date",
    "event_type",
    "request_id",
)
# Type → the member that holds its settings, and how a manifest spells it.
_BLOCK_OF: Final = {
    "String": ("string", "string"),
    "Enum": ("enum", "enum"),
    "Int": ("int", "int"),
    "Float": ("float", "float"),
    "Date": ("date", "date"),
    "Expver": ("expver", "expver"),
    "PointCloud": ("point_cloud", "pointCloud"),
}
_PLUGINS: Final = ("ecpds",)
_SHORTEST_RETENTION: Final = 60
_LONGEST_RETENTION: Final = 87_600 * 3600
_SMALLEST_STREAM: Final = 1024 * 1024


def _fault(path: str, message: str, remedy: str) -> Fault:
    return Fault(path=path, message=message, remedy=remedy)


def _name_faults(manifest: Manifest) -> Iterator[Fault]:
    event_type = event_type_of(manifest)
    if not (_NAME.fullmatch(event_type) and len(event_type) <= 63):
        path = "spec.eventType" if manifest.spec.event_type else "metadata.name"
        yield _fault(
            path,
            f"'{event_type}' is no event type: [a-z][a-z0-9_]*, at most 63 characters",
            "set spec.eventType, for example with '_' where the name has '-'",
        )


def _spec_faults(spec: Spec) -> Iterator[Fault]:
    if not (_BASE.fullmatch(spec.topic.base) and len(spec.topic.base) <= 32):
        yield _fault(
            "spec.topic.base",
            f"'{spec.topic.base}' is no topic base: [a-z][a-z0-9_-]*, at most 32 characters",
            "choose another base",
        )
    if not 1 <= len(spec.topic.key_order) <= 16:
        yield _fault("spec.topic.keyOrder", "must name 1 to 16 identifiers", "route on the main ones")
    if not 1 <= len(spec.identifiers) <= 32:
        yield _fault("spec.identifiers", "must declare 1 to 32 identifiers", "declare the main ones")
    for place, identifier in enumerate(spec.identifiers):
        yield from _identifier_faults(identifier, f"spec.identifiers[{place}]", spec.topic.key_order)
    if not spec.auth.required and (spec.auth.read or spec.auth.write):
        yield _fault("spec.auth", "role lists need auth.required: true", "remove the lists or require auth")
    if not spec.auth.required and spec.auth.plugins:
        yield _fault("spec.auth.plugins", "plugins need auth.required: true", "remove them or require auth")
    for name in spec.auth.plugins:
        if name not in _PLUGINS:
            yield _fault("spec.auth.plugins", f"'{name}' is no plugin", f"write one of {', '.join(_PLUGINS)}")
    yield from _role_faults("spec.auth.read", spec.auth.read)
    yield from _role_faults("spec.auth.write", spec.auth.write)
    yield from _storage_faults(spec.storage)


def _identifier_faults(part: IdentifierPart, path: str, key_order: tuple[str, ...]) -> Iterator[Fault]:
    if not (_NAME.fullmatch(part.name) and len(part.name) <= 32):
        yield _fault(
            f"{path}.name",
            f"'{part.name}' is no identifier name: [a-z][a-z0-9_]*, at most 32 characters",
            "rename it",
        )
    if part.name in _RESERVED:
        yield _fault(f"{path}.name", f"identifier name '{part.name}' is reserved", "rename it")
    if part.name in key_order and part.type in ("Polygon", "PointCloud"):
        yield _fault(
            "spec.topic.keyOrder",
            f"a {part.type} identifier cannot be routed on: remove it from topic.keyOrder",
            "it is stored beside the topic and filterable all the same",
        )
    for kind, (member, block) in _BLOCK_OF.items():
        if getattr(part, member) is not None and part.type != kind:
            yield _fault(f"{path}.{block}", f"{block} settings need type {kind}", "remove them")
    if part.type == "Enum" and part.enum is None:
        yield _fault(f"{path}.enum", "type Enum needs enum.values", "list the values")
    yield from _float_faults(part.float, path)


def _float_faults(part: FloatPart | None, path: str) -> Iterator[Fault]:
    for name in ("min", "max"):
        text = getattr(part, name) if part else None
        if text is not None and not _DECIMAL.fullmatch(text):
            yield _fault(
                f"{path}.float.{name}", f"'{text}' is no decimal number", "write digits, such as '0.5'"
            )


def _role_faults(path: str, parts: tuple[RolePart, ...]) -> Iterator[Fault]:
    seen = set()
    for place, part in enumerate(parts):
        if part.realm in seen:
            yield _fault(f"{path}[{place}].realm", f"realm '{part.realm}' is listed twice", "merge the two")
        seen.add(part.realm)
        if not part.roles:
            yield _fault(
                f"{path}[{place}].roles", "must not be empty", "list roles, or '*' for all of the realm"
            )


def _storage_faults(part: StoragePart) -> Iterator[Fault]:
    retention = _duration(part.retention)
    if retention is None or not _SHORTEST_RETENTION <= retention <= _LONGEST_RETENTION:
        yield _fault(
            "spec.storage.retention", "retention must be 1m to 10 years", "write it such as 12h or 7d"
        )
    if part.duplicate_window is not None and _duration(part.duplicate_window) is None:
        yield _fault(
            "spec.storage.duplicateWindow", f"'{part.duplicate_window}' is no duration", "write it such as 2m"
        )
    if part.max_bytes is not None:
        size = _size(part.max_bytes)
        if size is None or size <= _SMALLEST_STREAM:
            yield _fault(
                "spec.storage.maxBytes", f"'{part.max_bytes}' is not a size over 1Mi", "write it such as 10Gi"
            )
    if part.medium == "Memory" and part.compression:
        yield _fault("spec.storage.compression", "compression needs File storage", "remove one of them")


def _duration(text: str) -> int | None:
    try:
        # The CRD takes lower case only, so that the API server and a folder agree.
        return parse_duration(text) if text == text.lower() else None
    except UnitError:
        return None


def _size(text: str) -> int | None:
    try:
        return parse_size(text, suffixes=QUANTITY_SUFFIXES)
    except UnitError:
        return None


# --- manifest → schema -----------------------------------------------------------------------------------


def _schema(manifest: Manifest) -> Schema:
    spec = manifest.spec
    return Schema(
        event_type=event_type_of(manifest),
        description=spec.description,
        topic=Topic(base=spec.topic.base, key_order=spec.topic.key_order),
        fields=tuple(map(_field, spec.identifiers)),
        payload=PayloadRules(
            required=spec.payload.required,
            max_bytes=spec.payload.max_bytes,
            json_schema=spec.payload.json_schema,
        ),
        auth=_auth(spec.auth),
        storage=_storage(spec.storage),
        max_historical_notifications=spec.max_historical_notifications,
        edges=spec.geometry.edges,
        compatibility=spec.compatibility,
    )


def _field(part: IdentifierPart) -> AnyField:
    common: dict[str, Any] = {
        "name": part.name,
        "required": part.required,
        "description": part.description,
        "default": part.default,
    }
    match part.type:
        case "String":
            settings = part.string or StringPart()
            return TextField(max_length=settings.max_length, pattern=settings.pattern, **common)
        case "Enum":
            return ChoiceField(values=part.enum.values if part.enum else (), **common)
        case "Date":
            return DateField(canonical_format=(part.date or DatePart()).canonical_format, **common)
        case "Time":
            return TimeField(**common)
        case "Int":
            whole = part.int or IntPart()
            return IntegerField(minimum=whole.min, maximum=whole.max, **common)
        case "Float":
            real = part.float or FloatPart()
            return RealField(minimum=_number(real.min), maximum=_number(real.max), **common)
        case "Expver":
            return ExpverField(empty_default=(part.expver or ExpverPart()).default, **common)
        case "Polygon":
            return PolygonField(**common)
        case "PointCloud":
            return PointCloudField(max_points=(part.point_cloud or PointCloudPart()).max_points, **common)


def _number(text: str | None) -> float | None:
    return None if text is None else float(text)


def _auth(part: AuthPart) -> Auth:
    return Auth(
        required=part.required,
        read_roles=_role_map(part.read),
        write_roles=_role_map(part.write),
        plugins=part.plugins or None,
    )


def _role_map(parts: tuple[RolePart, ...]) -> RoleMap | None:
    return {part.realm: part.roles for part in parts} or None


def _storage(part: StoragePart) -> Storage:
    return Storage(
        retention_seconds=_duration(part.retention),
        max_messages=part.max_messages,
        max_bytes=None if part.max_bytes is None else _size(part.max_bytes),
        duplicate_window_seconds=None if part.duplicate_window is None else _duration(part.duplicate_window),
        replicas=part.replicas,
        medium=part.medium,
        keep_all=part.duplicates == "KeepAll",
        compression=part.compression,
        shrink=part.shrink,
    )
