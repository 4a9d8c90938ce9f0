"""The body of a request, rule by rule as in contract section 2.3."""

from __future__ import annotations

import contextlib
import time
from typing import Final

import pytest

from aviso_core.errors import InvalidJson, InvalidRequestShape, Refusal, UnknownField
from aviso_core.request import RequestBody, decode_body


def _body(payload: str | bytes = "null", identifier: str = "{}") -> bytes:
    raw = payload if isinstance(payload, bytes) else payload.encode()
    return b'{"event_type":"a","identifier":' + identifier.encode() + b',"payload":' + raw + b"}"


def _refusal(data: bytes) -> Refusal:
    with pytest.raises(Refusal) as caught:
        decode_body(data)
    return caught.value


# --- 1. one JSON value -----------------------------------------------------------------------------------

NOT_JSON: Final = {
    "empty": b"",
    "white space": b" \n",
    "words": b"nope",
    "half an object": b'{"event_type":"a"',
    "trailing garbage": _body() + b"x",
    "a second value": _body() + b" {}",
    "a trailing comma": b'{"event_type":"a","identifier":{},}',
    "single quotes": b"{'event_type':'a','identifier':{}}",
    "a comment": b'{"event_type":"a","identifier":{} /* x */}',
    "a key without quotes": b'{event_type:"a","identifier":{}}',
    "a byte order mark": b"\xef\xbb\xbf" + _body(),
    "UTF-16": _body().decode().encode("utf-16"),
    "latin-1 in a key": b'{"event_type":"a","identifier":{"\xfc":1}}',
    "latin-1 in an identifier": _body(identifier='{"x":"').replace(b',"payload"', b'\xfc"},"payload"'),
    "latin-1 in a payload": _body(b'"\xfc"'),
    "an overlong encoding": _body(b'"\xc0\xaf"'),
    "an encoded surrogate": _body(b'"\xed\xa0\x80"'),
    "NaN": _body("NaN"),
    "NaN in an identifier": _body(identifier='{"x":NaN}'),
    "Infinity": _body("[Infinity]"),
    "-Infinity": _body("-Infinity"),
    "a leading zero": _body("01"),
    "a leading plus": _body("+1"),
    "no digits before the point": _body(".5"),
    "no digits behind the point": _body("5."),
    "no digits in the exponent": _body("1e"),
    "a lonely minus": _body("-"),
    "a raw tab": _body('"\t"'),
    "a raw line end in an identifier": _body(identifier='{"x":"\n"}'),
    "a raw NUL in a key": _body('{"\x00":1}'),
    "an unknown escape": _body('"\\x41"'),
    "a short escape": _body('"\\u12"'),
    "the first half of a surrogate pair": _body('"\\ud83d"'),
    "the second half of a surrogate pair": _body('["\\ude00"]'),
    "two first halves": _body('"\\ud83d\\ud83d"'),
    "half a pair in an identifier": _body(identifier='{"x":"\\ud83d"}'),
    "half a pair in an identifier's key": _body(identifier='{"\\ud83d":1}'),
    "half a pair in a payload's key": _body('{"a":{"\\udead":1}}'),
    "half a pair in an unknown member": b'{"event_type":"a","identifier":{},"\\ud83d":1}',
    "more than a double": _body("1e400"),
    "less than a double": _body('{"a":[-1e400]}'),
    "more than a double in an identifier": _body(identifier='{"x":1e400}'),
    "more than a double, at the top": b"1e400",
    "more than a double, the exponent padded": _body("1e00400"),
    "more than a double, without an exponent": _body("1" * 310 + ".5"),
    "more than a double, by digits and exponent together": _body("9" * 250 + "e99"),
    "more than a double in what is replaced": b'{"event_type":"a","identifier":{},"payload":1e400,"payload":1}',
    "the same, with an escape": b'{"event_type":"a","identifier":{},"p\\u0061yload":1e400,"payload":1}',
    "half a pair in a payload that is replaced": b'{"event_type":"a","identifier":{},"payload":"\\ud83d","payload":1}',
    "128 arrays": b"[" * 128 + b"]" * 128,
    "128 levels with those of the body": _body("[" * 127 + "]" * 127),
    "128 levels, mixed": _body('{"a":[' * 63 + '{"a":1}' + "]}" * 63),
    "a hundred thousand arrays": _body("[" * 100_000 + "]" * 100_000),
    "arrays without an end": b"[" * 200_000,
    "deep in a member that is unknown": b'{"x":' + b"[" * 127 + b"]" * 127 + b"}",
}  # fmt: skip


@pytest.mark.parametrize("data", NOT_JSON.values(), ids=NOT_JSON.keys())
def test_what_is_not_one_json_value_is_invalid_json(data: bytes) -> None:
    refusal = _refusal(data)
    assert isinstance(refusal, InvalidJson)
    assert refusal.code == "INVALID_JSON"
    assert refusal.message.startswith("JSON parsing failed: ")
    assert len(refusal.message) > len("JSON parsing failed: ")
    assert (refusal.details, refusal.field) == (refusal.message, None)


