"""Programs of Spark as processes of their own: drivers that can be killed, and a cluster.

What they say is read while they say it: "ready" is a line of theirs.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyspark

import aviso_spark
from support.spark_settings import JAVA_OPTIONS, SMALL

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

PATIENCE_SECONDS: Final = 300.0
_TESTS: Final = Path(__file__).parents[1]
_MASTER: Final = "org.apache.spark.deploy.master.Master"
_WORKER: Final = "org.apache.spark.deploy.worker.Worker"
_SUBMIT: Final = "org.apache.spark.deploy.SparkSubmit"
WORKER_HOSTS: Final = ("127.0.0.1", "127.0.0.2")


class Started:
    """A process with all that it starts, and what it says."""

    def __init__(self, command: list[str], *, environ: Mapping[str, str]) -> None:
        self._lines: list[str] = []
        self._has_ended = False
        self._more = threading.Condition()
        self._process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            env={**os.environ, **environ},
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as said:
            for line in said:
                with self._more:
                    self._lines.append(line)
                    self._more.notify_all()
        with self._more:
            self._has_ended = True
            self._more.notify_all()

    def wait_said(self, pattern: str) -> str:
        """Wait for a line with the pattern, and return its first group."""
        expression = re.compile(pattern)
        found: list[str] = []

        def is_there() -> bool:
            found.extend(match[1] for match in map(expression.search, self._lines) if match)
            return bool(found) or self._has_ended

        with self._more:
            self._more.wait_for(is_there, PATIENCE_SECONDS)
        assert found, f"never said '{pattern}':\n{self.said}"
        return found[0]

    @property
    def said(self) -> str:
        """What it has said last."""
        return "".join(self._lines[-60:])

    def wait_reached(self, events: Iterable[threading.Event]) -> None:
        """Wait until all of this has happened to it."""
        for event in events:
            while not event.wait(0.5):
                assert not self._has_ended, f"it ended before:\n{self.said}"

    def wait_ended(self) -> int:
        """Wait until it has ended by itself, and return its exit code."""
        try:
            code = self._process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it goes on after {PATIENCE_SECONDS:.0f} s:\n{self.said}") from None
        self._reader.join(PATIENCE_SECONDS)
        return code

    def terminate(self) -> None:
        """Ask it to end, as a service manager does: it alone, not what it has started."""
        self._process.terminate()

    def kill(self) -> None:
        """End it and what it has started as a crash of the machine would."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(PATIENCE_SECONDS)
        self._reader.join(PATIENCE_SECONDS)


@contextmanager
def running_driver(
    *, url: str, settings: Mapping[str, str], pipelines: Mapping[str, Path]
) -> Iterator[Started]:
    """Run pipelines, each in its folder, in a driver of their own."""
    told = {
        "url": url,
        "settings": dict(settings),
        "pipelines": {name: str(folder) for name, folder in pipelines.items()},
    }
    command = [sys.executable, "-m", "support.spark_pipelines", json.dumps(told)]
    environ = {"PYTHONPATH": str(_TESTS), "PYSPARK_PYTHON": sys.executable}
    driver = Started(command, environ=environ)
    try:
        yield driver
    finally:
        driver.kill()


@contextmanager
def submitted_job(*arguments: str, url: str) -> Iterator[Started]:
    """Run a job as `spark-submit` starts it: Java is what is started, and the job is what Java starts."""
    program = str(Path(aviso_spark.__file__).with_name("main.py"))
    settings = [part for name, value in SMALL.items() for part in ("--conf", f"{name}={value}")]
    command = [_spark_class(), _SUBMIT, "--master", "local[2]", *settings, program, *arguments, "--url", url]
    job = Started(command, environ={"PYSPARK_PYTHON": sys.executable})
    try:
        yield job
    finally:
        job.kill()


@contextmanager
def running_cluster(folder: Path) -> Iterator[str]:
    """Run a master and two workers, each on a host of its own with one core; yield the master's address."""
    with ExitStack() as stack:

        def start(host: str, *arguments: str) -> Started:
            environ = {
                "SPARK_LOCAL_IP": host,
                "SPARK_DAEMON_MEMORY": "192m",
                "SPARK_DAEMON_JAVA_OPTS": JAVA_OPTIONS,
                "PYSPARK_PYTHON": sys.executable,
            }
            started = Started(
                [_spark_class(), *arguments, "--host", host, "--webui-port", "0"], environ=environ
            )
            stack.callback(started.kill)
            return started

        master = start(WORKER_HOSTS[0], _MASTER, "--port", "0")
        address = master.wait_said(r"Starting Spark master at (spark://\S+)")
        sizes = ("--cores", "1", "--memory", "600m")
        workers = [
            start(host, _WORKER, address, *sizes, "--work-dir", str(folder / host)) for host in WORKER_HOSTS
        ]
        for worker in workers:
            worker.wait_said("Successfully registered with (master)")
        yield address


def _spark_class() -> str:
    return str(Path(pyspark.__file__).parent / "bin" / "spark-class")
