"""Streams of the broker: made as they are wanted, kept as they are wanted, or taken as they are.

Who owns the streams makes and mends them; everybody else binds. A stream has many settings of which we want a few:
the rest is left as the broker has it, so that its defaults never look like drift. A change that the broker refuses is
an error of whoever needed the stream, never a line in a log with work going on beside it.
"""

from __future__ import annotations

import re
from typing import Any, Final, Literal

import msgspec

from aviso_core import span
from aviso_core.broker.connection import ApiRefusal, Connection
from aviso_core.broker.creation import create_stream
from aviso_core.eventlog.base import (
    Bounds,
    EpochChanged,
    Record,
    RecordRefused,
    StreamMissing,
    StreamRefused,
)
from aviso_core.schema.stream import StreamConfiguration, StreamDifference, differences, stream_name

NOT_FOUND: Final = 10059
_NAME_IN_USE: Final = 10058
_SECOND: Final = 1_000_000_000
# Since this version a stream may take atomic batches.
OFFERS_BATCHES: Final = (2, 12)
# What the broker would read as something else than a name, in a question that has it among its tokens.
_NO_NAME: Final = re.compile(r"[\s.*>/\\\x00-\x1f\x7f]")
_LONGEST_NAME: Final = 255


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


class _State(msgspec.Struct, frozen=True):
    messages: int
    bytes: int
    first_seq: int
    last_seq: int
    last_ts: str = ""


class Bound(msgspec.Struct, frozen=True):
    """A stream as it was found or made, so that an append does not ask the broker about it."""

    wanted: StreamConfiguration | None
    epoch: str
    # What its subjects begin with, as it is spelt there.
    prefix: str
    duplicate_window_seconds: float
    # Whether a record may replace another one of its subject.
    is_bounded_per_subject: bool
    # How often the connection had been lost by then.
    seen: int

    def is_for(self, wanted: StreamConfiguration | None) -> bool:
        """Tell whether that is the stream that is wanted now."""
        return self.wanted is wanted or self.wanted == wanted

    def spelt(self, subject: str) -> str:
        """Return a subject or pattern with the base spelt as the stream's subjects have it."""
        prefix = self.prefix
        return subject if subject.startswith(prefix) else prefix + subject[len(prefix) :]

    def spelt_pattern(self, pattern: str | None) -> str | None:
        """Return a pattern, if there is one, in the stream's spelling."""
        return None if pattern is None else self.spelt(pattern)

    def stored_form(self, record: Record) -> Record:
        """Return a record with its subject in the stream's spelling."""
        if record.subject.startswith(self.prefix):
            return record
        if "." not in record.subject:
            raise RecordRefused(
                f"JetStream cannot store '{record.subject}': there is nothing behind the base"
            )
        return msgspec.structs.replace(record, subject=self.spelt(record.subject))


class StreamInfo(msgspec.Struct, frozen=True):
    """What the broker says of a stream."""

    created: str
    config: _Config
    state: _State

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


_read_info: Final = msgspec.json.Decoder(StreamInfo).decode


class _ListedConfig(msgspec.Struct, frozen=True):
    name: str
    subjects: tuple[str, ...] | None = None


class _Listed(msgspec.Struct, frozen=True):
    config: _ListedConfig


class _Page(msgspec.Struct, frozen=True):
    total: int
    streams: tuple[_Listed, ...] | None = None


_read_page: Final = msgspec.json.Decoder(_Page).decode


def can_be_named(base: str) -> bool:
    """Tell whether there can be a stream of that name at all."""
    return 0 < len(base.encode()) <= _LONGEST_NAME and not _NO_NAME.search(base)


def refused(base: str, refusal: ApiRefusal) -> StreamMissing | StreamRefused:
    """Return what a refusal means to whoever wanted something of a stream."""
    if refusal.number == NOT_FOUND:
        return StreamMissing(f"there is no stream '{stream_name(base)}'")
    return StreamRefused(f"stream '{stream_name(base)}': {refusal}")


def epoch_changed(base: str, epoch: str, current: str | None) -> EpochChanged:
    """Return what a position of an epoch means where the stream is of another one, or gone."""
    now = "there is none any more" if current is None else f"it is of {current} now"
    return EpochChanged(f"stream '{stream_name(base)}': the position is of epoch {epoch}, {now}")


async def find_stream(connection: Connection, base: str) -> StreamInfo | None:
    """Return the stream of a base, or None where there is none."""
    if not can_be_named(base):
        return None
    try:
        return _read_info(await connection.ask(f"STREAM.INFO.{stream_name(base)}"))
    except ApiRefusal as refusal:
        if refusal.number == NOT_FOUND:
            return None
        raise refused(base, refusal) from refusal