JSON: Final = {
    "white space around": b" \t\r\n" + _body() + b" \t\r\n",
    "126 levels below the body": _body("[" * 126 + "]" * 126),
    "brackets in a text": _body('"' + "[" * 500 + '"'),
    "brackets and quotes in a text": _body('"' + '[\\"' * 500 + '"'),
    "many brackets, none deep": _body("[" + "[]," * 500 + "[]]"),
    "the largest double": _body("1.7976931348623157e308"),
    "a number that rounds to 0": _body("1e-400"),
    "many digits behind the point": _body("0." + "1" * 2000),
    "digits and exponent that make up for each other": _body("1" * 250 + "e-99"),
    "an integer of 5000 digits": _body("1" * 5000),
    "an integer of 5000 digits in an identifier": _body(identifier='{"x":' + "1" * 5000 + "}"),
    "a surrogate pair": _body('"\\ud83d\\ude00"'),
    "an escaped NUL": _body('"\\u0000"'),
    "DEL": _body('"\x7f"'),
    "an escaped slash": _body('"\\/"'),
    "a word with e and digits": _body('"type e1000"'),
    "not ASCII": _body('{"ü":"日本🌍"}'),
}


@pytest.mark.parametrize("data", JSON.values(), ids=JSON.keys())
def test_what_looks_odd_but_is_json_is_read(data: bytes) -> None:
    assert decode_body(data).event_type == "a"


# --- 2. no unknown members -------------------------------------------------------------------------------

ALLOWED: Final = (
    'Allowed fields: ["event_type", "identifier", "from_id", "from_date", "to_id", "to_date", "payload"]'
)
UNKNOWN: Final = [
    (b'{"event_type":"a","identifier":{},"extra":1}', "extra"),
    (b'{"event_type":"a","identifier":{},"zeta":1,"alpha":2,"Beta":3}', "Beta"),  # first in sorted order
    (b'{"b":1,"a":2}', "a"),  # before what is missing
    (b'{"event_type":5,"identifier":[],"x":1}', "x"),  # before what is of the wrong type
    (b'{"":1}', ""),
    (b'{"Event_Type":"a","identifier":{}}', "Event_Type"),
    (b'{"event_type":"a","identifier":{},"ident\\u0069fier2":1}', "identifier2"),
    ('{"ü":1}'.encode(), "ü"),
    (b'{"event_type":"a","identifier":{},"x":1,"payload":' + b"1" * 5000 + b"}", "x"),
]


@pytest.mark.parametrize(("data", "name"), UNKNOWN, ids=repr)
def test_an_unknown_member_is_named(data: bytes, name: str) -> None:
    refusal = _refusal(data)
    assert isinstance(refusal, UnknownField)
    assert refusal.code == "UNKNOWN_FIELD"
    assert refusal.message == (
        f"Request contains unknown fields: Unknown field '{name}' in request. {ALLOWED}"
    )
    assert (refusal.details, refusal.field) == (refusal.message, name)


# --- 3. the right types ----------------------------------------------------------------------------------

WRONG_SHAPES: Final = [
    *((scalar, None) for scalar in (b"5", b"1.5", b'"x"', b"null", b"true", b"[]", b'["a",{}]', b"1" * 5000)),
    (b"{}", "event_type"),
    (b'{"identifier":{}}', "event_type"),
    (b'{"event_type":"a"}', "identifier"),
    *(
        (b'{"event_type":' + value + b',"identifier":{}}', "event_type")
        for value in (b"5", b"1.5", b"null", b"true", b"[]", b"{}", b"1" * 5000)
    ),
    *(
        (b'{"event_type":"a","identifier":' + value + b"}", "identifier")
        for value in (b"5", b'"x"', b"null", b"true", b"[]", b"[[]]", b"1" * 5000)
    ),
    *(
        (b'{"event_type":"a","identifier":{},"' + name.encode() + b'":' + value + b"}", name)
        for name in ("from_id", "from_date", "to_id", "to_date")
        for value in (b"5", b"1.5", b"true", b"[]", b"{}", b"1" * 5000)
    ),
]


@pytest.mark.parametrize(("data", "field"), WRONG_SHAPES, ids=lambda part: repr(part)[:60])
def test_a_member_of_the_wrong_type_is_an_invalid_shape(data: bytes, field: str | None) -> None:
    """D33: an array is not read by position either."""
    refusal = _refusal(data)
    assert isinstance(refusal, InvalidRequestShape)
    assert refusal.code == "INVALID_REQUEST_SHAPE"
    assert refusal.message.startswith("Request deserialization failed: ")
    assert (refusal.details, refusal.field) == (refusal.message, field)


