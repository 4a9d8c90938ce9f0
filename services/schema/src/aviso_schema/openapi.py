"""What this service says of its routes in the OpenAPI document, and of the two that every service has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aviso_schema.openapi_document import OpenApi

_READINESS: Final = {"$ref": "#/components/schemas/Readiness"}
_REQUEST_ID: Final = {"X-Request-ID": {"$ref": "#/components/headers/RequestId"}}
_TAG: Final = {"ETag": {"$ref": "#/components/headers/EntityTag"}}
_UNCHANGED: Final = {
    "description": "The same as the sender of If-None-Match already has.",
    "headers": _REQUEST_ID | _TAG,
}
_NOTHING: Final = {"description": "Nothing there.", "headers": _REQUEST_ID}


def fragment() -> OpenApi:
    """Return the paths that this service answers, and health and readiness, which all answer alike."""
    return {
        "paths": {
            "/health": _get(
                "health",
                "Whether the process runs",
                "health",
                {"200": _json("It does.", _one_text("status", "ok"), headers={})},
            ),
            "/ready": _get(
                "ready",
                "Whether the service can work",
                "health",
                {
                    "200": _json("It can.", _READINESS, headers={}),
                    "503": _json("It cannot reach what it needs.", _READINESS, headers={}),
                },
            ),
            "/": _get("home", "The home page", "general", {"200": _page()}),
            "/static/{path}": _get(
                "static",
                "A file beside the home page, or a list of such files",
                "general",
                {"200": {"description": "The file."}, "304": _UNCHANGED, "404": _NOTHING},
                [_path("path", "Where the file is.", example="home.css")],
            ),
            "/swagger-ui/": _get("reference", "This document as a page", "general", {"200": _page()}),
            "/api-docs/openapi.json": _get(
                "openapi", "This document", "general", {"200": _json("OpenAPI 3.1.", {"type": "object"})}
            ),
            "/api-docs/asyncapi.json": _get(
                "asyncapi",
                "All event types as an AsyncAPI document",
                "general",
                {"200": _json("AsyncAPI 3.0.", {"type": "object"}), "304": _UNCHANGED},
            ),
            **_schema_paths(),
        },
        "components": {
            "schemas": _schemas(),
            "headers": {
                "EntityTag": {"description": "Which version this is.", "schema": {"type": "string"}},
                "SchemaRevision": {
                    "description": "The event type's revision in the registry, where there is a registry.",
                    "schema": {"type": "string", "pattern": "^[0-9]+$"},
                },
                "DuplicateWindow": {
                    "description": "For how many seconds the id of a notification of the event type is known again.",
                    "schema": {"type": "string", "pattern": "^[0-9]+$"},
                },
            },
        },
    }


def _schema_paths() -> OpenApi:
    """Return the paths about event types."""
    name = _path("event_type", "An event type. A slash in its name is written %2F.", example="weather_alert")
    documents = {
        "notification.schema.json": ("notificationSchema", "What a notification looks like, as JSON Schema"),
        "filter.schema.json": ("filterSchema", "What a watch or replay asks with, as JSON Schema"),
        "event.schema.json": ("eventSchema", "What is delivered, as JSON Schema"),
        "payload.schema.json": ("payloadSchema", "What payloads are checked against, as it was declared"),
        "examples.json": ("examples", "Requests that work, to be changed and sent"),
        "asyncapi.json": ("eventTypeAsyncapi", "One event type as an AsyncAPI document"),
    }
    listed = _json("All event types.", {"$ref": "#/components/schemas/EventTypes"})
    return {
        "/api/v1/schema": _get(
            "eventTypes", "Which event types there are", "schema", {"200": listed, "304": _UNCHANGED}
        ),
        "/api/v1/schema/{event_type}": _get(
            "eventType",
            "One event type",
            "schema",
            _of_an_event_type({"$ref": "#/components/schemas/EventType"}),
            [name],
        ),
        **{
            f"/api/v1/schema/{{event_type}}/{document}": _get(
                operation,
                summary,
                "schema",
                _of_an_event_type(
                    {"$ref": "#/components/schemas/Examples"}
                    if operation == "examples"
                    else {"type": "object"}
                ),
                [name],
            )
            for document, (operation, summary) in documents.items()
        },
    }


def _schemas() -> OpenApi:
    """Return the shapes of the answers."""
    exposed = {"$ref": "#/components/schemas/ExposedSchema"}
    field = {
        "type": "object",
        "description": "Beside these, the settings of the field's type.",
        "required": ["type", "required"],
        "properties": {
            "type": {"type": "string", "examples": ["EnumHandler", "IntHandler", "PolygonHandler"]},
            "required": {"type": "boolean", "description": "Whether watch and replay must name it."},
            "description": {"type": "string"},
        },
    }
    names = {"type": "array", "items": {"type": "string"}}
    return {
        "Readiness": _object(status={"enum": ["ready", "not_ready"]}, backend_connected={"type": "boolean"}),
        "ExposedSchema": _object(
            identifier={"type": "object", "additionalProperties": field},
            payload={
                "anyOf": [_object(required={"type": "boolean"}), {"type": "null"}],
                "description": "null where the event type says nothing about payloads.",
            },
        ),
        "EventTypes": _object(
            event_types=names,
            schema={"type": "object", "additionalProperties": exposed},
            status={"const": "success"},
            total_schemas={"type": "integer", "minimum": 0},
        ),
        "EventType": _object(event_type={"type": "string"}, schema=exposed, status={"const": "success"}),
        "UnknownEventType": {
            "type": "object",
            "required": ["message", "request_id", "status"],
            "properties": {
                "available_types": names,
                "message": {"type": "string"},
                "request_id": {"type": "string", "format": "uuid"},
                "status": {"const": "error"},
            },
        },
        "Examples": _object(
            event_type={"type": "string"},
            examples={
                "type": "array",
                "items": _object(
                    name={"type": "string"},
                    title={"type": "string"},
                    method={"const": "POST"},
                    path={"type": "string"},
                    body={"type": "object"},
                ),
            },
            missing=names | {"description": "Fields, or `payload`, that no example was found for."},
        ),
    }


# --- parts -----------------------------------------------------------------------------------------------


def _get(
    name: str, summary: str, tag: str, responses: OpenApi, parameters: Sequence[OpenApi] = ()
) -> OpenApi:
    operation: OpenApi = {
        "operationId": name,
        "summary": summary,
        "tags": [tag],
        "security": [],
        "responses": responses,
    }
    return {"get": operation | ({"parameters": list(parameters)} if parameters else {})}


def _json(description: str, schema: OpenApi, *, headers: OpenApi = _TAG) -> OpenApi:
    return {
        "description": description,
        "headers": _REQUEST_ID | headers,
        "content": {"application/json": {"schema": schema}},
    }


def _page() -> OpenApi:
    return {
        "description": "A page.",
        "headers": _REQUEST_ID | _TAG,
        "content": {"text/html": {"schema": {"type": "string"}}},
    }


def _of_an_event_type(schema: OpenApi) -> OpenApi:
    found = _json("About the event type.", schema)
    found["headers"] = found["headers"] | {
        "Schema-Revision": {"$ref": "#/components/headers/SchemaRevision"},
        "Duplicate-Window": {"$ref": "#/components/headers/DuplicateWindow"},
    }
    refusal = {"$ref": "#/components/schemas/UnknownEventType"}
    unknown = _json("There is no such event type.", refusal, headers={})
    return {"200": found, "304": _UNCHANGED, "404": unknown}


def _path(name: str, description: str, *, example: str) -> OpenApi:
    return {
        "name": name,
        "in": "path",
        "required": True,
        "description": description,
        "schema": {"type": "string", "minLength": 1},
        "example": example,
    }


def _object(**members: Any) -> OpenApi:
    return {"type": "object", "required": list(members), "properties": members}


def _one_text(name: str, text: str) -> OpenApi:
    return _object(**{name: {"const": text}})
