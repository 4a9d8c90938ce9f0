"""`notification_schema` of a configuration file, as the reference server reads it → schemas.

Its blocks refuse unknown keys where a misspelt one would change what is accepted (`auth`, `payload`, an identifier)
and pass over them elsewhere. A missing `auth` block means public and a missing `payload` block an optional payload:
that is what the files of existing servers mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

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
from aviso_core.plain.decode import decode
from aviso_core.schema.model import Auth, PayloadRules, RoleMap, Schema, Storage, Topic
from aviso_core.units import CONFIGURATION_SUFFIXES, UnitError, parse_duration, parse_size

if TYPE_CHECKING:
    from aviso_core.fields import AnyField


class _Block(msgspec.Struct, frozen=True, kw_only=True):
    """A block in which unknown keys are passed over."""


class _StrictBlock(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A block in which unknown keys are refused."""


class _Identifier(_StrictBlock, frozen=True, kw_only=True):
    type: str
    required: bool
    description: str = ""


class _StringIdentifier(_Identifier, frozen=True, kw_only=True):
    max_length: int | None = None


class _DateIdentifier(_Identifier, frozen=True, kw_only=True):
    canonical_format: DateFormat = "%Y%m%d"


class _EnumIdentifier(_Identifier, frozen=True, kw_only=True):
    values: tuple[str, ...]


class _IntIdentifier(_Identifier, frozen=True, kw_only=True):
    range: tuple[int, ...] | None = None


class _FloatIdentifier(_Identifier, frozen=True, kw_only=True):
    range: tuple[float, ...] | None = None


class _ExpverIdentifier(_Identifier, frozen=True, kw_only=True):
    default: str | None = None


class _PointCloudIdentifier(_Identifier, frozen=True, kw_only=True):
    max_points: int = MOST_POINTS


_HANDLERS: Final[dict[str, type[_Identifier]]] = {
    "StringHandler": _StringIdentifier,
    "DateHandler": _DateIdentifier,
    "TimeHandler": _Identifier,
    "EnumHandler": _EnumIdentifier,
    "IntHandler": _IntIdentifier,
    "FloatHandler": _FloatIdentifier,
    "ExpverHandler": _ExpverIdentifier,
    "PolygonHandler": _Identifier,
    "PointCloudHandler": _PointCloudIdentifier,
}


class _Topic(_Block, frozen=True, kw_only=True):
    base: str
    key_order: tuple[str, ...]


class _Payload(_StrictBlock, frozen=True, kw_only=True):
    required: bool


class _Auth(_StrictBlock, frozen=True, kw_only=True):
    required: bool
    read_roles: dict[str, tuple[str, ...]] | None = None
    write_roles: dict[str, tuple[str, ...]] | None = None
    plugins: tuple[str, ...] | None = None


class _StoragePolicy(_Block, frozen=True, kw_only=True):
    retention_time: str | None = None
    max_messages: int | None = None
    max_size: str | None = None
    allow_duplicates: bool | None = None
    compression: bool | None = None


class _EventType(_Block, frozen=True, kw_only=True):
    identifier: Mapping[str, object]
    topic: _Topic | None = None
    payload: _Payload | None = None
    auth: _Auth | None = None
    storage_policy: _StoragePolicy | None = None
    max_historical_notifications: int | None = None


def read_notification_schema(
    block: Mapping[str, object], *, path: str = "notification_schema"
) -> tuple[tuple[Schema, ...], list[Fault]]:
    """Return the schemas of the block, and everything that is wrong with those that cannot be read."""
    readings = [_read_event_type(str(name), value, f"{path}.{name}") for name, value in block.items()]
    schemas = tuple(schema for schema, _ in readings if schema is not None)
    return schemas, [fault for _, faults in readings for fault in faults]


def _read_event_type(name: str, value: object, path: str) -> tuple[Schema | None, list[Fault]]:
    read, faults = decode(_EventType, value, path=path)
    fields, field_faults = _read_fields(value, f"{path}.identifier")
    faults = [*faults, *field_faults]
    if read is None or faults:
        return None, faults
    storage, faults = _read_storage(read.storage_policy, f"{path}.storage_policy")
    if faults:
        return None, faults
    schema = Schema(
        event_type=name,
        topic=Topic(base=read.topic.base, key_order=read.topic.key_order) if read.topic else None,
        fields=fields,
        payload=PayloadRules(required=read.payload.required) if read.payload else None,
        auth=_auth(read.auth),
        storage=storage,
        max_historical_notifications=read.max_historical_notifications,
    )
    return schema, []


