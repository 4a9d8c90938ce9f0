"""One Spark session for all tests that need one, a real service on JetStream, and a proxy before it.

A session takes seconds and half a gigabyte, so there is one.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from support.http_faults import FaultProxy, running_fault_proxy
from support.nats import running_server
from support.spark_service import running_granules
from support.spark_settings import SMALL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from support.services import Program

JAVA_VERSIONS: Final = (17, 21)


def has_java() -> bool:
    """Tell whether there is a Java that Spark runs on, where Spark looks for it."""
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if program is None or not Path(program).exists():
        return False
    said = subprocess.run([program, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(\d+)', said)
    return found is not None and int(found[1]) in JAVA_VERSIONS


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Return a session with two cores, in which a task has three attempts; or one on the server that is named."""
    if not has_java():
        pytest.skip("not on this machine: Java 17 or 21")
    from pyspark.sql import SparkSession

    import pyspark_aviso

    # Workers are started with the first Python of the path otherwise, which has none of our packages.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    folder = tmp_path_factory.mktemp("spark")
    builder = SparkSession.builder.appName("tests")
    if "SPARK_REMOTE" not in os.environ:
        settings = {
            **SMALL,
            "spark.master": "local[2,3]",
            "spark.sql.warehouse.dir": str(folder),
            # For a server of Spark Connect in this very Java machine.
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": "0",
        }
        for name, value in settings.items():
            builder = builder.config(name, value)
    session = builder.getOrCreate()
    pyspark_aviso.register(session)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def avisod(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """Run a service with its log on JetStream, shared: each test writes objects of a class of its own."""
    folder = tmp_path_factory.mktemp("avisod")
    with running_server(folder / "nats") as broker, running_granules(folder, broker.url) as program:
        yield program


@pytest.fixture
def proxy(avisod: Program) -> Iterator[FaultProxy]:
    """Return a way to the service with faults to come."""
    with running_fault_proxy(avisod.url) as running:
        yield running
