"""The jobs, one module each: its arguments, its reading, its pure transform, its writing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from aviso_spark.common.report import Report
    from aviso_spark.common.stopping import Stopping


class Job(Protocol):
    """What a module of a job has."""

    NAME: str
    SUMMARY: str
    MORE: str

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add what only this job takes."""
        ...

    def wanted(self, read: Mapping[str, Any]) -> Any:
        """Return what a command line asks for."""
        ...

    def run(self, job: Any, session: SparkSession, stopping: Stopping) -> Report:
        """Do it."""
        ...
