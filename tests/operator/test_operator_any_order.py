"""Operators meet everything at once, in an order that a seed decides: one of them, or two by mistake.

Objects of both deletion policies are made, edited, deleted and made again, while operators are killed and their
connections break. The seed is printed with a failure, and `AVISO_SIMULATION_SEED` takes it; how the steps fall together
with what is under way is still chance. `AVISO_LONG_TESTS` makes the stories longer.
"""

from __future__ import annotations

import os
import random
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final

import pytest
from kubernetes.client.exceptions import ApiException

from support.claims import claims_ready
from support.gate_to_broker import GateToBroker
from support.gate_to_cluster import GateToCluster
from support.gates import opened
from support.installations import fresh_names, identity, severe
from support.operators import Operator, running_operator

if TYPE_CHECKING:
    from pathlib import Path

    from support.apiserver import ApiServer
    from support.gates import Gate
    from support.installations import Installation, Names
    from support.nats import Server

_GIVEN: Final = os.environ.get("AVISO_SIMULATION_SEED")
_ROUNDS: Final = 30 if os.environ.get("AVISO_LONG_TESTS") else 5
# Longer than anything takes that an operator does about one object.
_LONGEST_PAUSE_SECONDS: Final = 0.3


class Shaken:
    """An operator behind gates."""

    def __init__(self, operator: Operator, gates: tuple[Gate, ...]) -> None:
        self.operator = operator
        self._gates = gates

    def shake(self, chance: random.Random) -> None:
        """Kill it and start it again, or break some of its connections."""
        if chance.random() < 0.5:
            self.operator.kill()
            self.operator.start()
        else:
            for gate in chance.sample(self._gates, chance.randint(1, 2)):
                gate.drop()


def _shaken(stack: ExitStack, folder: Path, server: ApiServer, broker: Server, namespace: str) -> Shaken:
    to_broker, to_cluster = GateToBroker(broker), GateToCluster(server.port, server.ca_file)
    for gate in (to_broker, to_cluster):
        stack.enter_context(opened(gate))
    folder.mkdir()
    kubeconfig = folder / "kubeconfig"
    server.write_kubeconfig(kubeconfig, server.admin_token, url=to_cluster.url)
    arguments = (f"--namespace={namespace}", "--withdrawal-seconds=5")
    operator = stack.enter_context(running_operator(folder, kubeconfig, to_broker.url, *arguments))
    return Shaken(operator, (to_broker, to_cluster))


@pytest.mark.parametrize("count", [1, 2], ids=["one", "two"])
def test_all_that_is_declared_is_served_in_the_end(
    tmp_path: Path, server: ApiServer, broker: Server, alone: Installation, count: int
) -> None:
    """Every stream that was to be kept is the same one, and what was to go is gone."""
    seed = int(_GIVEN) if _GIVEN else 0 if os.environ.get("CI") else random.SystemRandom().randrange(2**32)
    print(f"AVISO_SIMULATION_SEED={seed}")  # noqa: T201 (pytest shows it with a failure, and only then)
    chance = random.Random(seed)  # noqa: S311 (guards nothing)
    retained, fleeting = [fresh_names() for _ in range(3)], [fresh_names() for _ in range(2)]
    policy = dict.fromkeys(fleeting, "Delete")
    namespace = alone.objects.namespace
    with ExitStack() as stack:
        shaken = [_shaken(stack, tmp_path / f"{n}", server, broker, namespace) for n in range(count)]
        kept = {names: alone.live_with(2, names) for names in retained}
        severity = 5
        for _ in range(_ROUNDS):
            for names in chance.sample([*retained, *fleeting], 2):
                severity += 1
                _touch(alone, names, severity, policy.get(names, "Retain"), chance)
            threading.Event().wait(chance.uniform(0.0, _LONGEST_PAUSE_SECONDS))
            chance.choice(shaken).shake(chance)
        for names in retained:
            if _found(alone, names) is None:
                severity += 1
                alone.create(names, severity=severity)
        for names in fleeting:
            if _found(alone, names) is not None:
                alone.objects.delete(names.name)
        for names in retained:
            alone.wait_ready(names)
            assert identity(alone.stream(names)) == kept[names]
            assert "aviso.dev/orphaned-at" not in alone.settings(names)["metadata"]
        for names in fleeting:
            alone.observer.wait_gone(alone.key(names))
            alone.wait_withdrawn(names)
            assert alone.stream(names) is None
        for names in retained:
            assert claims_ready(alone.objects.get(names.name))
        for one in shaken:
            assert b"a fault of the operator's own" not in one.operator.output.read_bytes()


def _touch(
    installation: Installation, names: Names, severity: int, policy: str, chance: random.Random
) -> None:
    """Create an object, or change or delete the one that is there; one that is going is left alone."""
    found = _found(installation, names)
    if found is None:
        installation.create(names, severity=severity, deletionPolicy=policy)
    elif "deletionTimestamp" not in found["metadata"]:
        if chance.random() < 0.6:
            installation.objects.patch(names.name, severe(severity))
        else:
            installation.objects.delete(names.name)


def _found(installation: Installation, names: Names) -> dict[str, Any] | None:
    try:
        return installation.objects.get(names.name)
    except ApiException as refusal:
        if refusal.status != 404:
            raise
        return None
