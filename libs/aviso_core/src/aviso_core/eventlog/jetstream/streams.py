"""Streams of the broker: made as they are wanted, kept as they are wanted, or taken as they are.

Who owns the streams makes and mends them; everybody else binds. A stream has many settings of which we want a few:
the rest is left as the broker has it, so that its defaults never look like drift. A change that the broker refuses is
an error of whoever needed the stream, never a line in a log with work going on beside it.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Final

import msgspec

from aviso_core.broker.connection import ApiRefusal, Connection
from aviso_core.broker.creation import create_stream
from aviso_core.eventlog.base import EpochChanged, StreamMissing, StreamRefused
from aviso_core.eventlog.jetstream.stream_info import (
    StreamInfo,
    broker_config,
    broker_settings,
    read_stream_info,
)
from aviso_core.schema.stream import StreamConfiguration, differences, stream_name

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

NOT_FOUND: Final = 10059
NAME_IN_USE: Final = 10058
# Since this version a stream may take atomic batches.
OFFERS_BATCHES: Final = (2, 12)
TAKES_BATCHES: Final = {"allow_atomic": True}
# What the broker would read as something else than a name, in a question that has it among its tokens.
_NO_NAME: Final = re.compile(r"[\s.*>/\\\x00-\x1f\x7f]")
_LONGEST_NAME: Final = 255
# So long the servers that keep a stream may be without a leader, and so often it is looked whether they have one.
_ELECTION_SECONDS: Final = 10.0
_ELECTION_PAUSE: Final = 0.25


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
        return read_stream_info(await connection.ask(f"STREAM.INFO.{stream_name(base)}"))
    except ApiRefusal as refusal:
        if refusal.number == NOT_FOUND:
            return None
        raise refused(base, refusal) from refusal


async def get_stream(connection: Connection, base: str) -> StreamInfo:
    """Return the stream of a base, which must be there."""
    return existing(base, await find_stream(connection, base))


def existing(base: str, info: StreamInfo | None) -> StreamInfo:
    """Return what was found, or raise where nothing was."""
    if info is None:
        raise StreamMissing(f"there is no stream '{stream_name(base)[:_LONGEST_NAME]}'")
    return info


async def find_whole_stream(connection: Connection, base: str) -> StreamInfo | None:
    """Return the stream of a base with all that was acknowledged, or None where there is none.

    While its servers elect a leader that is not to be had: whoever asks waits, for about as long as they may take.
    """
    ends_at = asyncio.get_running_loop().time() + _ELECTION_SECONDS
    while (info := await find_stream(connection, base)) is not None and not info.has_all:
        if asyncio.get_running_loop().time() >= ends_at:
            raise connection.unavailable(f"stream '{stream_name(base)}' has no leader")
        await asyncio.sleep(_ELECTION_PAUSE)
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
            return read_stream_info(await create_stream(connection, wanted.name, broker_config(wanted)))
        except ApiRefusal as refusal:
            # Somebody else made it in between: what they made is looked at like any other.
            if refusal.number != NAME_IN_USE:
                raise refused(wanted.name, refusal) from refusal
    raise StreamRefused(f"stream '{wanted.name}' is made and removed by others at the same time")


async def _mend(connection: Connection, wanted: StreamConfiguration, info: StreamInfo) -> StreamInfo:
    found = [one for one in differences(wanted, info.configuration()) if not one.is_spelling]
    for difference in found:
        if difference.setting == "medium":
            raise StreamRefused(
                f"Stream '{wanted.name}' storage mismatch: current {str(difference.observed).title()}, requested "
                f"{str(difference.wanted).title()}; JetStream storage cannot be changed in place"
            )
    if found:
        try:
            changes = broker_settings(wanted, found)
            info = await change_stream(connection, wanted.name, lambda _: changes, may_repeat=True)
        except ApiRefusal as refusal:
            what = "; ".join(map(str, found))
            raise StreamRefused(f"stream '{wanted.name}' cannot be changed ({what}): {refusal}") from refusal
    if takes_batches_or_never(connection, info):
        return info
    try:
        # A stream that an older program made: it serves all the same where the broker will not have this.
        return await change_stream(connection, wanted.name, lambda _: TAKES_BATCHES, may_repeat=True)
    except ApiRefusal:
        return info


def takes_batches_or_never(connection: Connection, info: StreamInfo) -> bool:
    """Tell whether there is no point in asking for atomic batches: a stream takes them, or the broker has none."""
    return info.config.allow_atomic or not connection.client.is_at_least(*OFFERS_BATCHES)


async def change_stream(
    connection: Connection,
    name: str,
    changes: Callable[[StreamInfo], Mapping[str, object]],
    *,
    may_repeat: bool,
) -> StreamInfo:
    """Change settings of a stream: those that `changes` returns for what it is now, if any; it may also raise.

    All others are sent back as the broker has them. Where an answer is lost, the change is sent again or given up.
    """
    answer = await connection.ask(f"STREAM.INFO.{name}")
    info = read_stream_info(answer)
    changed = changes(info)
    if not changed:
        return info
    settings = {**_whole_config(answer), **changed}
    return read_stream_info(await connection.ask(f"STREAM.UPDATE.{name}", settings, may_repeat=may_repeat))


def _whole_config(answer: bytes) -> dict[str, object]:
    """Return every setting of a stream as the broker spells it, for sending back what we do not look at."""
    config = msgspec.json.decode(answer)["config"]
    assert isinstance(config, dict)
    return config


async def streams_of_this_log(connection: Connection) -> list[str]:
    """Return the names of all streams that are bound as ours are: one base in small or large letters, all below it."""
    return [_read_listed(one).config.name async for one in listed_streams(connection)]


async def listed_streams(connection: Connection) -> AsyncIterator[msgspec.Raw]:
    """Yield what the broker says of each stream that is bound as ours are; one that has no leader now is left out."""
    offset = 0
    while True:
        page = _read_page(await connection.ask("STREAM.LIST", {"offset": offset}))
        for one in page.streams or ():
            if _is_ours(_read_listed(one).config):
                yield one
        # A cluster counts those of the page that it has heard nothing of.
        length = len(page.streams or ()) + len(page.missing or ())
        offset += length
        if not length or offset >= page.total:
            return


class _ListedConfig(msgspec.Struct, frozen=True):
    name: str
    subjects: tuple[str, ...] | None = None


class _Listed(msgspec.Struct, frozen=True):
    config: _ListedConfig


class _Page(msgspec.Struct, frozen=True):
    total: int
    streams: tuple[msgspec.Raw, ...] | None = None
    missing: tuple[str, ...] | None = None


_read_page: Final = msgspec.json.Decoder(_Page).decode
_read_listed: Final = msgspec.json.Decoder(_Listed).decode


def _is_ours(config: _ListedConfig) -> bool:
    subjects = config.subjects or ()
    return (
        len(subjects) == 1
        and subjects[0].endswith(".>")
        and stream_name(subjects[0].removesuffix(".>")) == config.name
    )
