"""Whether a schema can be served: every fault of it, not just the first.

The texts are the reference's where it has the same rule; it refuses to start with them, and so do we. One of its
rules is not here: identifiers outside the key order are allowed, they are kept with the event instead of in its topic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aviso_core.errors import Fault, InvalidIdentifier
from aviso_core.fields import AnyField, SpatialField
from aviso_core.fields.point_cloud import POINT_CLOUD_KEY, PointCloudField
from aviso_core.fields.polygon import POLYGON_KEY, PolygonField
from aviso_core.schema.model import LARGEST_PAYLOAD, PayloadRules, Schema, Storage
from aviso_core.schema.payload import JsonSchemaRefused, compile_json_schema
from aviso_core.topic.base import BASE_RULE, is_base

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

POINT_KEY = "point"


def check_schema(schema: Schema) -> list[Fault]:
    """Return the faults of one schema, in reading order."""
    return [
        *_base_faults(schema),
        *_key_order_faults(schema),
        *_name_faults(schema),
        *_geometry_faults(schema),
        *(fault for field in schema.fields for fault in _field_faults(schema, field)),
        *_payload_faults(schema, schema.payload),
        *_storage_faults(schema, schema.storage),
        *_limit_faults(schema),
    ]


def check_together(schemas: Iterable[Schema]) -> list[Fault]:
    """Return the faults that schemas have only beside each other: two of one name, two of one base."""
    faults: list[Fault] = []
    by_base: dict[str, Schema] = {}
    for schema in sorted(schemas, key=lambda schema: schema.event_type):
        other = by_base.setdefault(schema.base.lower(), schema)
        if other is schema:
            continue
        if other.event_type == schema.event_type:
            faults.append(
                _fault(
                    schema, "", f"Event type '{schema.event_type}' is declared twice", "remove one of them"
                )
            )
        else:
            faults.append(
                _fault(
                    schema,
                    "topic.base",
                    f"Schemas '{other.event_type}' and '{schema.event_type}' "
                    f"both define topic base '{schema.base}'",
                    "give each event type a base of its own; upper and lower case are the same",
                )
            )
    return faults


def _fault(schema: Schema, path: str, message: str, remedy: str) -> Fault:
    return Fault(
        path=f"{schema.event_type}.{path}" if path else schema.event_type, message=message, remedy=remedy
    )


def _says(schema: Schema, path: str, text: str, remedy: str) -> Fault:
    return _fault(schema, path, f"Schema '{schema.event_type}' {text}", remedy)


def _base_faults(schema: Schema) -> Iterator[Fault]:
    if not is_base(schema.base):
        yield _says(
            schema,
            "topic.base" if schema.topic else "",
            f"has invalid topic base: {BASE_RULE}",
            "begin with a letter or digit, go on with letters, digits, '_' and '-'"
            if schema.topic
            else "declare a topic with a base, or rename the event type",
        )


def _key_order_faults(schema: Schema) -> Iterator[Fault]:
    if schema.topic is None:
        return
    path = "topic.key_order"
    if not schema.topic.key_order:
        yield _says(schema, path, "topic.key_order must not be empty", "name at least one identifier")
    seen = set()
    for name in schema.topic.key_order:
        if name in seen:
            yield _says(
                schema, path, f"topic.key_order contains duplicate identifier '{name}'", "name it once"
            )
        elif name == POINT_CLOUD_KEY and schema.field(name) is not None:
            yield _says(
                schema,
                path,
                f"topic.key_order must not contain reserved spatial key '{name}'",
                "leave it out: a point cloud is stored beside the topic",
            )
        elif schema.field(name) is None:
            yield _says(
                schema,
                path,
                f"topic.key_order contains undeclared identifier '{name}'",
                "declare the identifier or leave it out",
            )
        seen.add(name)


def _name_faults(schema: Schema) -> Iterator[Fault]:
    seen = set()
    for field in schema.fields:
        path = f"identifier.{field.name}"
        if field.name in seen:
            yield _says(schema, path, f"declares identifier '{field.name}' twice", "remove one of them")
        seen.add(field.name)
        if field.name == POINT_KEY:
            yield _says(
                schema,
                path,
                f"must not declare identifier '{POINT_KEY}': it is the filter of watch and replay",
                "rename it: no publisher could send it",
            )
        if not field.name:
            yield _says(schema, path, "has an identifier without a name", "name it")


def _geometry_faults(schema: Schema) -> Iterator[Fault]:
    clouds = [field for field in schema.fields if isinstance(field, PointCloudField)]
    for field in schema.fields:
        yield from _reserved_name_faults(schema, field, has_cloud=bool(clouds))
    if len(clouds) > 1:
        yield _says(schema, "identifier", "may define only one PointCloudHandler", "keep one of them")
    if clouds and schema.topic is None:
        yield _says(
            schema,
            "topic",
            "uses PointCloudHandler and must define topic configuration",
            "add topic.base and topic.key_order",
        )


def _reserved_name_faults(schema: Schema, field: AnyField, *, has_cloud: bool) -> Iterator[Fault]:
    path = f"identifier.{field.name}"
    if isinstance(field, PolygonField) and field.name != POLYGON_KEY:
        yield _says(
            schema,
            path,
            "PolygonHandler must use the reserved identifier key 'polygon'; "
            "multiple or renamed geometries are not supported",
            "call the identifier 'polygon'",
        )
    if isinstance(field, PointCloudField) and field.name != POINT_CLOUD_KEY:
        yield _says(
            schema,
            path,
            "PointCloudHandler must use the reserved identifier key 'point_cloud'",
            "call the identifier 'point_cloud'",
        )
    if field.name == POLYGON_KEY and has_cloud:
        yield _says(
            schema,
            path,
            "uses PointCloudHandler, so 'polygon' is reserved for watch/replay filters and must not be declared",
            "remove 'polygon': readers may send it without a declaration",
        )
    elif field.name == POLYGON_KEY and not isinstance(field, PolygonField):
        yield _says(
            schema,
            path,
            "reserves identifier key 'polygon' for PolygonHandler",
            "rename it or make it a polygon",
        )
    if field.name == POINT_CLOUD_KEY and not isinstance(field, PointCloudField):
        yield _says(
            schema,
            path,
            "reserves identifier key 'point_cloud' for PointCloudHandler",
            "rename it or make it a point cloud",
        )


def _field_faults(schema: Schema, field: AnyField) -> Iterator[Fault]:
    path = f"identifier.{field.name}"
    for text, remedy in field.faults():
        # The contract's one text of this kind names the point cloud without the word in front.
        subject = field.name if isinstance(field, PointCloudField) else f"identifier '{field.name}'"
        yield _says(schema, path, f"{subject} {text}", remedy)
    if field.default is not None:
        yield from _default_faults(schema, field, field.default)


def _default_faults(schema: Schema, field: AnyField, default: str) -> Iterator[Fault]:
    path = f"identifier.{field.name}.default"
    if isinstance(field, SpatialField):
        yield _says(schema, path, f"identifier '{field.name}' cannot have a default", "remove it")
        return
    try:
        canonical = field.canonical(default)
    except InvalidIdentifier as refusal:
        yield _says(
            schema, path, f"has a default that it refuses: {refusal.details}", "set an accepted value"
        )
        return
    if canonical != default:
        yield _says(
            schema,
            path,
            f"identifier '{field.name}' has the default '{default}' whose canonical form is '{canonical}'",
            f"write '{canonical}'",
        )


def _payload_faults(schema: Schema, rules: PayloadRules | None) -> Iterator[Fault]:
    if rules is None:
        return
    if not 1 <= rules.max_bytes <= LARGEST_PAYLOAD:
        yield _says(
            schema,
            "payload.max_bytes",
            f"payload.max_bytes must be between 1 and {LARGEST_PAYLOAD}, got {rules.max_bytes}",
            "set a number in that range",
        )
    if rules.json_schema is not None:
        try:
            compile_json_schema(rules.json_schema)
        except JsonSchemaRefused as reason:
            yield _says(
                schema,
                "payload.json_schema",
                f"has a payload JSON Schema that cannot be used: {reason}",
                "mend the JSON Schema",
            )


def _storage_faults(schema: Schema, storage: Storage | None) -> Iterator[Fault]:
    if storage is None or storage == Storage():
        return
    if schema.topic is None:
        yield _says(
            schema,
            "topic",
            "has a storage policy and must define topic configuration",
            "add topic.base and topic.key_order",
        )
    window, retention = storage.duplicate_window_seconds, storage.retention_seconds
    if window is not None and retention is not None and window > retention:
        yield _says(
            schema,
            "storage.duplicate_window",
            f"storage.duplicate_window of {window}s is longer than the retention of {retention}s",
            "set at most the retention: what is gone cannot be recognised again",
        )
    if storage.medium == "Memory" and storage.compression:
        yield _says(
            schema, "storage.compression", "storage.compression needs file storage", "set one of them"
        )


def _limit_faults(schema: Schema) -> Iterator[Fault]:
    limit = schema.max_historical_notifications
    if limit is not None and limit < 1:
        yield _says(
            schema,
            "max_historical_notifications",
            f"max_historical_notifications must be positive, got {limit}",
            "set at least 1, or leave it out",
        )
