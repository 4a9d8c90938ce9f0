"""A cluster as its users see it: kubectl and helm, waiting for what is asked to come about, and faults.

Everything goes through the two programs, so that what a test does is what a reader can type.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

ABSENT: Final = "not on this machine: a Kubernetes cluster"

_T = TypeVar("_T")

_BETWEEN_LOOKS_SECONDS: Final = 0.25
_LONGEST_CALL_SECONDS: Final = 300.0


class Ran(NamedTuple):
    """What came of a program."""

    code: int
    output: str
    messages: str


def run(*words: str | Path, stdin: str = "", timeout: float = _LONGEST_CALL_SECONDS) -> Ran:
    """Run a program to its end."""
    ran = subprocess.run(words, input=stdin, capture_output=True, text=True, timeout=timeout, check=False)
    return Ran(ran.returncode, ran.stdout, ran.stderr)


def until(look: Callable[[], _T | None], *, seconds: float, what: str | Callable[[], str]) -> _T:
    """Look again and again until something is seen, and return it."""
    give_up, pause = time.monotonic() + seconds, threading.Event()
    while not (seen := look()):
        if time.monotonic() > give_up:
            raise AssertionError(f"not within {seconds:g} s: {what if isinstance(what, str) else what()}")
        pause.wait(_BETWEEN_LOOKS_SECONDS)
    return seen


class Cluster:
    """A cluster that kubectl and helm reach."""

    def __init__(self, kubeconfig: Path) -> None:
        self._flags = (f"--kubeconfig={kubeconfig}",)

    def try_kubectl(self, *words: str | Path, stdin: str = "", timeout: float = _LONGEST_CALL_SECONDS) -> Ran:
        """Run kubectl, whatever comes of it."""
        return run("kubectl", *self._flags, *words, stdin=stdin, timeout=timeout)

    def kubectl(self, *words: str | Path, stdin: str = "", timeout: float = _LONGEST_CALL_SECONDS) -> str:
        """Run kubectl and return its output; a refusal fails the test in its words."""
        ran = self.try_kubectl(*words, stdin=stdin, timeout=timeout)
        assert ran.code == 0, f"kubectl {' '.join(map(str, words))}: {ran.messages}"
        return ran.output

    def helm(self, *words: str | Path, timeout: float = _LONGEST_CALL_SECONDS) -> str:
        """Run helm and return its output; a refusal fails the test in its words."""
        ran = run("helm", *self._flags, *words, timeout=timeout)
        assert ran.code == 0, f"helm {' '.join(map(str, words))}: {ran.messages}\n{ran.output}"
        return ran.output

    def command(self, *words: str) -> Sequence[str]:
        """Return a kubectl command, for what a test runs in the background."""
        return ("kubectl", *self._flags, *words)

    def make_namespace(self, name: str, *, labels: Mapping[str, str]) -> None:
        """Make a namespace."""
        self.apply(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": dict(labels)}}
        )

    def apply(self, *objects: Mapping[str, Any], namespace: str | None = None) -> str:
        """Apply objects."""
        listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
        return self.kubectl(*_in(namespace), "apply", "--filename=-", stdin=listed)

    def get(self, kind: str, name: str, namespace: str | None = None) -> dict[str, Any] | None:
        """Return an object, or None where there is none."""
        shown = self.kubectl(*_in(namespace), "get", kind, name, "--output=json", "--ignore-not-found")
        return _mapping(json.loads(shown)) if shown else None

    def list(self, kind: str, namespace: str, selector: str = "") -> list[dict[str, Any]]:
        """Return the objects of a kind in a namespace."""
        shown = self.kubectl(*_in(namespace), "get", kind, f"--selector={selector}", "--output=json")
        items = json.loads(shown)["items"]
        assert isinstance(items, list)
        return items

    def wait(self, condition: str, *what: str, namespace: str, seconds: float) -> None:
        """Wait until objects have a condition, or are as `jsonpath=…` says."""
        patience = f"--timeout={int(seconds)}s"
        self.kubectl(*_in(namespace), "wait", f"--for={condition}", *what, patience, timeout=seconds + 10)

    def logs(self, pod: str, namespace: str) -> str:
        """Return what a pod has written."""
        return self.kubectl(*_in(namespace), "logs", pod, "--all-containers")

    def kill(self, pod: str, namespace: str, container: str) -> None:
        """End a container's first process as a crash would: with no word beforehand."""
        found = self.get("pod", pod, namespace)
        assert found is not None
        states = {state["name"]: state for state in found["status"]["containerStatuses"]}
        process = _process_of(states[container]["containerID"])
        if (
            process is None
        ):  # a node that is not this machine: then the whole pod, as suddenly as the API allows
            self.kubectl(*_in(namespace), "delete", "pod", pod, "--grace-period=0", "--force")
        else:
            os.kill(process, 9)


def _process_of(container_id: str) -> int | None:
    """Return the first process of a container of this machine, where its number is another than inside."""
    plain = container_id.partition("://")[2]
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if plain in (process / "cgroup").read_text() and _is_first(process / "status"):
                return int(process.name)
        except OSError:  # gone meanwhile
            continue
    return None


def _is_first(status: Path) -> bool:
    numbers = next(line for line in status.read_text().splitlines() if line.startswith("NSpid:"))
    return numbers.split()[-1] == "1"


def _in(namespace: str | None) -> Sequence[str]:
    return (f"--namespace={namespace}",) if namespace else ()


def _mapping(value: object) -> dict[str, Any]:
    assert isinstance(value, dict)
    return value


def find_programs() -> bool:
    """Return whether both programs are there."""
    return all(map(shutil.which, ("kubectl", "helm")))
