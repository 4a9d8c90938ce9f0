"""What the resource definition makes of the API server: what is stored, listed, selected, explained."""

from __future__ import annotations

import json
import threading
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import pytest
from kubernetes.client.exceptions import ApiException

from apiserver.specs import NAME, SPEC, changed
from aviso_operator.resources import (
    GROUP,
    MOST_STALE,
    PLURAL,
    Condition,
    Propagation,
    Status,
    StreamStatus,
    read_resource,
    status_document,
)
from support.cluster_objects import DEFINITION_FILE, EventSchemas, document, service_account

if TYPE_CHECKING:
    from support.apiserver import ApiServer

_SMALL: Final = {
    "eventType": "storm_track",
    "topic": {"base": "storm", "keyOrder": ["basin"]},
    "identifiers": [{"name": "basin", "type": "String"}, {"name": "day", "type": "Date", "date": {}}],
}
_NOW: Final = datetime(2030, 1, 1, 12, tzinfo=UTC)


def _status(*, stale: tuple[str, ...] = ()) -> Status:
    ready = Condition(
        type="Ready",
        status="True",
        reason="Ready",
        message="served by all",
        last_transition_time=_NOW,
        observed_generation=1,
    )
    return Status(
        conditions=(ready,),
        observed_generation=1,
        event_type="weather_alert",
        revision=3,
        spec_hash="sha256:00",
        propagation=Propagation(summary="6/6", desired=6, acknowledged=6, stale=stale),
        stream=StreamStatus(
            name="ALERT", messages=1234, bytes=10**6, first_sequence=1, last_sequence=1234, observed_at=_NOW
        ),
    )


def test_what_is_left_out_is_stored_with_its_default(event_schemas: EventSchemas) -> None:
    """Whoever reads the object sees what holds; only what the installation decides stays out of it."""
    stored = event_schemas.create("storm-track", _SMALL)
    assert stored["spec"] == {
        "eventType": "storm_track",
        "topic": {"base": "storm", "keyOrder": ["basin"]},
        "identifiers": [
            {"name": "basin", "type": "String", "required": False},
            {"name": "day", "type": "Date", "required": False, "date": {"canonicalFormat": "%Y%m%d"}},
        ],
        "compatibility": "Backward",
        "deletionPolicy": "Retain",
        "reconcilePolicy": "Enforce",
        "payload": {"required": False, "maxBytes": 262_144},
        "auth": {"required": True},
        "storage": {
            "retention": "7d",
            "medium": "File",
            "duplicates": "KeepAll",
            "compression": False,
            "shrink": "Reject",
        },
        "geometry": {"edges": "planar"},
    }


def test_a_payload_schema_is_stored_as_it_was_written(event_schemas: EventSchemas) -> None:
    """It is the one part in which the API server knows nothing, and keeps everything."""
    schema = {"type": "object", "properties": {"a": {"enum": [None, 1, "x"]}}, "x-ours": {"b": [True]}}
    stored = event_schemas.create(NAME, changed({"payload.jsonSchema": schema}))
    assert stored["spec"]["payload"]["jsonSchema"] == schema


def test_unknown_members_are_pruned_where_nobody_is_strict(event_schemas: EventSchemas) -> None:
    """Without strictness the API server takes the object and drops what it does not know."""
    stored = event_schemas.create(NAME, SPEC)
    patched = event_schemas.patch(NAME, {"spec": {"liveSet": {}, "description": "new"}})
    assert patched["spec"] == {**stored["spec"], "description": "new"}


def test_an_edit_moves_the_generation_and_a_status_does_not(event_schemas: EventSchemas) -> None:
    """The generation is what a status is about, so a status must not move it; nor do its writes reach the spec."""
    assert event_schemas.create(NAME, SPEC)["metadata"]["generation"] == 1
    patched = event_schemas.patch_status(NAME, status_document(_status()))
    assert patched["metadata"]["generation"] == 1
    assert read_resource(patched).status == _status()
    kept = event_schemas.patch(NAME, {"status": {"revision": 99}})
    assert (kept["metadata"]["generation"], kept["status"]["revision"]) == (1, 3)
    edited = event_schemas.patch(NAME, {"spec": {"description": "new"}})
    assert (edited["metadata"]["generation"], edited["status"]["revision"]) == (2, 3)


def test_a_resource_is_read_as_it_is_stored(event_schemas: EventSchemas) -> None:
    """Name, owner, policies and generation; its manifest is the document of a file."""
    body = event_schemas.create("storm-track", {**_SMALL, "deletionPolicy": "Delete"})
    resource = read_resource(body)
    assert resource.key == f"{event_schemas.namespace}/storm-track"
    assert (resource.uid, resource.generation) == (body["metadata"]["uid"], 1)
    assert (resource.event_type, resource.deletion_policy) == ("storm_track", "Delete")
    assert (resource.reconcile_policy, resource.finalizers) == ("Enforce", ())
    assert not resource.is_going
    assert resource.status == Status()
    assert resource.manifest == document("storm-track", body["spec"])


def test_a_status_has_bounds(event_schemas: EventSchemas) -> None:
    """It lists no more names than somebody reads."""
    event_schemas.create(NAME, SPEC)
    event_schemas.patch_status(NAME, status_document(_status(stale=("pod",) * MOST_STALE)))
    with pytest.raises(ApiException, match=r"status\.propagation\.stale"):
        event_schemas.patch_status(NAME, status_document(_status(stale=("pod",) * (MOST_STALE + 1))))


