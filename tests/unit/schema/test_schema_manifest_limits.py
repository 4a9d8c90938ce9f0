"""Where the limits of a manifest are: the last value that is taken, and the first that is not."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from aviso_core.fields.calendar_date import DateField
from aviso_core.fields.expver import ExpverField
from aviso_core.fields.point_cloud import PointCloudField
from aviso_core.schema.manifest import read_manifest

STORM: dict[str, Any] = {
    "apiVersion": "aviso.dev/v1alpha1",
    "kind": "EventSchema",
    "metadata": {"name": "storm"},
    "spec": {
        "topic": {"base": "storm", "keyOrder": ["basin"]},
        "identifiers": [{"name": "basin", "type": "String"}],
        "auth": {},
        "storage": {},
    },
}


def _with(part: str, key: str, value: object) -> dict[str, Any]:
    document = deepcopy(STORM)
    target = document["spec"][part] if part else document["spec"]
    target[key] = value
    return document


def _identifiers(count: int) -> list[dict[str, str]]:
    return [
        {"name": "basin", "type": "String"},
        *({"name": f"f{n}", "type": "String"} for n in range(count - 1)),
    ]


def _named(name: str) -> list[dict[str, str]]:
    return [{"name": "basin", "type": "String"}, {"name": name, "type": "Int"}]


LIMITS = [
    ("", "eventType", "x" * 63, "x" * 64),
    ("topic", "base", "b" * 32, "b" * 33),
    ("topic", "keyOrder", ["basin"], ["basin"] * 2),
    ("", "identifiers", _identifiers(32), _identifiers(33)),
    ("", "identifiers", _named("f" * 32), _named("f" * 33)),
    ("", "maxHistoricalNotifications", 1, 0),
    ("", "payload", {"maxBytes": 1}, {"maxBytes": 0}),
    ("", "payload", {"maxBytes": 262_144}, {"maxBytes": 262_145}),
    ("storage", "retention", "1m", "59s"),
    ("storage", "retention", "60s", "0m"),
    ("storage", "retention", "87600h", "87601h"),
    ("storage", "maxBytes", "1048577", "1Mi"),
    ("storage", "maxMessages", 1, 0),
    ("storage", "replicas", 5, 4),
    ("storage", "replicas", 1, 0),
    ("storage", "duplicateWindow", "2m", "2M"),
    ("auth", "plugins", ["ecpds"], ["ecpsd"]),
    ("", "auth", {"required": True, "plugins": ["ecpds"]}, {"required": False, "plugins": ["ecpds"]}),
    ("auth", "write", [{"realm": "a", "roles": ["x"]}], [{"realm": "a", "roles": []}]),
    ("auth", "read", [{"realm": "a", "roles": ["x"]}], [{"realm": "a", "roles": ["x"]}] * 2),
]


@pytest.mark.parametrize(("part", "key", "taken", "refused"), LIMITS)
def test_a_limit_is_where_it_is_said_to_be(part: str, key: str, taken: object, refused: object) -> None:
    schema, faults = read_manifest(_with(part, key, taken))
    assert (schema is not None, faults) == (True, [])
    schema, faults = read_manifest(_with(part, key, refused))
    assert schema is None
    assert len(faults) == 1


@pytest.mark.parametrize(
    ("storage", "is_taken"),
    [
        ({"medium": "Memory", "compression": True}, False),
        ({"medium": "Memory"}, True),
        ({"medium": "File", "compression": True}, True),
    ],
)
def test_compression_needs_files(storage: dict[str, object], is_taken: bool) -> None:
    schema, _ = read_manifest(_with("", "storage", storage))
    assert (schema is not None) is is_taken


def test_settings_of_a_type_reach_its_field() -> None:
    schema, faults = read_manifest(
        _with(
            "",
            "identifiers",
            [
                {"name": "basin", "type": "Date", "date": {"canonicalFormat": "%Y-%m-%d"}},
                {"name": "expver", "type": "Expver", "expver": {"default": "0001"}},
                {"name": "point_cloud", "type": "PointCloud", "pointCloud": {"maxPoints": 7}},
            ],
        )
    )
    assert faults == []
    assert schema is not None
    assert schema.fields == (
        DateField(name="basin", canonical_format="%Y-%m-%d"),
        ExpverField(name="expver", empty_default="0001"),
        PointCloudField(name="point_cloud", max_points=7),
    )
