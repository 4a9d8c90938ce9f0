"""What is refused before a stream opens, over real HTTP: the first thing that is wrong (contract 2.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from support.event_logs import asynchronous
from support.services import running_service
from support.sse import REPLAY, WATCH
from support.watching import configured, of_storms

if TYPE_CHECKING:
    from collections.abc import Mapping

    from support.services import Service


async def refusal(service: Service, body: object, *, path: str = REPLAY) -> tuple[int, str, str]:
    """Return status, code and message of a refusal."""
    answer = await service.ask("POST", path, body)
    return answer.status, answer.json.get("code"), answer.json.get("message")


FORMS: Final = (
    "Valid examples: '2025-06-09T13:15:00Z', '2025-06-09 13:15:00+00:00', '2025-06-09 13:15:00', "
    "'1740509903', '1740509903710'"
)
NO_INSTANT: Final = (
    "expected ISO-8601 datetime (RFC3339/space-separated with optional timezone) "
    "or unix epoch seconds/milliseconds"
)
NEEDS_START: Final = (
    "Replay endpoint requires either from_id or from_date parameter. "
    "Use from_id for sequence-based replay or from_date for time-based replay."
)
BOTH_STARTS: Final = (
    "Cannot specify both from_id and from_date. Please provide only one replay parameter. "
    "Use from_id for sequence-based replay or from_date for time-based replay."
)
BOTH_ENDS: Final = (
    "Cannot specify both to_id and to_date. Please provide only one replay end parameter. "
    "Use to_id for a sequence-based end or to_date for a time-based end."
)
BOTH_SPATIAL: Final = (
    "Cannot specify both identifier.polygon and identifier.point. Provide only one spatial filter."
)
NO_END_HERE: Final = "to_id and to_date are only supported for the replay endpoint, not /watch"


def bad_id(name: str, value: str) -> str:
    """Return what is said of a sequence that is none."""
    return f"{name} must be a valid positive integer. Got: '{value}'. Valid examples: '1', '123', '9999'"


def bad_date(name: str, value: str, reason: str = NO_INSTANT) -> str:
    """Return what is said of an instant that is none."""
    return f"{name} must be a valid datetime/timestamp. Got: '{value}'. Error: {reason}. {FORMS}"


# What is wrong, and what is told of it: the first of all that is wrong, in the order of the contract (2.4).
REFUSED: Final[tuple[tuple[str, Mapping[str, object], str], ...]] = (
    *(
        (REPLAY, {"from_id": value}, "from_id cannot be empty. Provide a valid sequence number or omit the field")
        for value in ("", "   ")
    ),
    *(
        (path, {"from_id": value}, bad_id("from_id", value))
        for value in ("-1", "1.5", " 5", "5 ", "abc", "alerts@5", "18446744073709551616", "١")
        for path in (REPLAY, WATCH)
    ),
    *(
        (REPLAY, {"from_date": value},
         "from_date cannot be empty. Provide a valid datetime/timestamp or omit the field")
        for value in ("", " ")
    ),
    *(
        (REPLAY, {"from_date": value}, bad_date("from_date", value))
        for value in ("2025-01-15", "2025-01-15T10:00", "2025-01-15T10:00:00+0000", "yesterday", "2025-13-01T00:00:00Z")
    ),
    (REPLAY, {"from_date": "-5"}, bad_date("from_date", "-5", "negative unix timestamps are not supported: '-5'")),
    (REPLAY, {"from_date": "99999999999999999999"}, bad_date(
        "from_date", "99999999999999999999",
        "failed to parse unix timestamp '99999999999999999999': number too large to fit in target type")),
    (REPLAY, {"from_date": "9223372036854775807"}, bad_date(
        "from_date", "9223372036854775807", "invalid unix milliseconds timestamp '9223372036854775807'")),
    (REPLAY, {}, NEEDS_START),
    (REPLAY, {"from_id": None, "from_date": None}, NEEDS_START),
    (REPLAY, {"to_id": "3"}, NEEDS_START),
    (REPLAY, {"to_id": "x"}, NEEDS_START),
    (REPLAY, {"from_id": "1", "from_date": "0"}, BOTH_STARTS),
    (WATCH, {"from_id": "1", "from_date": "0"}, BOTH_STARTS),
    (REPLAY, {"from_id": "x", "from_date": "y"}, bad_id("from_id", "x")),
    (REPLAY, {"from_id": "1", "from_date": "y"}, bad_date("from_date", "y")),
    (REPLAY, {"from_id": "1", "to_id": "x", "to_date": "y"}, bad_id("to_id", "x")),
    (REPLAY, {"from_id": "1", "to_id": "1", "to_date": "y"}, bad_date("to_date", "y")),
    (REPLAY, {"from_id": "1", "to_id": "", "to_date": "0"},
     "to_id cannot be empty. Provide a valid sequence number or omit the field"),
    (REPLAY, {"from_id": "1", "to_id": "2", "to_date": "0"}, BOTH_ENDS),
    (REPLAY, {"from_id": "5", "to_id": "4"}, "to_id (4) must not be lower than from_id (5)"),
    (REPLAY, {"from_id": "1", "to_id": "0"}, "to_id (0) must not be lower than from_id (1)"),
    (REPLAY, {"from_date": "2026-01-01T00:00:00Z", "to_date": "2025-12-31T23:59:59.5Z"},
     "to_date (2025-12-31T23:59:59.500+00:00) must not be earlier than from_date (2026-01-01T00:00:00+00:00)"),
    (WATCH, {"to_id": "3"}, NO_END_HERE),
    (WATCH, {"to_date": "rubbish"}, NO_END_HERE),
    (WATCH, {"from_id": "x", "to_id": "3"}, bad_id("from_id", "x")),
    # Spatial filters are looked at before starts, and identifiers after them.
    (REPLAY, {"identifier": {"polygon": 1, "point": 2}, "from_id": "x"}, BOTH_SPATIAL),
    (REPLAY, {"identifier": {"point": "1"}, "from_id": "x"},
     "identifier.point must be a valid [lat,lon] coordinate pair or compatible string: "
     "Point must be in 'lat,lon' format"),
    (REPLAY, {"identifier": {"colour": "red"}, "from_id": "x"}, bad_id("from_id", "x")),
    (REPLAY, {"identifier": {"colour": "red", "number": "x"}, "from_id": "1"},
     "Unknown field 'colour' provided for replay operation"),
    (WATCH, {"identifier": {"zebra": "z", "ant": "a"}}, "Unknown field 'ant' provided for watch operation"),
    (WATCH, {"identifier": {"number": "x", "polygon": "()"}}, "Field 'number' must be a valid integer, got: 'x'"),
    (WATCH, {"event_type": "buoys", "identifier": {"point_cloud": [[1, 2]]}},
     "identifier.point_cloud is only supported for notify operations"),
    (WATCH, {"event_type": "buoys", "identifier": {"point": "1,2"}},
     "identifier.point is not supported for point-cloud schemas; use identifier.polygon"),
)  # fmt: skip


@asynchronous
async def test_what_is_wrong_first_is_told() -> None:
    """Starts, ends and filters, each alone and several at once; nothing of it opens a stream."""
    found = []
    async with running_service(configured()) as service:
        for path, members, message in REFUSED:
            code = "INVALID_WATCH_REQUEST" if path == WATCH else "INVALID_REPLAY_REQUEST"
            said = await refusal(service, of_storms(**members), path=path)
            if said != (400, code, message):
                found.append(f"{path} {members}: {said}\n    not {message}")
    assert not found, "\n".join(found)
