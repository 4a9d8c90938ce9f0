"""From an error to its answer: status, code, label and members of each class."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from aviso_core.errors import (
    AccessMisconfigured,
    AccessUnavailable,
    AvisoError,
    Forbidden,
    InvalidIdentifier,
    InvalidJson,
    InvalidRequest,
    InvalidRequestShape,
    MalformedTopic,
    Overloaded,
    Unauthorized,
    Unavailable,
    UnknownEventType,
    UnknownField,
)
from aviso_http.problems import Endpoint, Problems, Row, internal_error

PROBLEMS = Problems(challenges=(b"Bearer", b"Basic"))
DETAILED = {"code", "details", "error", "message", "request_id"}
BARE = DETAILED - {"details"}


def members(answer_body: bytes) -> dict[str, Any]:
    """Return the members of an answer, in their order."""
    decoded: dict[str, Any] = msgspec.json.decode(answer_body)
    return decoded


@pytest.mark.parametrize(
    ("error", "status", "code", "label", "names"),
    [
        (InvalidJson("x"), 400, "INVALID_JSON", "Invalid Notification Request", DETAILED),
        (UnknownField("x"), 400, "UNKNOWN_FIELD", "Invalid Notification Request", DETAILED),
        (InvalidRequestShape("x"), 400, "INVALID_REQUEST_SHAPE", "Invalid Notification Request", DETAILED),
        (InvalidRequest("x"), 400, "INVALID_NOTIFICATION_REQUEST", "Invalid Notification Request", DETAILED),
        (
            InvalidIdentifier("x"),
            400,
            "INVALID_NOTIFICATION_REQUEST",
            "Invalid Notification Request",
            DETAILED,
        ),
        (
            UnknownEventType("X", ["b", "a"]),
            400,
            "UNKNOWN_EVENT_TYPE",
            "unknown_event_type",
            BARE | {"configured_event_types"},
        ),
        (Unauthorized("x"), 401, "UNAUTHORIZED", "unauthorized", BARE),
        (Forbidden("x"), 403, "FORBIDDEN", "forbidden", BARE),
        (AccessUnavailable("x"), 503, "SERVICE_UNAVAILABLE", "service_unavailable", BARE),
        (AccessMisconfigured("x"), 500, "INTERNAL_ERROR", "internal_error", BARE),
        (Unavailable("x"), 503, "SERVICE_UNAVAILABLE", "service_unavailable", BARE),
        (Overloaded("x", retry_after_seconds=3), 503, "OVERLOADED", "overloaded", BARE),
        (MalformedTopic("x"), 500, "INTERNAL_ERROR", "internal_error", BARE),
    ],
)
def test_an_error_has_its_answer(
    error: AvisoError, status: int, code: str, label: str, names: set[str]
) -> None:
    """Section 2.1 and 2.2, row by row; the members come in alphabetical order."""
    answer = PROBLEMS.answer(error, Endpoint.NOTIFICATION, "id")
    body = members(answer.body)
    assert (answer.status, body["code"], body["error"]) == (status, code, label)
    assert list(body) == sorted(names)
    assert answer.content_type == b"application/json"


@pytest.mark.parametrize(
    ("endpoint", "code", "label"),
    [
        (Endpoint.WATCH, "INVALID_WATCH_REQUEST", "Invalid Watch Request"),
        (Endpoint.REPLAY, "INVALID_REPLAY_REQUEST", "Invalid Replay Request"),
        (Endpoint.SET, "INVALID_SET_REQUEST", "Invalid Set Request"),
    ],
)
def test_an_endpoint_names_its_refusals(endpoint: Endpoint, code: str, label: str) -> None:
    """The same error is called by the operation that it ended."""
    body = members(PROBLEMS.answer(InvalidRequest("x"), endpoint, "id").body)
    assert (body["code"], body["error"]) == (code, label)


def test_message_and_details_are_the_outermost_and_the_innermost_text() -> None:
    """They are equal where there is one level."""
    two = members(PROBLEMS.answer(InvalidIdentifier("outer", details="inner"), Endpoint.WATCH, "id").body)
    one = members(PROBLEMS.answer(InvalidIdentifier("outer"), Endpoint.WATCH, "id").body)
    assert (two["message"], two["details"]) == ("outer", "inner")
    assert (one["message"], one["details"]) == ("outer", "outer")


def test_a_401_tells_each_scheme_in_a_line_of_its_own() -> None:
    """And no other answer does."""
    refused = PROBLEMS.answer(Unauthorized("x"), Endpoint.WATCH, "id")
    assert refused.headers == ((b"www-authenticate", b"Bearer"), (b"www-authenticate", b"Basic"))
    assert PROBLEMS.answer(Forbidden("x"), Endpoint.WATCH, "id").headers == ()


def test_an_overloaded_service_says_when_to_come_again() -> None:
    """In whole seconds."""
    answer = PROBLEMS.answer(Overloaded("x", retry_after_seconds=3), Endpoint.WATCH, "id")
    assert answer.headers == ((b"retry-after", b"3"),)


def test_a_service_brings_rows_of_its_own() -> None:
    """They are looked at first."""
    own = Problems(Row(MalformedTopic, 410, "GONE", "gone"))
    assert own.status_of(MalformedTopic("x")) == 410
    assert own.code_of(MalformedTopic("x"), Endpoint.WATCH) == "GONE"
    assert own.code_of(InvalidRequest("x"), Endpoint.WATCH) == "INVALID_WATCH_REQUEST"


def test_a_bug_says_nothing_of_itself() -> None:
    """Only under which id the log has it."""
    body = members(internal_error("id").body)
    assert body["request_id"] == "id"
    assert body["code"] == "INTERNAL_ERROR"
