"""The cluster of `KUBECONFIG`, and the chart installed in it. `make system` runs these tests, as one story.

They make namespaces of their own and remove them; `--cluster` says that this may be done to the cluster. The images are
those that the values name: `tests/system/values.yaml` has the ones that `make system` builds, and the file that
`AVISO_SYSTEM_VALUES` names overrides them.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from support.deployment import ABSENT, Cluster, find_programs
from support.installed import CLIENTS, RELEASE_NAMESPACE, SPARK, Installed
from support.pod_scripts import PodScripts

if TYPE_CHECKING:
    from collections.abc import Iterator

# What a chapter leaves behind, the next one may need; the last ones take the release away.
STORY: Final = (
    "test_system_install",
    "test_system_event_types",
    "test_system_clients",
    "test_system_spark",
    "test_system_rollout",
    "test_system_crashes",
    "test_system_policies",
    "test_system_deleting",
    "test_system_uninstall",
)
RESTRICTED: Final = {"pod-security.kubernetes.io/enforce": "restricted"}
NAMESPACES: Final = (RELEASE_NAMESPACE, CLIENTS, SPARK)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--cluster", action="store_true", help="run the system tests against the cluster of KUBECONFIG"
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ours = [item for item in items if item.path.stem in STORY]
    ours.sort(key=lambda item: STORY.index(item.path.stem))
    told = iter(ours)
    items[:] = [next(told) if item.path.stem in STORY else item for item in items]


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """Give the cluster, with nothing of ours in it."""
    kubeconfig = os.environ.get("KUBECONFIG")
    if not request.config.getoption("--cluster", default=False) or not kubeconfig or not find_programs():
        pytest.skip(ABSENT)
    cluster = Cluster(Path(kubeconfig))
    _remove(cluster)
    for name in NAMESPACES:
        cluster.make_namespace(name, labels=RESTRICTED)
    yield cluster
    if not os.environ.get("AVISO_SYSTEM_KEEP"):
        _remove(cluster)


@pytest.fixture(scope="session")
def installed(cluster: Cluster) -> Installed:
    """Install the release by one command, as a newcomer would, and tell how long that took."""
    begun = time.monotonic()
    installed = Installed(cluster)
    installed.install()
    installed.seconds = time.monotonic() - begun
    return installed


@pytest.fixture(scope="session")
def event_types(installed: Installed) -> Installed:
    """Declare three event types, which every replica then serves."""
    installed.declare(Path(__file__).parent / "event-types.yaml")
    return installed


@pytest.fixture(scope="session")
def scripts(event_types: Installed) -> PodScripts:
    """Start scripts in pods beside the release, each as the account that it is started with."""
    for account in ("publisher", "reader"):
        event_types.cluster.apply(
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": account}}, namespace=CLIENTS
        )
    return PodScripts(event_types.cluster, CLIENTS, event_types.client_image)


def _remove(cluster: Cluster) -> None:
    """Take away what a run before may have left: objects first, for the operator's finalizer needs its owner."""
    listed = cluster.try_kubectl("get", "namespace", RELEASE_NAMESPACE)
    if listed.code == 0:
        cluster.try_kubectl(
            "delete", "eventschemas", "--all", f"--namespace={RELEASE_NAMESPACE}", "--timeout=20s"
        )
        cluster.try_kubectl("delete", "sparkapplications", "--all", f"--namespace={SPARK}", "--timeout=20s")
    cluster.kubectl("delete", "namespace", "--ignore-not-found", "--timeout=120s", *NAMESPACES)
    cluster.kubectl(
        "delete", "customresourcedefinition", "--ignore-not-found", "eventschemas.aviso.dev", "--timeout=60s"
    )
