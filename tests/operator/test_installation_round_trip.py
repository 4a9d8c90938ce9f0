"""The round trip of `helm test`: on an API server, with operator and service, as the account that the chart makes."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from support.cluster_objects import service_account

if TYPE_CHECKING:
    from pathlib import Path

    from support.apiserver import ApiServer
    from support.installations import Installation

_RULES = ({"apiGroups": ["aviso.dev"], "resources": ["eventschemas"], "verbs": ["create", "get", "delete"]},)
_TRIAL = "aviso-trial"


@pytest.fixture(scope="module")
def kubeconfig(server: ApiServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the rights of the chart's test, and no more."""
    file = tmp_path_factory.mktemp("tester") / "kubeconfig"
    server.write_kubeconfig(file, service_account(server, "shared", "tester", rules=_RULES))
    return file


def round_trip(
    kubeconfig: Path, installation: Installation, *flags: str, watch_at: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run it as the pod of the test does."""
    namespace = installation.objects.namespace
    addresses = (f"--publish-at={installation.service}", f"--watch-at={watch_at or installation.service}")
    command = [sys.executable, "-m", "aviso_operator.installation", "round-trip", *addresses]
    return subprocess.run(
        [*command, f"--namespace={namespace}", f"--name={_TRIAL}", *flags],
        env=os.environ | {"KUBECONFIG": str(kubeconfig)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def names_of(installation: Installation) -> set[str]:
    return {found["metadata"]["name"] for found in installation.objects.select()}


def test_an_event_comes_round_and_nothing_is_left(kubeconfig: Path, installation: Installation) -> None:
    ran = round_trip(kubeconfig, installation)
    assert ran.returncode == 0, ran.stderr
    told = [line.partition(":")[0] for line in ran.stdout.splitlines()]
    assert told == ["event type", "watching", "published", "received", "event type"]
    assert _TRIAL not in names_of(installation)
    assert installation.stream_called(_TRIAL.upper()) is None


def test_what_a_trial_that_was_cut_off_has_left_is_no_hindrance(
    kubeconfig: Path, installation: Installation
) -> None:
    """Its event type may say anything by now."""
    installation.objects.create(
        _TRIAL,
        {
            "eventType": "aviso_trial",
            "topic": {"base": _TRIAL, "keyOrder": ["other"]},
            "identifiers": [{"name": "other", "type": "String"}],
            "auth": {"required": False},
            "deletionPolicy": "Delete",
        },
    )
    ran = round_trip(kubeconfig, installation)
    assert ran.returncode == 0, ran.stderr


def test_a_service_that_does_not_answer_is_named_and_the_trial_removed(
    kubeconfig: Path, installation: Installation
) -> None:
    ran = round_trip(kubeconfig, installation, "--seconds=20", watch_at="http://127.0.0.1:9")
    assert ran.returncode == 1
    assert "POST /api/v1/watch" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert _TRIAL not in names_of(installation)


def test_an_event_type_that_does_not_get_ready_is_told_with_its_reason(
    kubeconfig: Path, alone: Installation, server: ApiServer, tmp_path: Path
) -> None:
    """Nobody serves that namespace."""
    file = tmp_path / "kubeconfig"
    server.write_kubeconfig(file, service_account(server, alone.objects.namespace, "tester", rules=_RULES))
    ran = round_trip(file, alone, "--seconds=1")
    assert ran.returncode == 1
    assert "not ready after 1 s: the operator has said nothing of it" in ran.stderr
    assert _TRIAL not in names_of(alone)
