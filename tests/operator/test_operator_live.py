"""An object is applied, and its event type is live; it is edited, and nothing that runs is disturbed."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpx

from support.claims import condition, is_refused
from support.installations import declared, fresh_names, identity, severe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.apiserver import ApiServer
    from support.installations import Installation, Names
    from support.operators import Operator
    from support.services import Program

CONDITIONS = ["Ready", "Accepted", "StreamReady", "Propagated"]


def test_what_is_applied_is_accepted_and_watchable(installation: Installation) -> None:
    """An object becomes ready with its stream, its revision and who serves it; events are taken and told."""
    names = fresh_names()
    created = installation.create(names)
    body = installation.wait_ready(names)
    status = body["status"]
    assert [one["type"] for one in status["conditions"]] == CONDITIONS
    assert {(one["status"], one["observedGeneration"]) for one in status["conditions"]} == {("True", 1)}
    assert status["observedGeneration"] == created["metadata"]["generation"] == 1
    assert status["eventType"] == names.event_type
    assert status["specHash"].startswith("sha256:")
    assert (status["propagation"]["summary"], status["propagation"]["stale"]) == ("1/1", [])
    stream = installation.stream(names)
    assert stream is not None
    assert status["stream"]["name"] == names.stream
    assert stream["config"]["metadata"].items() >= {
        ("aviso.dev/owner", installation.key(names)),
        ("aviso.dev/uid", created["metadata"]["uid"]),
        ("aviso.dev/event-type", names.event_type),
    }
    with watching(installation, names) as told:
        assert installation.notify(names, 5) == 200
        assert told.next_event()["identifier"] == {"region": "north", "severity": "5"}


def test_columns_show_what_matters(installation: Installation, server: ApiServer) -> None:
    """`kubectl get evs` shows type, base, whether it is ready and why, the revision and who serves it."""
    names = fresh_names()
    installation.create(names)
    revision = installation.wait_ready(names)["status"]["revision"]
    shown = server.kubectl("get", "evs", names.name, "--namespace", installation.objects.namespace)
    heads, row = shown.stdout.splitlines()
    assert heads.split() == ["NAME", "TYPE", "BASE", "READY", "REASON", "REV", "LIVE", "AGE"]
    assert row.split()[:-1] == [
        *(names.name, names.event_type, names.base, "True", "Ready", str(revision), "1/1"),
    ]


def test_an_edit_holds_for_new_requests_and_disturbs_nobody(
    installation: Installation, service: Program
) -> None:
    """A watch that is open goes on across an edit, and is told what the edit allows.

    The process, the stream and what it holds stay the same ones.
    """
    names = fresh_names()
    installation.create(names)
    before = installation.wait_ready(names)["status"]
    started = service.process.pid
    with watching(installation, names) as told:
        assert installation.notify(names, 5) == 200
        assert installation.notify(names, 9) == 400
        stream = identity(installation.stream(names))
        installation.objects.patch(names.name, severe(9))
        after = installation.wait_ready(names)["status"]
        assert identity(installation.stream(names)) == stream
        assert installation.notify(names, 9) == 200
        assert [told.next_event()["identifier"]["severity"] for _ in range(2)] == ["5", "9"]
    assert after["revision"] > before["revision"]
    assert after["specHash"] != before["specHash"]
    assert service.process.poll() is None
    assert service.process.pid == started


def test_an_edit_that_breaks_clients_is_refused_until_it_is_meant(installation: Installation) -> None:
    """What is incompatible is not accepted and says what stays in force; with `compatibility: None` it is live."""
    names = fresh_names()
    installation.create(names, payload={"jsonSchema": {"type": "object"}})
    before = installation.wait_ready(names)["status"]
    # Most of what is incompatible the API server sees itself; what one schema of JSON takes of another it cannot tell.
    stricter = {"type": "object", "required": ["severity"]}
    installation.objects.patch(names.name, {"spec": {"payload": {"jsonSchema": stricter}}})
    body = installation.observer.wait(
        installation.key(names), is_refused("Incompatible", "Accepted"), "incompatible"
    )
    accepted = condition(body, "Accepted")
    assert accepted is not None
    assert f"revision {before['revision']} stays in force" in accepted["message"]
    assert condition(body, "Stalled") is not None
    assert body["status"]["revision"] == before["revision"]
    assert installation.notify(names, 5) == 200
    installation.objects.patch(names.name, {"spec": {"compatibility": "None"}})
    after = installation.wait_ready(names)["status"]
    assert after["revision"] > before["revision"]
    assert not any(one["type"] == "Stalled" for one in after["conditions"])


def test_people_are_told_by_events_once(installation: Installation, server: ApiServer) -> None:
    """An object that becomes ready has one event that says so, and one that is refused a warning."""
    names, other = fresh_names(), fresh_names()
    installation.create(names)
    installation.wait_ready(names)
    installation.objects.create(other.name, declared(other) | {"topic": declared(names)["topic"]})
    installation.observer.wait(installation.key(other), is_refused("Conflicted"), "refused")
    assert [(one["type"], one["reason"]) for one in _events(server, installation, names)] == [
        ("Normal", "Ready")
    ]
    [warning] = _events(server, installation, other)
    assert (warning["type"], warning["reason"]) == ("Warning", "Conflicted")
    assert installation.key(names) in warning["message"]


def test_the_endpoint_tells_of_the_operator(installation: Installation, shared_operator: Operator) -> None:
    """It is healthy and ready, and its metrics tell of objects, revisions, actions and how long a schema took."""
    names = fresh_names()
    created = shared_operator.measured('aviso_operator_actions_total{action="CreateStream"}')
    installation.create(names)
    revision = installation.wait_ready(names)["status"]["revision"]
    assert shared_operator.ask("/healthz").status_code == 200
    assert shared_operator.ask("/readyz").status_code == 200
    measured = shared_operator.measured
    assert measured('aviso_operator_actions_total{action="CreateStream"}') == created + 1
    assert measured(f'aviso_operator_schema_revision{{event_type="{names.event_type}"}}') == revision
    assert measured('aviso_operator_eventschemas{ready="True"}') >= 1
    assert measured('aviso_operator_reconcile_total{result="ready"}') >= 1
    assert measured("aviso_operator_propagation_lag_seconds_count") >= 1
    assert measured("aviso_operator_cluster_requests") >= 1
    assert "aviso_operator_build_info" in shared_operator.ask("/metrics").text


def _events(server: ApiServer, installation: Installation, names: Names) -> list[dict[str, Any]]:
    """Return the events of an object, as soon as there is one: they are stored behind the status."""
    give_up = time.monotonic() + 10
    while True:
        found: list[dict[str, Any]] = server.kubectl_json(
            "get",
            "events",
            f"--namespace={installation.objects.namespace}",
            f"--field-selector=involvedObject.name={names.name}",
        )["items"]
        if found or time.monotonic() > give_up:
            return found


class Told:
    """What a watch is told."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines

    def next_event(self) -> dict[str, Any]:
        """Return the next event."""
        told = []
        for line in self._lines:
            told.append(line)
            if line == "event: live-notification":
                found: dict[str, Any] = json.loads(next(self._lines).removeprefix("data: "))
                data: dict[str, Any] = found.get("data", found)
                return data
        raise AssertionError(f"the watch has ended: {told}")


@contextmanager
def watching(installation: Installation, names: Names) -> Iterator[Told]:
    """Watch an event type for as long as the block runs."""
    url = f"{installation.service}/api/v1/watch"
    body = {"event_type": names.event_type, "identifier": {}}
    with httpx.stream("POST", url, json=body, timeout=20) as answer:
        assert answer.status_code == 200, answer.read()
        lines = answer.iter_lines()
        # The first frame says that whatever is stored from now on is told.
        assert any("connection_established" in line for line in lines)
        yield Told(lines)
