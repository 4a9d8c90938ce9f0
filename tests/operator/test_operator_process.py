"""The operator as a command: it starts where it can, says why where it cannot, and stops when it is told to."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest

from support.cluster_objects import document, make_namespace, service_account
from support.gate_to_broker import GateToBroker
from support.gate_to_cluster import GateToCluster
from support.gates import opened
from support.installations import declared, fresh_names, identity, until
from support.nats import free_ports
from support.operators import Operator, running_operator

if TYPE_CHECKING:
    from pathlib import Path

    from support.apiserver import ApiServer
    from support.installations import Installation, Names
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


def test_it_stops_while_the_api_server_lets_it_wait(
    operator_folder: Path, server: ApiServer, broker: Server, alone: Installation
) -> None:
    """What a thread waits for is given up: nothing but the patience of whoever stops it would end it else."""
    gate = GateToCluster(server.port, server.ca_file)
    operator_folder.mkdir()
    kubeconfig = operator_folder / "kubeconfig"
    with opened(gate):
        server.write_kubeconfig(kubeconfig, server.admin_token, url=gate.url)
        namespace = f"--namespace={alone.objects.namespace}"
        with running_operator(operator_folder, kubeconfig, broker.url, namespace) as operator:
            gate.hold(r"^PATCH .*/status", "answered")
            alone.create(fresh_names())
            gate.wait_held()
            began = time.monotonic()
            assert operator.stop() == 0
            assert time.monotonic() - began < _STOPS_WITHIN_SECONDS


@pytest.mark.parametrize("levels", [900, 9_900])
def test_an_object_of_more_levels_than_anybody_recurses_over_is_refused_and_disturbs_nobody(
    operator_folder: Path, server: ApiServer, broker: Server, alone: Installation, levels: int
) -> None:
    """Whoever may create an object can create one as deep as the API server takes: it is told so in its status."""
    names, deep = fresh_names(), fresh_names()
    # Apart from what the test itself follows.
    namespace = make_namespace(server, f"{alone.objects.namespace}-deep")
    watched = f"--namespace={alone.objects.namespace}", f"--namespace={namespace}"
    with running_operator(operator_folder, server.kubeconfig, broker.url, *watched) as operator:
        try:
            create_nested(server, namespace, deep, levels, operator_folder / "deep.json")
            until(lambda: "levels deep" in ready_message(server, namespace, deep), "refused")
            alone.create(names)
            alone.wait_ready(names)
            assert operator.stop() == 0
            operator.start()
            until(lambda: operator.ask("/readyz").status_code == 200, "ready")
        finally:
            server.kubectl("delete", "eventschema", deep.name, f"--namespace={namespace}")


def create_nested(server: ApiServer, namespace: str, names: Names, levels: int, file: Path) -> None:
    """Create an object whose JSON Schema has so many levels, written as text: we could not encode it either."""
    text = json.dumps(document(names.name, declared(names, payload={"jsonSchema": {"not": {}}})))
    file.write_text(text.replace('{"not": {}}', '{"not": ' * levels + "{}" + "}" * levels))
    path = f"/apis/aviso.dev/v1alpha1/namespaces/{namespace}/eventschemas"
    ran = server.kubectl("create", f"--raw={path}", f"--filename={file}")
    assert ran.returncode == 0, ran.stderr


def ready_message(server: ApiServer, namespace: str, names: Names) -> str:
    """Return what an object says of itself."""
    wanted = "--output=jsonpath={.status.conditions[0].message}"
    return server.kubectl("get", "eventschema", names.name, f"--namespace={namespace}", wanted).stdout


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
