"""Which of several faults is reported: the steps of contract section 2.4 that are the core's, and 16.6.

Each list holds one request's faults in the order in which they are found. The request with all of them is refused for
the first; with that one mended for the second; and so on, until it is taken.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import msgspec
import pytest

from aviso_core.errors import Refusal
from support.catalogs import NOTHING_DECLARED, OPEN
from support.endpoints import Endpoint, ask, code_on_the_wire

RING: Final = "(0,0,0,1,1,1,0,0)"
DROP: Final = object()

NOTIFICATION: Final = "INVALID_NOTIFICATION_REQUEST"
WATCHING: Final = "INVALID_WATCH_REQUEST"
REPLAYING: Final = "INVALID_REPLAY_REQUEST"


class Step(NamedTuple):
    """A fault by the code and the beginning of the message, and what mends it: members, then identifier fields."""

    code: str
    message: str
    members: dict[str, Any] = {}  # noqa: RUF012  # never changed
    fields: dict[str, Any] = {}  # noqa: RUF012  # never changed


def _mended(body: dict[str, Any], step: Step) -> dict[str, Any]:
    identifier = body["identifier"]
    if isinstance(identifier, dict):
        identifier = _without_dropped(identifier | step.fields)
    return _without_dropped(body | {"identifier": identifier} | step.members)


def _without_dropped(members: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not DROP}


NOTIFY: Final = (
    {
        "zeta": 1, "extra": 2, "event_type": 5, "from_id": "x", "from_date": "y", "to_id": "",
        "identifier": {
            "point": 1, "b": 1, "a": 1, "season": "1234567", "category": {"eq": 9}, "wind": None, "polygon": "",
        },
    },
    [
        Step("UNKNOWN_FIELD", "Request contains unknown fields: Unknown field 'extra'", {"extra": DROP}),
        Step("UNKNOWN_FIELD", "Request contains unknown fields: Unknown field 'zeta'", {"zeta": DROP}),
        Step("INVALID_REQUEST_SHAPE", "Request deserialization failed: ", {"event_type": "stroms"}),
        Step("UNKNOWN_EVENT_TYPE", "unknown event type 'stroms'", {"event_type": "storms"}),
        Step(NOTIFICATION, "to_id and to_date are only supported", {"to_id": None}),
        Step(NOTIFICATION, "identifier.point is only supported for watch/replay", fields={"point": DROP}),
        Step(NOTIFICATION, "Unknown field 'a' provided for notify operation", fields={"a": DROP}),
        Step(NOTIFICATION, "Unknown field 'b' provided for notify operation", fields={"b": DROP}),
        # declaration order: basin, season, category, wind, polygon
        Step(NOTIFICATION, "Required field 'basin' missing", fields={"basin": "indian"}),
        Step(NOTIFICATION, "Field 'season' exceeds maximum length", fields={"season": "1"}),
        Step(NOTIFICATION, "Field 'category' constraint object", fields={"category": "9"}),
        Step(NOTIFICATION, "Field 'category' value 9 is outside", fields={"category": "1"}),
        Step(NOTIFICATION, "Field 'wind' cannot be null", fields={"wind": "1"}),
        Step(NOTIFICATION, "field 'polygon' must be a valid polygon: ", fields={"polygon": RING}),
    ],
)  # fmt: skip

NOTIFY_PAYLOAD: Final = (
    {"event_type": "runs", "identifier": {"class": "od", "expver": "1", "date": "", "time": "", "step": "1"}},
    [
        Step(NOTIFICATION, "Failed to parse date value", fields={"date": "20250101"}),
        Step(NOTIFICATION, "Field 'time' has invalid time format", fields={"time": "1"}),
        Step(NOTIFICATION, "Payload is required for notify operation", {"payload": 0}),
    ],
)  # fmt: skip

NOTIFY_UNDECLARED: Final = (
    {"event_type": "a.b", "to_date": "x", "identifier": {"point": 1, "b": None, "a": ""}},
    [
        Step(NOTIFICATION, "to_id and to_date are only supported", {"to_date": DROP}),
        Step(NOTIFICATION, "identifier.point is only supported", fields={"point": DROP}),
        Step(NOTIFICATION, "topic base must match", {"event_type": "ab"}),
        Step(NOTIFICATION, "Field 'a' cannot be empty", fields={"a": "1"}),
        Step(NOTIFICATION, "Field 'b' cannot be null", fields={"b": "1"}),
    ],
)

_START_FAULTS: Final[list[tuple[str, dict[str, Any]]]] = [
    ("from_id must be a valid positive integer. Got: 'x'", {"from_id": "5"}),
    ("from_date must be a valid datetime/timestamp. Got: 'y'", {"from_date": "2026-01-01T00:00:00Z"}),
    ("Cannot specify both from_id and from_date.", {"from_date": DROP}),
]
_FIELD_FAULTS: Final = [
    Step("", "Unknown field 'a' provided for {} operation", fields={"a": DROP}),
    Step("", "Unknown field 'z' provided for {} operation", fields={"z": DROP}),
    Step("", "Required field 'basin' missing for {} operation", fields={"basin": "x"}),
    Step("", "Field 'basin' has invalid value 'x'", fields={"basin": "indian"}),
    Step("", "Field 'season' does not support constraint filters", fields={"season": "1"}),
    Step("", "Field 'category' operator 'gt' expects integer value", fields={"category": {"gt": 1}}),
    Step("", "Field 'wind' must be a scalar value or constraint object, got array", fields={"wind": 1}),
]


def _reading(operation: str, end_faults: list[Step]) -> list[Step]:
    code = f"INVALID_{operation.upper()}_REQUEST"
    return [
        Step("UNKNOWN_EVENT_TYPE", "unknown event type 'stroms'", {"event_type": "storms"}),
        Step(code, "Cannot specify both identifier.polygon and identifier.point.", fields={"polygon": DROP}),
        Step(code, "identifier.point must be a valid [lat,lon] coordinate pair", fields={"point": "1,2"}),
        *(Step(code, message, members) for message, members in _START_FAULTS),
        *end_faults,
        Step(code, "identifier.point_cloud is only supported for notify", fields={"point_cloud": DROP}),
        *(step._replace(code=code, message=step.message.format(operation)) for step in _FIELD_FAULTS),
    ]


_ALL_WRONG: Final = {
    "event_type": "stroms", "from_id": "x", "from_date": "y", "to_id": "z", "to_date": "z",
    "identifier": {
        "polygon": 1, "point": 2, "point_cloud": 3, "z": 1, "a": 1,
        "season": {"eq": 1}, "category": {"gt": "x"}, "wind": [],
    },
}  # fmt: skip

WATCH: Final = (
    _ALL_WRONG,
    _reading(
        "watch",
        [
            Step(
                WATCHING,
                "to_id and to_date are only supported for the replay endpoint, not /watch",
                {"to_id": DROP, "to_date": DROP},
            )
        ],
    ),
)
REPLAY: Final = (
    _ALL_WRONG,
    _reading(
        "replay",
        [
            Step(REPLAYING, "to_id must be a valid positive integer. Got: 'z'", {"to_id": "4"}),
            Step(
                REPLAYING,
                "to_date must be a valid datetime/timestamp. Got: 'z'",
                {"to_date": "2025-01-01T00:00:00Z"},
            ),
            Step(REPLAYING, "Cannot specify both to_id and to_date.", {"to_date": DROP}),
            Step(REPLAYING, "to_id (4) must not be lower than from_id (5)", {"to_id": "5"}),
        ],
    ),
)
REPLAY_WITHOUT_START: Final = (
    {"event_type": "storms", "to_id": "x", "to_date": "y", "identifier": {"point": "x"}},
    [
        Step(REPLAYING, "identifier.point must be", fields={"point": "1,2"}),
        Step(REPLAYING, "Replay endpoint requires either from_id or from_date", {"from_id": "1"}),
        Step(REPLAYING, "to_id must be a valid positive integer", {"to_id": DROP}),
        Step(REPLAYING, "to_date must be a valid datetime", {"to_date": DROP}),
        Step(REPLAYING, "Required field 'basin' missing", fields={"basin": "indian"}),
    ],
)
WATCH_CLOUDS: Final = (
    {"event_type": "buoys", "identifier": {"point_cloud": 1, "point": "1,2", "x": 1, "net": ""}},
    [
        Step(WATCHING, "identifier.point_cloud is only supported", fields={"point_cloud": DROP}),
        Step(WATCHING, "identifier.point is not supported", fields={"point": DROP, "polygon": "x"}),
        Step(WATCHING, "Unknown field 'x' provided for watch operation", fields={"x": DROP}),
        Step(WATCHING, "Field 'net' cannot be empty", fields={"net": "n"}),
        Step(WATCHING, "field 'polygon' must be a valid polygon", fields={"polygon": RING}),
    ],
)  # fmt: skip
WATCH_UNDECLARED: Final = (
    {"event_type": "a.b", "from_id": "", "identifier": {"point": "x", "b": None, "a": {"eq": 1}}},
    [
        Step(WATCHING, "identifier.point must be", fields={"point": "1,2"}),
        Step(WATCHING, "from_id cannot be empty", {"from_id": DROP}),
        Step(WATCHING, "topic base must match", {"event_type": "ab"}),
        Step(WATCHING, "Field 'a' constraint object is not supported without schema", fields={"a": "1"}),
        Step(WATCHING, "Field 'b' cannot be null", fields={"b": ""}),
    ],
)  # fmt: skip

CASES: Final[list[tuple[str, Endpoint, tuple[dict[str, Any], list[Step]]]]] = [
    ("notify", "notification", NOTIFY),
    ("notify without payload", "notification", NOTIFY_PAYLOAD),
    ("notify, undeclared", "notification", NOTIFY_UNDECLARED),
    ("watch", "watch", WATCH),
    ("replay", "replay", REPLAY),
    ("replay without a start", "replay", REPLAY_WITHOUT_START),
    ("watch clouds", "watch", WATCH_CLOUDS),
    ("watch, undeclared", "watch", WATCH_UNDECLARED),
]


@pytest.mark.parametrize(
    ("name", "endpoint", "case"), CASES, ids=lambda part: part if isinstance(part, str) else ""
)
def test_the_first_fault_is_reported(
    name: str, endpoint: Endpoint, case: tuple[dict[str, Any], list[Step]]
) -> None:
    body, steps = case
    catalog = NOTHING_DECLARED if "undeclared" in name else OPEN
    for step in steps:
        answer = ask(catalog, endpoint, msgspec.json.encode(body))
        assert isinstance(answer, Refusal), f"taken, but: {step.message}"
        assert code_on_the_wire(answer, endpoint) == step.code
        assert answer.message.startswith(step.message)
        body = _mended(body, step)
    answer = ask(catalog, endpoint, msgspec.json.encode(body))
    assert not isinstance(answer, Refusal), answer


@pytest.mark.parametrize("endpoint", ["watch", "replay"])
def test_a_payload_is_no_part_of_reading(endpoint: Endpoint) -> None:
    """It is accepted there and ignored."""
    body = {"event_type": "storms", "identifier": {"basin": "indian"}, "payload": {"x": 1}, "from_id": "1"}
    assert not isinstance(ask(OPEN, endpoint, msgspec.json.encode(body)), Refusal)


@pytest.mark.parametrize("member", ["from_id", "from_date"])
@pytest.mark.parametrize("value", ["", "1", "x", "2025-01-01"])
def test_a_start_is_no_part_of_a_notification(member: str, value: str) -> None:
    """It is accepted there, ignored and not even read."""
    body = {"event_type": "ab", "identifier": {"a": "1"}, member: value}
    assert not isinstance(ask(NOTHING_DECLARED, "notification", msgspec.json.encode(body)), Refusal)


@pytest.mark.parametrize("member", ["to_id", "to_date"])
@pytest.mark.parametrize("value", ["", "1", "x", "2025-01-01T00:00:00Z"])
@pytest.mark.parametrize(("endpoint", "route"), [("notification", "/notification"), ("watch", "/watch")])
def test_an_end_is_part_of_a_replay_only(endpoint: Endpoint, route: str, member: str, value: str) -> None:
    """Contract section 16.6: whatever the value."""
    answer = ask(
        NOTHING_DECLARED,
        endpoint,
        msgspec.json.encode({"event_type": "ab", "identifier": {"a": "1"}, member: value}),
    )
    assert isinstance(answer, Refusal)
    assert answer.message == f"to_id and to_date are only supported for the replay endpoint, not {route}"
    assert answer.field == member
