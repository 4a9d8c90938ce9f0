"""The API server of this folder's tests: one for each worker, with the resource definition of the chart."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Final

import pytest

from support.apiserver import ApiServer, running_apiserver
from support.cluster_objects import EventSchemas, install_definition, make_namespace
from support.kubernetes_programs import ABSENT, find_programs

if TYPE_CHECKING:
    from collections.abc import Iterator

_NUMBERS: Final = count()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    programs = find_programs()
    if programs is None:
        pytest.skip(ABSENT)
    with running_apiserver(programs, tmp_path_factory.mktemp("apiserver")) as running:
        install_definition(running)
        yield running


@pytest.fixture
def event_schemas(server: ApiServer) -> EventSchemas:
    """Make a namespace that no other test has, and return what there is of event types in it."""
    return EventSchemas(server, make_namespace(server, f"test-{next(_NUMBERS)}"))
