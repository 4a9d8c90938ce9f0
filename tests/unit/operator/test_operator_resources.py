"""Objects as the API server gives them, and the status as it takes it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from aviso_operator.resources import (
    NO_STATUS,
    Condition,
    Propagation,
    Status,
    read_resource,
    status_document,
)

BODY: dict[str, Any] = {
    "apiVersion": "aviso.dev/v1alpha1",
    "kind": "EventSchema",
    "metadata": {
        "name": "weather-alert",
        "namespace": "warnings",
        "uid": "7d4a",
        "resourceVersion": "42",
        "generation": 3,
        "creationTimestamp": "2030-01-01T00:00:00Z",
        "annotations": {"aviso.dev/adopt-stream": "ALERT"},
        "finalizers": ["aviso.dev/operator"],
        "managedFields": [],
    },
    "spec": {"eventType": "weather_alert", "deletionPolicy": "Delete", "topic": {"base": "alert"}},
}
READY = Condition(
    type="Ready",
    status="Unknown",
    reason="Pending",
    message="not looked at yet",
    last_transition_time=datetime(2030, 1, 1, tzinfo=UTC),
    observed_generation=3,
)


def test_a_body_is_read_into_what_the_operator_asks_of_it() -> None:
    resource = read_resource(BODY)
    assert (resource.key, resource.uid, resource.resource_version) == ("warnings/weather-alert", "7d4a", "42")
    assert (resource.generation, resource.finalizers) == (3, ("aviso.dev/operator",))
    assert resource.annotations == {"aviso.dev/adopt-stream": "ALERT"}
    assert (resource.event_type, resource.deletion_policy) == ("weather_alert", "Delete")
    assert resource.reconcile_policy == "Enforce"
    assert (resource.status, resource.is_going) == (NO_STATUS, False)
    assert resource.manifest == {
        "apiVersion": "aviso.dev/v1alpha1",
        "kind": "EventSchema",
        "metadata": {"name": "weather-alert"},
        "spec": BODY["spec"],
    }


def test_an_object_that_goes_says_since_when() -> None:
    going = {**BODY, "metadata": {**BODY["metadata"], "deletionTimestamp": "2030-01-02T00:00:00Z"}}
    resource = read_resource(going)
    assert resource.deletion_timestamp == datetime(2030, 1, 2, tzinfo=UTC)
    assert resource.is_going


def test_without_an_event_type_the_name_is_it() -> None:
    assert read_resource({**BODY, "spec": {}}).event_type == "weather-alert"


def test_a_status_is_sent_with_its_conditions_and_what_is_known() -> None:
    """Conditions are there from the first sight on; a member that is not known is not null."""
    assert status_document(NO_STATUS) == {"conditions": []}
    status = Status(
        conditions=(READY,),
        observed_generation=3,
        propagation=Propagation(summary="0/1", desired=1, acknowledged=0, stale=("ingest-0",)),
    )
    assert status_document(status) == {
        "conditions": [
            {
                "type": "Ready",
                "status": "Unknown",
                "reason": "Pending",
                "message": "not looked at yet",
                "lastTransitionTime": "2030-01-01T00:00:00Z",
                "observedGeneration": 3,
            }
        ],
        "observedGeneration": 3,
        "propagation": {"summary": "0/1", "desired": 1, "acknowledged": 0, "stale": ["ingest-0"]},
    }
    assert read_resource({**BODY, "status": status_document(status)}).status == status


@pytest.mark.parametrize(
    "status", [None, {}, {"conditions": [{"type": "Ready"}]}, {"revision": "three"}, {"kopf": {}}]
)
def test_a_status_of_another_version_is_found_out_anew(status: object) -> None:
    """It is only ever the operator's own work, so what cannot be read is no reason to stop."""
    assert read_resource({**BODY, "status": status}).status == NO_STATUS
