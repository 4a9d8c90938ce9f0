"""What is refused of a request itself, with which words, and in which order (contract sections 2, 14 and 16)."""

from __future__ import annotations

import json
from typing import Any, Final, NamedTuple

from support.event_logs import asynchronous
from support.services import running_service

PATH: Final = "/api/v1/notification"
KEYED: Final = {"type": "StringHandler", "required": True}
CONFIGURATION: Final[dict[str, Any]] = {
    "notification_schema": {
        "runs": {
            "topic": {"base": "runs", "key_order": ["z", "a"]},
            "identifier": {"z": KEYED, "a": {"type": "IntHandler", "required": False}},
            "payload": {"required": True},
        },
        "notes": {
            "topic": {"base": "notes", "key_order": ["k"]},
            "identifier": {"k": KEYED},
            "payload": {"required": False},
        },
        "plain": {"identifier": {"k": KEYED}},
        "bare": {"topic": {"base": "bare-base", "key_order": ["k"]}, "identifier": {"k": KEYED}},
        "shape": {
            "topic": {"base": "shape", "key_order": ["k"]},
            "identifier": {"k": KEYED, "polygon": {"type": "PolygonHandler", "required": True}},
        },
    }
}
NOTE: Final = {"event_type": "notes", "identifier": {"k": "1"}}
RUN: Final = {"event_type": "runs", "identifier": {"z": "1", "a": 1}, "payload": 1}
LABEL: Final = "Invalid Notification Request"
INVALID: Final = "INVALID_NOTIFICATION_REQUEST"
ALLOWED: Final = '["event_type", "identifier", "from_id", "from_date", "to_id", "to_date", "payload"]'
NOT_JSON: Final = "JSON parsing failed: "
NO_SHAPE: Final = "Request deserialization failed: "
END_POINT: Final = "to_id and to_date are only supported for the replay endpoint, not /notification"
POINT: Final = "identifier.point is only supported for watch/replay endpoints, not /notification"


class Refused(NamedTuple):
    """A body, given as JSON or as it is sent, and what is answered; a message of a parser is given by its beginning."""

    name: str
    body: object
    code: str
    message: str


def _without(body: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in body.items() if key != name}


def _unknown(name: str) -> str:
    return f"Request contains unknown fields: Unknown field '{name}' in request. Allowed fields: {ALLOWED}"


def _nested(depth: int) -> bytes:
    """Return a notification with a payload nested so deeply, the object around it not counted."""
    return json.dumps(NOTE).encode()[:-1] + b', "payload": ' + b"[" * depth + b"]" * depth + b"}"


