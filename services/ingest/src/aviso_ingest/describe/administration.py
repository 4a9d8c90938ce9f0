"""The operations that remove what is stored."""

from __future__ import annotations

from typing import Any, Final

from aviso_ingest.describe.answers import ACCESS, JSON, answer, text

_ADMINISTRATORS: Final[list[dict[str, list[str]]]] = [{"bearer_jwt": []}, {"basic": []}]
_DELETED: Final = {"$ref": "#/components/schemas/DeleteAnswer"}
_WIPED: Final = {"$ref": "#/components/schemas/AdminAnswer"}
_WIDER: Final = "Nobody who watches is told of it, and the numbers of the log go on where they were."


def paths() -> dict[str, Any]:
    """Return the paths and their operations."""
    return {
        "/api/v1/admin/notification/{id}": {"delete": _delete_one()},
        "/api/v1/admin/wipe/stream": {"delete": _wipe_one()},
        "/api/v1/admin/wipe/all": {"delete": _wipe_all()},
    }


def _delete_one() -> dict[str, Any]:
    return _operation(
        "deleteNotification",
        "Remove one notification",
        f"Takes one notification out of the log. {_WIDER}",
        parameters=[
            {
                "name": "id",
                "in": "path",
                "required": True,
                "description": "<event type>@<sequence>, as in the id of the delivered event.",
                "schema": {"type": "string", "minLength": 1},
                "example": "weather_alert@42",
            }
        ],
        responses={
            "200": answer("It is removed.", _DELETED),
            "400": answer("The id cannot be read.", _DELETED),
            "404": answer("There is no such notification.", _DELETED),
            "500": _failed(_DELETED),
        },
    )


def _wipe_one() -> dict[str, Any]:
    name = {
        "type": "string",
        "description": "An event type, its base, or the name of its stream, in any case.",
    }
    return _operation(
        "wipeStream",
        "Remove all notifications of one event type",
        f"Empties the log of one event type. {_WIDER}",
        requestBody={
            "required": True,
            "content": {
                JSON: {
                    "schema": {
                        "type": "object",
                        "required": ["stream_name"],
                        "properties": {"stream_name": name},
                    },
                    "examples": {"WipeStream": {"$ref": "#/components/examples/WipeStream"}},
                }
            },
        },
        responses={
            "200": answer("It is empty.", _WIPED),
            "400": text("The body cannot be read, or the Content-Type is another."),
            "404": answer("The name means nothing; the message lists the event types.", _WIPED),
            "408": {"$ref": "#/components/responses/TooSlow"},
            "413": {"$ref": "#/components/responses/TooLarge"},
            "500": _failed(_WIPED),
        },
    )


def _wipe_all() -> dict[str, Any]:
    return _operation(
        "wipeAll",
        "Remove all notifications",
        f"Empties the logs of all event types. {_WIDER}",
        responses={"200": answer("Everything is empty.", _WIPED), "500": _failed(_WIPED)},
    )


# --- parts -----------------------------------------------------------------------------------------------


def _operation(
    name: str, summary: str, description: str, *, responses: dict[str, Any], **more: Any
) -> dict[str, Any]:
    return {
        "operationId": name,
        "summary": summary,
        "description": description,
        "tags": ["admin"],
        "security": _ADMINISTRATORS,
        **more,
        "responses": {**responses, **ACCESS},
    }


def _failed(schema: dict[str, Any]) -> Any:
    """Return what is answered where the log failed, or where the service itself has a fault."""
    failed = {"anyOf": [schema, {"$ref": "#/components/schemas/Problem"}]}
    return answer("The log could not do it, as the message says.", failed)
