"""What the chart lets the operator do."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, TypeAlias

import yaml

RULES_FILE: Final = (
    Path(__file__).resolve().parents[2] / "charts" / "aviso" / "files" / "rbac" / "operator.yaml"
)

Rules: TypeAlias = list[dict[str, Any]]


def operator_rules() -> Rules:
    """Return the rules of its Role or ClusterRole."""
    rules: Rules = yaml.safe_load(RULES_FILE.read_text(encoding="utf-8"))["rules"]
    return rules


def rights_of(rules: Rules) -> set[tuple[str, str]]:
    """Return each verb with the resource that it is allowed on."""
    return {(verb, resource) for rule in rules for resource in rule["resources"] for verb in rule["verbs"]}


def without(rules: Rules, verb: str, resource: str) -> Rules:
    """Return the rules without one verb on one resource."""
    assert (verb, resource) in rights_of(rules), "nobody may that"
    fewer = [
        {**rule, "verbs": [one for one in rule["verbs"] if one != verb]}
        if resource in rule["resources"]
        else rule
        for rule in rules
    ]
    return [rule for rule in fewer if rule["verbs"]]
