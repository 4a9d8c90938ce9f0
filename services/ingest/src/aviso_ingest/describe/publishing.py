"""The operations that store something: a notification, a batch, CloudEvents, a retraction."""

from __future__ import annotations

from typing import Any, Final

from aviso_ingest.describe.answers import ACCESS, JSON, NDJSON, SINGLE, answer
from aviso_ingest.describe.shapes import IDENTITY

CLOUDEVENT: Final = "application/cloudevents+json"
CLOUDEVENTS_BATCH: Final = "application/cloudevents-batch+json"

# Whoever has no credentials may still write where the event type asks for none.
_ANYBODY: Final[list[dict[str, list[str]]]] = [{}, {"bearer_jwt": []}, {"basic": []}]

# An event whose attributes are headers.
_BINARY_ATTRIBUTES: Final = (
    ("ce-specversion", "Where it is there, the body is the data and the attributes are headers.", "1.0"),
    ("ce-id", "The event's id.", "alert-2030-18"),
    ("ce-source", "Where it comes from.", "/offices/north"),
    ("ce-type", "Its event type.", "weather_alert"),
    ("ce-time", "The producer's own time.", "2030-01-01T06:00:00Z"),
)


def _perhaps_short(described: dict[str, Any]) -> dict[str, Any]:
    """Return an answer with the header that says whether it is short."""
    applied = {"description": "return=minimal, where the answer is short.", "schema": {"type": "string"}}
    return described | {"headers": described["headers"] | {"Preference-Applied": applied}}


_BATCH_ANSWERS: Final[dict[str, Any]] = {
    "200": {
        **_perhaps_short(answer("What became of each record.", {"$ref": "#/components/schemas/BatchAnswer"})),
        "content": {
            JSON: {
                "schema": {"$ref": "#/components/schemas/BatchAnswer"},
                "examples": {"Mixed": {"$ref": "#/components/examples/BatchAnswer"}},
            },
            NDJSON: {
                "schema": {"type": "string", "description": "A BatchResult on each line, then BatchTotals."},
                "examples": {"Mixed": {"$ref": "#/components/examples/BatchAnswerInLines"}},
            },
        },
    },
    "400": answer(
        "The request as a whole is at fault: it cannot be read at all, no record of it can, or it is to be stored "
        "whole and a record is refused; then results has all refused records, and nothing is stored.",
        {
            "anyOf": [
                {"$ref": "#/components/schemas/Refusal"},
                {"$ref": "#/components/schemas/UndeclaredEventType"},
            ],
            "properties": {
                "results": {"type": "array", "items": {"$ref": "#/components/schemas/BatchResult"}}
            },
        },
    ),
    "408": answer("The body did not arrive in time.", {"$ref": "#/components/schemas/Problem"}),
    "409": answer(
        "The batch cannot be stored as a whole: it has a record that is stored already, or the log has no such "
        "operation. Nothing is stored.",
        {"$ref": "#/components/schemas/Problem"},
    ),
    "413": answer(
        "The body has more bytes, after decompression, or more records than one request may have; the message names "
        "the limit.",
        {"$ref": "#/components/schemas/Problem"},
    ),
    "415": answer(
        "Content-Type or Content-Encoding is none that is understood here; the message lists those that are.",
        {
            "anyOf": [
                {"$ref": "#/components/schemas/Refusal"},
                {"$ref": "#/components/schemas/Problem"},
            ]
        },
    ),
    "500": {"$ref": "#/components/responses/NotStored"},
    **ACCESS,
}


def paths() -> dict[str, Any]:
    """Return the paths and their operations."""
    return {
        "/api/v1/notification": {"post": _publish(), "delete": _retract()},
        "/api/v1/notifications": {"post": _publish_many()},
        "/api/v1/events": {"post": _publish_events()},
    }


def _publish() -> dict[str, Any]:
    return {
        "operationId": "publish",
        "summary": "Publish a notification",
        "description": (
            "Checks the notification against the schema of its event type and appends it to that event type's log. "
            "The answer comes when the log has acknowledged it; from then on it is delivered to whoever watches. Of "
            "several fields that are wrong, the refusal names the first in the order of the schema."
        ),
        "tags": ["notification"],
        "security": _ANYBODY,
        "parameters": [_idempotency_key(), _traceparent()],
        "requestBody": _body(
            "The Content-Type is not looked at.",
            {JSON: _content("Notification", "WeatherAlert", "ModelOutput", "MovingStorm")},
        ),
        "responses": dict(SINGLE),
    }


def _retract() -> dict[str, Any]:
    return {
        "operationId": "retract",
        "summary": "Say that an object is no more",
        "description": (
            "Appends an event with operation delete for the object that the key fields name. Nothing is removed from "
            "the log: who watches or replays is delivered that event, and live sets let go of the object. It takes "
            "the same permission as publishing."
        ),
        "tags": ["notification"],
        "security": _ANYBODY,
        "parameters": [_idempotency_key(), _traceparent()],
        "requestBody": _body(
            "The Content-Type is not looked at.", {JSON: _content("Retraction", "Retraction")}
        ),
        "responses": dict(SINGLE),
    }


