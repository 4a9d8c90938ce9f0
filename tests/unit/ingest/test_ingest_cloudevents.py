"""CloudEvents that come in: what a notification is made of, and which attribute a refusal names."""

from __future__ import annotations

import base64
import json
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aviso_core.errors import (
    AvisoError,
    InvalidGeometry,
    InvalidIdentifier,
    InvalidJson,
    InvalidRequest,
    InvalidRequestShape,
    InvalidTopicBase,
    PayloadRefused,
    Refusal,
    UnknownEventType,
)
from aviso_http.body import BodyTooLarge
from aviso_ingest.cloudevents.attributes import part_at_fault
from aviso_ingest.cloudevents.binary import is_binary, read_binary
from aviso_ingest.cloudevents.structured import EVENT, read_structured
from support.json_strategies import any_bytes, spelled

if TYPE_CHECKING:
    from collections.abc import Callable

if TYPE_CHECKING:
    from aviso_ingest.batch.record import Incoming

DATA: Final = {"identifier": {"step": 6}, "payload": [1.50, "é"]}
TRACE: Final = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
GOOD: Final[dict[str, Any]] = {
    "specversion": "1.0",
    "id": "7",
    "source": "/tests",
    "type": "int.ecmwf.aviso.runs",
    "time": "2025-01-01T00:00:00Z",
    "traceparent": TRACE,
    "data": DATA,
}
LEFT_OUT: Final = object()


def written(**changes: object) -> bytes:
    """Return an event as it is sent."""
    return json.dumps(
        {name: value for name, value in (GOOD | changes).items() if value is not LEFT_OUT}
    ).encode()


def in_headers(**changes: object) -> list[tuple[bytes, bytes]]:
    """Return the attributes as headers."""
    kept = {
        name: value for name, value in (GOOD | changes).items() if name != "data" and value is not LEFT_OUT
    }
    return [(f"ce-{name}".encode(), str(value).encode()) for name, value in kept.items()]


def encoded(text: bytes) -> str:
    """Return Base64."""
    return base64.b64encode(text).decode()


def check(incoming: Incoming) -> None:
    """See that it is the good one."""
    assert (incoming.identity, incoming.time, incoming.source) == ("7", "2025-01-01T00:00:00Z", "/tests")
    assert incoming.traceparent == TRACE
    assert (incoming.body.event_type, incoming.body.identifier) == ("runs", {"step": 6})
    assert json.loads(incoming.body.compact_payload()) == DATA["payload"]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"type": "runs"},
        {"data": LEFT_OUT, "data_base64": encoded(json.dumps(DATA).encode())},
        {"datacontenttype": "application/json; charset=utf-8"},
        {"datacontenttype": "application/vnd.runs+json"},
        {"datacontenttype": None, "subject": "s", "dataschema": 7, "extension": {"of": "others"}},
    ],
)
def test_an_event_is_read(changes: dict[str, object]) -> None:
    """With or without our prefix; what it says beside is somebody else's affair."""
    check(read_structured(written(**changes)))


def test_an_event_is_read_from_headers() -> None:
    """Percent-encoded and in quotes at will; the content type is that of the data."""
    headers = [*in_headers(source="%2Ftests", id='"7"'), (b"content-type", b"application/json"), (b"x", b"y")]
    assert is_binary(headers)
    check(read_binary(headers, json.dumps(DATA).encode()))
    assert not is_binary([(b"content-type", b"application/json")])


def test_data_is_spelled_as_it_was_sent() -> None:
    """It is passed on without being understood."""
    event = written().replace(b'[1.5, "\\u00e9"]', b'[1.50 , 10000000000000000000000, "\\u00e9"]')
    read = read_structured(event)
    assert read.body.compact_payload() == b'[1.50,10000000000000000000000,"\\u00e9"]'


@pytest.mark.parametrize(
    "traceparent", ["", "garbage", TRACE.upper(), "00-" + "0" * 32 + "-b7ad6b7169203331-01", LEFT_OUT, None]
)
def test_a_trace_that_cannot_be_read_is_none(traceparent: object) -> None:
    """It is no reason to refuse an event."""
    assert read_structured(written(traceparent=traceparent)).traceparent == ""


def each(names: str, value: object, reason: str) -> list[tuple[dict[str, object], str, str]]:
    """Return the same fault in several attributes."""
    return [({name: value}, name, reason) for name in names.split()]


