"""The release that the system tests install, and what they ask of it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import httpx

from support.deployment import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from support.deployment import Cluster

RELEASE: Final = "aviso"
RELEASE_NAMESPACE: Final = "aviso-system"
CLIENTS: Final = "aviso-clients"
SPARK: Final = "aviso-spark"
# The one address of all routes, for pods of any namespace.
EDGE: Final = f"http://{RELEASE}.{RELEASE_NAMESPACE}.svc.cluster.local"

_ROOT: Final = Path(__file__).resolve().parents[2]
_CHART: Final = _ROOT / "charts" / "aviso"
_VALUES: Final = _ROOT / "tests" / "system" / "values.yaml"
_READY_SECONDS: Final = 180


class Installed:
    """A release of the chart."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.seconds = 0.0
        self.client_image = os.environ.get("AVISO_SYSTEM_CLIENT_IMAGE", "aviso/client:dev")

    def install(self) -> str:
        """Install, and wait until all is ready; returns the notes."""
        return self.cluster.helm("install", *self._flags(), timeout=_READY_SECONDS + 30)

    def upgrade(self, *settings: str, values: Path | None = None) -> str:
        """Upgrade with some values changed, one by one or by a file, and wait until all is ready."""
        changed = [f"--set={setting}" for setting in settings]
        if values is not None:
            changed.append(f"--values={values}")
        return self.cluster.helm(
            "upgrade", "--reuse-values", *self._flags(), *changed, timeout=_READY_SECONDS + 30
        )

    def uninstall(self) -> str:
        """Uninstall, and wait until it is gone."""
        return self.cluster.helm("uninstall", RELEASE, f"--namespace={RELEASE_NAMESPACE}", "--wait")

    def declare(self, file: Path) -> None:
        """Apply event types and wait until every replica serves them."""
        self.kubectl("apply", f"--filename={file}")
        self.wait("condition=Ready", "eventschemas", "--all", seconds=60)

    def kubectl(self, *words: str) -> str:
        """Run kubectl in the namespace of the release."""
        return self.cluster.kubectl(f"--namespace={RELEASE_NAMESPACE}", *words)

    def wait(self, condition: str, *what: str, seconds: float) -> None:
        """Wait for a condition of objects of the release."""
        self.cluster.wait(condition, *what, namespace=RELEASE_NAMESPACE, seconds=seconds)

    def event_schema(self, name: str) -> dict[str, Any]:
        """Return an event type."""
        found = self.cluster.get("eventschema", name, RELEASE_NAMESPACE)
        assert found is not None
        return found

    def pods(self, component: str) -> list[dict[str, Any]]:
        """Return the pods of a component that are not going."""
        selector = f"app.kubernetes.io/instance={RELEASE},app.kubernetes.io/component={component}"
        found = self.cluster.list("pods", RELEASE_NAMESPACE, selector)
        return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]

    def ready_pods(self, component: str) -> list[str]:
        """Return the names of the pods of a component that are ready."""
        return [
            pod["metadata"]["name"]
            for pod in self.pods(component)
            if any(
                condition["type"] == "Ready" and condition["status"] == "True"
                for condition in pod["status"].get("conditions", ())
            )
        ]

    def crash(self, component: str, *, pod: str | None = None) -> str:
        """End the process of a pod of a component as a crash would, and return the pod's name."""
        name = pod or self.ready_pods(component)[0]
        self.cluster.kill(name, RELEASE_NAMESPACE, component)
        return name

    def is_whole(self, component: str, *, seconds: float = 120) -> None:
        """Wait until as many pods of a component are ready as there are meant to be."""

        def look() -> bool:
            pods = self.pods(component)
            return bool(pods) and len(self.ready_pods(component)) == len(pods)

        until(look, seconds=seconds, what=f"all pods of {component} are ready")

    @contextmanager
    def reached(self, what: str = f"service/{RELEASE}", port: str = "http") -> Iterator[httpx.Client]:
        """Reach the edge, or another port of the release, from here for as long as the block runs."""
        with closing(socket.create_server(("127.0.0.1", 0))) as free:
            here = free.getsockname()[1]
        words = self.cluster.command(
            f"--namespace={RELEASE_NAMESPACE}", "port-forward", what, f"{here}:{port}"
        )
        with (
            subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as forwarding,
            httpx.Client(base_url=f"http://127.0.0.1:{here}", timeout=30) as client,
        ):
            try:
                assert forwarding.stdout is not None
                assert forwarding.stdout.readline().startswith("Forwarding")
                yield client
            finally:
                forwarding.terminate()

    def last_sequence(self, event_type: str) -> int:
        """Return the last sequence that the log holds of an event type that is open to everybody."""
        with self.reached() as client:
            return _last(client, event_type)

    def holds_more_than(self, event_type: str, sequence: int, *, seconds: float = 60) -> None:
        """Wait until the log has gone on beyond a sequence."""
        with self.reached() as client:
            until(lambda: _last(client, event_type) > sequence, seconds=seconds, what=f"{event_type} goes on")

    def broker_streams(self) -> dict[str, dict[str, Any]]:
        """Return the streams of the broker by name, with what their leader says of them."""
        found: dict[str, dict[str, Any]] = {}
        for pod in self.ready_pods("nats"):
            with self.reached(f"pod/{pod}", "monitor") as client:
                told = client.get("/jsz", params={"streams": True, "config": True}).json()
            for account in told.get("account_details", ()):
                found |= {stream["name"]: stream for stream in account.get("stream_detail", ())}
        return found

    @contextmanager
    def broker_monitor(self) -> Iterator[Callable[[str], int]]:
        """Give what tells again and again how many messages a stream has, as one of the brokers knows it."""
        with self.reached(f"pod/{self.ready_pods('nats')[0]}", "monitor") as client:

            def stored(stream: str) -> int:
                told = client.get("/jsz", params={"streams": True}).json()
                for account in told.get("account_details", ()):
                    for detail in account.get("stream_detail", ()):
                        if detail["name"] == stream:
                            messages = detail["state"]["messages"]
                            assert isinstance(messages, int)
                            return messages
                return 0

            yield stored

    def replayed(self, event_type: str, *, first: int = 1) -> list[dict[str, Any]]:
        """Return what the log holds of an event type that is open to everybody."""
        with self.reached() as client:
            answer = client.post(
                "/api/v1/replay",
                json={"event_type": event_type, "identifier": {}, "from_id": str(first)},
                headers={"Accept": "application/x-ndjson"},
            )
        assert answer.status_code == 200, answer.text
        *events, end = map(json.loads, answer.text.splitlines())
        assert end["complete"] is True, end
        return events

    def _flags(self) -> Sequence[str]:
        own = os.environ.get("AVISO_SYSTEM_VALUES")
        return [
            RELEASE,
            str(_CHART),
            f"--namespace={RELEASE_NAMESPACE}",
            f"--values={_VALUES}",
            *([f"--values={own}"] if own else ()),
            "--wait",
            f"--timeout={_READY_SECONDS}s",
        ]


def _last(client: httpx.Client, event_type: str) -> int:
    answer = client.get(f"/api/v1/positions/{event_type}")
    assert answer.status_code == 200, answer.text
    last = answer.json()[event_type]["last"]
    assert isinstance(last, int)
    return last