def _publish_many() -> dict[str, Any]:
    array = {
        "schema": {"type": "array", "items": {"$ref": "#/components/schemas/BatchRecord"}},
        "examples": {"Records": {"$ref": "#/components/examples/BatchRecords"}},
    }
    lines = {
        "schema": {"type": "string", "description": "One BatchRecord on each line; empty lines are none."},
        "examples": {"Records": {"$ref": "#/components/examples/BatchRecordsInLines"}},
    }
    return {
        "operationId": "publishMany",
        "summary": "Publish many notifications in one request",
        "description": (
            "Each record is checked and answered like a notification of its own, and a rejected one never stops the "
            "others: look at the results, also after a 200. Records of one event type are appended in their order. "
            "A record may have an id; sent again with it, also in another request, it is stored once. The answer is in "
            "lines where Accept asks for application/x-ndjson, and short where Prefer asks for return=minimal. Records "
            "of several event types may be mixed."
        ),
        "tags": ["notification"],
        "security": _ANYBODY,
        "parameters": [_atomic(), _prefer(), _content_encoding(), _traceparent()],
        "requestBody": _body(
            "At most 10 000 records and 8 MiB after decompression, unless the service is set otherwise.",
            {NDJSON: lines, JSON: array, CLOUDEVENTS_BATCH: _batch_of_events()},
        ),
        "responses": _BATCH_ANSWERS,
    }


def _publish_events() -> dict[str, Any]:
    binary = [
        _header(name, description, {"type": "string", "examples": [example]})
        for name, description, example in _BINARY_ATTRIBUTES
    ]
    return {
        "operationId": "publishEvents",
        "summary": "Publish CloudEvents",
        "description": (
            "An event as one JSON object, an event whose attributes are ce- headers, or a batch of events, which is "
            "answered like a batch of notifications. type names the event type, id and source together are what the "
            "event is known again by, and data is what a notification holds. A refusal says which attribute is at "
            "fault. A batch may be stored whole with ?atomic=true."
        ),
        "tags": ["notification"],
        "security": _ANYBODY,
        "parameters": [*binary, _prefer(), _content_encoding(), _traceparent()],
        "requestBody": _body(
            "One event of at most 256 KiB, or a batch with the limits of a batch.",
            {
                CLOUDEVENT: _content("CloudEvent", "CloudEvent"),
                JSON: _content("CloudEventData", "CloudEventData"),
                CLOUDEVENTS_BATCH: _batch_of_events(),
            },
        ),
        "responses": {
            **_BATCH_ANSWERS,
            "200": _perhaps_short(
                answer(
                    "The log has it; of a batch, what became of each event.",
                    {
                        "anyOf": [
                            {"$ref": "#/components/schemas/StoredEvent"},
                            {"$ref": "#/components/schemas/BatchAnswer"},
                        ]
                    },
                )
            ),
        },
    }


# --- parts -----------------------------------------------------------------------------------------------


def _body(description: str, content: dict[str, Any]) -> dict[str, Any]:
    return {"required": True, "description": description, "content": content}


def _content(shape: str, *examples: str) -> dict[str, Any]:
    return {
        "schema": {"$ref": f"#/components/schemas/{shape}"},
        "examples": {name: {"$ref": f"#/components/examples/{name}"} for name in examples},
    }


def _batch_of_events() -> dict[str, Any]:
    return {
        "schema": {"type": "array", "items": {"$ref": "#/components/schemas/CloudEvent"}},
        "examples": {"Events": {"$ref": "#/components/examples/CloudEvents"}},
    }


def _header(name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "in": "header", "description": description, "schema": schema}


def _atomic() -> dict[str, Any]:
    return {
        "name": "atomic",
        "in": "query",
        "description": (
            "true: all records or none, of one event type, at most 1000. A rejected record is then a 400, and one that "
            "is stored already a 409."
        ),
        "schema": {"type": "boolean", "default": False},
    }


def _prefer() -> dict[str, Any]:
    return _header(
        "Prefer",
        "return=minimal: of a batch, only the sums and the results of records that are not stored. The answer says so "
        "in Preference-Applied.",
        {"type": "string", "examples": ["return=minimal"]},
    )


def _idempotency_key() -> dict[str, Any]:
    return _header(
        "Idempotency-Key",
        "The sender's own id. Sent again with it, the same is stored once and answered as before.",
        IDENTITY | {"pattern": "^[!-~]([ -~]*[!-~])?$"},
    )


def _traceparent() -> dict[str, Any]:
    return _header(
        "traceparent",
        "W3C Trace Context. It is stored with the event and delivered with it; one that cannot be read is ignored.",
        {"type": "string", "examples": ["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"]},
    )


def _content_encoding() -> dict[str, Any]:
    return _header(
        "Content-Encoding", "How the body is compressed, if it is.", {"enum": ["identity", "gzip", "zstd"]}
    )
