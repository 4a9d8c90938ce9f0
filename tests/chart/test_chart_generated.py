"""What is made from something else is what would be made now."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import yaml

from aviso_operator.crd.definition import definition_text
from chart.value_sets import SETS
from chart.values_reference import (
    README,
    SCHEMA,
    VALUES,
    Undocumented,
    read_values,
    schema_text,
    table_text,
    with_table,
)
from support.cluster_objects import DEFINITION_FILE
from support.rights import operator_rules

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from support.chart import Rendered


def test_the_schema_of_values_is_up_to_date() -> None:
    """`make chart` writes it anew."""
    assert SCHEMA.read_text(encoding="utf-8") == schema_text(read_values(VALUES.read_text(encoding="utf-8")))


def test_the_table_of_values_is_up_to_date() -> None:
    """`make chart` writes it anew."""
    readme = README.read_text(encoding="utf-8")
    assert readme == with_table(readme, table_text(read_values(VALUES.read_text(encoding="utf-8"))))


def test_a_value_without_a_word_is_not_taken() -> None:
    with pytest.raises(Undocumented, match=r"ingest\.novelty"):
        read_values("# Takes notifications in.\ningest:\n  novelty: 1\n")


def test_what_components_have_in_common_is_said_once() -> None:
    """The second one has the words and the rules of the first, unless it brings its own."""
    first, second = read_values(
        '# One.\ning:\n  # How many.\n  # @schema {"minimum": 1}\n  replicas: 2\n# Two.\nout:\n  replicas: 3\n'
    )
    assert second.below[0].text == first.below[0].text == "How many."
    assert second.below[0].schema == {"minimum": 1}
    assert json.loads(schema_text([second]))["properties"]["out"] == {
        "description": "Two.",
        "type": "object",
        "additionalProperties": False,
        "properties": {"replicas": {"description": "How many.", "type": "integer", "minimum": 1}},
    }


def test_every_map_of_the_schema_is_closed_or_says_that_it_is_open() -> None:
    """A misspelt key anywhere is refused, where it is not a map of somebody else's."""
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    silent = [path for path, one in _maps(schema, "") if "additionalProperties" not in one]
    # Kubernetes knows what may be in these, and the API server says so.
    foreign = ("items", "claims", "requests", "limits", "$defs/named")
    assert [path for path in silent if not path.endswith(foreign)] == []


def test_the_definition_in_the_chart_is_the_generated_one(releases: Mapping[str, Rendered]) -> None:
    """`make crd` writes the file; the chart adds labels and what keeps it."""
    assert DEFINITION_FILE.read_text(encoding="utf-8") == definition_text()
    generated = yaml.safe_load(definition_text())
    for name, release in releases.items():
        if name == "as little as possible":
            continue
        (definition,) = release.all("CustomResourceDefinition")
        assert definition["spec"] == generated["spec"], name
        assert definition["metadata"]["name"] == generated["metadata"]["name"]
        made = generated["metadata"].get("annotations", {})
        assert made.items() <= definition["metadata"].get("annotations", {}).items()


def test_every_switch_is_used_by_a_set_of_values() -> None:
    """A switch that no test has ever turned is one that may not work."""
    switches = {
        value.path for value in _all(read_values(VALUES.read_text(encoding="utf-8"))) if _is_switch(value)
    }
    turned = {path for one in SETS.values() for path, _ in _paths(one.values, ())}
    assert {".".join(path) for path in switches - turned} == set()


def test_the_operators_rules_are_those_of_the_file(release: Rendered) -> None:
    assert release.one("Role", "aviso-operator")["rules"] == operator_rules()


def _maps(schema: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield path, schema
        for key, inner in schema.items():
            yield from _maps(inner, f"{path}/{key}")
    elif isinstance(schema, list):
        for inner in schema:
            yield from _maps(inner, path)


def _all(values: Any) -> Iterator[Any]:
    for value in values:
        yield value
        yield from _all(value.below)


def _is_switch(value: Any) -> bool:
    return isinstance(value.default, bool) or "enum" in value.schema


def _paths(values: Mapping[str, Any], above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, value in values.items():
        yield (*above, key), value
        if isinstance(value, dict):
            yield from _paths(value, (*above, key))
