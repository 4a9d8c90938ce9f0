"""The chart, rendered: values in, objects out, without a cluster.

Most tests look at the same few dozen sets of values, each of which costs Helm a moment. So what it made of one is kept
in a folder that all workers of a run share, by the values that it was made of.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from support.helm import Helm, Ran

CHART: Final = Path(__file__).resolve().parents[2] / "charts" / "aviso"
RELEASE: Final = "aviso"
NAMESPACE: Final = "aviso-system"

# Objects of a cluster are open: what a test asks of them it says itself.
Object: TypeAlias = dict[str, Any]
Values: TypeAlias = "Mapping[str, Any]"

_NOTES: Final = "Notes"
# Helm shows notes to whoever installs, not to whoever renders: so they are made an object of the copy that is rendered.
_SHOWN_NOTES: Final = """\
{{{{- define "notes-as-shown" -}}}}
{notes}
{{{{- end -}}}}
kind: {kind}
metadata: {{name: notes}}
text: {{{{ include "notes-as-shown" . | toJson }}}}
"""


class Rendered:
    """The objects of a release."""

    def __init__(self, objects: list[Object]) -> None:
        self.objects = [one for one in objects if one["kind"] != _NOTES]
        self._notes = [one["text"] for one in objects if one["kind"] == _NOTES]

    @property
    def notes(self) -> str:
        """What Helm says at the end."""
        (notes,) = self._notes
        assert isinstance(notes, str)
        return notes

    def all(self, kind: str) -> list[Object]:
        """Return the objects of a kind."""
        return [one for one in self.objects if one["kind"] == kind]

    def names(self, kind: str) -> set[str]:
        """Return the names of the objects of a kind."""
        return {one["metadata"]["name"] for one in self.all(kind)}

    def one(self, kind: str, name: str) -> Object:
        """Return an object."""
        (found,) = [one for one in self.all(kind) if one["metadata"]["name"] == name]
        return found

    def pod_templates(self) -> Iterator[tuple[str, Object]]:
        """Yield what the pods of each workload are made of, those of Spark's jobs too, by what makes them."""
        for one in self.objects:
            yield from _templates(one)

    def configuration(self, component: str, *, name: str | None = None) -> Object:
        """Return what a service is configured with."""
        text = self.one("ConfigMap", name or f"{RELEASE}-{component}")["data"]["config.yaml"]
        return _mapping(yaml.safe_load(text))

    def container(self, kind: str, name: str) -> Object:
        """Return the container of a workload that has one."""
        (container,) = self.one(kind, name)["spec"]["template"]["spec"]["containers"]
        return _mapping(container)


class Chart:
    """The chart of this tree, and what Helm makes of it."""

    def __init__(self, helm: Helm, folder: Path) -> None:
        self.helm = helm
        self.folder = folder
        self._copy = folder / f"chart-{os.getpid()}"
        shutil.copytree(CHART, self._copy)
        notes = self._copy / "templates" / "NOTES.txt"
        text = _SHOWN_NOTES.format(notes=notes.read_text(encoding="utf-8"), kind=_NOTES)
        notes.with_name("notes-as-shown.yaml").write_text(text, encoding="utf-8")

    def render(self, values: Values, *, release: str = RELEASE, namespace: str = NAMESPACE) -> Rendered:
        """Return the objects of a release; a refusal fails the test in its words."""
        key = json.dumps([values, release, namespace], sort_keys=True)
        kept = self.folder / f"{hashlib.sha256(key.encode()).hexdigest()}.json"
        if not kept.exists():
            ran = self._template(values, release, namespace)
            assert ran.code == 0, ran.messages
            objects = [one for one in yaml.load_all(ran.output, Loader=_Loader) if one is not None]
            # Another worker finds all of it or nothing.
            written = kept.with_suffix(f".{os.getpid()}")
            written.write_text(json.dumps(objects), encoding="utf-8")
            written.rename(kept)
        return Rendered(json.loads(kept.read_text(encoding="utf-8")))

    def refusal(self, values: Values) -> str:
        """Return the words with which values are refused."""
        ran = self._template(values, RELEASE, NAMESPACE)
        assert ran.code != 0, "the values are taken"
        return ran.messages

    def values_file(self, values: Values) -> Path:
        """Return a file with values."""
        text = json.dumps(values, sort_keys=True)
        file = self.folder / f"values-{hashlib.sha256(text.encode()).hexdigest()}-{os.getpid()}.json"
        file.write_text(text, encoding="utf-8")
        return file

    def _template(self, values: Values, release: str, namespace: str) -> Ran:
        given = self.values_file(values)
        return self.helm.run("template", release, self._copy, f"--namespace={namespace}", f"--values={given}")


# The one in C, where there is one: ten times as fast.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_SPARK_TEMPLATES: Final = (
    ("driverSpec", "podTemplateSpec"),
    ("executorSpec", "podTemplateSpec"),
    ("driver", "template"),
    ("executor", "template"),
)


def _templates(one: Object) -> Iterator[tuple[str, Object]]:
    name = f"{one['kind']} {one['metadata']['name']}"
    match one["kind"]:
        case "Deployment" | "StatefulSet" | "Job":
            yield name, one["spec"]["template"]
        case "Pod":
            yield name, {"metadata": one["metadata"], "spec": one["spec"]}
        case "SparkApplication":
            for part, template in _SPARK_TEMPLATES:
                if part in one["spec"]:
                    yield f"{name} {part}", one["spec"][part][template]
        case "ConfigMap" if "executor.yaml" in one.get("data", {}):
            yield f"{name} executor.yaml", _mapping(yaml.safe_load(one["data"]["executor.yaml"]))


def _mapping(value: object) -> Object:
    assert isinstance(value, dict)
    return value
