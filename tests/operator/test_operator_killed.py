"""The operator is killed at each boundary between two actions, and started again: it goes on where it was.

A gate between the operator and its servers holds one request: before it is made, which is the end of the action before
it, or before it is answered, when it was done and nobody knows. Killed there, its successor has to find by looking what
is left. Streams that are to be kept are the same ones in the end, with all that they held.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import pytest

from support.cluster_objects import EventSchemas, make_namespace
from support.gate_to_broker import GateToBroker
from support.gate_to_cluster import GateToCluster
from support.gates import opened
from support.installations import Installation, fresh_names, identity, severe
from support.observers import observing
from support.operators import running_operator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.apiserver import ApiServer
    from support.gates import Gate, Moment
    from support.nats import Server
    from support.operators import Operator
    from support.services import Program

# What the operator asks for, as its servers see it.
_CREATE: Final = r"STREAM\.CREATE\.ALERT"
_UPDATE: Final = r"STREAM\.UPDATE\.ALERT"
_DELETE: Final = r"STREAM\.DELETE\.ALERT"
_SCHEMA: Final = r"\$KV\.aviso-schemas\."
_STATUS: Final = r"^PATCH .*/status"
_OBJECT: Final = r"^PATCH .*/eventschemas/[^/]+$"
_EVENT: Final = r"^POST .*/events"

_NAMESPACE: Final = "killed"
_MOMENTS: Final[tuple[Moment, ...]] = ("asked", "answered")


def moments_of(*requests: str) -> pytest.MarkDecorator:
    """Return a table of these requests, each at both of its moments."""
    return pytest.mark.parametrize(
        ("request_name", "moment"), [(name, moment) for name in requests for moment in _MOMENTS]
    )


class Stage(NamedTuple):
    """An installation whose operator reaches everything through gates."""

    installation: Installation
    operator: Operator
    to_broker: GateToBroker
    to_cluster: GateToCluster

    def hold(self, request_name: str, moment: Moment) -> Gate:
        """Hold a request."""
        gate: Gate = self.to_cluster if request_name.startswith("^") else self.to_broker
        gate.hold(request_name, moment)
        return gate

    def kill(self, gate: Gate) -> None:
        """Kill the operator when it is held, have its last requests end with it, and start it again."""
        gate.wait_held()
        self.operator.kill()
        self.to_broker.drop()
        self.to_cluster.drop()
        self.operator.start()


@pytest.fixture(scope="session")
def behind_gates(
    server: ApiServer, broker: Server, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Operator, GateToBroker, GateToCluster]]:
    """Run an operator behind gates: what one test has started is there for the next."""
    make_namespace(server, _NAMESPACE)
    to_broker, to_cluster = GateToBroker(broker), GateToCluster(server.port, server.ca_file)
    folder = tmp_path_factory.mktemp("operator")
    kubeconfig = folder / "kubeconfig"
    with opened(to_broker), opened(to_cluster):
        server.write_kubeconfig(kubeconfig, server.admin_token, url=to_cluster.url)
        with running_operator(folder, kubeconfig, to_broker.url, f"--namespace={_NAMESPACE}") as operator:
            yield operator, to_broker, to_cluster


@pytest.fixture
def stage(
    server: ApiServer,
    broker: Server,
    service: Program,
    behind_gates: tuple[Operator, GateToBroker, GateToCluster],
) -> Iterator[Stage]:
    with observing(server, [_NAMESPACE], [service.url]) as observer:
        objects = EventSchemas(server, _NAMESPACE)
        yield Stage(Installation(objects, broker, service.url, observer), *behind_gates)


@moments_of(_CREATE, _SCHEMA, _STATUS, _EVENT)
def test_killed_while_an_event_type_becomes_live(stage: Stage, request_name: str, moment: Moment) -> None:
    """Whatever was done before stays done: there is one stream and one revision, and the object is ready."""
    names = fresh_names()
    gate = stage.hold(request_name, moment)
    stage.to_broker.requests.clear()
    stage.installation.create(names)
    stage.kill(gate)
    body = stage.installation.wait_ready(names)
    assert identity(stage.installation.stream(names))[1:] == (0, 0)
    assert stage.installation.notify(names, 5) == 200
    # What had been published before the end is not published again.
    written = stage.to_broker.requests.count(f"$KV.aviso-schemas.{names.event_type}")
    assert written == (2 if (request_name, moment) == (_SCHEMA, "asked") else 1)
    assert body["status"]["propagation"]["acknowledged"] == 1


@moments_of(_UPDATE, _SCHEMA, _STATUS)
def test_killed_while_an_edit_becomes_live(stage: Stage, request_name: str, moment: Moment) -> None:
    """The edit is live after the restart, with the same stream and all that it held."""
    names = fresh_names()
    kept = stage.installation.live_with(3, names)
    gate = stage.hold(request_name, moment)
    storage = {"retention": "30d", "maxMessages": 1000}
    stage.installation.objects.patch(
        names.name, {"spec": {"storage": {**storage, "shrink": "Allow"}, **severe(9)["spec"]}}
    )
    stage.kill(gate)
    stage.installation.wait_ready(names)
    stream = stage.installation.stream(names)
    assert identity(stream) == kept
    assert stream is not None
    assert stream["config"]["max_msgs"] == 1000
    assert stage.installation.notify(names, 9) == 200


@moments_of(_SCHEMA, _UPDATE)
def test_killed_while_it_lets_go_of_what_is_retained(stage: Stage, request_name: str, moment: Moment) -> None:
    """The deleted object's schema is withdrawn and its stream stamped, by whoever comes after.

    The object that is made again has both back.
    """
    names = fresh_names()
    installation = stage.installation
    kept = installation.live_with(3, names)
    gate = stage.hold(request_name, moment)
    installation.objects.delete(names.name)
    stage.kill(gate)
    installation.wait_withdrawn(names)
    installation.wait_orphaned(names)
    assert identity(installation.stream(names)) == kept
    installation.create(names, severity=6)
    installation.wait_ready(names)
    assert identity(installation.stream(names)) == kept
    assert "aviso.dev/orphaned-at" not in installation.settings(names)["metadata"]


@moments_of(_UPDATE, _SCHEMA, _STATUS)
def test_killed_while_it_takes_back_what_was_retained(
    stage: Stage, request_name: str, moment: Moment
) -> None:
    """An object that is made again gets its stream back, however often the operator begins anew."""
    names = fresh_names()
    installation = stage.installation
    kept = installation.live_with(3, names)
    installation.objects.delete(names.name)
    installation.wait_orphaned(names)
    gate = stage.hold(request_name, moment)
    created = installation.create(names, severity=6)
    stage.kill(gate)
    installation.wait_ready(names)
    assert identity(installation.stream(names)) == kept
    marks = installation.settings(names)["metadata"]
    assert "aviso.dev/orphaned-at" not in marks
    assert marks["aviso.dev/uid"] == created["metadata"]["uid"]


@moments_of(_SCHEMA, _DELETE, _OBJECT)
def test_killed_while_it_deletes(stage: Stage, request_name: str, moment: Moment) -> None:
    """An object that takes its stream along goes once the stream is gone, and not before."""
    names = fresh_names()
    installation = stage.installation
    installation.live_with(3, names, deletionPolicy="Delete")
    installation.observer.wait(
        installation.key(names), lambda body: "finalizers" in body["metadata"], "held back"
    )
    gate = stage.hold(request_name, moment)
    installation.objects.delete(names.name)
    gate.wait_held()
    is_there = installation.stream(names) is not None
    assert is_there == (request_name == _SCHEMA or (request_name, moment) == (_DELETE, "asked"))
    stage.kill(gate)
    installation.observer.wait_gone(installation.key(names))
    assert installation.stream(names) is None
    installation.wait_withdrawn(names)


@moments_of(_OBJECT)
def test_killed_before_it_holds_an_object_back(stage: Stage, request_name: str, moment: Moment) -> None:
    """The finalizer that protects the order of a deletion is there after the restart, and the object is ready."""
    names = fresh_names()
    gate = stage.hold(request_name, moment)
    stage.installation.create(names, deletionPolicy="Delete")
    stage.kill(gate)
    stage.installation.wait_ready(names)
    stage.installation.observer.wait(
        stage.installation.key(names), lambda body: "finalizers" in body["metadata"], "held back"
    )
