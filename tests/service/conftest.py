"""The logs that tests of streams run over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from support.nats import running_server
from support.services import IN_MEMORY
from support.watching import jetstream

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[str]:
    """Run a broker for one test, and give its address."""
    with running_server(tmp_path / "broker") as server:
        yield server.url


@pytest.fixture(params=["memory", "jetstream"])
def backend(request: pytest.FixtureRequest) -> Mapping[str, Any]:
    """Return the settings of an empty log."""
    return IN_MEMORY if request.param == "memory" else jetstream(request.getfixturevalue("broker"))
