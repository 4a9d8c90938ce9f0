"""Requests to copy, and answers to expect.

The requests are about the event types that `avisod serve --samples` has, and it accepts them as they are.
"""

from __future__ import annotations

import json
from typing import Any, Final

_REQUEST_ID: Final = "5b0c2f0e-6c0a-4b39-9a43-2f7a7c0d9e10"

_ALERT: Final[dict[str, Any]] = {
    "event_type": "weather_alert",
    "identifier": {
        "region": "north",
        "hazard": "wind",
        "severity": 4,
        "polygon": [[54.0, 8.0], [54.0, 10.5], [55.0, 10.5], [55.0, 8.0], [54.0, 8.0]],
    },
    "payload": {"headline": "Storm on the coast"},
}
_FORECAST: Final[dict[str, Any]] = {
    "event_type": "model_output",
    "identifier": {
        "class": "od",
        "stream": "oper",
        "expver": "1",
        "date": "2030-01-01",
        "time": "12",
        "domain": "g",
        "step": 24,
    },
    "payload": {"location": "https://data.example/od/oper/0001/20300101/1200/g/24"},
}
_STORM: Final[dict[str, Any]] = {
    "event_type": "moving_storm",
    "identifier": {
        "basin": "pacific",
        "name": "tern",
        "category": 3,
        "wind_speed": 52.5,
        "polygon": [[-18.0, 178.5], [-18.0, -178.5], [-15.5, -178.5], [-15.5, 178.5], [-18.0, 178.5]],
    },
    "payload": {"advisory": 7},
}
_RECORDS: Final[list[dict[str, Any]]] = [
    {**_FORECAST, "id": "od-20300101-12-24", "time": "2030-01-01T15:20:00Z"},
    {**_STORM, "id": "tern-7"},
]
_DATA: Final = {name: _ALERT[name] for name in ("identifier", "payload")}
_EVENT: Final[dict[str, Any]] = {
    "specversion": "1.0",
    "id": "alert-2030-17",
    "source": "/offices/north",
    "type": "weather_alert",
    "time": "2030-01-01T06:00:00Z",
    "data": _DATA,
}
_RESULTS: Final[list[dict[str, Any]]] = [
    {
        "index": 0,
        "status": "accepted",
        "event_type": "model_output",
        "sequence": 12,
        "id": "od-20300101-12-24",
    },
    {
        "index": 1,
        "status": "rejected",
        "event_type": "moving_storm",
        "id": "tern-7",
        "code": "INVALID_NOTIFICATION_REQUEST",
        "message": "Required field 'name' missing for notify operation",
        "field": "name",
    },
]
_TOTALS: Final[dict[str, Any]] = {
    "accepted": 1,
    "duplicate": 0,
    "rejected": 1,
    "failed": 0,
    "request_id": _REQUEST_ID,
}


def examples() -> dict[str, Any]:
    """Return all examples by name."""
    return {
        "WeatherAlert": _example("A warning for an area", _ALERT),
        "ModelOutput": _example("A forecast step that is ready", _FORECAST),
        "MovingStorm": _example("Where a storm is now", _STORM),
        "Retraction": _example(
            "The storm is over",
            {"event_type": "moving_storm", "identifier": {"basin": "pacific", "name": "tern"}},
        ),
        "BatchRecords": _example("Two records of two event types, each with an id", _RECORDS),
        "BatchRecordsInLines": _example("The same, one on each line", _in_lines(_RECORDS)),
        "CloudEvent": _example("A warning as a CloudEvent", _EVENT),
        "CloudEvents": _example("A batch of one", [_EVENT]),
        "CloudEventData": _example("The body where the attributes are headers", _DATA),
        "WipeStream": _example("All warnings", {"stream_name": "weather_alert"}),
        "Stored": _example(
            "Acknowledged",
            {"status": "success", "request_id": _REQUEST_ID, "processed_at": "2030-01-01T06:00:01Z"},
        ),
        "BatchAnswer": _example("One stored, one rejected", {**_TOTALS, "results": _RESULTS}),
        "BatchAnswerInLines": _example("The same, in lines", _in_lines([*_RESULTS, _TOTALS])),
    }


def _example(summary: str, value: object) -> dict[str, Any]:
    return {"summary": summary, "value": value}


def _in_lines(values: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)
