"""The shapes of bodies and answers, as JSON Schema.

A notification's own rules come from its event type, which no document that is made beforehand can know: the shapes here
say what holds for all of them, and the schema service has a JSON Schema for each.
"""

from __future__ import annotations

from typing import Any, Final

from aviso_http.body import LARGEST_NOTIFICATION
from aviso_ingest.cloudevents.attributes import SPEC_VERSION
from aviso_ingest.intake import LONGEST_ID

IDENTITY: Final = {"type": "string", "minLength": 1, "maxLength": LONGEST_ID, "pattern": "^[ -~]+$"}
_REQUEST_ID: Final = {"type": "string", "format": "uuid", "description": "The same as in X-Request-ID."}
_COUNT: Final = {"type": "integer", "minimum": 0}
_SEQUENCE: Final = {"type": "integer", "minimum": 1, "description": "Its number in the log."}
_TEXT_OR_NULL: Final = {"type": ["string", "null"]}

_EVENT_TYPE: Final = {
    "type": "string",
    "description": "Which kind of thing this is about; GET /api/v1/schema lists them.",
}
_IDENTIFIER: Final = {
    "type": "object",
    "description": (
        "The value of every field that the event type declares, optional ones too, and of no other. A number may be "
        "sent as number or as text. A polygon is a list of [latitude, longitude], closed."
    ),
    "additionalProperties": {"type": ["string", "number", "boolean", "array", "object"]},
}
_PAYLOAD: Final = {
    "description": "Any JSON, passed on byte for byte as far as it has a meaning. null is the same as none."
}
_IDENTITY_OF_A_RECORD: Final = {
    "anyOf": [IDENTITY, {"type": "null"}],
    "description": "The sender's own id, to send the same again without storing it twice.",
}
_TIME: Final = {
    "type": ["string", "null"],
    "description": "The producer's own time: RFC 3339, or seconds since 1970.",
    "examples": ["2030-01-01T06:00:00Z"],
}


def shapes() -> dict[str, Any]:
    """Return all shapes by name."""
    return {
        "Notification": _strict(
            f"At most {LARGEST_NOTIFICATION} bytes.",
            {"event_type": _EVENT_TYPE, "identifier": _IDENTIFIER},
            {"payload": _PAYLOAD, **_members_of_readers()},
        ),
        "BatchRecord": _strict(
            f"A notification in a batch. At most {LARGEST_NOTIFICATION} bytes, like one that is sent alone.",
            {"event_type": _EVENT_TYPE, "identifier": _IDENTIFIER},
            {"payload": _PAYLOAD, "id": _IDENTITY_OF_A_RECORD, "time": _TIME, **_members_of_readers()},
        ),
        "Retraction": _strict(
            "Which object is no more.",
            {
                "event_type": _EVENT_TYPE,
                "identifier": _IDENTIFIER
                | {"description": "The value of every key field of the event type; others may be left out."},
            },
            {
                "payload": {"type": "null", "description": "There is none to say."},
                **_members_of_readers(),
            },
        ),
        "CloudEvent": _cloud_event(),
        "CloudEventData": _event_data(),
        **_answers(),
    }


def _strict(description: str, required: dict[str, Any], optional: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "description": description,
        "required": list(required),
        "properties": {**required, **optional},
        "additionalProperties": False,
    }


def _members_of_readers() -> dict[str, Any]:
    """Return the members that a notification shares with watch and replay, where alone they have a meaning."""
    ignored = {**_TEXT_OR_NULL, "deprecated": True, "description": "Taken and ignored."}
    refused = {"type": "null", "deprecated": True, "description": "Refused unless it is null."}
    return {"from_id": ignored, "from_date": ignored, "to_id": refused, "to_date": refused}