# --- what is read ----------------------------------------------------------------------------------------

READ: Final = [
    (b'{"event_type":"","identifier":{}}', RequestBody(event_type="", identifier={})),
    (
        b'{"payload":null,"to_date":null,"to_id":null,"from_date":null,"from_id":null,"identifier":{},"event_type":"a"}',
        RequestBody(event_type="a", identifier={}),
    ),
    (
        b'{"event_type":"a","identifier":{"s":"t","i":4,"f":4.0,"b":true,"n":null,"a":[1],"o":{"gt":1}},'
        b'"from_id":"1","from_date":"","to_id":"x","to_date":"2025"}',
        RequestBody(
            event_type="a",
            identifier={"s": "t", "i": 4, "f": 4.0, "b": True, "n": None, "a": [1], "o": {"gt": 1}},
            from_id="1",
            from_date="",
            to_id="x",
            to_date="2025",
        ),
    ),
    # duplicate keys: the last wins
    (b'{"event_type":"a","event_type":"b","identifier":{}}', RequestBody(event_type="b", identifier={})),
    (b'{"event_type":5,"event_type":"b","identifier":{}}', RequestBody(event_type="b", identifier={})),
    (b'{"event_type":"a","identifier":{"x":1},"identifier":{"y":2}}', RequestBody(event_type="a", identifier={"y": 2})),
    (b'{"event_type":"a","identifier":{"x":1,"x":2}}', RequestBody(event_type="a", identifier={"x": 2})),
    (b'{"event_type":"a","identifier":{},"from_id":"1","from_id":null}', RequestBody(event_type="a", identifier={})),
    (b'{"\\u0065vent_type":"a","identifier":{}}', RequestBody(event_type="a", identifier={})),
]  # fmt: skip


@pytest.mark.parametrize(
    ("data", "body"), READ, ids=lambda part: repr(part)[:60] if isinstance(part, bytes) else ""
)
def test_the_members_are_read(data: bytes, body: RequestBody) -> None:
    assert decode_body(data) == body


# As sent → as kept: without white space between tokens, numbers and strings as spelled.
PAYLOADS: Final = [
    ("null", "null"),
    ("5", "5"),
    ("1.0", "1.0"),
    ("1E2", "1E2"),
    ("-0", "-0"),
    ("123456789012345678901234567890", "123456789012345678901234567890"),
    ("0.1000000000000000055511151231257827", "0.1000000000000000055511151231257827"),
    ('"a  b"', '"a  b"'),
    ('"\\u00fc"', '"\\u00fc"'),
    ('"ü"', '"ü"'),
    ("{ }", "{}"),
    ("[ ]", "[]"),
    ('{ "b" : 1 ,\n\t"a" : [ 1 , 2 ] }', '{"b":1,"a":[1,2]}'),
    ('{"a": "x, y : z [ ] { }"}', '{"a":"x, y : z [ ] { }"}'),
    ('{"a" : 1, "a" : 2}', '{"a":1,"a":2}'),
    ("[true , false , null]", "[true,false,null]"),
    ('"\\" \\\\ "', '"\\" \\\\ "'),
    ("[" + "7" * 5000 + " ]", "[" + "7" * 5000 + "]"),
]


@pytest.mark.parametrize(("sent", "kept"), PAYLOADS, ids=lambda text: text[:40])
def test_a_payload_is_kept_as_it_was_spelled(sent: str, kept: str) -> None:
    assert decode_body(_body(f" {sent}\n")).compact_payload() == kept.encode()


def test_a_payload_that_is_left_out_is_null() -> None:
    assert decode_body(b'{"event_type":"a","identifier":{}}').compact_payload() == b"null"


# --- what it costs ---------------------------------------------------------------------------------------

# The largest body there may be is 262144 bytes. Each of these once took minutes.
HOSTILE: Final = {
    "quotes that never end": b"[]" * 64 + b'"' + b'\\"' * 131_000,
    "strings that never end": b"[]" * 64 + b'"a' * 131_000,
    "backslashes": b"[]" * 64 + b'"' + b"\\" * 262_000,
    "brackets": b"[" * 262_000,
    "digits": _body("1" * 262_000),
    "an identifier of digits": _body(identifier='{"x":' + "1" * 262_000 + "}"),
    "many numbers": _body("[" + "1e30," * 52_000 + "1]"),
    "many escapes": _body('"' + "\\u0041" * 43_000 + '"'),
    "many members": b"{" + b",".join(b'"%d":1' % number for number in range(30_000)) + b"}",
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_body_is_settled_at_once(data: bytes) -> None:
    """The time grows with the length and not with its square."""
    begun = time.process_time()
    with contextlib.suppress(Refusal):
        decode_body(data)
    assert time.process_time() - begun < 1.0
