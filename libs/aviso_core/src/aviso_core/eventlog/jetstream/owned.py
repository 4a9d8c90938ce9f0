"""Streams in the hands of whoever owns them and plans before they act: found, made, changed, stamped, deleted.

Between looking and acting others may act too. Whoever changes or deletes a stream says which one they saw: by the time
of its creation, for a name tells nothing of a stream that was removed and made again, and by what it was like where
that was decided on. What is another by now is left alone (`StreamChanged`), and its owner looks again. The broker takes
no such condition itself, so it is asked right before; what is lost between the two questions is one way to it and back.

For the same reason nothing here but reading and making is sent a second time where an answer was lost: it may have been
done, and the stream be another one by then. The owner is told that the broker could not be reached, and looks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from aviso_core.broker.connection import ApiRefusal
from aviso_core.broker.creation import create_stream
from aviso_core.errors import AvisoError
from aviso_core.eventlog.base import StreamRefused
from aviso_core.eventlog.jetstream.stream_info import (
    StreamInfo,
    broker_config,
    broker_settings,
    read_stream_info,
)
from aviso_core.eventlog.jetstream.streams import (
    NAME_IN_USE,
    NOT_FOUND,
    TAKES_BATCHES,
    change_stream,
    find_stream,
    listed_streams,
    takes_batches_or_never,
)
from aviso_core.schema.stamps import Stamps, read_stamps, stamped
from aviso_core.schema.stream import StreamConfiguration, stream_name
from aviso_core.schema.stream import differences as find_differences

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from aviso_core.broker.connection import Connection
    from aviso_core.schema.stream import StreamDifference

# The server writes notes of its own beside what others wrote.
_OF_THE_SERVER: Final = "_nats."


class FoundStream(msgspec.Struct, frozen=True, kw_only=True):
    """A stream as the broker tells it. `created` tells it from one of the same name that was made before or after."""

    configuration: StreamConfiguration
    created: str
    metadata: Mapping[str, str] = {}
    messages: int = 0
    bytes: int = 0
    first_sequence: int = 0
    last_sequence: int = 0

    @property
    def name(self) -> str:
        """Return its name."""
        return self.configuration.name

    @property
    def base(self) -> str:
        """Return the topic base that it is of, as it is spelt in its subjects where it is bound as ours are."""
        own = (subject.removesuffix(".>") for subject in self.configuration.subjects)
        return next((base for base in own if stream_name(base) == self.name), self.name)

    @property
    def stamps(self) -> Stamps | None:
        """Return whose it is, or None where nobody has stamped it."""
        return read_stamps(self.metadata)


class StreamChanged(AvisoError):
    """The stream is not the one that was seen, or not as it was seen; nothing was done to it."""

    code = "STREAM_CHANGED"


class BrokerRefused(StreamRefused):
    """The broker refuses what was to be done with a stream. The number is the broker's own, 0 where it says none."""

    def __init__(self, name: str, refusal: ApiRefusal) -> None:
        super().__init__(f"stream '{name}': {refusal}")
        self.number = refusal.number