BAD_ATTRIBUTES: Final[list[tuple[dict[str, object], str, str]]] = [
    ({"operation": "delete"}, "operation", "DELETE /api/v1/notification"),
    ({"specversion": "0.3"}, "specversion", "must be '1.0', got '0.3'"),
    *each("specversion id source type data", LEFT_OUT, "is missing"),
    *each("specversion id source type", "", "cannot be empty"),
    *each("specversion id source type time traceparent", 7, "must be a string"),
    ({"source": "a\nb"}, "source", "must be printable"),
    ({"source": "\0retract"}, "source", "must be printable"),
    ({"source": "x" * 2049}, "source", "at most 2048 characters"),
    ({"datacontenttype": "text/xml"}, "datacontenttype", "must be application/json, got 'text/xml'"),
    ({"data": 5}, "data", "must be an object with 'identifier' and 'payload'"),
    ({"data": {"payload": 1}}, "data", "missing field `identifier`"),
    ({"data": {"identifier": 5}}, "data", "`identifier`: expected an object"),
    ({"data": {"identifier": {}, "event_type": "x"}}, "data", "has an unknown member 'event_type'"),
    ({"data_base64": "e30="}, "data_base64", "cannot stand beside 'data'"),
    ({"data": LEFT_OUT, "data_base64": "?"}, "data_base64", "is not Base64"),
    ({"data": LEFT_OUT, "data_base64": 5}, "data_base64", "must be a string"),
    ({"data": LEFT_OUT, "data_base64": encoded(b"{")}, "data", "is not JSON"),
    ({"data": LEFT_OUT, "data_base64": encoded(b'{"identifier":{},"payload":1e400}')}, "data", "cannot be read"),
    ({"data": LEFT_OUT, "data_base64": encoded(b'{"payload":' + b"[" * 200)}, "data", "is not JSON: nested"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "attribute", "reason"), BAD_ATTRIBUTES)
def test_a_refused_event_says_which_attribute_is_at_fault(
    changes: dict[str, object], attribute: str, reason: str
) -> None:
    """In the message as well as by name."""
    with pytest.raises(InvalidRequest) as refused:
        read_structured(written(**changes))
    assert refused.value.message.startswith(f"CloudEvent attribute '{attribute}' ")
    assert reason in refused.value.message
    assert part_at_fault(refused.value) == attribute


def test_a_number_of_thousands_of_digits_is_no_text() -> None:
    """Though it is kept as one."""
    with pytest.raises(InvalidRequest, match="CloudEvent attribute 'id' must be a string"):
        read_structured(written().replace(b'"7"', b"7" * 5000))


@pytest.mark.parametrize(
    ("headers", "data", "attribute", "reason"),
    [
        (in_headers(id=LEFT_OUT), b"{}", "id", "is missing"),
        (in_headers(), b"", "data", "is missing"),
        (in_headers(), b"{", "data", "is not JSON"),
        ([*in_headers(), (b"ce-id", b"8")], b"{}", "id", "is there twice"),
        (in_headers(source="%ff"), b"{}", "source", "is not UTF-8"),
        (in_headers(source="%00retract"), b"{}", "source", "must be printable"),
        (
            [*in_headers(), (b"content-type", b"text/xml")],
            b"{}",
            "datacontenttype",
            "must be application/json",
        ),
    ],
)
def test_headers_are_refused_by_the_same_names(
    headers: list[tuple[bytes, bytes]], data: bytes, attribute: str, reason: str
) -> None:
    """Whatever an event came in, its attributes have one name."""
    with pytest.raises(InvalidRequest, match=f"CloudEvent attribute '{attribute}' {reason}"):
        read_binary(headers, data)


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", InvalidJson),
        (b"{", InvalidJson),
        (b"\xff", InvalidJson),
        (b'{"x":"\\ud800"}', InvalidJson),
        (b'{"x":1e999}', InvalidJson),
        (b'{"x":' + b"[" * 200 + b"]" * 200 + b"}", InvalidJson),
        (b"5", InvalidRequestShape),
        (b"[]", InvalidRequestShape),
        (b"null", InvalidRequestShape),
        (b" " * 262_145, BodyTooLarge),
    ],
)
def test_what_is_no_event_at_all_is_refused_as_a_body(data: bytes, error: type[AvisoError]) -> None:
    """There is no attribute to name."""
    with pytest.raises(error) as refused:
        read_structured(data)
    assert not isinstance(refused.value, Refusal) or part_at_fault(refused.value) is None


@given(any_bytes)
def test_any_bytes_are_refused_properly(data: bytes) -> None:
    """Never by accident."""
    reads: list[Callable[[bytes], Incoming]] = [EVENT.read, partial(read_binary, in_headers())]
    for read in reads:
        try:
            read(data)
        except AvisoError as error:
            assert isinstance(error, (Refusal, BodyTooLarge))  # noqa: PT017 - that there is none is fine, too


@given(spelled(st.just(GOOD)))
def test_the_spelling_of_an_event_does_not_matter(event: bytes) -> None:
    """Escapes and white space."""
    check(read_structured(event))


@pytest.mark.parametrize(
    ("refusal", "part"),
    [
        (UnknownEventType("x", ()), "type"),
        (InvalidTopicBase("x", field="event_type"), "type"),
        (InvalidIdentifier("x", field="time"), "data.identifier.time"),
        (InvalidIdentifier("x"), "data.identifier"),
        (InvalidGeometry("x", field="polygon"), "data.identifier.polygon"),
        (InvalidRequest("x", field="point"), "data.identifier.point"),
        (PayloadRefused("x", field="payload"), "data.payload"),
        (InvalidRequest("x", field="id"), "id"),
        (InvalidRequest("x"), None),
    ],
)
def test_a_field_is_told_apart_from_an_attribute_of_its_name(refusal: Refusal, part: str | None) -> None:
    """An identifier may have a field `time`."""
    assert part_at_fault(refusal) == part
