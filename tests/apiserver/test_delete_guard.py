"""The delete guard of the chart on a real API server: who may delete a stream's messages with its event type."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from kubernetes.client import CoreV1Api
from kubernetes.client.exceptions import ApiException

from apiserver.specs import SPEC
from support.cluster_objects import EventSchemas, make_namespace

if TYPE_CHECKING:
    from support.apiserver import ApiServer

GUARD: Final = (
    Path(__file__).resolve().parents[2] / "charts" / "aviso" / "files" / "admission" / "delete-guard.yaml"
)
NAME: Final = "alert"
_PATIENCE_SECONDS: Final = 30.0


def event_schemas_with(
    server: ApiServer, namespace: str, *, policy: str = "Delete", messages: int | None = 5
) -> EventSchemas:
    schemas = EventSchemas(server, make_namespace(server, namespace))
    schemas.create(NAME, {**SPEC, "deletionPolicy": policy})
    if messages is not None:
        schemas.patch_status(NAME, {"conditions": [], "stream": stream_status(messages)})
    return schemas


def stream_status(messages: int) -> dict[str, Any]:
    return {
        "name": "ALERT",
        "messages": messages,
        "bytes": 100 * messages,
        "firstSequence": 1,
        "lastSequence": messages,
        "observedAt": "2026-01-01T00:00:00Z",
    }


@pytest.fixture(scope="module")
def guarded(server: ApiServer) -> ApiServer:
    """Return the server with the guard in force, which takes it a moment after it was told."""
    ran = server.kubectl("apply", "--server-side", f"--filename={GUARD}")
    assert ran.returncode == 0, ran.stderr
    schemas = event_schemas_with(server, "guard-probe")
    looks, give_up = threading.Event(), time.monotonic() + _PATIENCE_SECONDS
    while not is_refused(schemas):
        assert time.monotonic() < give_up, "the guard is not in force"
        looks.wait(0.1)
        schemas.create(NAME, {**SPEC, "deletionPolicy": "Delete"})
        schemas.patch_status(NAME, {"conditions": [], "stream": stream_status(5)})
    return server


def is_refused(schemas: EventSchemas) -> bool:
    try:
        schemas.delete(NAME)
    except ApiException as refusal:
        if refusal.status != 403:
            raise
        return True
    return False


def test_a_full_stream_goes_with_nobody_who_has_not_said_so(guarded: ApiServer) -> None:
    schemas = event_schemas_with(guarded, "guard-full")
    with pytest.raises(ApiException) as refused:
        schemas.delete(NAME)
    assert refused.value.status == 403
    assert "deleting alert deletes 5 stored messages" in str(refused.value.body)
    assert "aviso.dev/confirm-delete=alert" in str(refused.value.body)
    schemas.patch(NAME, {"metadata": {"annotations": {"aviso.dev/confirm-delete": "another"}}})
    with pytest.raises(ApiException, match="Forbidden"):
        schemas.delete(NAME)
    schemas.patch(NAME, {"metadata": {"annotations": {"aviso.dev/confirm-delete": NAME}}})
    schemas.delete(NAME)
    assert schemas.select() == []


@pytest.mark.parametrize(
    ("namespace", "policy", "messages"),
    [("guard-retain", "Retain", 5), ("guard-empty", "Delete", 0), ("guard-new", "Delete", None)],
)
def test_what_loses_nothing_needs_no_word(
    guarded: ApiServer, namespace: str, policy: str, messages: int | None
) -> None:
    schemas = event_schemas_with(guarded, namespace, policy=policy, messages=messages)
    schemas.delete(NAME)
    assert schemas.select() == []


def test_a_namespace_that_goes_takes_its_streams_along(guarded: ApiServer) -> None:
    """Nobody is there to finish it in this test, so the namespace stays on its way for as long as is needed."""
    schemas = event_schemas_with(guarded, "guard-going")
    CoreV1Api(guarded.client()).delete_namespace(schemas.namespace)
    schemas.delete(NAME)
    assert schemas.select() == []
