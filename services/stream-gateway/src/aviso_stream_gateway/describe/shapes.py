"""The shapes of bodies and answers, as JSON Schema.

Which fields a filter has is the event type's affair: the schema service has a JSON Schema for the filters of each.
"""

from __future__ import annotations

from typing import Any, Final

_EVENT_TYPE: Final = {
    "type": "string",
    "description": "Which kind of thing this is about; GET /api/v1/schema lists them.",
}
_FILTER: Final = {
    "type": "object",
    "description": (
        'Which events are meant: a value, or a constraint such as {"gte": 3}, for each field that matters. Fields that '
        "are left out may have any value; required ones may not be left out. A polygon selects what touches it, a "
        "point what has it inside."
    ),
    "additionalProperties": {"type": ["string", "number", "boolean", "array", "object"]},
}
_PAYLOAD: Final = {"description": "Taken and ignored.", "deprecated": True}
_COUNT: Final = {"type": "integer", "minimum": 0}
_SEQUENCE: Final = {"type": "integer", "minimum": 1, "maximum": 2**64 - 1}
_TIME: Final = {"type": "string", "format": "date-time"}
_TEXT_OR_NULL: Final = {"type": ["string", "null"]}
_TEXTS: Final = {"type": "array", "items": {"type": "string"}}


def shapes() -> dict[str, Any]:
    """Return all shapes by name."""
    return {
        "WatchRequest": _strict(
            "What to follow, and from where. Without a start there is no history.",
            {"event_type": _EVENT_TYPE, "identifier": _FILTER},
            {**_start(), "to_id": _no_end(), "to_date": _no_end(), "payload": _PAYLOAD},
        ),
        "ReplayRequest": _strict(
            "What to read, from where, and up to where: up to now, unless an end is given. Both ends are part of it.",
            {"event_type": _EVENT_TYPE, "identifier": _FILTER},
            {**_start(), **_end(), "payload": _PAYLOAD},
        )
        | {
            "anyOf": [
                {"required": ["from_id"], "properties": {"from_id": {"type": "string"}}},
                {"required": ["from_date"], "properties": {"from_date": {"type": "string"}}},
            ]
        },
        "ReplayEnding": _object(
            "The last line of a replay in lines. Without it the answer was cut off.",
            {
                "complete": {"type": "boolean", "description": "Whether all that was asked for is there."},
                "last": _COUNT
                | {"description": "The sequence up to which it is; who goes on does so behind it."},
                "count": _COUNT | {"description": "How many events came before."},
            },
            {
                "failed": _COUNT | {"description": "How many events between them cannot be shown."},
                "max_allowed": _COUNT
                | {"description": "How many one request may have, where there are more and it names no end."},
            },
        ),
        "RangeRemoved": {
            "allOf": [{"$ref": "#/components/schemas/Problem"}],
            **_object(
                "The beginning of what was asked for is not held any more.",
                {
                    "code": {"const": "RANGE_REMOVED"},
                    "first_sequence": _SEQUENCE
                    | {"description": "The first that is held, or the next to come where nothing is."},
                },
            ),
        },
        "Position": _position(),
        "Positions": {
            "type": "object",
            "description": "What the log of each event type holds; null where there is no log.",
            "additionalProperties": {"anyOf": [{"$ref": "#/components/schemas/Position"}, {"type": "null"}]},
        },
        **_explaining(),
    }


def _start() -> dict[str, Any]:
    return {
        "from_id": {
            **_TEXT_OR_NULL,
            "description": "A sequence, as text; 0 is the first that is held.",
            "examples": ["17"],
        },
        "from_date": {
            **_TEXT_OR_NULL,
            "description": "RFC 3339, or seconds or milliseconds since 1970, instead of a sequence.",
            "examples": ["2030-01-01T06:00:00Z"],
        },
    }


def _end() -> dict[str, Any]:
    return {
        "to_id": {**_TEXT_OR_NULL, "description": "The last sequence, as text."},
        "to_date": {**_TEXT_OR_NULL, "description": "The last instant, instead of a sequence."},
    }


def _no_end() -> dict[str, Any]:
    return {"type": "null", "deprecated": True, "description": "Refused unless it is null."}


