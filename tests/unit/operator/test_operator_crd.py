"""The resource definition: up to date, and such that the API server takes it and its rules."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
import yaml

from aviso_core.schema.manifest_parts import Spec
from aviso_operator.crd.definition import definition, definition_text
from aviso_operator.crd.rules import RULES
from aviso_operator.crd.structural import node_at, object_node

if TYPE_CHECKING:
    from collections.abc import Iterator

_FILE: Final = (
    Path(__file__).resolve().parents[3] / "charts" / "aviso" / "files" / "crds" / "eventschemas.yaml"
)
_ROOT: Final[dict[str, Any]] = definition()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
_SPEC: Final = _ROOT["properties"]["spec"]
_STATUS: Final = _ROOT["properties"]["status"]


def test_the_definition_is_up_to_date() -> None:
    """`make crd` writes it anew."""
    assert _FILE.read_text(encoding="utf-8") == definition_text()


def test_the_definition_can_be_read_and_stays_small() -> None:
    """As YAML it is what it was made from, and far below the size at which kubectl gives up."""
    text = definition_text()
    assert yaml.safe_load(text) == definition()
    assert len(text) < 60_000
    assert "&id" not in text


def _nodes(node: dict[str, Any], path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    yield path, node
    for name, inner in node.get("properties", {}).items():
        yield from _nodes(inner, f"{path}.{name}")
    if "items" in node:
        yield from _nodes(node["items"], f"{path}[]")


@pytest.mark.parametrize("root", [_SPEC, _STATUS], ids=["spec", "status"])
def test_every_member_has_a_type_and_a_text(root: dict[str, Any]) -> None:
    """The API server wants a type everywhere; people want to know what a member is for."""
    for path, node in _nodes(root, ""):
        assert "type" in node or node.get("x-kubernetes-int-or-string"), path
        assert path.endswith("]") or node["description"], path
        assert not node.keys() & {"$ref", "allOf", "oneOf", "not", "additionalProperties"}, path


def test_every_list_and_text_of_a_spec_is_bounded() -> None:
    """Rules are weighed by the largest object that there could be; without bounds there are no rules."""
    for path, node in _nodes(_SPEC, ""):
        if node.get("type") == "string":
            assert "enum" in node or node["maxLength"] <= 1024, path
        if node.get("type") == "array":
            assert node["maxItems"] <= 128, path
            assert "x-kubernetes-list-type" in node, path


def test_the_default_of_a_block_is_spelled_out() -> None:
    """Rules see it before what is below it is filled in, so it must be whole."""
    for path, node in _nodes(_SPEC, ""):
        below = {
            name: inner["default"] for name, inner in node.get("properties", {}).items() if "default" in inner
        }
        assert "default" not in node or "properties" not in node or node["default"] == below, path


def test_what_the_installation_decides_has_no_default() -> None:
    """A stored value would be what holds, whatever the installation is changed to later."""
    storage = _SPEC["properties"]["storage"]["properties"]
    for name in ("replicas", "duplicateWindow", "maxMessages", "maxBytes"):
        assert "default" not in storage[name]
    assert "default" not in _SPEC["properties"]["maxHistoricalNotifications"]


def test_what_nothing_obeys_is_not_there() -> None:
    """A member that is taken and does nothing is a promise that is broken."""
    assert "liveSet" not in _SPEC["properties"]
    assert "scope" not in _SPEC["properties"]["auth"]["properties"]


def test_rules_stand_where_they_say() -> None:
    """Each path is one of the schema, and each member at fault is one below it."""
    for path, rules in RULES.items():
        node = node_at(_ROOT, path)
        assert len(node["x-kubernetes-validations"]) == len(rules)
        for rule in rules:
            if rule.field_path:
                assert node_at(node, rule.field_path.removeprefix("."))


def test_a_member_without_a_text_is_not_made() -> None:
    """Whoever adds a member says what it is for."""
    assert set(object_node(Spec)["properties"]) == set(_SPEC["properties"])
