"""A service for the Spark data source to talk to: its event types, and what it has stored of them."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import urllib3

from support.services import running_program, write_configuration

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from support.services import Program

EVENT_TYPE: Final = "granules"
SPATIAL_TYPE: Final = "footprints"
COPIED_TYPE: Final = "copies"

SCHEMAS: Final[Mapping[str, Any]] = {
    EVENT_TYPE: {
        "payload": {"required": False},
        "topic": {"base": "granules", "key_order": ["class", "name"]},
        "identifier": {
            "class": {"type": "StringHandler", "required": False},
            "name": {"type": "StringHandler", "required": False},
        },
    },
    COPIED_TYPE: {
        "payload": {"required": False},
        "topic": {"base": "copies", "key_order": ["name"]},
        "identifier": {"name": {"type": "StringHandler", "required": False}},
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

NAMES: Final = tuple(f"n{place}" for place in range(20))
"""Names that tests give to objects, where it does not matter which."""

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


@contextmanager
def running_granules(folder: Path, broker_url: str, *, duplicate_window: str = "30m") -> Iterator[Program]:
    """Run a service with the same event types as manifests, which alone say for how long ids are known.

    It is longer than a slow machine may need between the two halves of a test.
    """
    schemas = folder / "schemas"
    schemas.mkdir(exist_ok=True)
    for name in SCHEMAS:
        manifest = _manifest(name, duplicate_window)
        (schemas / f"{name}.json").write_text(json.dumps(manifest))
    backend = {"kind": "jetstream", "jetstream": {"nats_url": broker_url}}
    file = write_configuration(folder, {"notification_backend": backend})
    asked = ("serve", "--config", str(file), "--schemas", str(schemas))
    with running_program(folder, "aviso_all_in_one", *asked) as program:
        yield program


def _manifest(name: str, duplicate_window: str) -> dict[str, Any]:
    schema = SCHEMAS[name]
    identifiers = [
        {"name": field, "type": said["type"].removesuffix("Handler")}
        for field, said in schema["identifier"].items()
    ]
    return {
        "apiVersion": "aviso.dev/v1alpha1",
        "kind": "EventSchema",
        "metadata": {"name": name},
        "spec": {
            "eventType": name,
            "topic": {"base": schema["topic"]["base"], "keyOrder": schema["topic"]["key_order"]},
            "identifiers": identifiers,
            "storage": {"duplicateWindow": duplicate_window, "medium": "Memory"},
            "auth": {"required": False},
        },
    }


def stored_events(url: str, event_type: str = EVENT_TYPE, **constraints: str) -> list[dict[str, Any]]:
    """Return what the service has of an event type, from its first event on."""
    events: list[dict[str, Any]] = []
    end: dict[str, Any] = {"complete": False, "last": 0}
    while not end["complete"]:
        asked = {"event_type": event_type, "identifier": constraints, "from_id": str(end["last"] + 1)}
        answer = urllib3.request(
            "POST", f"{url}/api/v1/replay", json=asked, headers={"Accept": "application/x-ndjson"}
        )
        assert answer.status == 200, answer.data
        *found, end = (json.loads(line) for line in answer.data.splitlines())
        events += found
    return events


def stored_names(url: str, **constraints: str) -> list[str]:
    """Return the names in the identifiers of what is stored, with repetitions."""
    return [event["data"]["identifier"]["name"] for event in stored_events(url, **constraints)]


def stored_contents(url: str, **constraints: str) -> Counter[tuple[str, str, str]]:
    """Return class, name and payload of what is stored, each with how often it is there."""
    return Counter(
        (
            event["data"]["identifier"]["class"],
            event["data"]["identifier"]["name"],
            json.dumps(event["data"]["payload"], separators=(",", ":")),
        )
        for event in stored_events(url, **constraints)
    )


def lines(group: str, names: Sequence[str], **more: Any) -> bytes:
    """Return records as they are posted, with ids, of a group of one test's own."""
    records = [
        {
            "event_type": EVENT_TYPE,
            "identifier": {"class": group, "name": name},
            "id": f"{group}-{name}",
            **more,
        }
        for name in names
    ]
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)
