"""A service for the Spark data source to talk to: its event types, and what it has stored of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import urllib3

if TYPE_CHECKING:
    from collections.abc import Mapping

EVENT_TYPE: Final = "granules"
SPATIAL_TYPE: Final = "footprints"

SCHEMAS: Final[Mapping[str, Any]] = {
    EVENT_TYPE: {
        "payload": {"required": False},
        "topic": {"base": "granules", "key_order": ["class", "name"]},
        "identifier": {
            "class": {"type": "StringHandler", "required": False},
            "name": {"type": "StringHandler", "required": False},
        },
    },
    SPATIAL_TYPE: {
        "payload": {"required": False},
        "topic": {"base": "footprints", "key_order": ["name"]},
        "identifier": {
            "name": {"type": "StringHandler", "required": False},
            "polygon": {"type": "PolygonHandler", "required": False},
        },
    },
}

IN_MEMORY: Final[Mapping[str, Any]] = {
    "notification_schema": SCHEMAS,
    "notification_backend": {
        "kind": "in_memory",
        "in_memory": {"max_history_per_topic": 1000, "max_topics": 100_000},
    },
}


def on_broker(url: str) -> dict[str, Any]:
    """Return the configuration of a service with these event types on JetStream, in logs that show repetitions."""
    return {
        "notification_schema": {
            name: {**schema, "storage_policy": {"allow_duplicates": True}} for name, schema in SCHEMAS.items()
        },
        "notification_backend": {"kind": "jetstream", "jetstream": {"nats_url": url}},
    }


def stored_events(url: str, event_type: str = EVENT_TYPE, **constraints: str) -> list[dict[str, Any]]:
    """Return what the service has of an event type, from its first event on."""
    asked = {"event_type": event_type, "identifier": constraints, "from_id": "1"}
    answer = urllib3.request(
        "POST", f"{url}/api/v1/replay", json=asked, headers={"Accept": "application/x-ndjson"}
    )
    lines = answer.data.splitlines()
    assert answer.status == 200, answer.data
    assert json.loads(lines[-1])["complete"], lines[-1]
    return [json.loads(line) for line in lines[:-1]]


def stored_names(url: str, **constraints: str) -> list[str]:
    """Return the names in the identifiers of what is stored, with repetitions."""
    return [event["data"]["identifier"]["name"] for event in stored_events(url, **constraints)]
