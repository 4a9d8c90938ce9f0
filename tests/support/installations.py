"""An installation as it is run: an API server, a broker, services that follow it, and the operator between them.

Tests that break nothing for others share the API server, the broker and a service; each has names of its own.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import threading
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import httpx

from aviso_core.schema.stamps import ORPHANED_AT
from support.event_logs import ask_broker
from support.observers import PATIENCE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from support.claims import Body
    from support.cluster_objects import EventSchemas
    from support.nats import Server
    from support.observers import Observer

NOT_FOUND: Final = 10059
_BETWEEN_LOOKS_SECONDS: Final = 0.05
_NUMBERS: Final = itertools.count(1)


class Names(NamedTuple):
    """What one event type is called everywhere."""

    name: str
    event_type: str
    base: str

    @property
    def stream(self) -> str:
        """Its stream."""
        return self.base.upper()


def fresh_names() -> Names:
    """Return names that no other test of this process has."""
    number = next(_NUMBERS)
    return Names(f"weather-{number}", f"weather_{number}", f"alert{number}")


def declared(names: Names, *, severity: int = 5, **members: Any) -> dict[str, Any]:
    """Return a spec that anybody may read and write; how severe it may be tells its generations from each other."""
    return {
        "eventType": names.event_type,
        "topic": {"base": names.base, "keyOrder": ["region", "severity"]},
        "identifiers": [
            {"name": "region", "type": "Enum", "enum": {"values": ["north", "south"]}},
            {"name": "severity", "type": "Int", "int": {"min": 1, "max": severity}},
        ],
        "auth": {"required": False},
        **members,
    }


def severe(severity: int) -> dict[str, Any]:
    """Return the change that allows events of this severity."""
    identifiers = declared(Names("", "", ""), severity=severity)["identifiers"]
    return {"spec": {"identifiers": identifiers}}


def on_broker(url: str, **blocks: Any) -> dict[str, Any]:
    """Return the configuration of a service that follows the operator, and does not miss its broker for long."""
    jetstream = {"nats_url": url, "reconnect_delay_ms": 50, "timeout_seconds": 5}
    return {
        "notification_backend": {"kind": "jetstream", "jetstream": jetstream},
        "registry": {"kind": "jetstream"},
        "logging": {"level": "info"},
        **blocks,
    }


class Installation:
    """What a test does with one: through the API server, the broker and a service, as others do."""

    def __init__(self, objects: EventSchemas, broker: Server, service: str, observer: Observer) -> None:
        self.objects = objects
        self.broker = broker
        self.service = service
        self.observer = observer

    def key(self, names: Names) -> str:
        """Return what an object is called in the cluster."""
        return f"{self.objects.namespace}/{names.name}"

    def create(self, names: Names, **members: Any) -> Body:
        """Create an object."""
        return self.objects.create(names.name, declared(names, **members))

    def wait_ready(self, names: Names) -> Body:
        """Wait until what the object says by now is served, and return it."""
        generation = self.objects.get(names.name)["metadata"]["generation"]
        body = self.observer.wait(self.key(names), lambda body: is_ready(body, generation), "ready")
        self.observer.wait_looked(body)
        return body

    def live_with(self, events: int, names: Names, **members: Any) -> tuple[str, int, int]:
        """Have an event type live and so many events stored; return the identity of its stream."""
        self.create(names, **members)
        self.wait_ready(names)
        for _ in range(events):
            assert self.notify(names, 1) == 200
        return identity(self.stream(names))

    def stream(self, names: Names) -> Body | None:
        """Return what the broker says of the stream, or None where there is none."""
        return self.stream_called(names.stream)

    def settings(self, names: Names) -> Body:
        """Return the settings of a stream, which must be there."""
        found = self.stream(names)
        assert found is not None, "the stream is gone"
        return dict(found["config"])

    def wait_orphaned(self, names: Names) -> Body:
        """Wait until a stream says since when nobody owns it; return its metadata."""
        until(lambda: ORPHANED_AT in self.settings(names)["metadata"], f"{names.stream} is not stamped")
        return dict(self.settings(names)["metadata"])

    def stream_called(self, name: str) -> Body | None:
        """Return what the broker says of a stream of this name, or None where there is none."""
        found = self.ask_broker(f"STREAM.INFO.{name}")
        if found.get("error", {}).get("err_code") == NOT_FOUND:
            return None
        assert "error" not in found, found
        return found

    def ask_broker(self, subject: str, question: object = None) -> Body:
        """Ask the broker's own interface, as an administrator would."""
        return asyncio.run(ask_broker(self.broker.url, subject, question))

    def change_stream(self, names: Names, **settings: object) -> None:
        """Change settings of a stream by hand."""
        found = self.stream(names)
        assert found is not None
        answer = self.ask_broker(f"STREAM.UPDATE.{names.stream}", found["config"] | settings)
        assert "error" not in answer, answer

    def is_served(self, names: Names) -> bool:
        """Tell whether the service knows the event type."""
        answer = httpx.get(f"{self.service}/api/v1/schema/{names.event_type}", timeout=10)
        assert answer.status_code in (200, 404), answer.content
        return answer.status_code == 200

    def wait_withdrawn(self, names: Names) -> None:
        """Wait until the service knows the event type no more."""
        until(lambda: not self.is_served(names), f"{names.event_type} is still served")

    def notify(self, names: Names, severity: int, *, headers: Mapping[str, str] | None = None) -> int:
        """Publish an event at the service, and return how that was answered."""
        body = {
            "event_type": names.event_type,
            "identifier": {"region": "north", "severity": severity},
            "payload": {"severity": severity},
        }
        url = f"{self.service}/api/v1/notification"
        content = json.dumps(body).encode()
        return httpx.post(url, content=content, headers=headers, timeout=10).status_code


def is_ready(body: Body, generation: int) -> bool:
    """Tell whether an object says that this generation is served, or a later one."""
    ready = next(
        (one for one in body.get("status", {}).get("conditions", []) if one["type"] == "Ready"), None
    )
    return (
        ready is not None
        and ready["status"] == "True"
        and ready["observedGeneration"] == body["metadata"]["generation"] >= generation
    )


def until(is_so: Callable[[], bool], what: str, *, seconds: float = PATIENCE_SECONDS) -> None:
    """Wait until something is so that nobody tells; it has to be asked for again and again."""
    give_up = time.monotonic() + seconds
    looks = threading.Event()
    while not is_so():
        assert time.monotonic() < give_up, what
        looks.wait(_BETWEEN_LOOKS_SECONDS)


def identity(stream: Body | None) -> tuple[str, int, int]:
    """Return what tells a stream from one that was made anew, and how much it holds."""
    assert stream is not None, "the stream is gone"
    return stream["created"], stream["state"]["messages"], stream["state"]["last_seq"]
