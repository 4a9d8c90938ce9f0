"""The answers of this service, by name, and how an operation lists those that it gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

JSON: Final = "application/json"
NDJSON: Final = "application/x-ndjson"
TEXT: Final = "text/plain"

_HEADERS: Final = {"X-Request-ID": {"$ref": "#/components/headers/RequestId"}}
_PROBLEM: Final = {"$ref": "#/components/schemas/Problem"}
_REFUSAL: Final = {"$ref": "#/components/schemas/Refusal"}
_UNDECLARED: Final = {"$ref": "#/components/schemas/UndeclaredEventType"}

# What the access control in front of every service may answer.
ACCESS: Final[Mapping[str, Any]] = {
    "401": {"$ref": "#/components/responses/Unauthorized"},
    "403": {"$ref": "#/components/responses/Forbidden"},
    "503": {"$ref": "#/components/responses/Unavailable"},
}
# What a single notification may be answered, however it came.
SINGLE: Final[Mapping[str, Any]] = {
    "200": {"$ref": "#/components/responses/Stored"},
    "400": {"$ref": "#/components/responses/NotTaken"},
    "408": {"$ref": "#/components/responses/TooSlow"},
    "413": {"$ref": "#/components/responses/TooLarge"},
    "500": {"$ref": "#/components/responses/NotStored"},
    **ACCESS,
}


def responses() -> dict[str, Any]:
    """Return the answers that more than one operation gives."""
    return {
        "Stored": answer(
            "The log has it.",
            {"$ref": "#/components/schemas/Stored"},
            examples={"Stored": {"$ref": "#/components/examples/Stored"}},
        ),
        "NotTaken": answer(
            "Something is wrong with the request. Not JSON: INVALID_JSON. A member that there is not: UNKNOWN_FIELD. "
            "A member missing, or of the wrong type: INVALID_REQUEST_SHAPE. An event type that is not declared: "
            "UNKNOWN_EVENT_TYPE. Everything else, such as a field's value: INVALID_NOTIFICATION_REQUEST.",
            {"anyOf": [_REFUSAL, _UNDECLARED]},
        ),
        "TooSlow": text("The body did not arrive in time. The connection is closed."),
        "TooLarge": text("The body is larger than may be, as the text says. The connection is closed."),
        "NotStored": answer(
            "The log did not acknowledge it (NOTIFICATION_STORAGE_FAILED), so nobody knows whether it is stored: send "
            "it again, with the same Idempotency-Key if it had one. Or a fault of the service's own.",
            {"anyOf": [_REFUSAL, _PROBLEM]},
        ),
    }


def answer(description: str, schema: Mapping[str, Any], *, examples: Mapping[str, Any] | None = None) -> Any:
    """Return an answer in JSON."""
    content = {"schema": schema, **({"examples": examples} if examples else {})}
    return {"description": description, "headers": _HEADERS, "content": {JSON: content}}


def text(description: str) -> dict[str, Any]:
    """Return an answer in plain text."""
    return {
        "description": description,
        "headers": _HEADERS,
        "content": {TEXT: {"schema": {"type": "string"}}},
    }