def test_a_list_shows_what_matters(server: ApiServer, event_schemas: EventSchemas) -> None:
    """`kubectl get evs`: what it is called, whether it is served, by how many; and how much there is with -o wide."""
    event_schemas.create(NAME, SPEC)
    event_schemas.patch_status(NAME, status_document(_status()))
    ran = server.kubectl("get", "evs", "--namespace", event_schemas.namespace)
    head, row = (line.split() for line in ran.stdout.splitlines())
    assert head == ["NAME", "TYPE", "BASE", "READY", "REASON", "REV", "LIVE", "AGE"]
    assert row[:-1] == [NAME, "weather_alert", "alert", "True", "Ready", "3", "6/6"]
    wide = server.kubectl("get", "aviso", "--output=wide", "--namespace", event_schemas.namespace).stdout
    assert wide.split()[7] == "MSGS"
    assert "1234" in wide


def test_objects_are_selected_by_base_and_event_type(event_schemas: EventSchemas) -> None:
    """Who holds a base that somebody else wants is one question."""
    event_schemas.create(NAME, SPEC)
    event_schemas.create("storm-track", _SMALL)
    for selector in ("spec.topic.base=storm", "spec.eventType=storm_track"):
        selected = event_schemas.select(selector)
        assert [item["metadata"]["name"] for item in selected] == ["storm-track"]
    with pytest.raises(ApiException, match="field label not supported"):
        event_schemas.select("spec.description=x")


def test_delete_all_does_not_reach_event_types(server: ApiServer, event_schemas: EventSchemas) -> None:
    """`kubectl delete all --all` is typed lightly."""
    event_schemas.create(NAME, SPEC)
    server.kubectl("delete", "all", "--all", "--namespace", event_schemas.namespace)
    assert [item["metadata"]["name"] for item in event_schemas.select()] == [NAME]


@pytest.mark.parametrize(
    ("path", "texts"),
    [
        ("evs", ["An event type: what is published under one name"]),
        ("evs.spec.storage", ["retention\t<string>", "How long events are kept, from 1m to 10 years", "enum: Allow"]),
        ("evs.spec.identifiers.pointCloud.maxPoints", ["The most points of one notification."]),
        ("evs.status.conditions.reason", ["Why, as one word"]),
    ],
)  # fmt: skip
def test_the_resource_explains_itself(server: ApiServer, path: str, texts: list[str]) -> None:
    """`kubectl explain` tells what a member means; its texts stand below the fields of the structs."""
    give_up = time.monotonic() + 30
    between_looks = threading.Event()
    while (ran := server.kubectl("explain", path)).returncode != 0:
        # A new definition is served before it is described, and the server tells nobody when it is.
        assert time.monotonic() < give_up, ran.stderr
        between_looks.wait(0.1)
    assert not [text for text in texts if text not in ran.stdout], ran.stdout


def test_every_member_is_explained(server: ApiServer) -> None:
    """No member without a text, down to the last."""
    stored = server.kubectl_json("get", "crd", "eventschemas.aviso.dev")
    schema = stored["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    assert _silent(schema["spec"], "spec") == []
    assert _silent(schema["status"], "status") == []


def _silent(node: dict[str, object], path: str) -> list[str]:
    inner = node.get("items", node)
    assert isinstance(inner, dict)
    below = inner.get("properties", {})
    found = [name for key, member in below.items() for name in _silent(member, f"{path}.{key}")]
    return found if node.get("description") else [path, *found]


def test_the_definition_stays_small(server: ApiServer) -> None:
    """`kubectl apply` keeps a copy in an annotation, which ends at 262144 bytes; only a third of that is used up."""
    assert DEFINITION_FILE.stat().st_size < 60_000
    stored = server.kubectl_json("get", "crd", "eventschemas.aviso.dev")
    assert len(json.dumps(stored)) < 87_000
    ran = server.kubectl("apply", "--dry-run=server", f"--filename={DEFINITION_FILE}")
    assert ran.returncode == 0, ran.stderr


def test_the_definition_is_accepted_without_a_warning(server: ApiServer) -> None:
    """The API server says of a definition what will trouble its users later."""
    ran = server.kubectl(
        "apply", "--dry-run=server", "--server-side", "--force-conflicts", f"--filename={DEFINITION_FILE}"
    )
    assert (ran.returncode, ran.stderr) == (0, "")


def test_a_user_may_do_what_the_rules_say_and_nothing_else(
    server: ApiServer, event_schemas: EventSchemas
) -> None:
    """The status is a right of its own: who may read objects may not write what the operator says of them."""
    event_schemas.create(NAME, SPEC)
    rules = [{"apiGroups": [GROUP], "resources": [PLURAL], "verbs": ["get"]}]
    token = service_account(server, event_schemas.namespace, "reader", rules=rules)
    seen = EventSchemas(server, event_schemas.namespace, token=token)
    assert seen.get(NAME)["spec"]["eventType"] == "weather_alert"
    for refused in (seen.select, lambda: seen.patch_status(NAME, {}), lambda: seen.delete(NAME)):
        with pytest.raises(ApiException, match="forbidden"):
            refused()
