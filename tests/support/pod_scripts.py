"""Scripts of tests that run in pods of the cluster: a Job each, sources in a ConfigMap, under the restricted level."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from support.deployment import until

if TYPE_CHECKING:
    from collections.abc import Sequence

    from support.deployment import Cluster

_FOLDER: Final = Path(__file__).resolve().parents[1] / "system" / "pods"
_CODE: Final = "pod-scripts"
_TOKEN_FOLDER: Final = "/run/aviso"


class PodScripts:
    """The scripts of `tests/system/pods`, in one namespace."""

    def __init__(self, cluster: Cluster, namespace: str, image: str) -> None:
        self._cluster = cluster
        self._namespace = namespace
        self._image = image
        sources = {file.name: file.read_text() for file in _FOLDER.glob("*.py")}
        cluster.apply(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": _CODE}, "data": sources},
            namespace=namespace,
        )

    def start(
        self, name: str, *words: str, account: str = "default", command: Sequence[str] = ("python3",)
    ) -> RunningScript:
        """Start a script, named by its file and arguments, as the given account."""
        script, *arguments = words
        self._cluster.apply(
            self._job(name, [*command, script, *arguments], account), namespace=self._namespace
        )
        return RunningScript(self._cluster, self._namespace, name)

    def start_traffic(
        self, name: str, url: str, event_type: str, *, numbers: range, rate: int, streams: int, begin: int
    ) -> tuple[RunningScript, RunningScript]:
        """Start readers of what is stored from a sequence on, and when all are open a writer of these numbers."""
        ends = (f"--first={numbers[0]}", f"--last={numbers[-1]}")
        following = self.start(
            f"readers-{name}",
            "follow.py",
            url,
            event_type,
            *ends,
            f"--streams={streams}",
            f"--from-id={begin}",
        )
        following.says("open", seconds=90)
        count = (f"--first={numbers[0]}", f"--count={len(numbers)}", f"--rate={rate}")
        return following, self.start(f"writer-{name}", "publish.py", url, event_type, *count)

    def _job(self, name: str, command: Sequence[str], account: str) -> dict[str, Any]:
        container = {
            "name": "script",
            "image": self._image,
            "command": list(command),
            "workingDir": "/code",
            "env": [
                {"name": "AVISO_TOKEN_FILE", "value": f"{_TOKEN_FOLDER}/token"},
                {"name": "PYTHONUNBUFFERED", "value": "1"},
                {"name": "HOME", "value": "/tmp"},  # noqa: S108 # a volume of the pod
            ],
            "securityContext": {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            },
            "volumeMounts": [
                {"name": "code", "mountPath": "/code"},
                {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 # a volume of the pod
                {"name": "token", "mountPath": _TOKEN_FOLDER, "readOnly": True},
            ],
        }
        token = {"serviceAccountToken": {"path": "token", "audience": "aviso", "expirationSeconds": 600}}
        pod = {
            "restartPolicy": "Never",
            "serviceAccountName": account,
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 1,
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": 65532,
                "runAsGroup": 65532,
                "fsGroup": 65532,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [container],
            "volumes": [
                {"name": "code", "configMap": {"name": _CODE}},
                {"name": "tmp", "emptyDir": {}},
                {"name": "token", "projected": {"sources": [token]}},
            ],
        }
        return {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": name},
            "spec": {"backoffLimit": 0, "template": {"metadata": {"labels": {"script": name}}, "spec": pod}},
        }


class RunningScript:
    """A script in its pod."""

    def __init__(self, cluster: Cluster, namespace: str, name: str) -> None:
        self._cluster = cluster
        self._namespace = namespace
        self._name = name

    def says(self, member: str, *, seconds: float = 60) -> Any:
        """Wait until the script has printed an object with this member, and return the member."""

        def look() -> dict[str, Any] | None:
            has_ended = self._has_ended()  # asked first: what it said at its end is then seen
            said = self._said(member)
            assert said or not has_ended, self.output()
            return said

        return until(look, seconds=seconds, what=lambda: f"{self._name} says {member}: {self.output()}")[
            member
        ]

    def result(self, *, seconds: float = 120) -> dict[str, Any]:
        """Wait until the script has ended, and return the last object that it printed."""
        told = self._ended(seconds)
        assert self._counted("succeeded"), told
        return told

    def refused(self, *, seconds: float = 120) -> tuple[int, int, str]:
        """Wait until the script has failed, and return the number that was refused, with status and text."""
        number, status, text = self._ended(seconds)["refused"]
        return number, status, text

    def end(self) -> None:
        """End the script and remove it."""
        self._cluster.kubectl(f"--namespace={self._namespace}", "delete", f"job/{self._name}")

    def output(self) -> str:
        """Return what the script has written so far."""
        ran = self._cluster.try_kubectl(
            f"--namespace={self._namespace}", "logs", f"--selector=script={self._name}", "--tail=-1"
        )
        return ran.output or ran.messages

    def _ended(self, seconds: float) -> dict[str, Any]:
        until(self._has_ended, seconds=seconds, what=lambda: f"{self._name} has ended: {self.output()}")
        told = json.loads(self.output().strip().splitlines()[-1])
        assert isinstance(told, dict)
        return told

    def _said(self, member: str) -> dict[str, Any] | None:
        for line in self.output().splitlines():
            if line.startswith("{") and member in (said := json.loads(line)):
                assert isinstance(said, dict)
                return said
        return None

    def _has_ended(self) -> bool:
        return self._counted("succeeded") or self._counted("failed")

    def _counted(self, member: str) -> bool:
        job = self._cluster.get("job", self._name, self._namespace)
        assert job is not None
        return bool(job.get("status", {}).get(member))
