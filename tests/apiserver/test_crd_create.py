"""What a new object may be: every rule, and every bound, on a real API server and in a folder of manifests."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

import pytest
from kubernetes.client.exceptions import ApiException

from apiserver.specs import GONE, NAME, Change, changed
from aviso_core.schema.manifest import read_manifest
from aviso_operator.crd.rules import RULES
from support.cluster_objects import document, refusal_of

if TYPE_CHECKING:
    from support.cluster_objects import EventSchemas


class Row(NamedTuple):
    """A change that is taken, one that is not, and what is said then: where, and in which words."""

    taken: Change
    refused: Change
    path: str
    message: str
    # What the rule says of every object, where that is less than what it says of this one.
    rule: str = ""
    refused_name: str = NAME


_POLYGON: Final = {"name": "polygon", "type": "Polygon"}
_CLOUD: Final = {"name": "point_cloud", "type": "PointCloud"}

# Rules: the API server and a folder say the same.
ROWS: Final = [
    Row(
        {}, {"eventType": GONE}, "metadata.name",
        "'weather-alert' is no event type: set spec.eventType, for example with '_' where the name has '-'",
        "it is no event type: set spec.eventType, for example with '_' where the name has '-'",
    ),
    Row(
        {}, {}, "metadata.name", "must have at most 63 characters: it stands in labels", refused_name="w" * 64,
    ),
    Row(
        {}, {"topic.keyOrder": ["region", "place"]}, "spec.topic.keyOrder",
        "every topic.keyOrder entry must name a declared identifier, 'place' does not",
        "every topic.keyOrder entry must name a declared identifier",
    ),
    Row(
        {}, {"topic.keyOrder": ["region", "region"]}, "spec.topic.keyOrder",
        "topic.keyOrder names an identifier twice",
    ),
    Row(
        {}, {"topic.keyOrder": ["region", "polygon"]}, "spec.topic.keyOrder",
        "a shape cannot be routed on: remove 'polygon' from topic.keyOrder",
        "a shape cannot be routed on: remove polygon and point_cloud from topic.keyOrder",
    ),
    Row(
        {"identifiers.4": _CLOUD}, {"identifiers.+": _CLOUD}, "spec.identifiers",
        "an event type has one shape: polygon or point_cloud, not both",
    ),
    Row(
        {"identifiers.3.name": "to"}, {"identifiers.3.name": "to_date"}, "spec.identifiers[3].name",
        "identifier name 'to_date' is reserved", "the identifier name is reserved",
    ),
    Row(
        {}, {"identifiers.4.name": "area"}, "spec.identifiers[4].name",
        "the identifier of type Polygon is called 'polygon', and no other is",
    ),
    Row(
        {}, {"identifiers.4": {"name": "polygon", "type": "Time"}}, "spec.identifiers[4].name",
        "the identifier of type Polygon is called 'polygon', and no other is",
    ),
    Row(
        {"identifiers.4": _CLOUD}, {"identifiers.4": {"name": "points", "type": "PointCloud"}},
        "spec.identifiers[4].name", "the identifier of type PointCloud is called 'point_cloud', and no other is",
    ),
    Row(
        {}, {"identifiers.4.default": "0,0,0,1,1,1,0,0"}, "spec.identifiers[4].default",
        "a shape cannot have a default",
    ),
    Row({}, {"identifiers.0.enum": GONE}, "spec.identifiers[0].enum", "type Enum needs enum.values"),
    Row(
        {"identifiers.0.enum.values": ["a", "A"]}, {"identifiers.3.enum": {"values": ["a"]}},
        "spec.identifiers[3].enum", "enum settings need type Enum",
    ),
    *(
        Row(
            {"identifiers.+": {"name": "more", "type": kind, block: settings}},
            {f"identifiers.0.{block}": settings},
            f"spec.identifiers[0].{block}", f"{block} settings need type {kind}",
        )
        for kind, block, settings in (
            ("String", "string", {"maxLength": 1}),
            ("Int", "int", {"min": 1}),
            ("Float", "float", {"max": "1"}),
            ("Date", "date", {"canonicalFormat": "%Y-%m-%d"}),
            ("Expver", "expver", {"default": "0001"}),
        )
    ),
    Row(
        {"identifiers.4": {**_CLOUD, "pointCloud": {"maxPoints": 5}}}, {"identifiers.4.pointCloud": {}},
        "spec.identifiers[4].pointCloud", "pointCloud settings need type PointCloud",
    ),
    Row(
        {"identifiers.1.int.max": 1}, {"identifiers.1.int.max": 0}, "spec.identifiers[1].int",
        "int.min must not exceed int.max",
    ),
    Row(
        {"identifiers.2.float.max": "0.0"}, {"identifiers.2.float.max": "-0.5"}, "spec.identifiers[2].float",
        "float.min must not exceed float.max",
    ),
    Row({"auth": {"required": False}}, {"auth.required": False}, "spec.auth", "role lists need auth.required: true"),
    Row(
        {"auth.plugins": ["ecpds"]}, {"auth": {"required": False, "plugins": ["ecpds"]}}, "spec.auth",
        "plugins need auth.required: true",
    ),
    Row(
        {"storage": {"retention": "60s"}}, {"storage": {"retention": "59s"}}, "spec.storage.retention",
        "retention must be 1m to 10 years",
    ),
    Row(
        {"storage.retention": "87600h"}, {"storage.retention": "3651d"}, "spec.storage.retention",
        "retention must be 1m to 10 years",
    ),
    Row(
        {"storage.duplicateWindow": "3d"}, {"storage.duplicateWindow": "73h"}, "spec.storage.duplicateWindow",
        "duplicateWindow must be 1s up to the retention: what is gone cannot be recognised again",
    ),
    Row(
        {"storage.duplicateWindow": "1s"}, {"storage.duplicateWindow": "0s"}, "spec.storage.duplicateWindow",
        "duplicateWindow must be 1s up to the retention: what is gone cannot be recognised again",
    ),
    *(
        Row(
            {"storage.maxBytes": taken}, {"storage.maxBytes": refused}, "spec.storage.maxBytes",
            "maxBytes must be over 1Mi, and 1024Ti at most",
        )
        for taken, refused in ((1_048_577, 1_048_576), ("1025Ki", "1Mi"), ("1024Ti", "1025Ti"), ("2M", -5))
    ),
    Row(
        {"storage.medium": "Memory"}, {"storage": {"medium": "Memory", "compression": True}}, "spec.storage",
        "compression needs File storage",
    ),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.path}: {row.message[:40]}")
def test_a_rule_is_where_it_is_said_to_be(event_schemas: EventSchemas, row: Row) -> None:
    """The API server takes one and refuses the other, with these words at this member; so does a folder."""
    event_schemas.create(NAME, changed(row.taken), dry_run=True)
    with pytest.raises(ApiException) as refused:
        event_schemas.create(row.refused_name, changed(row.refused), dry_run=True)
    assert (row.path, f"Invalid value: {row.message}") in _causes(refused.value)
    _, faults = read_manifest(document(NAME, changed(row.taken)))
    assert faults == []
    _, faults = read_manifest(document(row.refused_name, changed(row.refused)))
    assert [fault.path for fault in faults] == [row.path]
    assert row.message.startswith(faults[0].message)


def _causes(refused: ApiException) -> set[tuple[str, str]]:
    assert refused.status == 422
    return set(refusal_of(refused).items())


def test_every_rule_about_new_objects_has_a_row() -> None:
    """Rules and rows are told apart by where they stand and what they say."""
    rules = {
        (_anywhere(f"{path}{rule.field_path or ''}"), rule.message)
        for path, of_path in RULES.items()
        for rule in of_path
        if "oldSelf" not in rule.rule
    }
    assert rules == {(_anywhere(row.path), row.rule or row.message) for row in ROWS}


def _anywhere(path: str) -> str:
    return re.sub(r"\[\d*\]", "[]", path).removeprefix(".")