async def get_stream(connection: Connection, base: str) -> StreamInfo:
    """Return the stream of a base, which must be there."""
    info = await find_stream(connection, base)
    if info is None:
        raise StreamMissing(f"there is no stream '{stream_name(base)[:_LONGEST_NAME]}'")
    return info


async def ensure_stream(connection: Connection, wanted: StreamConfiguration) -> StreamInfo:
    """Make the stream, or mend it where it differs from what is wanted."""
    if not can_be_named(wanted.name):
        raise StreamRefused(f"'{wanted.name[:_LONGEST_NAME]}' cannot be the name of a stream")
    for _ in range(2):
        info = await find_stream(connection, wanted.name)
        if info is not None:
            return await _mend(connection, wanted, info)
        try:
            return _read_info(await create_stream(connection, wanted.name, _broker_config(wanted)))
        except ApiRefusal as refusal:
            # Somebody else made it in between: what they made is looked at like any other.
            if refusal.number != _NAME_IN_USE:
                raise refused(wanted.name, refusal) from refusal
    raise StreamRefused(f"stream '{wanted.name}' is made and removed by others at the same time")


async def _mend(connection: Connection, wanted: StreamConfiguration, info: StreamInfo) -> StreamInfo:
    found = [one for one in differences(wanted, info.configuration()) if not _is_spelling(one)]
    for difference in found:
        if difference.setting == "medium":
            raise StreamRefused(
                f"Stream '{wanted.name}' storage mismatch: current {str(difference.observed).title()}, requested "
                f"{str(difference.wanted).title()}; JetStream storage cannot be changed in place"
            )
    if found:
        ours = _broker_config(wanted)
        changes = {name: ours[name] for name in (_BROKER_NAME[one.setting] for one in found)}
        try:
            info = await _change(connection, wanted.name, changes)
        except ApiRefusal as refusal:
            what = "; ".join(map(str, found))
            raise StreamRefused(f"stream '{wanted.name}' cannot be changed ({what}): {refusal}") from refusal
    if info.config.allow_atomic or not connection.client.is_at_least(*OFFERS_BATCHES):
        return info
    try:
        # A stream that an older program made: it serves all the same where the broker will not have this.
        return await _change(connection, wanted.name, {"allow_atomic": True})
    except ApiRefusal:
        return info


def _is_spelling(difference: StreamDifference) -> bool:
    """Tell whether subjects differ in large and small letters only: a stream keeps the spelling it was made with."""
    wanted, observed = difference.wanted, difference.observed
    return (
        isinstance(wanted, tuple)
        and isinstance(observed, tuple)
        and [subject.lower() for subject in wanted] == [subject.lower() for subject in observed]
    )


async def _change(connection: Connection, name: str, changes: dict[str, object]) -> StreamInfo:
    settings = await _whole_config(connection, name) | changes
    return _read_info(await connection.ask(f"STREAM.UPDATE.{name}", settings))


async def _whole_config(connection: Connection, name: str) -> dict[str, Any]:
    """Return every setting of a stream as the broker spells it, for sending back what we do not look at."""
    answer = msgspec.json.decode(await connection.ask(f"STREAM.INFO.{name}"))
    config = answer["config"]
    assert isinstance(config, dict)
    return config


_BROKER_NAME: Final = {
    "subjects": "subjects",
    "max_messages": "max_msgs",
    "max_bytes": "max_bytes",
    "max_messages_per_subject": "max_msgs_per_subject",
    "max_age_seconds": "max_age",
    "replicas": "num_replicas",
    "compression": "compression",
    "discard": "discard",
    "retention": "retention",
    "duplicate_window_seconds": "duplicate_window",
}


def _broker_config(wanted: StreamConfiguration) -> dict[str, object]:
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


async def streams_of_this_log(connection: Connection) -> list[str]:
    """Return the names of all streams that are bound as ours are: one base in small or large letters, all below it."""
    listed: list[_Listed] = []
    while True:
        page = _read_page(await connection.ask("STREAM.LIST", {"offset": len(listed)}))
        listed += page.streams or ()
        if not page.streams or len(listed) >= page.total:
            return [one.config.name for one in listed if _is_ours(one.config)]


def _is_ours(config: _ListedConfig) -> bool:
    subjects = config.subjects or ()
    return (
        len(subjects) == 1
        and subjects[0].endswith(".>")
        and stream_name(subjects[0].removesuffix(".>")) == config.name
    )
