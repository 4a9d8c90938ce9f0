"""What belongs to no service alone in the OpenAPI document: who we are, who may ask, and how requests are refused.

Fragments refer to these parts by name. Refusals are here because they are the same from every service: the contract
has one error model, and an answer's shape does not tell which of us gave it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_ABOUT: Final = (
    "Producers post notifications about things that exist or have changed; consumers follow them live, or from any "
    "point of what is kept. What a notification is about is its event type, whose schema says which identifier fields "
    "it has: GET /api/v1/schema lists them, and for each there are examples to copy. Every answer has a header "
    "X-Request-ID, and every refusal names the same id: it is what to quote when something is wrong. HEAD is answered "
    "wherever GET is."
)

TAGS: Final[Mapping[str, str]] = {
    "health": "Whether the service runs, and whether it can work.",
    "general": "Pages, and documents about the service.",
    "schema": "Which event types there are, and how their notifications and filters look.",
    "notification": "Publishing: one notification, many in one request, or CloudEvents; and taking one back.",
    "streaming": "Watching and replaying.",
    "admin": "Removing what was stored. For administrators only, unless access control is switched off.",
}

_REQUEST_ID: Final = {"type": "string", "format": "uuid", "description": "The same as in X-Request-ID."}


def frame(version: str) -> dict[str, Any]:
    """Return a document without paths."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Aviso Notification Service API",
            "version": version,
            "description": _ABOUT,
            "license": {"name": "Apache 2.0", "identifier": "Apache-2.0"},
        },
        "tags": [{"name": name, "description": text} for name, text in TAGS.items()],
        "paths": {},
        "components": {
            "securitySchemes": {
                "bearer_jwt": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
                "basic": {"type": "http", "scheme": "basic"},
            },
            "headers": _headers(),
            "schemas": _schemas(),
            "responses": _responses(),
        },
    }


def _headers() -> dict[str, Any]:
    return {
        "RequestId": {
            "description": "A new id for each request; refusals name it too.",
            "required": True,
            "schema": {"type": "string", "format": "uuid"},
        },
        "RetryAfter": {
            "description": "After how many seconds to send the same again, where that is known.",
            "schema": {"type": "string", "pattern": "^[0-9]+$"},
        },
        "Challenge": {
            "description": "Bearer; a second line says Basic where the service asks an auth service.",
            "required": True,
            "schema": {"type": "string"},
        },
    }


def _schemas() -> dict[str, Any]:
    problem = {
        "code": {"type": "string", "description": "Stable, and meant for programs."},
        "error": {"type": "string", "description": "The kind of failure, in words."},
        "message": {"type": "string", "description": "What is wrong."},
        "request_id": _REQUEST_ID,
    }
    details = {
        "type": "string",
        "description": "The innermost cause; the same as message where there is one level.",
    }
    return {
        "Problem": _object(
            problem,
            "Why a request was not served.",
            {
                "code": "UNAUTHORIZED",
                "error": "unauthorized",
                "message": "Authentication is required for this stream",
                "request_id": "5b0c2f0e-6c0a-4b39-9a43-2f7a7c0d9e10",
            },
        ),
        "Refusal": _object(
            {**problem, "details": details},
            "What is wrong with a request, or what failed while it was served.",
            {
                "code": "INVALID_NOTIFICATION_REQUEST",
                "details": "Field 'severity' value 9 is outside allowed range [1, 5]",
                "error": "Invalid Notification Request",
                "message": "Field 'severity' value 9 is outside allowed range [1, 5]",
                "request_id": "5b0c2f0e-6c0a-4b39-9a43-2f7a7c0d9e10",
            },
        ),
    }


def _object(members: dict[str, Any], description: str, example: dict[str, str]) -> dict[str, Any]:
    return {
        "type": "object",
        "description": description,
        "required": list(members),
        "properties": members,
        "examples": [example],
    }


def _responses() -> dict[str, Any]:
    return {
        "Unauthorized": _problem(
            "Who is asking is not known and must be, or the credentials are no good (UNAUTHORIZED). Credentials that "
            "are no good are refused even where none are needed.",
            {"WWW-Authenticate": {"$ref": "#/components/headers/Challenge"}},
        ),
        "Forbidden": _problem("Who is asking is known, and may not do this (FORBIDDEN)."),
        "Unavailable": _problem(
            "Something that is needed cannot be reached (SERVICE_UNAVAILABLE), or there is more to do than the service "
            "takes (OVERLOADED). The same request may be sent again.",
            {"Retry-After": {"$ref": "#/components/headers/RetryAfter"}},
        ),
        "InternalError": _problem("A fault of the service's own (INTERNAL_ERROR)."),
    }


def _problem(description: str, headers: Mapping[str, Any] | None = None) -> dict[str, Any]:
    return {
        "description": description,
        "headers": {"X-Request-ID": {"$ref": "#/components/headers/RequestId"}, **(headers or {})},
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
