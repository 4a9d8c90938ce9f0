"""The frames of a stream, each a typed value, and their bytes (contract section 7).

Members stand in alphabetical order, which is how they are written. Every frame is one `event:` and one `data:` line.
"""

from __future__ import annotations

from typing import ClassVar, Final, Literal, TypeAlias

import msgspec

_encode: Final = msgspec.json.Encoder().encode


class _Frame(msgspec.Struct, frozen=True, kw_only=True):
    """A frame with JSON of its own."""

    event: ClassVar[str]


class ConnectionEstablished(_Frame, frozen=True, kw_only=True):
    """The first frame of a watch without a start."""

    event: ClassVar[str] = "live-notification"

    connection_will_close_in_seconds: int
    request_id: str
    timestamp: str
    topic: str
    type: Literal["connection_established"] = "connection_established"


class ReplayStarted(_Frame, frozen=True, kw_only=True):
    """The first frame of everything that has a start."""

    event: ClassVar[str] = "replay-control"

    batch_size: int
    end_sequence: int | None
    from_date: str | None
    from_sequence: int | None
    request_id: str
    timestamp: str
    to_date: str | None
    topic: str
    type: Literal["replay_started"] = "replay_started"


class ReplayCompleted(_Frame, frozen=True, kw_only=True):
    """There is no more history."""

    event: ClassVar[str] = "replay-control"

    timestamp: str
    topic: str
    type: Literal["replay_completed"] = "replay_completed"


class ReplayLimitReached(_Frame, frozen=True, kw_only=True):
    """There is more history than one request may have."""

    event: ClassVar[str] = "replay-control"

    max_allowed: int
    message: str
    timestamp: str
    topic: str
    type: Literal["notification_replay_limit_reached"] = "notification_replay_limit_reached"


class Heartbeat(_Frame, frozen=True, kw_only=True):
    """The stream lives."""

    event: ClassVar[str] = "heartbeat"

    timestamp: str
    topic: str


class HistoryFailed(_Frame, frozen=True, kw_only=True):
    """History could not be read on."""

    event: ClassVar[str] = "error"

    error: Literal["stream_processing_failed"] = "stream_processing_failed"
    message: str
    request_id: str
    topic: str


class EventNotRendered(_Frame, frozen=True, kw_only=True):
    """Stands in the place of an event that cannot be shown."""

    event: ClassVar[str] = "error"

    error: Literal["CloudEvent creation failed"] = "CloudEvent creation failed"
    message: str
    request_id: str
    sequence: int
    topic: str


CloseReason: TypeAlias = Literal["end_of_stream", "max_duration_reached", "server_shutdown"]

_CLOSE_MESSAGES: Final[dict[CloseReason, str]] = {
    "end_of_stream": "Stream completed",
    "max_duration_reached": "Connection reached maximum duration",
    "server_shutdown": "Server is shutting down gracefully",
}


class ConnectionClosing(_Frame, frozen=True, kw_only=True):
    """The last frame of every stream that the service ends."""

    event: ClassVar[str] = "connection-closing"

    message: str
    reason: CloseReason
    request_id: str
    timestamp: str
    topic: str


def closing(reason: CloseReason, *, request_id: str, timestamp: str, topic: str) -> ConnectionClosing:
    """Return the last frame of a stream."""
    return ConnectionClosing(
        message=_CLOSE_MESSAGES[reason],
        reason=reason,
        request_id=request_id,
        timestamp=timestamp,
        topic=topic,
    )


Frame: TypeAlias = (
    ConnectionEstablished
    | ReplayStarted
    | ReplayCompleted
    | ReplayLimitReached
    | Heartbeat
    | HistoryFailed
    | EventNotRendered
    | ConnectionClosing
)


def encode(frame: Frame) -> bytes:
    """Return a frame as it is sent."""
    return b"event: %s\ndata: %s\n\n" % (frame.event.encode(), _encode(frame))


# Around the CloudEvent of a notification, which is encoded once for everybody.
LIVE_HEAD: Final = b"event: live-notification\ndata: "
REPLAY_HEAD: Final = b"event: replay\ndata: "
END: Final = b"\n\n"


def live(cloud_event: bytes) -> bytes:
    """Return an event of now as it is sent."""
    return b"%s%s%s" % (LIVE_HEAD, cloud_event, END)


def replayed(cloud_event: bytes) -> bytes:
    """Return an event of history as it is sent."""
    return b"%s%s%s" % (REPLAY_HEAD, cloud_event, END)
