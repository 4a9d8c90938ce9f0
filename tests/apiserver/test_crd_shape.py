"""The shape of an object: what the API server refuses by it, a folder of manifests refuses at the same member."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pytest
from kubernetes.client.exceptions import ApiException

from apiserver.specs import GONE, NAME, Change, changed
from aviso_core.schema.manifest import read_manifest
from support.cluster_objects import document, refusal_of

if TYPE_CHECKING:
    from support.cluster_objects import EventSchemas


def _many(count: int) -> list[dict[str, Any]]:
    return [{"name": f"f{number}", "type": "Time"} for number in range(count)]


def _keyed(count: int) -> Change:
    return {"identifiers": _many(count), "topic.keyOrder": [f"f{number}" for number in range(count)]}


def _roles(count: int) -> list[dict[str, Any]]:
    return [{"realm": f"r{number}", "roles": ["a"]} for number in range(count)]


_TEXT: Final = {"name": "more", "type": "String"}

# What is taken, what is not, and the member that is at fault then.
SHAPES: Final[list[tuple[Change, Change, str]]] = [
    ({"eventType": "x" * 63}, {"eventType": "x" * 64}, "spec.eventType"),
    ({"eventType": "x9_"}, {"eventType": "X"}, "spec.eventType"),
    ({}, {"eventType": ""}, "spec.eventType"),
    ({}, {"eventType": "x\n"}, "spec.eventType"),
    ({}, {"topic": GONE}, "spec.topic"),
    ({}, {"topic.base": GONE}, "spec.topic.base"),
    ({"topic.base": "b" * 32}, {"topic.base": "b" * 33}, "spec.topic.base"),
    ({"topic.base": "a-b_9"}, {"topic.base": "9"}, "spec.topic.base"),
    (_keyed(16), _keyed(17), "spec.topic.keyOrder"),
    ({}, {"topic.keyOrder": []}, "spec.topic.keyOrder"),
    ({}, {"topic.keyOrder.0": 5}, "spec.topic.keyOrder[0]"),
    ({"identifiers": _many(32), "topic.keyOrder": ["f0"]}, {"identifiers": _many(33), "topic.keyOrder": ["f0"]},
     "spec.identifiers"),
    ({}, {"identifiers": []}, "spec.identifiers"),
    ({}, {"identifiers.+": {"name": "note", "type": "Time"}}, "spec.identifiers[5]"),
    ({"identifiers.3.name": "n" * 32}, {"identifiers.3.name": "n" * 33}, "spec.identifiers[3].name"),
    ({"identifiers.3.name": "x"}, {"identifiers.3.name": "Note"}, "spec.identifiers[3].name"),
    ({}, {"identifiers.3.name": 7}, "spec.identifiers[3].name"),
    ({}, {"identifiers.3.type": "Text"}, "spec.identifiers[3].type"),
    ({"identifiers.3.required": False}, {"identifiers.3.required": "yes"}, "spec.identifiers[3].required"),
    ({}, {"identifiers.3.required": "true"}, "spec.identifiers[3].required"),
    ({"identifiers.3.description": "d" * 512}, {"identifiers.3.description": "d" * 513},
     "spec.identifiers[3].description"),
    ({"identifiers.3.default": "d" * 256}, {"identifiers.3.default": "d" * 257}, "spec.identifiers[3].default"),
    ({}, {"identifiers.1.default": 3}, "spec.identifiers[1].default"),
    ({"identifiers.3.string.maxLength": 256}, {"identifiers.3.string.maxLength": 257},
     "spec.identifiers[3].string.maxLength"),
    ({}, {"identifiers.3.string.maxLength": 0}, "spec.identifiers[3].string.maxLength"),
    ({"identifiers.3.string.maxLength": 5.0}, {"identifiers.3.string.maxLength": 5.5},
     "spec.identifiers[3].string.maxLength"),
    ({"identifiers.3.string.pattern": "p" * 256}, {"identifiers.3.string.pattern": "p" * 257},
     "spec.identifiers[3].string.pattern"),
    ({}, {"identifiers.0.enum": {}}, "spec.identifiers[0].enum.values"),
    ({"identifiers.0.enum.values": [f"v{n}" for n in range(128)]},
     {"identifiers.0.enum.values": [f"v{n}" for n in range(129)]}, "spec.identifiers[0].enum.values"),
    ({}, {"identifiers.0.enum.values": []}, "spec.identifiers[0].enum.values"),
    ({}, {"identifiers.0.enum.values": ["a", "a"]}, "spec.identifiers[0].enum.values[1]"),
    ({}, {"identifiers.0.enum.values": ["a", ""]}, "spec.identifiers[0].enum.values[1]"),
    ({}, {"identifiers.0.enum.values": ["a", False]}, "spec.identifiers[0].enum.values[1]"),
    ({"identifiers.0.enum.values": ["v" * 64]}, {"identifiers.0.enum.values": ["v" * 65]},
     "spec.identifiers[0].enum.values[0]"),
    ({"identifiers.1.int.max": 2**63 - 1}, {"identifiers.1.int.max": 2**63}, "spec.identifiers[1].int.max"),
    ({"identifiers.1.int.min": -(2**63)}, {"identifiers.1.int.min": "1"}, "spec.identifiers[1].int.min"),
    ({"identifiers.2.float.max": "1" * 24}, {"identifiers.2.float.max": "1" * 25}, "spec.identifiers[2].float.max"),
    ({"identifiers.2.float.max": "0.50"}, {"identifiers.2.float.max": "1e3"}, "spec.identifiers[2].float.max"),
    ({}, {"identifiers.2.float.max": 1.5}, "spec.identifiers[2].float.max"),
    ({"identifiers.+": {**_TEXT, "type": "Date", "date": {}}},
     {"identifiers.+": {**_TEXT, "type": "Date", "date": {"canonicalFormat": "%d"}}},
     "spec.identifiers[5].date.canonicalFormat"),
    ({"identifiers.+": {**_TEXT, "type": "Expver", "expver": {"default": "e" * 32}}},
     {"identifiers.+": {**_TEXT, "type": "Expver", "expver": {"default": ""}}}, "spec.identifiers[5].expver.default"),
    ({"identifiers.4": {"name": "point_cloud", "type": "PointCloud", "pointCloud": {"maxPoints": 10_000}}},
     {"identifiers.4": {"name": "point_cloud", "type": "PointCloud", "pointCloud": {"maxPoints": 10_001}}},
     "spec.identifiers[4].pointCloud.maxPoints"),
    ({"description": "d" * 1024}, {"description": "d" * 1025}, "spec.description"),
    ({}, {"compatibility": "Forward"}, "spec.compatibility"),
    ({}, {"deletionPolicy": "Keep"}, "spec.deletionPolicy"),
    ({}, {"reconcilePolicy": "enforce"}, "spec.reconcilePolicy"),
    ({"payload": {"maxBytes": 1}}, {"payload": {"maxBytes": 0}}, "spec.payload.maxBytes"),
    ({"payload": {"maxBytes": 262_144}}, {"payload": {"maxBytes": 262_145}}, "spec.payload.maxBytes"),
    ({"payload.jsonSchema": {"type": "object", "default": None, "enum": [1, "a", None]}},
     {"payload.jsonSchema": [True]}, "spec.payload.jsonSchema"),
    ({"auth": {"write": _roles(16)}}, {"auth": {"write": _roles(17)}}, "spec.auth.write"),
    ({}, {"auth": {"read": []}}, "spec.auth.read"),
    ({}, {"auth": {"read": _roles(1) * 2}}, "spec.auth.read[1]"),
    ({}, {"auth": {"read": [{"realm": "main"}]}}, "spec.auth.read[0].roles"),
    ({}, {"auth": {"read": [{"realm": "", "roles": ["a"]}]}}, "spec.auth.read[0].realm"),
    ({"auth": {"read": [{"realm": "r", "roles": [f"r{n}" for n in range(64)]}]}},
     {"auth": {"read": [{"realm": "r", "roles": [f"r{n}" for n in range(65)]}]}}, "spec.auth.read[0].roles"),
    ({}, {"auth": {"read": [{"realm": "r", "roles": []}]}}, "spec.auth.read[0].roles"),
    ({}, {"auth": {"read": [{"realm": "r", "roles": ["a", "a"]}]}}, "spec.auth.read[0].roles[1]"),
    ({}, {"auth": {"plugins": ["ecpsd"]}}, "spec.auth.plugins[0]"),
    ({}, {"auth": {"plugins": []}}, "spec.auth.plugins"),
    ({}, {"auth": {"plugins": ["ecpds", "ecpds"]}}, "spec.auth.plugins[1]"),
    *(({"storage": {"retention": taken}}, {"storage": {"retention": refused}}, "spec.storage.retention")
      for taken, refused in (("2w", "2W"), ("1d", "1 d"), ("24h", "PT24H"), ("60m", "1h30m"), ("99999s", "1y"),
                             ("3d", 3), ("04w", "999999999999w"))),
    ({"storage.duplicateWindow": "2m"}, {"storage.duplicateWindow": "2M"}, "spec.storage.duplicateWindow"),
    ({"storage.maxMessages": 1}, {"storage.maxMessages": 0}, "spec.storage.maxMessages"),
    *(({"storage.maxBytes": taken}, {"storage.maxBytes": refused}, "spec.storage.maxBytes")
      for taken, refused in (("2000k", "2000K"), ("2G", "2GB"), (2**40, True), ("0002G", "2e9"),
                             ("1024Ti", "10000Ti"), ("2M", "2.5M"))),
    ({"storage.replicas": 5}, {"storage.replicas": 4}, "spec.storage.replicas"),
    ({}, {"storage.replicas": "3"}, "spec.storage.replicas"),
    ({}, {"storage.medium": "memory"}, "spec.storage.medium"),
    ({}, {"storage.duplicates": "Latest"}, "spec.storage.duplicates"),
    ({}, {"storage.shrink": True}, "spec.storage.shrink"),
    ({}, {"storage.compression": 1}, "spec.storage.compression"),
    ({}, {"storage": []}, "spec.storage"),
    ({}, {"geometry.edges": "round"}, "spec.geometry.edges"),
    ({"maxHistoricalNotifications": 1}, {"maxHistoricalNotifications": 0}, "spec.maxHistoricalNotifications"),
    # A key without a value is one that is not there.
    ({"description": None, "storage": None, "identifiers.3.string": None, "payload.jsonSchema": None},
     {"identifiers": None}, "spec.identifiers"),
]  # fmt: skip


@pytest.mark.parametrize(("taken", "refused", "path"), SHAPES)
def test_a_bound_is_where_it_is_said_to_be(
    event_schemas: EventSchemas, taken: Change, refused: Change, path: str
) -> None:
    """Both take the last value that is good, and refuse the first that is not, at the same member."""
    event_schemas.create(NAME, changed(taken), dry_run=True)
    _, faults = read_manifest(document(NAME, changed(taken)))
    assert faults == []
    with pytest.raises(ApiException) as answer:
        event_schemas.create(NAME, changed(refused), dry_run=True)
    assert path in refusal_of(answer.value)
    _, faults = read_manifest(document(NAME, changed(refused)))
    assert any(_is_at(fault.path, path) for fault in faults), faults


def _is_at(fault: str, path: str) -> bool:
    """Tell whether a fault stands where the API server sees it; a folder may be more exact about it."""
    return fault == path or fault.startswith((f"{path}.", f"{path}["))


@pytest.mark.parametrize(
    "path", ["topik", "topic.bas", "identifiers.0.requird", "auth.scope", "liveSet", "storage.retenton"]
)
def test_an_unknown_member_is_refused(event_schemas: EventSchemas, path: str) -> None:
    """By the API server where it is asked to be strict, as kubectl does; by a folder always."""
    with pytest.raises(ApiException) as answer:
        event_schemas.create(NAME, changed({path: {}}), dry_run=True)
    where = f"spec.{path.replace('.0', '[0]')}"
    said = json.loads(answer.value.body or "{}")["message"]
    assert said.endswith(f'strict decoding error: unknown field "{where}"')
    _, faults = read_manifest(document(NAME, changed({path: {}})))
    assert [fault.path for fault in faults] == [where]


@pytest.mark.parametrize("name", ["Weather", "a_b", "-a", "a-", "a..b", ""])
def test_a_name_that_no_object_has_is_refused(event_schemas: EventSchemas, name: str) -> None:
    """A folder has no objects, but what it holds may go to a cluster one day."""
    with pytest.raises(ApiException):
        event_schemas.create(name, changed({}), dry_run=True)
    _, faults = read_manifest(document(name, changed({})))
    assert [fault.path for fault in faults] == ["metadata.name"]
