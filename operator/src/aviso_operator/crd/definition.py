"""The CustomResourceDefinition of `EventSchema`, and its text."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import yaml

from aviso_core.schema.manifest_parts import KIND, Manifest, Spec
from aviso_operator.crd.rules import RULES
from aviso_operator.crd.structural import Node, node_at, object_node
from aviso_operator.crd.texts import struct_text
from aviso_operator.resources import (
    CATEGORY,
    GROUP,
    LIST_KIND,
    PLURAL,
    SHORT_NAME,
    SINGULAR,
    VERSION,
    Status,
)

_HEAD: Final = "# Made by `make crd` from the structs of a manifest: change those, not this file.\n"
_READY: Final = '.status.conditions[?(@.type=="Ready")]'

_COLUMNS: Final = (
    {"name": "Type", "type": "string", "jsonPath": ".status.eventType"},
    {"name": "Base", "type": "string", "jsonPath": ".spec.topic.base"},
    {"name": "Ready", "type": "string", "jsonPath": f"{_READY}.status"},
    {"name": "Reason", "type": "string", "jsonPath": f"{_READY}.reason"},
    {"name": "Rev", "type": "integer", "jsonPath": ".status.revision"},
    {"name": "Live", "type": "string", "jsonPath": ".status.propagation.summary"},
    {"name": "Msgs", "type": "integer", "jsonPath": ".status.stream.messages", "priority": 1},
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
)
_SELECTABLE: Final = (".spec.topic.base", ".spec.eventType")


def definition() -> dict[str, Any]:
    """Return the definition as plain values."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{PLURAL}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": KIND,
                "listKind": LIST_KIND,
                "plural": PLURAL,
                "singular": SINGULAR,
                "shortNames": [SHORT_NAME],
                # Not `all`: `kubectl delete all` must not reach it.
                "categories": [CATEGORY],
            },
            "conversion": {"strategy": "None"},
            "versions": [_version()],
        },
    }


def _version() -> dict[str, Any]:
    return {
        "name": VERSION,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "selectableFields": [{"jsonPath": path} for path in _SELECTABLE],
        "additionalPrinterColumns": list(_COLUMNS),
        "schema": {"openAPIV3Schema": _schema()},
    }


def _schema() -> Node:
    root: Node = {
        "description": struct_text(Manifest),
        "type": "object",
        "required": ["spec"],
        "properties": {
            # Only so that rules can point at it.
            "metadata": {"type": "object", "properties": {"name": {"type": "string"}}},
            "spec": {"description": struct_text(Spec), **object_node(Spec)},
            "status": {"description": struct_text(Status), **object_node(Status)},
        },
    }
    for path, rules in RULES.items():
        node_at(root, path)["x-kubernetes-validations"] = [msgspec.to_builtins(rule) for rule in rules]
    return root


def definition_text() -> str:
    """Return the definition as YAML: the same text for the same structs."""
    body = yaml.dump(definition(), Dumper=_Plain, sort_keys=False, width=120, allow_unicode=True)
    return _HEAD + body


class _Plain(yaml.SafeDumper):
    """Writes a value that stands in two places twice: nobody has to look an anchor up."""

    def ignore_aliases(self, data: object) -> bool:
        """Return that nothing is to be shared."""
        del data
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        """Indent the entries of a list below its key."""
        del indentless
        super().increase_indent(flow, False)
