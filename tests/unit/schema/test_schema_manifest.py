"""Manifests of `EventSchema` resources: what they say, and what is refused with which words."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from aviso_core.fields.choice import ChoiceField
from aviso_core.fields.integer import IntegerField
from aviso_core.fields.polygon import PolygonField
from aviso_core.fields.real import RealField
from aviso_core.fields.text import TextField
from aviso_core.plain.yaml_mapping import read_mapping
from aviso_core.schema.check import check_schema
from aviso_core.schema.manifest import read_manifest
from aviso_core.schema.model import Auth, PayloadRules, Schema, Storage, Topic

WEATHER = b"""
apiVersion: aviso.dev/v1alpha1
kind: EventSchema
metadata:
  name: weather-alert
  labels: {team: warnings}
spec:
  eventType: weather_alert
  description: Warnings of the weather service
  topic:
    base: alert
    keyOrder: [country, severity]
  identifiers:
    - {name: country, type: Enum, required: true, enum: {values: [no, SE, fi]}}
    - {name: severity, type: Int, int: {min: 1, max: 7}, description: Seven is worst}
    - {name: wind, type: Float, float: {min: "0", max: "150.5"}, default: "0"}
    - {name: issuer, type: String, string: {maxLength: 8, pattern: "^[a-z]+$"}, default: met}
    - {name: polygon, type: Polygon}
  payload: {required: true, maxBytes: 1000, jsonSchema: {type: object, default: null}}
  auth: {required: true, read: [{realm: main, roles: [reader, "*"]}]}
  storage: {retention: 30d, maxBytes: 10Gi, duplicateWindow: 5m, replicas: 3, duplicates: LatestPerSubject}
  geometry: {edges: wrapped}
  maxHistoricalNotifications: 500
