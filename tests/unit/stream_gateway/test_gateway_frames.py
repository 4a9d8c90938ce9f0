"""Frames, byte for byte: contract sections 7.1 and 7.2."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, get_args

import pytest

from aviso_stream_gateway.frames import (
    CloseReason,
    ConnectionClosing,
    ConnectionEstablished,
    EventNotRendered,
    Frame,
    Heartbeat,
    HistoryFailed,
    ReplayCompleted,
    ReplayLimitReached,
    ReplayStarted,
    closing,
    encode,
    live,
    replayed,
)

if TYPE_CHECKING:
    from conftest import Golden

REQUEST_ID: Final = "0d4f6758-1ce3-4dda-a0f3-0ccf5fcb50d6"
THEN: Final = "2026-03-04T10:00:00Z"
TOPIC: Final = "alerts.*.4"
CLOUD_EVENT: Final = b'{"data":{"identifier":{"step":"4"},"payload":null},"id":"alerts@17"}'


def _started(**members: Any) -> ReplayStarted:
    nothing: dict[str, Any] = {
        "end_sequence": None,
        "from_date": None,
        "from_sequence": None,
        "to_date": None,
    }
    return ReplayStarted(
        batch_size=100, request_id=REQUEST_ID, timestamp=THEN, topic=TOPIC, **nothing | members
    )


def _closing(reason: CloseReason) -> Frame:
    return closing(reason, request_id=REQUEST_ID, timestamp=THEN, topic=TOPIC)


FRAMES: Final[dict[str, Frame]] = {
    "connection-established": ConnectionEstablished(
        connection_will_close_in_seconds=3600, request_id=REQUEST_ID, timestamp=THEN, topic=TOPIC
    ),
    "replay-started-from-sequence": _started(from_sequence=42),
    "replay-started-from-date": _started(from_date="2026-03-01T00:00:00Z"),
    "replay-started-to-sequence": _started(from_sequence=0, end_sequence=17),
    "replay-started-to-date": _started(from_sequence=1, end_sequence=0, to_date="2026-03-02T00:00:00Z"),
    "replay-completed": ReplayCompleted(timestamp=THEN, topic=TOPIC),
    "replay-limit-reached": ReplayLimitReached(
        max_allowed=2,
        message=(
            "Historical replay limited to 2 messages. "
            "Additional historical messages may be available but were not retrieved."
        ),
        timestamp=THEN,
        topic=TOPIC,
    ),
    "heartbeat": Heartbeat(timestamp=THEN, topic=TOPIC),
    "history-failed": HistoryFailed(message="the log is away", request_id=REQUEST_ID, topic=TOPIC),
    "event-not-rendered": EventNotRendered(
        message="Failed to parse stored polygon metadata",
        request_id=REQUEST_ID,
        sequence=7,
        topic="alerts.north.4",
    ),
    "closing-end-of-stream": _closing("end_of_stream"),
    "closing-max-duration": _closing("max_duration_reached"),
    "closing-shutdown": _closing("server_shutdown"),
}


@pytest.mark.parametrize("name", FRAMES)
def test_a_frame_is_these_bytes(golden: Golden, name: str) -> None:
    golden(f"gateway/{name}.sse", encode(FRAMES[name]))


@pytest.mark.parametrize(("name", "made"), [("live", live(CLOUD_EVENT)), ("replayed", replayed(CLOUD_EVENT))])
def test_an_event_is_these_bytes(golden: Golden, name: str, made: bytes) -> None:
    golden(f"gateway/{name}.sse", made)


def test_every_frame_has_a_file() -> None:
    """Whoever adds a frame adds what it looks like."""
    assert {type(frame) for frame in FRAMES.values()} == set(get_args(Frame))
    reasons = {frame.reason for frame in FRAMES.values() if isinstance(frame, ConnectionClosing)}
    assert reasons == set(get_args(CloseReason))


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_members_stand_in_alphabetical_order_on_one_line(frame: Frame) -> None:
    match = re.fullmatch(rb"event: ([a-z-]+)\ndata: ([^\r\n]+)\n\n", encode(frame))
    assert match is not None
    assert match[1].decode() == frame.event
    assert list(json.loads(match[2])) == sorted(json.loads(match[2]))


@pytest.mark.parametrize(
    "text", ["one\ntwo", "one\r\n\r\nevent: live-notification", "\N{LINE SEPARATOR}", '"\\']
)
def test_no_text_breaks_a_frame(text: str) -> None:
    """What failed, and topics, are the words of others."""
    data = encode(HistoryFailed(message=text, request_id=REQUEST_ID, topic=text))
    assert data.count(b"\n") == 3
    assert b"\r" not in data
    assert json.loads(data.partition(b"data: ")[2]) == {
        "error": "stream_processing_failed",
        "message": text,
        "request_id": REQUEST_ID,
        "topic": text,
    }