def _cloud_event() -> dict[str, Any]:
    return {
        "type": "object",
        "description": (
            "A CloudEvent in JSON. id and source together are what the event is known again by: sent twice, it is "
            "stored once. Attributes and extensions that are not named here are ignored."
        ),
        "required": ["specversion", "id", "source", "type"],
        "properties": {
            "specversion": {"const": SPEC_VERSION},
            "id": IDENTITY,
            "source": {"type": "string", "minLength": 1, "maxLength": 2048},
            "type": {
                "type": "string",
                "minLength": 1,
                "description": "The event type, with or without the prefix that delivered events have.",
            },
            "time": _TIME,
            "datacontenttype": {**_TEXT_OR_NULL, "description": "application/json, or left out."},
            "traceparent": {**_TEXT_OR_NULL, "description": "W3C Trace Context; the event continues it."},
            "data": {"$ref": "#/components/schemas/CloudEventData"},
            "data_base64": {
                "type": "string",
                "description": "The data as Base64 of its JSON, in place of data.",
            },
        },
        "oneOf": [{"required": ["data"]}, {"required": ["data_base64"]}],
    }


def _event_data() -> dict[str, Any]:
    return _strict(
        "What a notification holds beside its event type.", {"identifier": _IDENTIFIER}, {"payload": _PAYLOAD}
    )


# --- answers ---------------------------------------------------------------------------------------------


def _answers() -> dict[str, Any]:
    return {
        "Stored": _object(
            "It is in the log, which has acknowledged it.",
            **_stored(),
        ),
        "StoredEvent": _object(
            "It is in the log, which has acknowledged it.",
            **_stored(),
            event_type={"type": "string"},
            sequence=_SEQUENCE,
            id={"type": "string", "description": "As it was sent."},
            duplicate={"type": "boolean", "description": "Whether it had been stored before."},
        ),
        "UndeclaredEventType": _object(
            "The event type is not declared, and this service takes declared ones only.",
            code={"const": "UNKNOWN_EVENT_TYPE"},
            configured_event_types={"type": "array", "items": {"type": "string"}},
            error={"const": "unknown_event_type"},
            message={"type": "string"},
            request_id=_REQUEST_ID,
        ),
        "BatchResult": _result(),
        "BatchAnswer": _object(
            "How many records came to which end, and one result for each record, in the request's order; with the "
            "preference return=minimal only for records that are not stored.",
            **_totals(),
            results={"type": "array", "items": {"$ref": "#/components/schemas/BatchResult"}},
        ),
        "BatchTotals": _object("The last line of an answer in lines.", **_totals()),
        "AdminAnswer": _object(
            "What became of it.",
            success={"type": "boolean"},
            message={"type": "string"},
            request_id=_REQUEST_ID,
        ),
        "DeleteAnswer": _object(
            "What became of it.",
            success={"type": "boolean"},
            message={"type": "string"},
            notification_id={"type": "string", "description": "As it was sent."},
            request_id=_REQUEST_ID,
        ),
    }


def _stored() -> dict[str, Any]:
    return {
        "status": {"const": "success"},
        "request_id": _REQUEST_ID,
        "processed_at": {
            "type": "string",
            "description": "UTC, to the second.",
            "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$",
        },
    }


def _totals() -> dict[str, Any]:
    return {
        "accepted": _COUNT | {"description": "Stored."},
        "duplicate": _COUNT | {"description": "Stored before, under the same id."},
        "rejected": _COUNT | {"description": "The record's fault: sent again, it is rejected again."},
        "failed": _COUNT | {"description": "Our fault: may be sent again, with the same id."},
        "request_id": _REQUEST_ID,
    }


def _result() -> dict[str, Any]:
    described = _object(
        "What became of one record.",
        index={**_COUNT, "description": "The record's place in the request, from 0."},
        status={"enum": ["accepted", "duplicate", "rejected", "failed"]},
        event_type={**_TEXT_OR_NULL, "description": "null where the record names none that could be read."},
    )
    described["properties"] |= {
        "sequence": _SEQUENCE,
        "id": {"type": "string"},
        "code": {"type": "string", "description": "Why it is not stored, for programs."},
        "message": {"type": "string", "description": "Why it is not stored, in words."},
        "field": {"type": "string", "description": "Which field is at fault."},
    }
    return described


def _object(description: str, **members: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "description": description,
        "required": list(members),
        "properties": members,
    }
