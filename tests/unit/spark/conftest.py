"""A real service for the data source, its log in memory, and a proxy before it that does what networks do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.http_faults import FaultProxy, running_fault_proxy
from support.published import Published, published
from support.services import Program, running_avisod
from support.spark_service import IN_MEMORY

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def avisod(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """Run a service as a process, shared: each test writes objects of a class of its own."""
    with running_avisod(tmp_path_factory.mktemp("avisod"), IN_MEMORY) as program:
        yield program


@pytest.fixture
def proxy(avisod: Program) -> Iterator[FaultProxy]:
    """Return a way to the service with faults to come."""
    with running_fault_proxy(avisod.url) as running:
        yield running


@pytest.fixture
def service() -> Iterator[Published]:
    """Return a service with two event types and ten events of one; modules that want others have a `service` too."""
    with published("maps", "runs") as running:
        running.publish("maps", range(10))
        yield running
