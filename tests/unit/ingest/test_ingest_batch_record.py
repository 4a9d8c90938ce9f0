"""One record of a batch: it is read like a notification that is posted alone, and may have an id and a time."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aviso_core import json_text
from aviso_core.errors import InvalidRequestShape, Refusal, UnknownField
from aviso_core.request import decode_body
from aviso_http.body import LARGEST_NOTIFICATION, BodyTooLarge
from aviso_ingest.batch.record import Incoming, is_plain, read_record

GOOD: Final[dict[str, Any]] = {
    "event_type": "runs",
    "identifier": {"step": 6},
    "payload": {"n": [1.5e3, "é"]},
}


def written(**changes: object) -> bytes:
    """Return a record as it is sent."""
    return json.dumps(GOOD | changes).encode()


@pytest.mark.parametrize("spelling", [written, lambda **own: written(payload="\\ud83d\\ude00", **own)])
@pytest.mark.parametrize(
    ("own", "identity", "time"),
    [
        ({}, None, None),
        ({"id": None, "time": None}, None, None),
        ({"id": "a"}, "a", None),
        ({"time": "2025-01-01T00:00:00Z"}, None, "2025-01-01T00:00:00Z"),
        ({"id": "", "time": ""}, "", ""),
    ],
)
def test_a_record_has_two_members_more(
    spelling: Any, own: Any, identity: str | None, time: str | None
) -> None:
    """Both may be left out; what they may be is judged later. On the fast way and on the slow one."""
    read = read_record(spelling(**own))
    assert (read.identity, read.time, read.source, read.traceparent) == (identity, time, "", "")
    assert (read.body.event_type, read.body.identifier) == ("runs", {"step": 6})


@pytest.mark.parametrize("member", ["id", "time"])
@pytest.mark.parametrize("value", [5, True, [], {}])
def test_both_are_texts(member: str, value: object) -> None:
    """The refusal names the member."""
    with pytest.raises(InvalidRequestShape, match=f"`{member}`: expected a string or null") as refused:
        read_record(written(**{member: value}))
    assert refused.value.field == member


def test_an_unknown_member_is_told_with_all_that_there_are() -> None:
    """Those of a record among them."""
    with pytest.raises(
        UnknownField, match=r"Unknown field 'more' in request.*\"payload\", \"id\", \"time\""
    ) as refused:
        read_record(written(more=1, zero=2))
    assert refused.value.field == "more"


def told(data: bytes, *, alone: bool) -> object:
    """Return what is read, or the class of the refusal and what it says, as far as that is not a parser's own."""
    try:
        read = Incoming(decode_body(data)) if alone else read_record(data)
    except Refusal as refusal:
        return type(refusal), refusal.message.partition(":")[0], refusal.field
    body = read.body
    return body.event_type, body.identifier, body.compact_payload(), body.from_id, body.to_date


payloads: Final = st.recursive(
    st.sampled_from(
        [b"1e400", b"1e307", b"1E+999", b"-1e-999", b'"\\ud800"', b'"\\ud83d\\ude00"', b'"\\\\u"', b"null", b'"e999"',
         b"NaN", b"01", b"9" * 400, b"9" * 199, b"9" * 310 + b".5", b'"\xff"', b'"\n"', b"", b'"000"', "é".encode()]
    ),
    lambda inner: inner.map(lambda one: b"[" + one + b"]") | inner.map(lambda one: b'{"a" : ' + one + b"}"),
    max_leaves=4,
)  # fmt: skip


@given(
    payload=payloads,
    more=st.sampled_from([b"", b', "x": 1', b',"payload":1e999', b',"from_id":"7"', b',"to_date":7']),
)
@example(payload=b"[" * 126 + b"]" * 126, more=b"")
@example(payload=b"[" * 127 + b"]" * 127, more=b"")
def test_a_record_without_them_is_read_as_a_notification(payload: bytes, more: bytes) -> None:
    """Nothing is taken here that is refused there, and nothing refused for another reason."""
    data = b'{"event_type":"runs","identifier":{"step":6},"payload":%s%s}' % (payload, more)
    assert told(data, alone=False) == told(data, alone=True)


digits: Final = st.integers(1, 260).map(lambda count: b"7" * count)
pieces: Final = st.sampled_from(
    [b"e", b"E", b"+", b"-", b".", b" ", b"a", b"\\u", b"\\ud8", b'"', b"0", b"00"]
)


@given(st.lists(digits | pieces, max_size=12).map(b"".join))
def test_what_is_plain_needs_no_closer_look(text: bytes) -> None:
    """It holds none of the three things that a closer look is there to find."""
    if is_plain(text):
        assert b"\\u" not in text
        assert json_text._LARGE_EXPONENT.search(text) is None
        assert json_text._MANY_DIGITS.search(text) is None


def test_ordinary_records_are_plain() -> None:
    """The closer look costs as much as everything else."""
    assert is_plain(written(payload={"size": 123456789012, "checksum": "0" * 64, "factor": 1.5e-7}))


def test_a_record_is_as_large_as_a_notification_may_be() -> None:
    """To the byte."""
    room = LARGEST_NOTIFICATION - len(written(payload=""))
    read_record(written(payload="x" * room))
    with pytest.raises(
        BodyTooLarge, match=f"at most {LARGEST_NOTIFICATION} bytes, this one {LARGEST_NOTIFICATION + 1}"
    ):
        read_record(written(payload="x" * (room + 1)))