REFUSED: Final = [
    # Bodies that are no JSON.
    *(
        Refused(name, body, "INVALID_JSON", NOT_JSON)
        for name, body in {
            "nothing": b"",
            "blanks": b" \n ",
            "a word": b"hello",
            "half an object": b'{"event_type":',
            "bytes behind the value": json.dumps(NOTE).encode() + b"}",
            "a comma too many": b'{"event_type":"notes",}',
            "NaN": b'{"event_type":"notes","identifier":{"k":"1"},"payload":NaN}',
            "an infinite number": b'{"event_type":"notes","identifier":{"k":"1"},"payload":1e400}',
            "a byte order mark": b"\xef\xbb\xbf" + json.dumps(NOTE).encode(),
            "bytes that are no UTF-8": b'{"event_type":"notes","identifier":{"k":"\xff"}}',
            "UTF-16": json.dumps(NOTE).encode("utf-16"),
            "a raw line end in a text": b'{"event_type":"notes","identifier":{"k":"\n"}}',
            "half a surrogate pair": b'{"event_type":"notes","identifier":{"k":"\\ud83d"}}',
            "nesting beyond the bound": _nested(127),
            "very deep nesting": b"[" * 200_000,
            "compressed bytes": bytes.fromhex("1f8b08000000000000ffab564a2d4bcd2b01003eb7e60a09000000"),
        }.items()
    ),
    # Members that nobody knows: the first in sorted order, before any value is looked at.
    Refused("an unknown member", {**NOTE, "colour": 1}, "UNKNOWN_FIELD", _unknown("colour")),
    Refused("two unknown members", {"b": 1, **NOTE, "a": 1}, "UNKNOWN_FIELD", _unknown("a")),
    Refused("a member in capitals", {"Event_type": 5}, "UNKNOWN_FIELD", _unknown("Event_type")),
    Refused("an empty name", {**NOTE, "": 1}, "UNKNOWN_FIELD", _unknown("")),
    # Values of the wrong kind.
    *(
        Refused(name, body, "INVALID_REQUEST_SHAPE", NO_SHAPE)
        for name, body in {
            "a number": b"5",
            "a text": b'"x"',
            "null": b"null",
            "true": b"true",
            "an array that could be read by position": b'["notes",{"k":"1"}]',
            "an empty object": {},
            "no event type": _without(NOTE, "event_type"),
            "no identifier": _without(NOTE, "identifier"),
            "an event type of another kind": {**NOTE, "event_type": 5},
            "an event type that is null": {**NOTE, "event_type": None},
            "an identifier that is an array": {**NOTE, "identifier": []},
            "an identifier that is null": {**NOTE, "identifier": None},
            "a start that is a number": {**NOTE, "from_id": 5},
            "a date that is a number": {**NOTE, "from_date": 5},
            "an end that is a number": {**NOTE, "to_id": 5},
            "an end date that is an object": {**NOTE, "to_date": {}},
        }.items()
    ),
    # What belongs to other endpoints, before fields are looked at.
    Refused("an end", {**NOTE, "identifier": {}, "to_id": "5"}, INVALID, END_POINT),
    Refused("an empty end", {**NOTE, "to_id": ""}, INVALID, END_POINT),
    Refused("an end date that is none", {**NOTE, "to_date": "never"}, INVALID, END_POINT),
    Refused("an end and a point", {**NOTE, "identifier": {"point": 1}, "to_id": "5"}, INVALID, END_POINT),
    Refused("a point", {"event_type": "shape", "identifier": {"point": "1,1"}}, INVALID, POINT),
    Refused("a point where there is no geometry", {**NOTE, "identifier": {"point": None}}, INVALID, POINT),
    # Keys of the identifier.
    Refused(
        "an unknown key before a missing one",
        {**RUN, "identifier": {"b": 1, "Z": 1}},
        INVALID,
        "Unknown field 'Z' provided for notify operation",
    ),
    Refused(
        "no key at all", {**RUN, "identifier": {}}, INVALID, "Required field 'z' missing for notify operation"
    ),
    Refused(
        "a key that only reading may leave out",
        {**RUN, "identifier": {"z": "1"}},
        INVALID,
        "Required field 'a' missing for notify operation",
    ),
    Refused(
        "two bad values: the first as declared",
        {**RUN, "identifier": {"a": "x", "z": ""}},
        INVALID,
        "Field 'z' cannot be empty",
    ),
    Refused(
        "a missing geometry",
        {"event_type": "shape", "identifier": {"k": "1"}},
        INVALID,
        "Required field 'polygon' missing for notify operation",
    ),
    # The payload comes last.
    Refused(
        "a bad value and no payload",
        _without({**RUN, "identifier": {"z": "", "a": 1}}, "payload"),
        INVALID,
        "Field 'z' cannot be empty",
    ),
]


@asynchronous
async def test_a_request_that_is_not_right_is_refused_in_the_words_of_the_contract() -> None:
    """Status, code, label, message and cause, and the request's own id."""
    found = []
    async with running_service(CONFIGURATION) as service:
        for row in REFUSED:
            content = row.body if isinstance(row.body, bytes) else json.dumps(row.body).encode()
            answered = await service.ask("POST", PATH, content=content)
            said = answered.json
            is_parsers = row.message in (NOT_JSON, NO_SHAPE)
            expected = {
                "code": row.code,
                "error": LABEL,
                "message": said["message"]
                if is_parsers and said["message"].startswith(row.message)
                else row.message,
                "request_id": answered.headers["x-request-id"],
            }
            is_right = (
                answered.status == 400
                and _without(said, "details") == expected
                and said["details"] == said["message"]
                and answered.headers["content-type"] == "application/json"
            )
            if not is_right:
                found.append(f"{row.name}: {answered.status} {said}")
    assert not found, "\n".join(found)


@asynchronous
async def test_a_required_payload_is_there_and_not_null() -> None:
    """The refusal names it; null counts as absent."""
    async with running_service(CONFIGURATION) as service:
        for body in (_without(RUN, "payload"), {**RUN, "payload": None}):
            answered = await service.notify(body)
            assert answered.status == 400, body
            assert answered.json["code"] == INVALID
            assert answered.json["message"].lower().startswith("payload is required"), answered.json


