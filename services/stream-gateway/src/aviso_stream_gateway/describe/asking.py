"""The operations that tell of logs and filters: positions, and explain."""

from __future__ import annotations

from typing import Any, Final

from aviso_stream_gateway.describe.answers import (
    ACCESS,
    ANYBODY,
    JSON,
    answer,
    body,
    body_refused,
    frames,
    problem,
    refused,
    too_many,
)

_POSITIONS: Final = {JSON: {"schema": {"$ref": "#/components/schemas/Positions"}}}
_WEATHER: Final = {"event_type": "weather_alert", "identifier": {"severity": {"gte": 3}}}


def paths() -> dict[str, Any]:
    """Return all operations."""
    return {
        "/api/v1/positions": {"get": _all_positions()},
        "/api/v1/positions/{event_type}": {"get": _one_position()},
        "/api/v1/positions/stream": {"get": _position_stream()},
        "/api/v1/explain": {"post": _explain()},
    }


def _all_positions() -> dict[str, Any]:
    return {
        "operationId": "positions",
        "summary": "Where the logs are",
        "description": "What the logs of all event types hold that the caller may read.",
        "tags": ["streaming"],
        "security": ANYBODY,
        "responses": {"200": answer("By event type.", _POSITIONS), **ACCESS},
    }


def _one_position() -> dict[str, Any]:
    event_type = {
        "name": "event_type",
        "in": "path",
        "required": True,
        "schema": {"type": "string", "minLength": 1},
        "examples": {"Weather": {"value": "weather_alert"}},
    }
    at = {
        "name": "at",
        "in": "query",
        "description": "RFC 3339, or seconds or milliseconds since 1970. A plus sign has to be sent as %2B.",
        "schema": {"type": "string"},
        "examples": {"Morning": {"value": "2030-01-01T06:00:00Z"}},
    }
    return {
        "operationId": "position",
        "summary": "Where the log of an event type is, or was",
        "description": "What the log holds; and with a date, the first sequence stored at or after it.",
        "tags": ["streaming"],
        "security": ANYBODY,
        "parameters": [event_type, at],
        "responses": {
            "200": answer("The one event type.", _POSITIONS),
            "400": refused("The date cannot be read.", endpoint="positions"),
            **ACCESS,
            "404": problem("There is no such event type (UNKNOWN_EVENT_TYPE).")
            | {"description": "There is no such event type; without a body, no such path."},
        },
    }


def _position_stream() -> dict[str, Any]:
    return {
        "operationId": "positionStream",
        "summary": "Follow where the logs are",
        "description": (
            "The first frame has what /api/v1/positions has, each further one what has changed since, null for what is "
            "no more; at most one in 50 ms. What was stored is told at once, what was removed within some seconds."
        ),
        "tags": ["streaming"],
        "security": ANYBODY,
        "responses": {
            "200": answer(
                "The stream: frames called positions with Positions, heartbeat, and connection-closing as the last.",
                frames("positions", "heartbeat", "connection-closing"),
            ),
            **ACCESS,
            "429": too_many("The caller has as many open streams as may be (TOO_MANY_STREAMS)."),
        },
    }


def _explain() -> dict[str, Any]:
    described = {
        "region": "north",
        "hazard": "wind",
        "severity": 4,
        "polygon": [[54.0, 9.0], [54.0, 11.0], [55.0, 11.0], [54.0, 9.0]],
    }
    return {
        "operationId": "explain",
        "summary": "Why an event is delivered, or not",
        "description": (
            "Holds a filter against an event, for this caller, by what delivers events itself: one line for each thing "
            "that decides. dry_run counts what the filter would have selected of late: at most 100 000 events and 5 "
            "seconds, and only now and then."
        ),
        "tags": ["streaming"],
        "security": ANYBODY,
        "requestBody": body(
            "ExplainRequest",
            {
                "Stored": _WEATHER | {"sequence": 17},
                "Described": _WEATHER | {"event": {"identifier": described}},
                "Counted": _WEATHER | {"dry_run": "1h"},
            },
        ),
        "responses": {
            "200": answer("The answer.", {JSON: {"schema": {"$ref": "#/components/schemas/Explanation"}}}),
            "400": refused("Something is wrong with the request.", endpoint="explain"),
            **body_refused(),
            **ACCESS,
            "404": problem(
                "The log has no event of that sequence, or none of this event type (EVENT_NOT_FOUND)."
            ),
            "429": too_many("The caller has had as many dry runs as may be for now (TOO_MANY_DRY_RUNS)."),
        },
    }
