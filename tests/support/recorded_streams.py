"""What the reference was recorded to send on streams, and what we send where ours are numbered in another way.

A recorded stream is its topic and its frames without heartbeats, each a word for what it is and the facts in it: those
members that are not the same in every frame of its kind, and of an event its `data`. Where something was published
while the stream was open, that is among its frames as a live event.

The reference's log in memory numbers all event types together, ours each by itself, and what one of us refuses the
other counts. So a recorded id stands for the event that was stored by the same request.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from support.recordings import UUID, Row, token, without_time
from support.sse import Ended, streaming

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from support.services import Service
    from support.sse import Frame, SseStream

# A word for what a frame is, and the facts in it.
Told = tuple[str, dict[str, Any]]

_HEADERS: Final = {
    "content-type": ["text/event-stream"],
    "cache-control": ["no-cache"],
    "access-control-allow-origin": ["*"],
    "x-accel-buffering": ["no"],
    "transfer-encoding": ["chunked"],
}
# What is the same in every frame of a kind, or was checked, or differs from time to time.
_LEFT_OUT: Final = ("topic", "timestamp", "request_id", "type", "reason")
# The data of an event that no recorded stream has shown.
_UNKNOWN: Final[dict[str, Any]] = {}
_MESSAGES: Final = {"end_of_stream": "Stream completed"}


class Instead(NamedTuple):
    """What we send instead: the numbers of other events, other facts in the first frame, other frames at the end."""

    because: str
    numbers: Sequence[int] | None = None
    first: Mapping[str, Any] = {}
    last: Sequence[str] | None = None


class Numbering:
    """Which of our numbers stands for which of theirs, and what is in each event."""

    def __init__(self, *, is_counted_together: bool) -> None:
        self._is_counted_together = is_counted_together
        self._theirs: Counter[str] = Counter()
        self._ours: Counter[str] = Counter()
        self._ours_of: dict[str, str] = {}
        self.data: dict[str, Any] = {}

    def note(self, event_type: str, *, they_stored: bool, we_stored: bool) -> None:
        """Count what was published."""
        among = "" if self._is_counted_together else event_type
        self._theirs[among] += they_stored
        self._ours[event_type] += we_stored
        if they_stored and we_stored:
            theirs = f"{event_type}@{self._theirs[among]}"
            self._ours_of[theirs] = f"{event_type}@{self._ours[event_type]}"

    def note_row(self, row: Row, recorded: Row, status: int) -> None:
        """Count what a row has published, if it did."""
        if row["request"] != "POST /api/v1/notification" or 200 not in (recorded["status"], status):
            return
        body = row["body"] if "body" in row else json.loads(row["raw"])
        self.note(body["event_type"], they_stored=recorded["status"] == 200, we_stored=status == 200)

    def ours(self, frame: Sequence[Any]) -> Told | None:
        """Return a recorded frame as we send it; None for an event that we have not stored."""
        kind, facts = frame[0], frame[1] if len(frame) > 1 else {}
        if not _is_event(kind):
            return kind, facts
        head, _, identity = kind.partition(" ")
        ours = self._ours_of.get(identity)
        if ours is None:
            return None
        self.data[ours] = facts
        return f"{head} {ours}", facts


# --- replaying -------------------------------------------------------------------------------------------


async def stream_faults(
    service: Service, row: Row, recorded: Row, numbering: Numbering, instead: Instead | None
) -> list[str]:
    """Open a recorded stream, and return in what it is not the expected one."""
    headers = {"Authorization": f"Bearer {token(row['token'])}".rstrip()} if "token" in row else {}
    path = row["request"].split(" ", 1)[1]
    async with streaming(service.port, path, row["body"], headers=headers) as stream:
        if stream.status != 200:
            return [f"status {stream.status}: {await stream.refusal()}"]
        found = _faults_of_head(stream)
        told: list[Told] = []
        recorded_so_far: list[Told] = []

        def expected() -> list[Told]:
            return _changed(recorded_so_far, instead, row["body"]["event_type"], numbering)

        for frame in recorded["frames"]:
            if _is_event(frame[0]) and frame[0].startswith("live"):
                # So that it comes when it is awaited: everything before it has been read.
                told += [_told(one) for one in await stream.take(len(expected()) - len(told))]
                event_type = frame[0].partition(" ")[2].rpartition("@")[0]
                answer = await service.notify({"event_type": event_type, **frame[1]})
                numbering.note(event_type, they_stored=True, we_stored=answer.status == 200)
            ours = numbering.ours(frame)
            if ours is not None:
                recorded_so_far.append(ours)
        if recorded_so_far[-1][0] == "connection-closing max_duration_reached":
            # What ends for its age alone is not waited for.
            recorded_so_far.pop()
        try:
            if expected()[-1][0].startswith("connection-closing"):
                frames = await stream.rest()
            else:
                frames = await stream.take(len(expected()) - len(told))
        except Ended:
            return [*found, f"ended too early, after {told}"]
        told += [_told(frame) for frame in frames]
        found += [
            f"{frame.kind}: {frame.text}"
            for frame in frames
            if _is_of_another(frame, recorded["topic"], stream)
        ]
    return found + _differences(told, expected())


def _differences(told: Sequence[Told], expected: Sequence[Told]) -> list[str]:
    """Return which frames are not the expected ones, or which of them say something else."""
    kinds, wanted = [kind for kind, _ in told], [kind for kind, _ in expected]
    if kinds != wanted:
        return [f"{kinds}\n        not {wanted}"]
    return [
        f"{kind}: {said}\n        not {wanted}"
        for (kind, said), (_, wanted) in zip(told, expected, strict=True)
        if said != wanted and wanted is not _UNKNOWN
    ]


def _is_event(kind: str) -> bool:
    return kind.startswith(("replay ", "live-notification ")) and "@" in kind


def _changed(
    recorded: Sequence[Told], instead: Instead | None, name: str, numbering: Numbering
) -> list[Told]:
    """Return recorded frames with what we send instead."""
    if instead is None:
        return list(recorded)
    (kind, facts), *others = recorded
    last = [one for one in others if not one[0].startswith("replay ")]
    events = [one for one in others if one[0].startswith("replay ")]
    if instead.numbers is not None:
        events = [
            (f"replay {name}@{number}", numbering.data.get(f"{name}@{number}", _UNKNOWN))
            for number in instead.numbers
        ]
    if instead.last is not None:
        last = [(one, {}) for one in instead.last]
    return [(kind, {**facts, **instead.first}), *events, *last]


def _faults_of_head(stream: SseStream) -> list[str]:
    headers = {name: value for name, value in stream.headers.items() if name in _HEADERS}
    found = [] if headers == _HEADERS else [f"headers {headers}"]
    if UUID.fullmatch(_request_id(stream)) is None:
        found.append("no request id")
    return found


def _request_id(stream: SseStream) -> str:
    return "".join(stream.headers["x-request-id"])


def _is_of_another(frame: Frame, topic: str, stream: SseStream) -> bool:
    """Tell whether a frame is none of this stream."""
    request_id = _request_id(stream)
    return bool(
        frame.data.get("topic", topic) != topic or frame.data.get("request_id", request_id) != request_id
    )


def _told(frame: Frame) -> Told:
    """Return a frame as frames are recorded."""
    data = frame.data
    if "specversion" in data:
        return frame.kind, data["data"]
    left_out: Iterable[str] = _LEFT_OUT
    if "reason" in data and data["message"] == _MESSAGES.get(data["reason"]):
        left_out = (*_LEFT_OUT, "message")
    return frame.kind, {name: without_time(value) for name, value in data.items() if name not in left_out}
