"""Event types as an AsyncAPI 3.0 document: what goes in, what comes out, and what to ask for it.

Seen from the service, as AsyncAPI asks: it receives notifications, and it receives requests to watch and to replay,
whose replies are streams of events. Names of event types may hold anything, keys of the document may not, so they are
escaped for keys and stand as they are wherever people read them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import urlsplit

from aviso_schema.describe import bodies
from aviso_schema.describe.examples import NOTIFY, REPLAY, WATCH, examples

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aviso_core.schema.event_type import EventType
    from aviso_schema.describe.examples import Example

# An open vocabulary that is written out and never read by us.
AsyncApi: TypeAlias = dict[str, Any]

_STREAMS: Final = {"watch": WATCH, "replay": REPLAY}


def asyncapi(event_types: Iterable[EventType], *, title: str, version: str, base_url: str) -> AsyncApi:
    """Return the document of some event types."""
    channels: AsyncApi = {}
    operations: AsyncApi = {}
    messages: AsyncApi = {}
    schemas: AsyncApi = {}
    for event_type in event_types:
        key = document_key(event_type.name)
        messages |= _messages(event_type, key)
        schemas |= _schemas(event_type, key)
        channels |= _channels(event_type, key)
        operations |= _operations(event_type, key)
    return {
        "asyncapi": "3.0.0",
        "info": {"title": title, "version": version},
        "defaultContentType": "application/json",
        "servers": {"service": _server(base_url)},
        "channels": channels,
        "operations": operations,
        "components": {"messages": messages, "schemas": schemas},
    }


def document_key(name: str) -> str:
    """Return a name as keys may be spelled; different names stay different."""
    return "".join(
        char if char.isascii() and (char.isalnum() or char in "_-") else f".{ord(char):x}." for char in name
    )


def _server(base_url: str) -> AsyncApi:
    parts = urlsplit(base_url)
    path = parts.path.rstrip("/")
    return {"host": parts.netloc, "protocol": parts.scheme} | ({"pathname": path} if path else {})


def _schemas(event_type: EventType, key: str) -> AsyncApi:
    schema = event_type.schema
    payload = f"#/components/schemas/{key}.notification/properties/payload"
    return {
        f"{key}.notification": bodies.notification(schema, payload_pointer=payload),
        f"{key}.filter": bodies.filter_body(schema),
        f"{key}.event": bodies.event(schema),
    }


def _messages(event_type: EventType, key: str) -> AsyncApi:
    made = examples(event_type).examples
    return {
        f"{key}.notification": _message(key, "notification", _payloads(made, NOTIFY)),
        f"{key}.filter": _message(key, "filter", _payloads(made, WATCH, REPLAY)),
        f"{key}.event": _message(key, "event", []) | {
            "summary": "A CloudEvent: the data of one `live-notification` or `replay` frame (server-sent events).",
        },
    }  # fmt: skip


def _message(key: str, what: str, shown: list[AsyncApi]) -> AsyncApi:
    message: AsyncApi = {
        "name": what,
        "contentType": "application/cloudevents+json" if what == "event" else "application/json",
        "payload": {"$ref": f"#/components/schemas/{key}.{what}"},
    }
    return message | ({"examples": shown} if shown else {})


def _payloads(made: Iterable[Example], *paths: str) -> list[AsyncApi]:
    return [
        {"name": example.name, "summary": example.title, "payload": example.body}
        for example in made
        if example.path in paths
    ]


def _channels(event_type: EventType, key: str) -> AsyncApi:
    def channel(path: str, summary: str, *messages: str) -> AsyncApi:
        return {
            "address": path,
            "summary": summary,
            "messages": {what: {"$ref": f"#/components/messages/{key}.{what}"} for what in messages},
        }

    name = event_type.name
    return {
        f"{key}.notification": channel(NOTIFY, f"Notifications of {name}, in", "notification"),
        f"{key}.watch": channel(WATCH, f"Events of {name}, live, out", "filter", "event"),
        f"{key}.replay": channel(REPLAY, f"Stored events of {name}, out", "filter", "event"),
    }


def _operations(event_type: EventType, key: str) -> AsyncApi:
    post = {"http": {"method": "POST", "bindingVersion": "0.3.0"}}
    operations: AsyncApi = {
        f"{key}.notify": {
            "action": "receive",
            "title": f"Publish a notification of {event_type.name}",
            "channel": {"$ref": f"#/channels/{key}.notification"},
            "messages": [{"$ref": f"#/channels/{key}.notification/messages/notification"}],
            "bindings": post,
        }
    }
    for what in _STREAMS:
        channel = f"#/channels/{key}.{what}"
        operations[f"{key}.{what}"] = {
            "action": "receive",
            "title": f"{what.capitalize()} {event_type.name}",
            "channel": {"$ref": channel},
            "messages": [{"$ref": f"{channel}/messages/filter"}],
            "reply": {
                "channel": {"$ref": channel},
                "messages": [{"$ref": f"{channel}/messages/event"}],
            },
            "bindings": post,
        }
    return operations