TAKEN: Final[dict[str, object]] = {
    "any object": {**RUN, "payload": {"a": [1, {"b": None}]}},
    "false": {**RUN, "payload": False},
    "zero": {**RUN, "payload": 0},
    "an empty text": {**RUN, "payload": ""},
    "an empty array": {**RUN, "payload": []},
    "an integer of any size": {**RUN, "payload": 10**40},
    "a payload that is not required": {**NOTE, "payload": "x"},
    "none where none is required": NOTE,
    "null where none is required": {**NOTE, "payload": None},
    "starts, which are not looked at": {**NOTE, "from_id": "x", "from_date": ""},
    "ends that are null": {**NOTE, "to_id": None, "to_date": None},
    "an event type without topic": {"event_type": "plain", "identifier": {"k": "1"}},
    "an event type with another base": {"event_type": "bare", "identifier": {"k": "1"}},
    "the last of two members of a name": b'{"event_type":5,"event_type":"notes","identifier":{"k":"1"}}',
    "escapes in names": b'{"\\u0065vent_type":"notes","identifier":{"k":"\\ud83d\\ude00"}}',
    "blanks around": b" \r\n\t" + json.dumps(NOTE).encode() + b"\n",
    "nesting within the bound": _nested(126),
}


@asynchronous
async def test_a_request_that_is_right_is_stored() -> None:
    """Whatever its payload, and whatever it calls its content: bytes are read as JSON."""
    found = []
    async with running_service(CONFIGURATION) as service:
        for number, (name, body) in enumerate(TAKEN.items()):
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            kind = ("application/json", "text/plain", "application/x-www-form-urlencoded", "?")[number % 4]
            headers = {"Content-Type": kind, "Accept": "image/png", "Content-Encoding": "identity"}
            answered = await service.ask("POST", PATH, content=content, headers=headers)
            if answered.status != 200:
                found.append(f"{name}: {answered.status} {answered.body!r}")
    assert not found, "\n".join(found)


# --- event types -----------------------------------------------------------------------------------------


@asynchronous
async def test_an_unknown_event_type_is_told_which_there_are() -> None:
    """Before anything that belongs to an event type: letter case counts, and their names are sorted."""
    async with running_service(CONFIGURATION) as service:
        for name in ("nothing", "Notes", "notes ", "", "bare-base"):
            body = {"event_type": name, "identifier": {"point": 1}, "to_id": "5"}
            answered = await service.notify(body)
            assert answered.status == 400
            assert answered.json == {
                "code": "UNKNOWN_EVENT_TYPE",
                "configured_event_types": ["bare", "notes", "plain", "runs", "shape"],
                "error": "unknown_event_type",
                "message": f"unknown event type '{name}'",
                "request_id": answered.headers["x-request-id"],
            }


@asynchronous
async def test_with_no_event_types_and_strict_nothing_is_taken() -> None:
    """The list of those there are is empty."""
    async with running_service({"notification_schema_strict": True}) as service:
        answered = await service.notify(NOTE)
    assert answered.status == 400
    assert answered.json["configured_event_types"] == []


@asynchronous
async def test_an_undeclared_event_type_has_the_rules_of_all() -> None:
    """Where undeclared ones are taken: a name that can be a stream, and scalar values that are not empty."""
    refused: dict[str, list[dict[str, object]]] = {
        "topic base must match [A-Za-z0-9][A-Za-z0-9_-]*": [
            {"event_type": name, "identifier": {"k": ""}} for name in ("", "_a", "a.b", "a b", "*", "ä")
        ],
        "Field 'k' cannot be empty": [{"event_type": "free", "identifier": {"k": ""}}],
        "Field 'k' cannot be null": [{"event_type": "free", "identifier": {"k": None}}],
        "Field 'k' must be a scalar value or constraint object, got array": [
            {"event_type": "free", "identifier": {"k": []}}
        ],
        POINT: [{"event_type": "free", "identifier": {"point": "1,1"}}],
        END_POINT: [{"event_type": "_bad", "identifier": {}, "to_id": "1"}],
    }
    configuration = CONFIGURATION | {"notification_schema_strict": False}
    async with running_service(configuration) as service:
        for message, bodies in refused.items():
            for body in bodies:
                answered = await service.notify(body)
                assert (answered.status, answered.json["message"]) == (400, message), body
                assert answered.json["code"] == INVALID
        taken: list[dict[str, object]] = [
            {"event_type": "free", "identifier": {}},
            {"event_type": "free", "identifier": {"k": True, "l": 1.5}, "payload": {}},
            {"event_type": "note", "identifier": {"anything": "x"}},
        ]
        for body in taken:
            answered = await service.notify(body)
            assert answered.status == 200, answered.body
        for name in ("Notes", "bare-base", "BARE-BASE"):
            # The events of a declared type would lie under this name, and its rules are not got around.
            answered = await service.notify({"event_type": name, "identifier": {"k": "x"}})
            assert answered.json["code"] == "UNKNOWN_EVENT_TYPE", name
        declared = await service.notify({**NOTE, "identifier": {}})
        assert declared.json["message"] == "Required field 'k' missing for notify operation"
