"""What an identifier may hold when a notification is posted, value by value (contract sections 3, 6.1 and 16.2)."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from support.event_logs import asynchronous
from support.services import running_service

FIELDS: Final[dict[str, dict[str, object]]] = {
    "text": {"type": "StringHandler", "max_length": 4},
    "date": {"type": "DateHandler"},
    "time": {"type": "TimeHandler"},
    "choice": {"type": "EnumHandler", "values": ["North", "south"]},
    "number": {"type": "IntHandler", "range": [-5, 240]},
    "unbounded": {"type": "IntHandler"},
    "real": {"type": "FloatHandler", "range": [0.5, 9.5]},
    "any_real": {"type": "FloatHandler"},
    "version": {"type": "ExpverHandler"},
    "version_or_one": {"type": "ExpverHandler", "default": "1"},
    "polygon": {"type": "PolygonHandler"},
    "point_cloud": {"type": "PointCloudHandler", "max_points": 2},
}
SPATIAL: Final = ("polygon", "point_cloud")


def event_type(field: str) -> dict[str, object]:
    """Return an event type that is about one field, which carries its name; a geometry has a key beside it."""
    identifier = {field: {**FIELDS[field], "required": False}}
    if field in SPATIAL:
        identifier["key"] = {"type": "StringHandler", "required": False}
    return {
        "topic": {"base": field, "key_order": ["key" if field in SPATIAL else field]},
        "identifier": identifier,
    }


CONFIGURATION: Final[dict[str, Any]] = {"notification_schema": {field: event_type(field) for field in FIELDS}}


class Refused(NamedTuple):
    """A value, and what is said about it; without details these are the message."""

    field: str
    value: object
    message: str
    details: str | None = None


# --- every handler ---------------------------------------------------------------------------------------


def _bad_scalars(field: str) -> list[Refused]:
    return [
        Refused(field, None, f"Field '{field}' cannot be null"),
        Refused(field, ["a"], f"Field '{field}' must be a scalar value or constraint object, got array"),
        Refused(
            field,
            {"eq": 1},
            f"Field '{field}' constraint object is not supported for notify operation",
        ),
    ]


def _bad_date(value: object) -> Refused:
    return Refused(
        "date",
        value,
        "Failed to parse date value for field 'date'",
        f"Field 'date' contains invalid date '{value}'. Expected: YYYY-MM-DD, YYYYMMDD, or YYYY-DDD",
    )


def _bad_time(value: object, what: str) -> Refused:
    return Refused("time", value, f"Field 'time' has invalid {what}")


_TIME_FORMAT: Final = "time format '{}'. Expected: H, HH, HH:MM, or HHMM"
_COLON_FORMAT: Final = "HH:MM format '{}'. Expected format: HH:MM (e.g., 14:30, 9:05)"
_DIGITS_FORMAT: Final = "HHMM format '{}'. Expected format: HHMM with exactly 4 digits (e.g., 1430, 0905)"


def _no_integer(field: str, value: object, text: str, why: str) -> Refused:
    return Refused(field, value, f"Field '{field}' must be a valid integer, got: '{text}'", why)


def _no_number(value: object, why: str) -> Refused:
    return Refused("any_real", value, f"Field 'any_real' must be a valid number, got: '{value}'", why)


_DIGIT: Final = "invalid digit found in string"
_LITERAL: Final = "invalid float literal"

SCALARS: Final = [
    *(row for field in FIELDS if field not in SPATIAL for row in _bad_scalars(field)),
    Refused("text", "", "Field 'text' cannot be empty"),
    Refused("text", "abcde", "Field 'text' exceeds maximum length of 4 characters, got: 5"),
    Refused("text", "äää", "Field 'text' exceeds maximum length of 4 characters, got: 6"),
    Refused("text", 10_000, "Field 'text' exceeds maximum length of 4 characters, got: 5"),
    Refused("text", False, "Field 'text' exceeds maximum length of 4 characters, got: 5"),
    *map(
        _bad_date,
        ["2025-02-30", "2025-366", "2025-000", "20250230", "2025-13-01", "2025/07/06", "25-01-01", "2025-12",
         "+2025-07-06", " 2025-07-06", "", "today", "2025-07-06T00:00:00Z"],
    ),
    _bad_time("24:00", "hours: 24. Hours must be 0-23 in 24-hour format"),
    _bad_time("2400", "hours: 24. Hours must be 0-23 in 24-hour format"),
    _bad_time("12:60", "minutes: 60. Minutes must be 0-59"),
    _bad_time("1260", "minutes: 60. Minutes must be 0-59"),
    *(_bad_time(value, _TIME_FORMAT.format(value)) for value in ("", "123", "12345", "nine o'clock")),
    _bad_time("noon", _DIGITS_FORMAT.format("noon")),
    _bad_time("12:5", _COLON_FORMAT.format("12:5")),
    _bad_time("12:00:00", _COLON_FORMAT.format("12:00:00")),
    *(
        Refused("choice", value, f"Field 'choice' has invalid value '{value}'. Allowed: [North, south]")
        for value in ("east", "", "*", "north ")
    ),
    _no_integer("number", "", "", "cannot parse integer from empty string"),
    *(_no_integer("number", value, value, _DIGIT) for value in (" 4", "4 ", "x", "4.0", "1_0", "--1", "٣")),
    _no_integer("number", 4.0, "4.0", _DIGIT),
    _no_integer("number", 1e3, "1000.0", _DIGIT),
    _no_integer("number", True, "true", _DIGIT),
    _no_integer("unbounded", 2**63, str(2**63), "number too large to fit in target type"),
    _no_integer("unbounded", -(2**63) - 1, str(-(2**63) - 1), "number too small to fit in target type"),
    *(
        Refused("number", value, f"Field 'number' value {value} is outside allowed range [-5, 240]")
        for value in (-6, 241)
    ),
    _no_number("", "cannot parse float from empty string"),
    *(_no_number(value, _LITERAL) for value in ("x", " 1", "1,5", "0x1", "1_0", ".")),
    *(
        Refused("any_real", value, f"Field 'any_real' must be a finite number, got: '{value}'")
        for value in ("NaN", "inf", "-Infinity", "1e400")
    ),
    Refused("real", 0.25, "Field 'real' value 0.25 is outside allowed range [0.5, 9.5]"),
    Refused("real", "9.75", "Field 'real' value 9.75 is outside allowed range [0.5, 9.5]"),
    Refused("version", "", "Field 'version' cannot be empty"),
]  # fmt: skip


# --- geometry --------------------------------------------------------------------------------------------


def _bad_polygon(value: object, why: str) -> Refused:
    return Refused("polygon", value, f"field 'polygon' must be a valid polygon: {why}")


_FEW: Final = (
    "polygon must have at least 4 coordinate pairs"
    " (3 unique vertices plus a closing repeat of the first vertex)"
)
_OPEN: Final = "polygon must be closed (first and last coordinates must be identical)"
_SQUARE: Final = [[0, 0], [0, 1], [1, 1], [0, 0]]

POLYGONS: Final = [
    _bad_polygon("", "polygon coordinate string is empty"),
    _bad_polygon("()", "polygon coordinate string is empty between parentheses"),
    _bad_polygon("(0,0", "polygon coordinate string has opening '(' but is missing the closing ')'"),
    _bad_polygon("0,0)", "polygon coordinate string has closing ')' but is missing the opening '('"),
    _bad_polygon(
        "((0,0))",
        "polygon coordinate string must have at most one outer pair of parentheses;"
        " nested '(' or ')' are not allowed",
    ),
    _bad_polygon("0,0,1", "polygon coordinates must be in lat,lon pairs (got an odd number of values)"),
    _bad_polygon("x,0", "could not parse latitude 'x' as a number"),
    _bad_polygon("0,x", "could not parse longitude 'x' as a number"),
    _bad_polygon("91,0", "latitude 91 is outside the valid range [-90, 90]"),
    _bad_polygon("0,-181", "longitude -181 is outside the valid range [-180, 180]"),
    _bad_polygon("0,0,0,1,0,0", _FEW),
    _bad_polygon(_SQUARE[:3], _FEW),
    _bad_polygon("0,0,0,1,1,1,1,0", _OPEN),
    _bad_polygon([[0, 0], [0, 1], [1, 1], [1, 0]], _OPEN),
    _bad_polygon(
        [*_SQUARE[:2], 5, *_SQUARE[2:]],
        "polygon point 2 is invalid: coordinate must be a two-element array [lat,lon]",
    ),
    _bad_polygon([[0, 0], ["0", 1], [1, 1], [0, 0]], "polygon point 1 is invalid: latitude must be a number"),
    *(
        _bad_polygon(value, "polygon must be an array of [lat,lon] points or a compatible string")
        for value in (None, 5, True)
    ),
    Refused("polygon", {"eq": 1}, "Field 'polygon' constraint object is not supported for notify operation"),
]


def _bad_cloud(value: object, message: str, details: str | None = None) -> Refused:
    return Refused("point_cloud", value, f"field 'point_cloud' {message}", details)


CLOUDS: Final = [
    *(
        _bad_cloud(value, "must be a JSON array of [lat,lon] points")
        for value in ("[[0,0]]", "0,0", 5, None, True)
    ),
    _bad_cloud([], "point cloud must contain at least one point"),
    _bad_cloud([[0, 0], "x", [1, 1]], "point cloud contains 3 points, maximum is 2"),
    _bad_cloud(
        [0, 0],
        "point 0 is invalid: coordinate must be a two-element array [lat,lon]",
        "coordinate must be a two-element array [lat,lon]",
    ),
    _bad_cloud(
        [[0, 0], [91, 0]],
        "point 1 is invalid: latitude 91 is outside the valid range [-90, 90]",
        "latitude 91 is outside the valid range [-90, 90]",
    ),
]

# --- what is taken ---------------------------------------------------------------------------------------

TAKEN: Final[dict[str, list[object]]] = {
    "text": ["a", " ", "a.b", "*", "é ", 4, 1.5, True, "\t\n", "%2E"],
    "date": ["2025-07-06", "20250706", "2025-359", "2025-7-6", 20250706, "2024-366"],
    "time": ["0", "7", "07", "7:05", "23:59", "0000", "1430", 12],
    "choice": ["North", "NORTH", "sOuTh"],
    "number": [4, "4", "007", "+5", "-0", -5, 240],
    "unbounded": [2**63 - 1, -(2**63), str(2**63 - 1)],
    "real": [0.5, "9.5", 3, "1e0", ".5", "5.", "+1"],
    "any_real": [0, "-0", "1e-7", 1e300, 10**30],
    "version": ["1", 1, "0001", "ABCD", "12345"],
    "version_or_one": ["", "2"],
    "polygon": [_SQUARE, "0,0,0,1,1,1,0,0", " ( 0 , 0,0,1,1,1,0,0 ) ", "[[0,0],[0,1],[1,1],[0,0]]"],
    "point_cloud": [[[0, 0]], [[-90, 180], [-90, 180]]],
}


def body_of(field: str, value: object) -> dict[str, object]:
    """Return a notification with that value."""
    identifier = {"key": "k"} if field in SPATIAL else {}
    return {"event_type": field, "identifier": {**identifier, field: value}}


@asynchronous
async def test_a_value_that_a_field_does_not_take_is_refused_in_its_words() -> None:
    """With the message and the innermost cause of the contract, and nothing else beside them."""
    found = []
    async with running_service(CONFIGURATION) as service:
        for row in (*SCALARS, *POLYGONS, *CLOUDS):
            answered = await service.notify(body_of(row.field, row.value))
            expected = {
                "code": "INVALID_NOTIFICATION_REQUEST",
                "details": row.message if row.details is None else row.details,
                "error": "Invalid Notification Request",
                "message": row.message,
                "request_id": answered.headers["x-request-id"],
            }
            if (answered.status, answered.json) != (400, expected):
                found.append(
                    f"{row.field} = {row.value!r}: {answered.status} {answered.json}, not {expected}"
                )
    assert not found, "\n".join(found)


@asynchronous
async def test_a_value_that_a_field_takes_is_stored() -> None:
    """In each of its spellings."""
    found = []
    async with running_service(CONFIGURATION) as service:
        for field, values in TAKEN.items():
            for value in values:
                answered = await service.notify(body_of(field, value))
                if answered.status != 200:
                    found.append(f"{field} = {value!r}: {answered.body!r}")
    assert not found, "\n".join(found)


@asynchronous
async def test_the_text_of_a_point_cloud_is_bounded_beside_the_number_of_its_points() -> None:
    """Exactly 60 KiB of canonical text are taken, as it is stored and not as it was sent."""
    whole = event_type("point_cloud")
    whole["identifier"] = {
        "key": {"type": "StringHandler", "required": False},
        "point_cloud": {"type": "PointCloudHandler", "required": False},
    }
    # Ten characters each, a comma or the last bracket included; and one for the first bracket.
    many = [[1.5, 2.5]] * 6142
    async with running_service({"notification_schema": {"point_cloud": whole}}) as service:
        fits = await service.notify(body_of("point_cloud", [*many, [1.5, 2.1234567891]]))
        too_long = await service.notify(body_of("point_cloud", [*many, [1.5, 2.12345678912]]))
        too_many = await service.notify(body_of("point_cloud", [[1, 2]] * 10_001))
    assert fits.status == 200
    assert too_long.json["message"] == (
        "field 'point_cloud' point cloud canonical JSON is 61441 bytes, maximum is 61440 bytes"
    )
    assert (
        too_many.json["message"] == "field 'point_cloud' point cloud contains 10001 points, maximum is 10000"
    )
