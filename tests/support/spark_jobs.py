"""Jobs as their users run them, and a service with event types that have rules."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from aviso_spark.command import main
from support.nats import running_server
from support.services import running_avisod

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from support.services import Program

# Strict for producers, and its readers must say a basin.
STORMS: Final = "storms"
# Takes anything, of which the newest of each name is kept.
BUOYS: Final = "buoys"

SCHEMAS: Final[Mapping[str, Any]] = {
    STORMS: {
        "payload": {"required": True},
        "topic": {"base": STORMS, "key_order": ["basin", "category"]},
        "identifier": {
            "basin": {"type": "EnumHandler", "values": ["atlantic", "pacific"], "required": True},
            "category": {"type": "IntHandler", "range": [0, 5], "required": False},
            "polygon": {"type": "PolygonHandler", "required": False},
        },
        "storage_policy": {"allow_duplicates": True},
    },
    BUOYS: {
        "payload": {"required": False},
        "topic": {"base": BUOYS, "key_order": ["name"]},
        "identifier": {"name": {"type": "StringHandler", "required": False}},
    },
}


@contextmanager
def running_storms(folder: Path) -> Iterator[Program]:
    """Run a service of these event types on a broker of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    with running_server(folder / "broker") as broker:
        backend = {"kind": "jetstream", "jetstream": {"nats_url": broker.url}}
        configuration = {"notification_schema": SCHEMAS, "notification_backend": backend}
        with running_avisod(folder, configuration) as program:
            yield program


def job(program: Program, *arguments: str) -> int:
    """Run a job in the session that there is; return its exit code."""
    return main([*arguments, "--url", program.url])


def job_alone(program: Program, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a job as a program of its own, which starts Spark itself."""
    return subprocess.run(
        [sys.executable, "-m", "aviso_spark", *arguments, "--url", program.url, "--master", "local[2]"],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
        env={key: value for key, value in os.environ.items() if key != "PYSPARK_PYTHON"},
    )
