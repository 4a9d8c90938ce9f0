"""How operations list their answers, and the answers that several of them give."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

JSON: Final = "application/json"
TEXT: Final = "text/plain"
EVENT_STREAM: Final = "text/event-stream"

# Whoever has no credentials may still read where the event type asks for none.
ANYBODY: Final[list[dict[str, list[str]]]] = [{}, {"bearer_jwt": []}, {"basic": []}]

_REQUEST_ID: Final = {"X-Request-ID": {"$ref": "#/components/headers/RequestId"}}
_RETRY_AFTER: Final = {"Retry-After": {"$ref": "#/components/headers/RetryAfter"}}
_PROBLEM: Final = {"$ref": "#/components/schemas/Problem"}
_REFUSAL: Final = {"$ref": "#/components/schemas/Refusal"}

# What the access control in front of every service may answer, and any request where the log is away.
ACCESS: Final[Mapping[str, Any]] = {
    "401": {"$ref": "#/components/responses/Unauthorized"},
    "403": {"$ref": "#/components/responses/Forbidden"},
    "500": {"$ref": "#/components/responses/InternalError"},
    "503": {"$ref": "#/components/responses/Unavailable"},
}


def answer(
    description: str, content: Mapping[str, Any], *, headers: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return an answer with contents by media type."""
    return {
        "description": description,
        "headers": {**_REQUEST_ID, **(headers or {})},
        "content": dict(content),
    }


def frames(*names: str) -> dict[str, Any]:
    """Return the content of a stream: the shape is that of one frame."""
    described = {
        "type": "object",
        "description": "One frame.",
        "required": ["event", "data"],
        "properties": {
            "event": {"enum": list(names)},
            "data": {"type": "string", "contentMediaType": JSON},
        },
    }
    return {EVENT_STREAM: {"schema": described}}


def refused(description: str, *, endpoint: str) -> dict[str, Any]:
    """Return the answer to a request with which something is wrong."""
    text = (
        f"{description} Not JSON: INVALID_JSON. A member that there is not: UNKNOWN_FIELD. A member missing, or of "
        "the wrong type: INVALID_REQUEST_SHAPE. An event type that is not declared: UNKNOWN_EVENT_TYPE. Everything "
        f"else: INVALID_{endpoint.upper()}_REQUEST."
    )
    return answer(text, {JSON: {"schema": {"anyOf": [_REFUSAL, _PROBLEM]}}})


def problem(description: str) -> dict[str, Any]:
    """Return the answer to a request that is not served, without an innermost cause."""
    return answer(description, {JSON: {"schema": _PROBLEM}})


def too_many(description: str) -> dict[str, Any]:
    """Return the answer to somebody who has as much as they may have."""
    return answer(description, {JSON: {"schema": _PROBLEM}}, headers=_RETRY_AFTER)


def setup_failed() -> dict[str, Any]:
    """Return the answer where a stream cannot be opened."""
    text = "The log cannot be read now (SSE_STREAM_INITIALIZATION_FAILED). Or a fault of the service's own."
    return answer(text, {JSON: {"schema": {"anyOf": [_REFUSAL, _PROBLEM]}}})


def body_refused() -> dict[str, Any]:
    """Return the answers to bodies that are not read to their end."""
    content = {TEXT: {"schema": {"type": "string"}}}
    return {
        "408": answer("The body did not arrive in time. The connection is closed.", content),
        "413": answer("The body is larger than 256 KiB. The connection is closed.", content),
    }


def body(shape: str, examples: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of a request, as JSON."""
    named = {name: {"value": value} for name, value in examples.items()}
    return {
        "required": True,
        "content": {JSON: {"schema": {"$ref": f"#/components/schemas/{shape}"}, "examples": named}},
    }
