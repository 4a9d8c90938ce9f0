"""An older definition in the cluster is found out by what it does not know."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import msgspec
import pytest

from aviso_operator.crd.definition import definition
from aviso_operator.crd.installed import missing_members


def told(schema: dict[str, Any]) -> bytes:
    """Return what a cluster says of its definition."""
    return msgspec.json.encode(
        {"components": {"schemas": {"dev.aviso.v1alpha1.EventSchema": schema, "other": {}}}}
    )


def own_schema() -> dict[str, Any]:
    [version] = definition()["spec"]["versions"]
    schema = deepcopy(version["schema"]["openAPIV3Schema"])
    assert isinstance(schema, dict)
    return schema


def test_our_own_definition_lacks_nothing() -> None:
    assert missing_members(told(own_schema())) == []


@pytest.mark.parametrize(
    ("steps", "missing"),
    [
        (("spec", "storage", "duplicateWindow"), "spec.storage.duplicateWindow"),
        (("spec", "geometry"), "spec.geometry"),
        (("status", "propagation", "stale"), "status.propagation.stale"),
    ],
)
def test_what_it_does_not_know_is_named(steps: tuple[str, ...], missing: str) -> None:
    schema = own_schema()
    *parents, last = steps
    place = schema
    for name in parents:
        place = place["properties"][name]
    del place["properties"][last]
    assert missing_members(told(schema)) == [missing]


def test_members_of_lists_are_looked_at() -> None:
    schema = own_schema()
    del schema["properties"]["spec"]["properties"]["identifiers"]["items"]["properties"]["default"]
    assert missing_members(told(schema)) == ["spec.identifiers[].default"]


def test_a_newer_definition_lacks_nothing() -> None:
    schema = own_schema()
    schema["properties"]["spec"]["properties"]["liveSet"] = {"type": "object"}
    assert missing_members(told(schema)) == []


def test_a_cluster_that_says_nothing_of_it_lacks_all() -> None:
    missing = missing_members(msgspec.json.encode({"components": {"schemas": {}}}))
    assert {"spec.topic", "spec.storage", "status.conditions"} < set(missing)
    assert "spec.storage.retention" not in missing, "of what is missing, only the whole"