status: {revision: 3}
"""


def _document(text: bytes = WEATHER) -> dict[str, Any]:
    document, fault = read_mapping(text, name="weather.yaml")
    assert fault is None
    return document


def _read(document: dict[str, Any]) -> Schema:
    schema, faults = read_manifest(document)
    assert faults == []
    assert schema is not None
    return schema


def test_a_manifest_becomes_a_schema() -> None:
    """Every member of the manifest has its place in the schema, fields in the order of the manifest."""
    schema = _read(_document())
    assert schema == Schema(
        event_type="weather_alert",
        description="Warnings of the weather service",
        topic=Topic(base="alert", key_order=("country", "severity")),
        fields=(
            ChoiceField(name="country", required=True, values=("no", "SE", "fi")),
            IntegerField(name="severity", minimum=1, maximum=7, description="Seven is worst"),
            RealField(name="wind", minimum=0.0, maximum=150.5, default="0"),
            TextField(name="issuer", max_length=8, pattern="^[a-z]+$", default="met"),
            PolygonField(name="polygon"),
        ),
        payload=PayloadRules(required=True, max_bytes=1000, json_schema={"type": "object", "default": None}),
        auth=Auth(required=True, read_roles={"main": ("reader", "*")}),
        storage=Storage(
            retention_seconds=30 * 86_400,
            max_bytes=10 * 1024**3,
            duplicate_window_seconds=300,
            replicas=3,
            medium="File",
            keep_all=False,
            compression=False,
        ),
        max_historical_notifications=500,
        edges="wrapped",
        compatibility="Backward",
    )
    assert check_schema(schema) == []


def test_what_a_manifest_leaves_out() -> None:
    """Authentication is asked for, everything is kept for a week, and the name is the event type."""
    schema = _read(
        _document(
            b"""
            apiVersion: aviso.dev/v1alpha1
            kind: EventSchema
            metadata: {name: storm}
            spec:
              topic: {base: storm, keyOrder: [basin]}
              identifiers: [{name: basin, type: String}]
            """
        )
    )
    assert schema.event_type == "storm"
    assert schema.auth == Auth(required=True)
    assert schema.storage == Storage(
        retention_seconds=7 * 86_400, medium="File", keep_all=True, compression=False
    )
    assert schema.payload == PayloadRules()
    assert schema.edges == "planar"


IDENTIFIERS = "spec.identifiers"

# (what is changed, to what) → (path of the fault, what its message says)
REFUSALS = [
    (("apiVersion",), "aviso.dev/v1", "apiVersion", "not one of the choices"),
    (("metadata", "name"), "a_b", "metadata.name", "'a_b' is no name of an object"),
    (("metadata", "name"), "w" * 64, "metadata.name", "must have at most 63 characters"),
    (("kind",), "EventSchemas", "kind", "not one of the choices"),
    (("metadata", "name"), None, "metadata.name", "is required and has no value"),
    (("spec", "eventType"), "weather-alert", "spec.eventType", "'weather-alert' is no event type"),
    (("spec", "eventType"), "x" * 64, "spec.eventType", "at most 63 characters"),
    (("spec", "topik"), {}, "spec.topik", "is not a known setting"),
    (("spec", "topic"), None, "spec.topic.base", "is required and has no value"),
    (("spec", "topic", "base"), "Alert", "spec.topic.base", "'Alert' is no topic base"),
    (("spec", "topic", "base"), "a.b", "spec.topic.base", "'a.b' is no topic base"),
    (("spec", "topic", "keyOrder"), [], "spec.topic.keyOrder", "must not be empty"),
    (("spec", "topic", "keyOrder"), ["polygon"], "spec.topic.keyOrder", "cannot be routed on: remove 'polygon'"),
    ((IDENTIFIERS,), [], "spec.identifiers", "must not be empty"),
    ((IDENTIFIERS, 0, "name"), "Country", "spec.identifiers[0].name", "'Country' is no identifier name"),
    ((IDENTIFIERS, 0, "name"), "payload", "spec.identifiers[0].name", "identifier name 'payload' is reserved"),
    ((IDENTIFIERS, 0, "name"), "point", "spec.identifiers[0].name", "identifier name 'point' is reserved"),
    ((IDENTIFIERS, 0, "type"), "Text", "spec.identifiers[0].type", "not one of the choices"),
    ((IDENTIFIERS, 0, "enum"), None, "spec.identifiers[0].enum", "type Enum needs enum.values"),
    ((IDENTIFIERS, 0, "int"), {"min": 1}, "spec.identifiers[0].int", "int settings need type Int"),
    ((IDENTIFIERS, 0, "pointCloud"), {}, "spec.identifiers[0].pointCloud", "pointCloud settings need type PointCloud"),
    ((IDENTIFIERS, 1, "int", "min"), "one", "spec.identifiers[1].int.min", "is not a whole number"),
    ((IDENTIFIERS, 2, "float", "max"), "1e3", "spec.identifiers[2].float.max", "'1e3' is no decimal number"),
    ((IDENTIFIERS, 3, "string", "maxLength"), 257, "spec.identifiers[3].string.maxLength", "is too large"),
    (("spec", "payload", "maxBytes"), 262_145, "spec.payload.maxBytes", "is too large"),
    (("spec", "auth", "required"), False, "spec.auth", "role lists need auth.required: true"),
    (("spec", "auth", "read", 0, "roles"), [], "spec.auth.read[0].roles", "must not be empty"),
    (("spec", "storage", "retention"), "30s", "spec.storage.retention", "retention must be 1m to 10 years"),
    (("spec", "storage", "retention"), "7D", "spec.storage.retention", "'7D' is no duration"),
    (("spec", "storage", "retention"), "1y", "spec.storage.retention", "'1y' is no duration"),
    (("spec", "storage", "maxBytes"), "10GB", "spec.storage.maxBytes", "'10GB' is no size"),
    (("spec", "storage", "maxBytes"), 1024, "spec.storage.maxBytes", "maxBytes must be over 1Mi"),
    (("spec", "storage", "duplicateWindow"), "soon", "spec.storage.duplicateWindow", "'soon' is no duration"),
    (("spec", "storage", "duplicateWindow"), "0s", "spec.storage.duplicateWindow", "must be 1s up to the retention"),
    (("spec", "storage", "duplicateWindow"), "31d", "spec.storage.duplicateWindow", "must be 1s up to the retention"),
    (("spec", "storage", "maxBytes"), "9999Ti", "spec.storage.maxBytes", "1024Ti at most"),
    (("spec", "storage", "maxBytes"), -1, "spec.storage.maxBytes", "maxBytes must be over 1Mi"),
    (("spec", "storage", "compression"), "no", "spec.storage.compression", "neither true nor false"),
    (("spec", "auth", "plugins"), ["ecpds", "ecpds"], "spec.auth.plugins[1]", "'ecpds' is listed twice"),
    (("spec", "auth", "write"), [], "spec.auth.write", "must not be empty"),
    (("spec", "topic", "keyOrder"), ["country", "place"], "spec.topic.keyOrder", "'place' does not"),
    (("spec", "topic", "keyOrder"), ["country", "country"], "spec.topic.keyOrder", "names an identifier twice"),
    ((IDENTIFIERS, 1, "name"), "country", "spec.identifiers[1].name", "'country' is listed twice"),
    ((IDENTIFIERS, 1, "int"), {"min": 2, "max": 1}, "spec.identifiers[1].int", "int.min must not exceed int.max"),
    ((IDENTIFIERS, 2, "float"), {"min": "2", "max": "-1"}, "spec.identifiers[2].float", "must not exceed float.max"),
    ((IDENTIFIERS, 0, "enum"), {"values": ["a", "a"]}, "spec.identifiers[0].enum.values[1]", "'a' is listed twice"),
    ((IDENTIFIERS, 4, "name"), "area", "spec.identifiers[4].name", "of type Polygon is called 'polygon'"),
    ((IDENTIFIERS, 3, "name"), "point_cloud", "spec.identifiers[3].name", "of type PointCloud is called 'point_cloud'"),
    ((IDENTIFIERS, 4, "default"), "0,0", "spec.identifiers[4].default", "a shape cannot have a default"),
    (
        (IDENTIFIERS, 3), {"name": "point_cloud", "type": "PointCloud"}, "spec.identifiers",
        "one shape: polygon or point_cloud, not both",
    ),
    (("spec", "storage", "replicas"), 2, "spec.storage.replicas", "not one of the choices"),
    (("spec", "geometry", "edges"), "round", "spec.geometry.edges", "not one of the choices"),
    (("spec", "maxHistoricalNotifications"), 0, "spec.maxHistoricalNotifications", "is too small"),
    (("spec", "compatibility"), "Forward", "spec.compatibility", "not one of the choices"),
]  # fmt: skip


@pytest.mark.parametrize(("steps", "value", "path", "message"), REFUSALS)
def test_a_manifest_is_refused_with_the_path_and_the_reason(
    steps: tuple[str | int, ...], value: object, path: str, message: str
) -> None:
    document = deepcopy(_document())
    *parents, last = [
        step for part in steps for step in (part.split(".") if isinstance(part, str) else [part])
    ]
    target: Any = document
    for step in parents:
        target = target[step]
    target[last] = value
    schema, faults = read_manifest(document)
    assert schema is None
    assert [fault for fault in faults if fault.path == path and message in fault.message]
    assert all(fault.remedy for fault in faults)


def test_all_faults_of_a_manifest_are_told_at_once() -> None:
    document = _document()
    document["spec"]["topic"]["base"] = "A"
    document["spec"]["storage"]["retention"] = "never"
    document["spec"]["identifiers"][1]["name"] = "Severity"
    _, faults = read_manifest(document)
    assert [fault.path for fault in faults] == [
        "spec.topic.base",
        "spec.identifiers[1].name",
        "spec.storage.retention",
        "spec.topic.keyOrder",
    ]
    assert all(fault.remedy for fault in faults)


@pytest.mark.parametrize(
    "junk", [{}, {"spec": 5}, {"spec": {"identifiers": [None]}}, {"spec": {"topic": []}}]
)
def test_anything_that_is_no_manifest_is_refused_in_words(junk: dict[str, Any]) -> None:
    schema, faults = read_manifest(junk)
    assert schema is None
    assert faults