def _position() -> dict[str, Any]:
    return _object(
        "What a log holds.",
        {
            "epoch": {
                "type": "string",
                "description": "The name of one life of the log: sequences of different ones never compare.",
            },
            "first": _COUNT | {"description": "The first sequence; last + 1 where nothing is held."},
            "last": _COUNT | {"description": "The highest sequence that was ever given."},
            "messages": _COUNT,
            "bytes": _COUNT,
            "last_time": {**_TEXT_OR_NULL, "description": "When the last event was stored."},
        },
        {
            "at": _COUNT
            | {"description": "The first sequence stored at or after the date that was asked for."}
        },
    )


def _explaining() -> dict[str, Any]:
    described = _strict(
        "An event as a notification would describe it.",
        {"identifier": {"type": "object", "additionalProperties": True}},
        {"payload": {"description": "Taken and ignored: no filter looks at it."}},
    )
    wanted = {"sequence": "integer", "event": "object", "dry_run": "string"}
    given = {
        name: {"required": [name], "properties": {name: {"type": kind}}} for name, kind in wanted.items()
    }
    both = {
        "required": ["sequence", "event"],
        "properties": {"sequence": {"type": "integer"}, "event": {"type": "object"}},
    }
    return {
        "ExplainRequest": _strict(
            "A filter, and what to hold it against: one event, or the events of the last while, or both.",
            {"event_type": _EVENT_TYPE, "identifier": _FILTER},
            {
                "sequence": {**_SEQUENCE, "type": ["integer", "null"], "description": "An event of the log."},
                "event": {"anyOf": [described, {"type": "null"}]},
                "dry_run": {
                    **_TEXT_OR_NULL,
                    "pattern": "^[0-9]{1,19}[smhdwSMHDW]$",
                    "description": "How far back to count what the filter would have selected.",
                },
            },
        )
        | {"anyOf": list(given.values()), "not": both},
        "Explanation": _object(
            "Whether the filter delivers, and why not. Of events that the caller may not read it tells nothing.",
            {
                "event_type": {"type": "string"},
                "topic": {"type": "string", "description": "The filter as a topic."},
                "permission": _permission(),
                "event": {"anyOf": [_explained(), {"type": "null"}]},
                "dry_run": {"anyOf": [_dry_run(), {"type": "null"}]},
            },
        ),
    }


def _permission() -> dict[str, Any]:
    return _object(
        "Whether the caller may read such events.",
        {
            "passed": {"type": "boolean"},
            "rule": {"type": "string", "description": "The rule that decided, for programs."},
            "reason": {"type": "string", "description": "The same in words."},
        },
        {"realm": _TEXT_OR_NULL, "wanted": _TEXTS, "found": _TEXTS},
    )


def _explained() -> dict[str, Any]:
    clause = _object(
        "One thing that the filter asks for.",
        {
            "field": {"type": "string"},
            "operator": {"type": "string"},
            "wanted": {"description": "What the filter has."},
            "found": {"description": "What the event has."},
            "passed": {"type": "boolean"},
        },
        {
            "overlap": {"type": "number", "description": "The share of the event's area in the filter's."},
            "distance_degrees": {"type": "number", "description": "How far apart the two are."},
        },
    )
    return _object(
        "The event that was explained; one that was only described has no sequence and no time.",
        {
            "delivered": {"type": "boolean"},
            "clauses": {"type": "array", "items": clause},
            "identifier": {"type": "object", "additionalProperties": {"type": "string"}},
            "operation": _TEXT_OR_NULL,
            "sequence": {"type": ["integer", "null"]},
            "time": _TEXT_OR_NULL,
        },
    )


def _dry_run() -> dict[str, Any]:
    return _object(
        "What was counted, and how far: to the end where it is complete.",
        {
            "complete": {"type": "boolean"},
            "examined": _COUNT,
            "matched": _COUNT,
            "matched_per_hour": {"type": "number", "minimum": 0},
            "first_sequence": _COUNT,
            "through_sequence": _COUNT,
            "last_sequence": _COUNT,
            "from_time": _TIME,
            "through_time": _TIME,
        },
    )


def _strict(description: str, required: dict[str, Any], optional: dict[str, Any]) -> dict[str, Any]:
    return _object(description, required, optional) | {"additionalProperties": False}


def _object(
    description: str, required: dict[str, Any], optional: dict[str, Any] | None = None
) -> dict[str, Any]:
    return {
        "type": "object",
        "description": description,
        "required": list(required),
        "properties": {**required, **(optional or {})},
    }
