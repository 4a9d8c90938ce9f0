"""A job of Spark publishes from executors in pods of their own, one of which is killed on the way."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from support.deployment import until
from support.installed import EDGE, SPARK

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.installed import Installed
    from support.pod_scripts import PodScripts

ROWS: Final = 10_000
JOB: Final = "scenes"
STREAM: Final = "SCENE"
OPERATOR_ABSENT: Final = "not on this machine: a Spark operator"
_EXECUTORS: Final = f"spark-role=executor,sparkoperator.k8s.io/app-name={JOB}"
_VALUES: Final = Path(__file__).parent / "spark.yaml"
_CONTAINER: Final = "spark-kubernetes-executor"


@pytest.fixture(scope="module")
def job(event_types: Installed, scripts: PodScripts) -> Callable[[], dict[str, Any]]:
    """Have the chart apply the job once its table is there; return what tells the application's state."""
    cluster = event_types.cluster
    if cluster.try_kubectl("get", "crd", "sparkapplications.sparkoperator.k8s.io").code:
        pytest.skip(OPERATOR_ABSENT)
    table = "\n".join(["tile", *map(str, range(ROWS))])
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "64Mi"}}}
    cluster.apply(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "table"}, "data": {"scenes.csv": table}},
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "receipts"}, "spec": claim},
        namespace=SPARK,
    )  # fmt: skip
    event_types.upgrade(values=_VALUES)

    def state() -> dict[str, Any]:
        application = cluster.get("sparkapplications.sparkoperator.k8s.io", JOB, SPARK)
        assert application is not None
        told = application.get("status", {}).get("applicationState", {})
        assert isinstance(told, dict)
        return told

    return state


def test_every_row_arrives_once_though_an_executor_is_killed(
    event_types: Installed, scripts: PodScripts, job: Callable[[], dict[str, Any]]
) -> None:
    """The task that was on its way runs again; the ids of its notifications take the repeats."""
    following = scripts.start(
        "scenes",
        "follow.py",
        EDGE,
        "scene",
        "--identifier={}",
        f"--last={ROWS - 1}",
        "--any-order",
        account="reader",
    )
    cluster = event_types.cluster
    with event_types.broker_monitor() as stored:
        until(lambda: stored(STREAM) > ROWS // 20, seconds=240, what=lambda: f"the job publishes: {job()}")
        running = [
            pod["metadata"]["name"]
            for pod in cluster.list("pods", SPARK, _EXECUTORS)
            if pod["status"]["phase"] == "Running"
        ]
        cluster.kill(running[0], SPARK, _CONTAINER)
        on_the_way = stored(STREAM)
    assert on_the_way < ROWS, "the job had ended before an executor was killed"

    def ended() -> str | None:
        state: str | None = job().get("state")
        return state if state in {"COMPLETED", "FAILED"} else None

    assert until(ended, seconds=240, what=lambda: f"the job ends: {job()}") == "COMPLETED", job()
    told = following.result(seconds=120)
    assert (told["lost"], told["repeated"]) == (0, 0)
    assert event_types.broker_streams()[STREAM]["state"]["messages"] == ROWS
    print(f"{running[0]} of {len(running)} killed at {on_the_way} of {ROWS}")


def test_its_report_is_in_the_log_of_the_driver(
    event_types: Installed, job: Callable[[], dict[str, Any]]
) -> None:
    assert job()["state"] == "COMPLETED"
    report = event_types.cluster.logs(f"{JOB}-driver", SPARK)
    assert "10000" in report.replace(",", "").replace(" ", ""), report[-2000:]
