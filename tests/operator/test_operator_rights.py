"""The operator may do exactly what the chart lets it do: all is well with that, and each verb less breaks something.

What breaks is said in a record that names the verb and the resource, so whoever has forgotten a right knows which.
"""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Final, NamedTuple

import pytest

from support.apiserver import running_apiserver
from support.cluster_objects import (
    DEFINITION_FILE,
    EventSchemas,
    install_definition,
    make_namespace,
    service_account,
)
from support.installations import on_broker
from support.kubernetes_programs import ABSENT, find_programs
from support.nats import running_server
from support.operators import Operator
from support.rights import operator_rules, rights_of, without
from support.services import running_avisod

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.apiserver import ApiServer
    from support.nats import Server
    from support.rights import Rules

_numbers: Final = count()
PATIENCE_SECONDS: Final = 20.0
KEYS_COPIED: Final = re.compile(rb'"event.name":"operator.keys.copied"')


@contextmanager
def prepared(folder: Path, *, definition: Path = DEFINITION_FILE) -> Iterator[ApiServer]:
    """Run an API server with a definition."""
    programs = find_programs()
    if programs is None:
        pytest.skip(ABSENT)
    with running_apiserver(programs, folder) as running:
        install_definition(running, definition)
        yield running


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """Give one on which no other operator is: one that watches the whole cluster would meet it."""
    with prepared(tmp_path_factory.mktemp("apiserver")) as running:
        yield running


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Server]:
    with running_server(tmp_path / "nats") as server:
        yield server


class Stage(NamedTuple):
    """An operator with exact rights, which was not started yet, and what it is to look at."""

    operator: Operator
    objects: EventSchemas
    broker: Server

    def create(self, **spec: object) -> None:
        """Create an object with an event type of its own."""
        name = self.objects.namespace.replace("-", "")
        declared = {
            "eventType": name,
            "topic": {"base": name, "keyOrder": ["severity"]},
            "identifiers": [{"name": "severity", "type": "Int", "int": {"min": 1, "max": 5}}],
            "storage": {"maxMessages": 100},
            "auth": {"required": False},
        }
        self.objects.create("weather", declared | spec)


def stage(
    api: ApiServer, broker: Server, folder: Path, *, rules: Rules, is_clusterwide: bool = False
) -> Stage:
    namespace = make_namespace(api, f"rights-{next(_numbers)}")
    token = service_account(
        api,
        namespace,
        "operator",
        rules=() if is_clusterwide else rules,
        cluster_rules=rules if is_clusterwide else (),
    )
    kubeconfig = folder / "kubeconfig"
    api.write_kubeconfig(kubeconfig, token)
    watched = "--all-namespaces" if is_clusterwide else f"--namespace={namespace}"
    operator = Operator(folder, kubeconfig, broker.url, watched)
    return Stage(operator, EventSchemas(api, namespace), broker)


@contextmanager
def ending(operator: Operator) -> Iterator[None]:
    """End the operator if the block has not."""
    try:
        yield
    finally:
        if operator.is_running:
            operator.kill()


def wait_until(holds: Callable[[], bool]) -> None:
    """Ask until it is so."""
    give_up, looks = time.monotonic() + PATIENCE_SECONDS, threading.Event()
    while not holds():
        assert time.monotonic() < give_up, "it never came to be so"
        looks.wait(0.05)


def ready_of(objects: EventSchemas, name: str) -> tuple[int, str] | None:
    """Return the generation that Ready is about, and what it says of it."""
    conditions = objects.get(name).get("status", {}).get("conditions", [])
    found = (one for one in conditions if one["type"] == "Ready")
    return next(((one["observedGeneration"], one["status"]) for one in found), None)


@pytest.mark.parametrize("is_clusterwide", [False, True], ids=["Role", "ClusterRole"])
def test_the_rules_of_the_chart_are_enough(
    api: ApiServer, broker: Server, tmp_path: Path, is_clusterwide: bool
) -> None:
    """An object becomes Ready, is edited, and takes its stream along; nothing that the operator asks is refused."""
    on = stage(api, broker, tmp_path, rules=operator_rules(), is_clusterwide=is_clusterwide)
    with ending(on.operator):
        on.operator.start()
        on.operator.wait_logged(KEYS_COPIED)
        with running_avisod(tmp_path, on_broker(broker.url)):
            on.create(deletionPolicy="Delete")
            wait_until(lambda: ready_of(on.objects, "weather") == (1, "True"))
            on.objects.patch("weather", {"spec": {"storage": {"maxMessages": 200}}})
            wait_until(lambda: ready_of(on.objects, "weather") == (2, "True"))
            told = api.kubectl_json("get", "events", f"--namespace={on.objects.namespace}")["items"]
            assert "Ready" in {one["reason"] for one in told}
            on.objects.delete("weather")
            wait_until(lambda: not on.objects.select())
        assert on.operator.stop() == 0
    assert "forbidden" not in on.operator.output.read_text(encoding="utf-8")