def _read_fields(value: object, path: str) -> tuple[tuple[AnyField, ...], list[Fault]]:
    block = value.get("identifier") if isinstance(value, Mapping) else None
    if not isinstance(block, Mapping):
        return (), []
    readings = [_read_field(str(name), item, f"{path}.{name}") for name, item in block.items()]
    fields = tuple(field for field, _ in readings if field is not None)
    return fields, [fault for _, faults in readings for fault in faults]


def _read_field(name: str, value: object, path: str) -> tuple[AnyField | None, list[Fault]]:
    handler = value.get("type") if isinstance(value, Mapping) else None
    shape = _HANDLERS.get(handler) if isinstance(handler, str) else None
    if isinstance(handler, str) and shape is None:
        remedy = f"write one of {', '.join(_HANDLERS)}"
        return None, [Fault(path=f"{path}.type", message=f"'{handler}' is no handler", remedy=remedy)]
    read, faults = decode(shape or _Identifier, value, path=path)
    if read is None:
        return None, faults
    faults = list(_range_faults(read, path))
    return (None, faults) if faults else (_field(name, read), [])


def _range_faults(read: _Identifier, path: str) -> Iterator[Fault]:
    if (
        isinstance(read, _IntIdentifier | _FloatIdentifier)
        and read.range is not None
        and len(read.range) != 2
    ):
        yield Fault(
            path=f"{path}.range",
            message=f"has {len(read.range)} numbers instead of 2",
            remedy="write [lowest, highest]",
        )


def _field(name: str, read: _Identifier) -> AnyField:
    common: dict[str, Any] = {"name": name, "required": read.required, "description": read.description}
    match read:
        case _StringIdentifier():
            return TextField(max_length=read.max_length, **common)
        case _DateIdentifier():
            return DateField(canonical_format=read.canonical_format, **common)
        case _EnumIdentifier():
            return ChoiceField(values=read.values, **common)
        case _IntIdentifier():
            low, high = read.range or (None, None)
            return IntegerField(minimum=low, maximum=high, **common)
        case _FloatIdentifier():
            least, most = read.range or (None, None)
            return RealField(minimum=least, maximum=most, **common)
        case _ExpverIdentifier():
            return ExpverField(empty_default=read.default, **common)
        case _PointCloudIdentifier():
            return PointCloudField(max_points=read.max_points, **common)
        case _ if read.type == "TimeHandler":
            return TimeField(**common)
        case _:
            return PolygonField(**common)


def _auth(read: _Auth | None) -> Auth | None:
    if read is None:
        return None
    return Auth(
        required=read.required,
        read_roles=_role_map(read.read_roles),
        write_roles=_role_map(read.write_roles),
        plugins=read.plugins,
    )


def _role_map(read: RoleMap | None) -> RoleMap | None:
    return None if read is None else dict(read)


def _read_storage(read: _StoragePolicy | None, path: str) -> tuple[Storage | None, list[Fault]]:
    if read is None:
        return None, []
    retention, faults = _positive(read.retention_time, parse_duration, f"{path}.retention_time")
    size, size_faults = _positive(read.max_size, _configured_size, f"{path}.max_size")
    faults += size_faults
    if read.max_messages is not None and read.max_messages <= 0:
        faults.append(
            Fault(path=f"{path}.max_messages", message="must be greater than zero", remedy="set at least 1")
        )
    storage = Storage(
        retention_seconds=retention,
        max_messages=read.max_messages,
        max_bytes=size,
        keep_all=read.allow_duplicates,
        compression=read.compression,
    )
    return (None if faults else storage), faults


def _positive(text: str | None, parse: Any, path: str) -> tuple[int | None, list[Fault]]:
    if text is None:
        return None, []
    try:
        value: int = parse(text)
    except UnitError as reason:
        return None, [Fault(path=path, message=str(reason))]
    if value == 0:
        return None, [Fault(path=path, message="must be greater than zero", remedy="set it higher")]
    return value, []


def _configured_size(text: str) -> int:
    return parse_size(text, suffixes=CONFIGURATION_SUFFIXES)
