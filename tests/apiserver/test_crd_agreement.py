"""A folder of manifests and a cluster take the same manifests, and mean the same by them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kubernetes.client.exceptions import ApiException

from apiserver.specs import GONE, NAME, Change, changed
from aviso_core.schema.manifest import read_manifest
from support.cluster_objects import document, refusal_of

if TYPE_CHECKING:
    from support.cluster_objects import EventSchemas

_ROOT: Final = Path(__file__).resolve().parents[2]
_SAMPLES: Final = sorted(_ROOT.glob("services/**/samples/**/*.yaml"))


def test_there_are_samples() -> None:
    """The search behind the next test finds something."""
    assert len(_SAMPLES) >= 3


@pytest.mark.parametrize("path", _SAMPLES, ids=lambda path: path.stem)
def test_every_sample_is_taken_by_both(event_schemas: EventSchemas, path: Path) -> None:
    """What the product shows works in a folder and in a cluster, and what the cluster stored means the same."""
    manifest = yaml.safe_load(path.read_text(encoding="utf-8"))
    stored = event_schemas.create(manifest["metadata"]["name"], manifest["spec"])
    assert _means(stored) == _means(manifest)


def _means(manifest: dict[str, Any]) -> object:
    schema, faults = read_manifest(manifest)
    assert faults == []
    assert schema is not None
    return schema


# --- any change of a good manifest ------------------------------------------------------------------------

_TEXTS: Final = st.sampled_from(
    ["", "a", "A", "a-b", "a_b", "polygon", "point_cloud", "point", "to_id", "region", "note", "x" * 33, "x" * 65]
)  # fmt: skip
_NAMES: Final = st.sampled_from(
    ["region", "severity", "note", "polygon", "point_cloud", "payload", "other", "B"]
)
# No 1.0: kubectl sends it as 1, and of a client that does not the rules only say that it is no whole number.
_LIMITS: Final = st.sampled_from(
    [-1, 0, 1, 5, 256, 257, 2**31, 2**63 - 1, 2**63, 1.5, "1", "-0.5", "1e1", True]
)
_KINDS: Final = st.sampled_from(
    ["String", "Enum", "Date", "Time", "Int", "Float", "Expver", "Polygon", "PointCloud", "Text"]
)
_BLOCKS: Final = st.sampled_from(
    [
        {"enum": {"values": ["a"]}},
        {"int": {"min": 2, "max": 1}},
        {"float": {"min": "2", "max": "10"}},
        {"string": {}},
        {"date": {}},
        {"expver": {"default": "1"}},
        {"pointCloud": {}},
        {"default": "a"},
        {},
    ]
)
_DURATIONS: Final = st.sampled_from(
    [
        "1m",
        "59s",
        "60s",
        "7d",
        "2w",
        "521w",
        "522w",
        "999w",
        "3650d",
        "3651d",
        "9999d",
        "0s",
        "1h ",
        "1H",
        "-1d",
        5,
    ]
)
_SIZES: Final = st.sampled_from(
    [0, -1, 2**20, 2**20 + 1, 2**50, 2**50 + 1, 2**63, "1Mi", "1025Ki", "2M", "1K", "1024Ti", "1126T",
     "9999999999999999Ti"]
)  # fmt: skip
_ROLES: Final = st.lists(
    st.fixed_dictionaries({"realm": _TEXTS, "roles": st.lists(_TEXTS, max_size=2)}), max_size=2
)


def _identifier() -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(lambda name, kind, block: {"name": name, "type": kind, **block}, _NAMES, _KINDS, _BLOCKS)


_CHANGES: Final[dict[str, st.SearchStrategy[Any]]] = {
    "eventType": _TEXTS | st.just(GONE),
    "topic.base": _TEXTS,
    "topic.keyOrder": st.lists(_NAMES, max_size=4),
    "identifiers.0.name": _NAMES,
    "identifiers.1.int": st.dictionaries(st.sampled_from(["min", "max"]), _LIMITS),
    "identifiers.2.float": st.dictionaries(st.sampled_from(["min", "max"]), _LIMITS),
    "identifiers.3.string.maxLength": _LIMITS,
    "identifiers.4": _identifier(),
    "identifiers.+": _identifier(),
    "auth": st.fixed_dictionaries(
        {},
        optional={
            "required": st.booleans(),
            "read": _ROLES,
            "write": _ROLES,
            "plugins": st.lists(st.just("ecpds"), max_size=2),
        },
    ),
    "storage.retention": _DURATIONS,
    "storage.duplicateWindow": _DURATIONS | st.just(GONE),
    "storage.maxMessages": _LIMITS,
    "storage.maxBytes": _SIZES,
    "storage.medium": st.sampled_from(["File", "Memory"]),
    "storage.compression": st.booleans(),
    "payload.maxBytes": _LIMITS,
    "maxHistoricalNotifications": _LIMITS,
}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(change=st.fixed_dictionaries({}, optional=_CHANGES))
def test_both_take_the_same(event_schemas: EventSchemas, change: Change) -> None:
    """Whatever is changed: either both take it, and mean the same by it, or both refuse it."""
    spec = changed(change)
    schema, faults = read_manifest(document(NAME, spec))
    stored = _created(event_schemas, spec)
    if isinstance(stored, ApiException):
        assert faults, f"a folder takes what a cluster refuses: {refusal_of(stored) or stored.body}"
    else:
        assert faults == [], f"a cluster takes what a folder refuses: {json.dumps(spec)}"
        assert _means(stored) == schema


def _created(event_schemas: EventSchemas, spec: dict[str, Any]) -> dict[str, Any] | ApiException:
    try:
        return event_schemas.create(NAME, spec, dry_run=True)
    except ApiException as refused:
        return refused
