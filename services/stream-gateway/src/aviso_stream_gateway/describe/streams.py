"""The operations that send events: watch and replay."""

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
    refused,
    setup_failed,
    too_many,
)
from aviso_stream_gateway.machines.accepted import Form

_WEATHER: Final = {"event_type": "weather_alert", "identifier": {"severity": {"gte": 3}}}
_FRAMES: Final = (
    "Each frame is an event: line and a data: line of JSON. A CloudEvent is called live-notification or replay, what "
    "is said of the stream itself replay-control, heartbeat, error or connection-closing, which is the last."
)
_CALLED: Final = ("replay", "replay-control", "error", "connection-closing")
_TOO_MANY: Final = "The caller, or their address, has as many open streams as may be (TOO_MANY_STREAMS)."


def paths() -> dict[str, Any]:
    """Return both operations."""
    return {"/api/v1/watch": {"post": _watch()}, "/api/v1/replay": {"post": _replay()}}


def _watch() -> dict[str, Any]:
    return {
        "operationId": "watch",
        "summary": "Follow events as they are stored",
        "description": (
            "With a start, history comes first, and what is stored meanwhile follows without a hole. The stream goes "
            "on until its longest duration is over, the process stops, or the reader leaves; whoever resumes with the "
            "sequence after the last one misses nothing. A retraction is an event whose operation is delete."
        ),
        "tags": ["streaming"],
        "security": ANYBODY,
        "requestBody": body("WatchRequest", {"Now": _WEATHER, "Resuming": _WEATHER | {"from_id": "18"}}),
        "responses": {
            "200": answer(f"The stream. {_FRAMES}", frames(*_CALLED, "live-notification", "heartbeat")),
            "400": refused("Something is wrong with the request.", endpoint="watch"),
            **body_refused(),
            **ACCESS,
            "429": too_many(_TOO_MANY),
            "500": setup_failed(),
        },
    }


def _replay() -> dict[str, Any]:
    return {
        "operationId": "replay",
        "summary": "Read events that are stored",
        "description": (
            "Accept chooses the form. application/x-ndjson: a CloudEvent on each line, and a last line that says that "
            "they are all. application/vnd.apache.arrow.stream: record batches of event_type, sequence, time, id, "
            "identifier, geometry (WKB), payload (JSON text) and operation; the last batch is empty, and its metadata "
            "has under aviso what the last line says. Anything else: frames. How many events one request may have is "
            "limited, but not in those two forms where the request says where they end."
        ),
        "tags": ["streaming"],
        "security": ANYBODY,
        "requestBody": body(
            "ReplayRequest",
            {
                "Everything": _WEATHER | {"from_id": "0"},
                "Range": _WEATHER | {"from_id": "1", "to_date": "2030-01-01T06:00:00Z"},
            },
        ),
        "responses": {
            "200": answer(f"The events. {_FRAMES}", _contents()),
            "400": refused("Something is wrong with the request.", endpoint="replay"),
            **body_refused(),
            **ACCESS,
            "410": answer(
                "The beginning of a range with an end is not held any more. Only in the forms for machines.",
                {JSON: {"schema": {"$ref": "#/components/schemas/RangeRemoved"}}},
            ),
            "429": too_many(_TOO_MANY),
            "500": setup_failed(),
        },
    }


def _contents() -> dict[str, Any]:
    return {
        **frames(*_CALLED),
        Form.LINES.value.decode(): {
            "schema": {"type": "string", "description": "A CloudEvent on each line, then a ReplayEnding."},
            "examples": {"Nothing": {"value": '{"complete":true,"last":17,"count":0}\n'}},
        },
        Form.ARROW.value.decode(): {"schema": {"contentMediaType": Form.ARROW.value.decode()}},
    }
