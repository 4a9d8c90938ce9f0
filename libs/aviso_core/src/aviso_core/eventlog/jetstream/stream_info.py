"""A stream as the broker spells it: its settings, what it holds, and what that means in our words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import msgspec

from aviso_core import span
from aviso_core.eventlog.base import Bounds
from aviso_core.eventlog.jetstream.bound import Bound
from aviso_core.schema.stream import StreamConfiguration, stream_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aviso_core.schema.stream import StreamDifference

_SECOND: Final = 1_000_000_000


class _Config(msgspec.Struct, frozen=True):
    name: str
    subjects: tuple[str, ...] = ()
    max_msgs: int = -1
    max_bytes: int = -1
    max_msgs_per_subject: int = -1
    max_age: int = 0
    storage: Literal["file", "memory"] = "file"
    num_replicas: int = 1
    compression: Literal["none", "s2"] = "none"
    discard: Literal["old", "new"] = "old"
    retention: Literal["limits", "interest", "workqueue"] = "limits"
    duplicate_window: int = 0
    allow_atomic: bool = False
    metadata: dict[str, str] = {}


class _State(msgspec.Struct, frozen=True):
    messages: int
    bytes: int
    first_seq: int
    last_seq: int
    last_ts: str = ""


class _Cluster(msgspec.Struct, frozen=True):
    leader: str = ""


class StreamInfo(msgspec.Struct, frozen=True):
    """What the broker says of a stream."""

    created: str
    config: _Config
    state: _State
    cluster: _Cluster = _Cluster()

    @property
    def is_alone(self) -> bool:
        """Whether one server keeps the stream, which cannot lag behind another."""
        return self.config.num_replicas == 1

    @property
    def has_all(self) -> bool:
        """Whether everything that was acknowledged is counted: without a leader, any server speaks for a stream."""
        return self.is_alone or bool(self.cluster.leader)

    def bounds(self) -> Bounds:
        """Return what the stream holds."""
        empty = not self.state.messages
        return Bounds(
            epoch=self.created,
            first=self.state.last_seq + 1 if empty else self.state.first_seq,
            last=self.state.last_seq,
            messages=self.state.messages,
            bytes=self.state.bytes,
            last_instant=None
            if self.state.last_seq == 0
            else span.read_date(self.state.last_ts, name="last_ts"),
        )

    def holds(self, base: str) -> bool:
        """Tell whether this is the stream of a base; one that has only the name of it is somebody else's."""
        return any(
            subject.endswith(".>") and stream_name(subject.removesuffix(".>")) == stream_name(base)
            for subject in self.config.subjects
        )

    def bound(self, base: str, wanted: StreamConfiguration | None, *, seen: int) -> Bound:
        """Return what is remembered of the stream."""
        own = (subject for subject in self.config.subjects if subject.lower() == f"{base}.>".lower())
        return Bound(
            wanted=wanted,
            epoch=self.created,
            prefix=next(own, f"{base}.>")[:-1],
            duplicate_window_seconds=self.config.duplicate_window / _SECOND,
            is_bounded_per_subject=self.config.max_msgs_per_subject > 0,
            seen=seen,
        )

    def configuration(self) -> StreamConfiguration:
        """Return the settings that we look at."""
        config = self.config
        return StreamConfiguration(
            name=config.name,
            subjects=config.subjects,
            max_messages=config.max_msgs,
            max_bytes=config.max_bytes,
            max_messages_per_subject=config.max_msgs_per_subject,
            max_age_seconds=_seconds(config.max_age),
            medium=config.storage,
            replicas=config.num_replicas,
            compression=config.compression,
            discard=config.discard,
            retention=config.retention,
            duplicate_window_seconds=_seconds(config.duplicate_window),
        )


def _seconds(nanoseconds: int) -> float:
    """Return the seconds of a setting; less than one is never 0, for that is for ever."""
    whole, rest = divmod(nanoseconds, _SECOND)
    return nanoseconds / _SECOND if rest else whole


read_stream_info: Final = msgspec.json.Decoder(StreamInfo).decode


_BROKER_NAME: Final = {
    "subjects": "subjects",
    "max_messages": "max_msgs",
    "max_bytes": "max_bytes",
    "max_messages_per_subject": "max_msgs_per_subject",
    "max_age_seconds": "max_age",
    "medium": "storage",
    "replicas": "num_replicas",
    "compression": "compression",
    "discard": "discard",
    "retention": "retention",
    "duplicate_window_seconds": "duplicate_window",
}


def broker_config(wanted: StreamConfiguration) -> dict[str, object]:
    """Return a stream as it is asked for."""
    return {
        "name": wanted.name,
        "subjects": wanted.subjects,
        "max_msgs": wanted.max_messages,
        "max_bytes": wanted.max_bytes,
        "max_msgs_per_subject": wanted.max_messages_per_subject,
        "max_age": int(wanted.max_age_seconds * _SECOND),
        "storage": wanted.medium,
        "num_replicas": wanted.replicas,
        "compression": wanted.compression,
        "discard": wanted.discard,
        "retention": wanted.retention,
        "duplicate_window": int(wanted.duplicate_window_seconds * _SECOND),
        "allow_atomic": True,
    }


def broker_settings(wanted: StreamConfiguration, differing: Iterable[StreamDifference]) -> dict[str, object]:
    """Return those settings as they are asked for in which a stream differs from what is wanted."""
    config = broker_config(wanted)
    return {name: config[name] for name in (_BROKER_NAME[one.setting] for one in differing)}
