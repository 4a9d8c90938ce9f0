"""What the page about installing tells its reader to type and to write is taken, and so are the samples."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import pytest
import yaml

from aviso_core.schema.check import check_schema, check_together
from aviso_core.schema.manifest import read_manifest
from chart.values_reference import VALUES, read_values
from repo.tree import ROOT
from support.chart import CHART, NAMESPACE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from chart.values_reference import Value
    from support.apiserver import ApiServer
    from support.chart import Chart

PAGE: Final = (ROOT / "docs" / "how-to" / "install-in-a-cluster.md").read_text(encoding="utf-8")
BLOCKS: Final[list[Any]] = [
    yaml.safe_load(block) for block in re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
]
GIVEN: Final = [block for block in BLOCKS if "kind" not in block]
SAMPLES: Final[list[Any]] = list(
    yaml.safe_load_all((CHART / "samples" / "event-types.yaml").read_text(encoding="utf-8"))
)


@pytest.mark.parametrize("values", GIVEN, ids=lambda values: "+".join(values))
def test_values_of_the_page_are_taken(chart: Chart, values: Mapping[str, Any]) -> None:
    assert chart.render(values).objects


def test_values_that_the_page_names_are_there() -> None:
    """Whatever looks like the path of a value is one."""
    values = read_values(VALUES.read_text(encoding="utf-8"))
    groups = {value.path[0] for value in values if value.is_group}
    known = {".".join(value.path) for value in _all(values)}
    named = {
        name
        for name in re.findall(r"`([a-z][A-Za-z]*(?:\.[A-Za-z]+)+)(?:: [^`]*)?`", PAGE)
        if name.partition(".")[0] in groups
    }
    assert len(named) > 12
    # What a job says of itself, and what only looks alike, belongs to others.
    assert {name for name in named - known if not name.endswith((".creds", ".template"))} == set()


def test_pods_of_the_page_are_pods(server: ApiServer) -> None:
    """As far as an API server can tell, by every field."""
    pods = [block for block in BLOCKS if block.get("kind") == "Pod"]
    assert pods
    for pod in pods:
        names = [pod["metadata"]["namespace"], pod["spec"]["serviceAccountName"]]
        _apply(server, "Namespace", name=names[0])
        _apply(server, "ServiceAccount", name=names[1], namespace=names[0])
        ran = server.kubectl("create", "--dry-run=server", "--validate=strict", "--filename=-", given=pod)
        assert ran.returncode == 0, ran.stderr


def test_the_token_of_the_page_is_the_one_that_services_believe(chart: Chart) -> None:
    """Its audience is the chart's own."""
    (pod,) = [block for block in BLOCKS if block.get("kind") == "Pod"]
    (volume,) = pod["spec"]["volumes"]
    audience = volume["projected"]["sources"][0]["serviceAccountToken"]["audience"]
    assert chart.render({}).configuration("ingest")["auth"]["kubernetes"]["audience"] == audience
    assert f"--audience {audience}" in PAGE


def test_samples_can_be_served_together() -> None:
    schemas = []
    for document in SAMPLES:
        schema, faults = read_manifest(document)
        assert schema is not None, faults
        assert [*faults, *check_schema(schema)] == []
        schemas.append(schema)
    assert len(schemas) == 2
    assert list(check_together(schemas)) == []


def test_samples_say_who_may_read_them() -> None:
    """What is left unsaid is a surprise to whoever only wanted to try."""
    assert {document["spec"]["auth"]["required"] for document in SAMPLES} == {True, False}


def test_samples_are_not_part_of_a_release(chart: Chart) -> None:
    """An object of a definition that comes along with it could not be made at the first install."""
    assert chart.render({}, namespace=NAMESPACE).all("EventSchema") == []
    assert "samples/" in (CHART / ".helmignore").read_text(encoding="utf-8").splitlines()


def _all(values: Sequence[Value]) -> Iterator[Value]:
    for value in values:
        yield value
        yield from _all(value.below)


def _apply(server: ApiServer, kind: str, **metadata: str) -> None:
    ran = server.kubectl(
        "apply", "--filename=-", given={"apiVersion": "v1", "kind": kind, "metadata": metadata}
    )
    assert ran.returncode == 0, ran.stderr