class OwnedStreams:
    """The streams of a broker, for their owner."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def find(self, base: str) -> FoundStream | None:
        """Return the stream of a topic base, or whatever has its name."""
        info = await find_stream(self._connection, base)
        return None if info is None else _found(info)

    async def all(self) -> Sequence[FoundStream]:
        """Return all streams that are bound as ours are, but for those that have no leader at the moment."""
        return [_found(read_stream_info(one)) async for one in listed_streams(self._connection)]

    async def create(self, configuration: StreamConfiguration, metadata: Mapping[str, str]) -> FoundStream:
        """Make a stream, or return the one that somebody made meanwhile in the very same way."""
        name, wanted = configuration.name, broker_config(configuration) | {"metadata": dict(metadata)}
        try:
            return _found(read_stream_info(await create_stream(self._connection, name, wanted)))
        except ApiRefusal as refusal:
            if refusal.number == NAME_IN_USE:
                raise StreamChanged(f"stream '{name}' was made by somebody else meanwhile") from refusal
            raise BrokerRefused(name, refusal) from refusal

    async def change(
        self, configuration: StreamConfiguration, differences: Sequence[StreamDifference], *, created: str
    ) -> FoundStream:
        """Bring the settings that differ to what is wanted; what there is besides stays as the broker has it.

        One that is neither as it was seen nor as it is wanted was changed meanwhile, perhaps to a value from which the
        same change would lose messages: nothing is changed then. A stream that was sealed takes every change and keeps
        its settings: that is refused as well.
        """

        def changes(info: StreamInfo) -> Mapping[str, object]:
            now = info.configuration()
            still = {one.setting for one in find_differences(configuration, now)}
            left = [one for one in differences if one.setting in still]
            for one in left:
                if getattr(now, one.setting) != one.observed:
                    raise StreamChanged(
                        f"{one.setting} of stream '{configuration.name}' is {getattr(now, one.setting)} by now, "
                        f"no more {one.observed}"
                    )
            return broker_settings(configuration, left)

        found = await self._change(configuration.name, created, changes)
        asked = {one.setting for one in differences}
        kept = [one for one in find_differences(configuration, found.configuration) if one.setting in asked]
        if kept:
            what = "; ".join(map(str, kept))
            raise BrokerRefused(
                found.name, ApiRefusal(0, f"it stays as it is, perhaps because it is sealed: {what}")
            )
        return found

    async def stamp(self, name: str, stamps: Stamps, *, created: str, before: Stamps | None) -> FoundStream:
        """Write whose a stream is in the place of what was seen there before; what others wrote there stays."""

        def changes(info: StreamInfo) -> Mapping[str, object]:
            metadata = info.config.metadata
            there = read_stamps(metadata)
            if there == stamps:
                return {}
            if there != before:
                whose = there.owner if there else "nobody"
                raise StreamChanged(
                    f"stream '{name}' was stamped by somebody else meanwhile: it is of {whose}"
                )
            return {"metadata": stamped(metadata, stamps)}

        return await self._change(name, created, changes)

    async def delete(self, name: str, created: str) -> bool:
        """Delete a stream with all that it holds, and tell whether it was there.

        One of that name that was made at another time is left alone.
        """
        try:
            info = read_stream_info(await self._connection.ask(f"STREAM.INFO.{name}"))
            _check_same(info, created)
            await self._connection.ask(f"STREAM.DELETE.{name}", may_repeat=False)
        except ApiRefusal as refusal:
            if refusal.number == NOT_FOUND:
                return False
            raise BrokerRefused(name, refusal) from refusal
        return True

    async def _change(
        self, name: str, created: str, changes: Callable[[StreamInfo], Mapping[str, object]]
    ) -> FoundStream:
        def checked(info: StreamInfo) -> Mapping[str, object]:
            _check_same(info, created)
            return changes(info)

        try:
            info = await change_stream(self._connection, name, checked, may_repeat=False)
        except ApiRefusal as refusal:
            if refusal.number == NOT_FOUND:
                raise StreamChanged(f"stream '{name}' is gone") from refusal
            raise BrokerRefused(name, refusal) from refusal
        _check_same(info, created)
        return _found(await self._offer_batches(info))

    async def _offer_batches(self, info: StreamInfo) -> StreamInfo:
        """Let a stream that was taken over take atomic batches; where it will not, it serves all the same."""
        if takes_batches_or_never(self._connection, info):
            return info

        def changes(now: StreamInfo) -> Mapping[str, object]:
            _check_same(now, info.created)
            return TAKES_BATCHES

        try:
            return await change_stream(self._connection, info.config.name, changes, may_repeat=False)
        except ApiRefusal:
            return info


def _check_same(info: StreamInfo, created: str) -> None:
    if info.created != created:
        raise StreamChanged(
            f"stream '{info.config.name}' was removed and made again: it is of {info.created} now, "
            f"no more of {created}"
        )


def _found(info: StreamInfo) -> FoundStream:
    state = info.state
    return FoundStream(
        configuration=info.configuration(),
        created=info.created,
        metadata={
            name: text for name, text in info.config.metadata.items() if not name.startswith(_OF_THE_SERVER)
        },
        messages=state.messages,
        bytes=state.bytes,
        first_sequence=state.first_seq,
        last_sequence=state.last_seq,
    )
