"""The round trip of `helm test`: on an API server, with operator and service, as the account that the chart makes."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

import pytest

from aviso_core.schema.stream import stream_name
from support.cluster_objects import EventSchemas, service_account
from support.event_logs import ask_broker
from support.operators import running_operator

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.apiserver import ApiServer
    from support.nats import Server
    from support.services import Program

_RULES = ({"apiGroups": ["aviso.dev"], "resources": ["eventschemas"], "verbs": ["create", "get", "delete"]},)
_TRIAL = "aviso-trial"


class Tried(NamedTuple):
    """An installation as the pod of the test finds it."""

    kubeconfig: Path
    objects: EventSchemas
    service: str
    broker: Server

    @property
    def names(self) -> set[str]:
        """What event types are declared."""
        return {found["metadata"]["name"] for found in self.objects.select()}


@pytest.fixture
def tried(server: ApiServer, broker: Server, service: Program, namespace: str, tmp_path: Path) -> Tried:
    """Give a namespace without an operator, to an account with the rights of the chart's test and no more."""
    file = tmp_path / "kubeconfig"
    server.write_kubeconfig(file, service_account(server, namespace, "tester", rules=_RULES))
    return Tried(file, EventSchemas(server, namespace), service.url, broker)


@pytest.fixture
def served(tried: Tried, server: ApiServer, operator_folder: Path) -> Iterator[Tried]:
    """Give the same with an operator."""
    scope = f"--namespace={tried.objects.namespace}"
    with running_operator(operator_folder, server.kubeconfig, tried.broker.url, scope):
        yield tried


def round_trip(tried: Tried, *flags: str, watch_at: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run it as the pod of the test does."""
    namespace = tried.objects.namespace
    addresses = (f"--publish-at={tried.service}", f"--watch-at={watch_at or tried.service}")
    command = [sys.executable, "-m", "aviso_operator.installation", "round-trip", *addresses]
    return subprocess.run(
        [*command, f"--namespace={namespace}", f"--name={_TRIAL}", *flags],
        env=os.environ | {"KUBECONFIG": str(tried.kubeconfig)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def streams_of(tried: Tried) -> set[str]:
    return set(asyncio.run(ask_broker(tried.broker.url, "STREAM.NAMES"))["streams"] or ())


def test_an_event_comes_round_and_nothing_is_left(served: Tried) -> None:
    ran = round_trip(served)
    assert ran.returncode == 0, ran.stderr
    told = [line.partition(":")[0] for line in ran.stdout.splitlines()]
    assert told == ["event type", "watching", "published", "received", "event type"]
    assert not served.names
    assert stream_name(_TRIAL) not in streams_of(served)


def test_what_a_trial_that_was_cut_off_has_left_is_no_hindrance(served: Tried) -> None:
    """Its event type may say anything by now."""
    served.objects.create(
        _TRIAL,
        {
            "eventType": "aviso_trial",
            "topic": {"base": _TRIAL, "keyOrder": ["other"]},
            "identifiers": [{"name": "other", "type": "String"}],
            "auth": {"required": False},
            "deletionPolicy": "Delete",
        },
    )
    ran = round_trip(served)
    assert ran.returncode == 0, ran.stderr


def test_a_service_that_does_not_answer_is_named_and_the_trial_removed(served: Tried) -> None:
    ran = round_trip(served, "--seconds=20", watch_at="http://127.0.0.1:9")
    assert ran.returncode == 1
    assert "POST /api/v1/watch" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert not served.names


def test_an_event_type_that_does_not_get_ready_is_told_with_its_reason(tried: Tried) -> None:
    """Nobody looks after that namespace."""
    ran = round_trip(tried, "--seconds=1")
    assert ran.returncode == 1
    assert "not ready after 1 s: the operator has said nothing of it" in ran.stderr
    assert not tried.names
