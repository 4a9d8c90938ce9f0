"""`EventSchema` manifests: the custom resource `aviso.dev/v1alpha1`, as people write it → the schema.

What the cluster's API server checks with the resource definition is checked here too, because the same manifests also
come from a plain folder, where nobody else looks at them. Their shape is in `manifest_parts`, what goes beyond the
shape of one member in `manifest_rules`; here is what they mean.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aviso_core.fields.calendar_date import DateField
from aviso_core.fields.choice import ChoiceField
from aviso_core.fields.expver import ExpverField
from aviso_core.fields.integer import IntegerField
from aviso_core.fields.point_cloud import PointCloudField
from aviso_core.fields.polygon import PolygonField
from aviso_core.fields.real import RealField
from aviso_core.fields.text import TextField
from aviso_core.fields.time_of_day import TimeField
from aviso_core.plain.bounds import bound_faults
from aviso_core.plain.decode import decode
from aviso_core.plain.scalar import exact
from aviso_core.schema.manifest_parts import (
    AuthPart,
    DatePart,
    ExpverPart,
    FloatPart,
    IdentifierPart,
    IntPart,
    Manifest,
    PointCloudPart,
    RolePart,
    StoragePart,
    StringPart,
    event_type_of,
)
from aviso_core.schema.manifest_rules import rule_faults, seconds, size
from aviso_core.schema.model import Auth, PayloadRules, RoleMap, Schema, Storage, Topic

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aviso_core.errors import Fault
    from aviso_core.fields import AnyField


def read_manifest(document: Mapping[str, object]) -> tuple[Schema | None, list[Fault]]:
    """Return the schema of a manifest, or None and everything that is wrong with the manifest itself."""
    manifest, faults = decode(Manifest, document, scalar=exact)
    if manifest is None:
        return None, faults
    faults = [*bound_faults(manifest), *rule_faults(manifest)]
    return (None, faults) if faults else (_schema(manifest), [])


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
        plugins=part.plugins,
    )


def _role_map(parts: tuple[RolePart, ...] | None) -> RoleMap | None:
    return None if parts is None else {part.realm: part.roles for part in parts}


def _storage(part: StoragePart) -> Storage:
    return Storage(
        retention_seconds=seconds(part.retention),
        max_messages=part.max_messages,
        max_bytes=size(part.max_bytes),
        duplicate_window_seconds=seconds(part.duplicate_window),
        replicas=part.replicas,
        medium=part.medium,
        keep_all=part.duplicates == "KeepAll",
        compression=part.compression,
        shrink=part.shrink,
    )
