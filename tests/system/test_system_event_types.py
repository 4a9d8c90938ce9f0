"""Event types are applied, and live in every replica."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from support.deployment import until

if TYPE_CHECKING:
    import httpx

    from support.installed import Installed

SERVING: Final = ("ingest", "gateway", "schema")
NAMES: Final = ("weather-alert", "field-ready", "scene")
LIVE_WITHIN_SECONDS: Final = 1.0


def test_each_is_ready_when_every_replica_has_acknowledged_it(event_types: Installed) -> None:
    replicas = sum(len(event_types.ready_pods(component)) for component in SERVING)
    for name in NAMES:
        status = event_types.event_schema(name)["status"]
        assert status["propagation"]["summary"] == f"{replicas}/{replicas}", name
        assert {condition["type"]: condition["status"] for condition in status["conditions"]}[
            "Ready"
        ] == "True"


def test_streams_have_as_many_copies_as_the_broker_has_nodes(event_types: Installed) -> None:
    copies = {name: stream["config"]["num_replicas"] for name, stream in event_types.broker_streams().items()}
    ours = {event_types.event_schema(name)["status"]["stream"]["name"] for name in NAMES}
    buckets = {name for name in copies if name.startswith("KV_")}
    assert buckets
    assert {name: copies[name] for name in ours | buckets} == dict.fromkeys(ours | buckets, 3)


def test_an_edit_is_live_within_a_second(event_types: Installed) -> None:
    """From the moment at which the command has returned until a notification of the new kind is taken."""

    def post(client: httpx.Client) -> bool:
        body: dict[str, Any] = {
            "event_type": "weather_alert",
            "identifier": {"region": "north", "severity": "9"},
        }
        return client.post("/api/v1/notification", json=body).status_code == 200

    with event_types.reached() as client:
        assert not post(client)
        event_types.kubectl(
            "patch", "eventschema/weather-alert", "--type=json",
            '--patch=[{"op": "replace", "path": "/spec/identifiers/1/int/max", "value": 9}]',
        )  # fmt: skip
        applied = time.monotonic()
        until(lambda: post(client), seconds=10, what="a severity of 9 is accepted")
        took = time.monotonic() - applied
    print(f"live after {took:.2f} s")
    assert took <= LIVE_WITHIN_SECONDS
