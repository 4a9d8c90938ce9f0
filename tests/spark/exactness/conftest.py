"""What all tests of exactness need: a service of their own, and files that are cut however small they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.nats import running_server
from support.spark_pipelines import SMALL_SPLITS
from support.spark_service import running_granules

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from support.services import Program


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """Run a service on JetStream; each module writes into groups of its own."""
    folder = tmp_path_factory.mktemp("service")
    with running_server(folder / "nats") as broker, running_granules(folder, broker.url) as program:
        yield program


@pytest.fixture
def small_splits(spark: SparkSession) -> Iterator[SparkSession]:
    """Return the session, which cuts files of some kilobytes as it cuts large ones: for its two cores."""
    before = {name: str(spark.conf.get(name)) for name in SMALL_SPLITS}
    for name, small in SMALL_SPLITS.items():
        spark.conf.set(name, small)
    yield spark
    for name, value in before.items():
        spark.conf.set(name, value)
