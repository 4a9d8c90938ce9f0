"""What tests of the operator share: an API server, a broker and a service that follows it, one of each per worker."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Final

import pytest

from support.apiserver import ApiServer, running_apiserver
from support.cluster_objects import EventSchemas, install_definition, make_namespace, service_account
from support.installations import Installation, on_broker
from support.kubernetes_programs import ABSENT, find_programs
from support.nats import Server, running_server
from support.observers import observing
from support.operators import Operator, running_operator
from support.rights import operator_rules
from support.services import Program, running_avisod

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_SHARED: Final = "shared"
_NUMBERS: Final = count()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    programs = find_programs()
    if programs is None:
        pytest.skip(ABSENT)
    with running_apiserver(programs, tmp_path_factory.mktemp("apiserver")) as running:
        install_definition(running)
        yield running


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("broker")) as running:
        yield running


@pytest.fixture(scope="session")
def service(broker: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    with running_avisod(tmp_path_factory.mktemp("avisod"), on_broker(broker.url)) as running:
        yield running


@pytest.fixture(scope="session")
def shared_operator(
    server: ApiServer, broker: Server, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Operator]:
    """Run an operator that no test ends, with exactly the rights that the chart gives it in a namespace."""
    make_namespace(server, _SHARED)
    folder = tmp_path_factory.mktemp("operator")
    kubeconfig = folder / "kubeconfig"
    rules = operator_rules()
    server.write_kubeconfig(kubeconfig, service_account(server, _SHARED, "operator", rules=rules))
    with running_operator(folder, kubeconfig, broker.url, f"--namespace={_SHARED}") as running:
        yield running


@pytest.fixture
def installation(
    server: ApiServer, broker: Server, service: Program, shared_operator: Operator
) -> Iterator[Installation]:
    """Give what all share, under an observer of the test's own."""
    with observing(server, [_SHARED], [service.url]) as observer:
        yield Installation(EventSchemas(server, _SHARED), broker, service.url, observer)


@pytest.fixture
def namespace(server: ApiServer) -> str:
    """Make a namespace that no other test has."""
    return make_namespace(server, f"test-{next(_NUMBERS)}")


@pytest.fixture
def alone(server: ApiServer, broker: Server, service: Program, namespace: str) -> Iterator[Installation]:
    """Give what all share but for the operator, in a namespace of its own."""
    with observing(server, [namespace], [service.url]) as observer:
        yield Installation(EventSchemas(server, namespace), broker, service.url, observer)


@pytest.fixture
def operator_folder(tmp_path: Path) -> Path:
    """Give a folder for an operator's output."""
    return tmp_path / "operator"
