"""The session of a job: what the launcher prepared where there is one, else one on this machine.

Started by spark-submit, or with SPARK_REMOTE, everything about the session was said by whoever started the job, and
only what keeps results right is added. Started as a plain program, Java is looked for first, and the workers get the
interpreter of the job: left alone they would take whatever `python3` means on the PATH, without our packages.
"""

from __future__ import annotations

import logging
import os
import sys
from typing import TYPE_CHECKING, Final

from aviso_spark.common.java import find_java

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

# A speculative attempt would post the same rows at the same moment; its ids would be recognised, its counts would not.
_ALWAYS: Final[Mapping[str, str]] = {
    "spark.sql.session.timeZone": "UTC",
    "spark.speculation": "false",
}
_ON_THIS_MACHINE: Final[Mapping[str, str]] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "FATAL",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


def open_session(name: str, *, master: str | None, settings: Mapping[str, str]) -> SparkSession:
    """Return the session to work in."""
    chosen = settings_of(name, master=master, settings=settings, environ=os.environ)
    if is_started_here(os.environ):
        find_java(os.environ)
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        # Spark's driver refuses workers of another Python, and its own is this one.
        os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)

    from pyspark.logger import PySparkLogger
    from pyspark.sql import SparkSession

    builder = SparkSession.builder
    for key, value in chosen.items():
        builder = builder.config(key, value)
    # It would print what is told in one line a second time, with stack traces.
    PySparkLogger.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)
    return builder.getOrCreate()


def is_started_here(environ: Mapping[str, str]) -> bool:
    """Tell whether this program starts Spark itself, rather than being started by it or asking a server."""
    return not {"PYSPARK_GATEWAY_PORT", "SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED"} & environ.keys()


def settings_of(
    name: str, *, master: str | None, settings: Mapping[str, str], environ: Mapping[str, str]
) -> dict[str, str]:
    """Return the session's settings: those of the caller over those that jobs need."""
    chosen = {"spark.app.name": f"aviso-{name}", **_ALWAYS}
    if is_started_here(environ):
        chosen |= {"spark.master": "local[*]", **_ON_THIS_MACHINE}
    if master is not None:
        chosen["spark.master"] = master
    return {**chosen, **settings}
