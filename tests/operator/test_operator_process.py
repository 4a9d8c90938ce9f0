"""The operator as a command: it starts where it can, says why where it cannot, and stops when it is told to."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from support.cluster_objects import service_account
from support.gate_to_broker import GateToBroker
from support.gates import opened
from support.installations import fresh_names, identity
from support.nats import free_ports
from support.operators import Operator, running_operator

if TYPE_CHECKING:
    from pathlib import Path

    from support.apiserver import ApiServer
    from support.installations import Installation
    from support.nats import Server

_STOPS_WITHIN_SECONDS = 10.0


def test_it_stops_in_the_middle_of_its_work_and_the_next_one_goes_on(
    operator_folder: Path, server: ApiServer, broker: Server, alone: Installation
) -> None:
    """Told to stop while the broker lets it wait, it ends in order and soon; whoever is started next does the rest."""
    names = fresh_names()
    gate = GateToBroker(broker)
    namespace = f"--namespace={alone.objects.namespace}"
    with opened(gate), running_operator(operator_folder, server.kubeconfig, gate.url, namespace) as operator:
        gate.hold(r"STREAM\.CREATE\.ALERT", "answered")
        alone.create(names)
        gate.wait_held()
        began = time.monotonic()
        assert operator.stop() == 0
        assert time.monotonic() - began < _STOPS_WITHIN_SECONDS
        kept = identity(alone.stream(names))
        gate.drop()
        operator.start()
        alone.wait_ready(names)
        assert identity(alone.stream(names)) == kept
        assert b'"operator.stopped"' in operator.output.read_bytes()


def test_without_a_broker_it_does_not_start_and_says_why(
    operator_folder: Path, server: ApiServer, namespace: str
) -> None:
    """It ends with the exit code for that, and the address at which nobody answered."""
    [port] = free_ports(1)
    operator_folder.mkdir()
    operator = Operator(
        operator_folder, server.kubeconfig, f"nats://127.0.0.1:{port}", f"--namespace={namespace}"
    )
    operator.launch()
    assert operator.wait_ended() == 1
    assert f"127.0.0.1:{port}" in operator.output.read_text()


@pytest.mark.parametrize("is_known", [True, False], ids=["without rights", "unknown"])
def test_without_rights_it_does_not_start_and_says_why(
    operator_folder: Path, server: ApiServer, broker: Server, namespace: str, is_known: bool
) -> None:
    """One that may not list objects ends with a reason, instead of waiting for what will not come."""
    operator_folder.mkdir()
    token = service_account(server, namespace, "nobody") if is_known else "unknown"
    kubeconfig = operator_folder / "kubeconfig"
    server.write_kubeconfig(kubeconfig, token)
    operator = Operator(operator_folder, kubeconfig, broker.url, f"--namespace={namespace}")
    operator.launch()
    assert operator.wait_ended() == 1
    assert "EventSchemas cannot be listed" in operator.output.read_text()
