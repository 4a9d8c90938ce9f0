"""Two workers on two hosts, and a slow task of which Spark runs a copy at the same time: both post the same rows."""

from __future__ import annotations

import json
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from support.http_faults import Held, running_fault_proxy
from support.spark_pipelines import ROWS_PER_BODY, SMALL_SPLITS, SPECULATED, expected, write_lines
from support.spark_programs import WORKER_HOSTS, running_cluster, running_driver
from support.spark_service import stored_contents
from support.spark_settings import SMALL

if TYPE_CHECKING:
    from pathlib import Path

    from support.http_faults import Fault, Request
    from support.services import Program

ROWS: Final = 8 * ROWS_PER_BODY
SETTINGS: Final = {
    **SMALL,
    **SMALL_SPLITS,
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    # Both tasks begin at once, each on a host: a copy never runs where its original does.
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "300s",
    "spark.cores.max": "2",
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.multiplier": "1.1",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.rolling.enabled": "false",
    "spark.eventLog.compress": "false",
}


class SlowTask:
    """Lets the answer to one task's first post wait until another attempt posts the same."""

    def __init__(self) -> None:
        self.copy_has_posted = threading.Event()
        self.bodies: Counter[bytes] = Counter()
        self._slow: bytes | None = None

    def judge(self, request: Request) -> Fault:
        """Decide about a post."""
        self.bodies[request.body] += 1
        if self._slow is None:
            self._slow = request.body
            return Held(threading.Event(), self.copy_has_posted, is_answered=True)
        if request.body == self._slow:
            self.copy_has_posted.set()
        return None


def test_a_task_and_its_copy_both_post_and_every_row_is_stored_once(service: Program, tmp_path: Path) -> None:
    """Spark says itself that a copy ran; the same bodies came twice, though no answer was lost."""
    write_lines(tmp_path / "lines" / "all.txt", 0, ROWS)
    events = tmp_path / "events"
    events.mkdir()
    slow = SlowTask()

    with running_fault_proxy(service.url) as proxy, running_cluster(tmp_path / "cluster") as master:
        proxy.judge = slow.judge
        settings = {**SETTINGS, "spark.master": master, "spark.eventLog.dir": f"file:{events}"}
        with running_driver(url=proxy.url, settings=settings, pipelines={SPECULATED: tmp_path}) as driver:
            code = driver.wait_ended()
            slow.copy_has_posted.set()
            assert code == 0, driver.said

    attempts = list(_attempts(events))
    assert any(attempt["Speculative"] for attempt in attempts)
    assert {attempt["Host"] for attempt in attempts} == set(WORKER_HOSTS)
    assert max(slow.bodies.values()) == 2
    assert stored_contents(service.url, **{"class": SPECULATED}) == Counter(expected(SPECULATED, ROWS))


def _attempts(events: Path) -> list[dict[str, Any]]:
    """Return the attempts of tasks that Spark has begun, from the log that it keeps."""
    (file,) = events.iterdir()
    said = [json.loads(line) for line in file.read_text().splitlines()]
    return [one["Task Info"] for one in said if one["Event"] == "SparkListenerTaskStart"]