# --- each right by itself --------------------------------------------------------------------------------


def nothing(on: Stage) -> None:
    """Do nothing: that it runs is enough."""


def create(on: Stage) -> None:
    on.create()


def create_with_stream(on: Stage) -> None:
    on.create(deletionPolicy="Delete")


def change_while_it_is_looked_at(on: Stage) -> None:
    """Hold the broker, so that the look at an object takes long enough for the object to change."""
    on.operator.wait_logged(re.compile(rb'"event.name":"operator.started"'))
    os.kill(on.broker.process_id, signal.SIGSTOP)
    on.create()
    for number in range(10):
        threading.Event().wait(0.1)
        on.objects.patch("weather", {"metadata": {"annotations": {"example.com/number": str(number)}}})
    os.kill(on.broker.process_id, signal.SIGCONT)


class Loss(NamedTuple):
    """A right that is missing: what makes it felt, what is said, and whether the operator ends."""

    provoke: Callable[[Stage], None]
    is_said: str
    ends: bool = False


LOSSES: Final[dict[tuple[str, str], Loss]] = {
    ("list", "eventschemas"): Loss(nothing, "EventSchemas cannot be listed", ends=True),
    ("watch", "eventschemas"): Loss(nothing, "Request attempt #1/9 failed"),
    ("get", "eventschemas"): Loss(change_while_it_is_looked_at, "an object cannot be looked at"),
    ("patch", "eventschemas"): Loss(create_with_stream, "Request attempt #1/9 failed"),
    ("patch", "eventschemas/status"): Loss(create, "an object cannot be looked at"),
    ("create", "events"): Loss(create, "an event could not be stored"),
}


def test_there_is_no_right_of_which_nobody_knows_what_it_is_for() -> None:
    assert rights_of(operator_rules()) == set(LOSSES)


@pytest.mark.parametrize(("verb", "resource"), LOSSES, ids=map(" ".join, LOSSES))
def test_without_a_right_something_fails_and_the_right_is_named(
    api: ApiServer, broker: Server, tmp_path: Path, verb: str, resource: str
) -> None:
    loss = LOSSES[verb, resource]
    on = stage(api, broker, tmp_path, rules=without(operator_rules(), verb, resource))
    with ending(on.operator):
        on.operator.launch()
        loss.provoke(on)
        # In a record the quotes of the API server's words are escaped.
        named = rf'{re.escape(loss.is_said)}.*cannot {verb} resource [\\"]+{re.escape(resource)}[\\"]+ in API group'
        on.operator.wait_logged(re.compile(named.encode()))
        if loss.ends:
            assert on.operator.wait_ended() == 1


def test_an_operator_that_follows_objects_no_more_ends(broker: Server, tmp_path: Path) -> None:
    """When the definition is taken away, it does not stay as one that only looks now and then."""
    with prepared(tmp_path / "api") as api:
        on = stage(api, broker, tmp_path, rules=operator_rules())
        with ending(on.operator):
            on.operator.start()
            assert api.kubectl("delete", "--filename", str(DEFINITION_FILE)).returncode == 0
            on.operator.wait_logged(re.compile(rb"^aviso-operator: EventSchemas are followed no more: .*404"))
            assert on.operator.wait_ended() == 1


def test_an_operator_does_not_work_with_a_definition_that_drops_what_people_write(
    broker: Server, tmp_path: Path
) -> None:
    """An older one would take objects and forget half of what they say."""
    older = tmp_path / "older.yaml"
    text = DEFINITION_FILE.read_text(encoding="utf-8")
    assert "duplicateWindow:" in text
    older.write_text(text.replace("duplicateWindow", "formerWindow"), encoding="utf-8")
    with prepared(tmp_path / "api", definition=older) as api:
        on = stage(api, broker, tmp_path, rules=operator_rules())
        with ending(on.operator):
            on.operator.launch()
            on.operator.wait_logged(
                re.compile(rb"^aviso-operator: .*drops spec.storage.duplicateWindow: apply")
            )
            assert on.operator.wait_ended() == 1
