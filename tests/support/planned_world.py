"""A world for plans: streams, versions and resources as plain values, and what each action does to them.

It refuses what the broker and the registry refuse: a write over another revision than the latest, a stream that is
there already or no more, a change that no broker makes. It counts what is lost.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, assert_never

import msgspec

from aviso_core.planning.actions import (
    Action,
    AwaitWithdrawn,
    ChangeStream,
    CreateStream,
    DeleteStream,
    Publish,
    StampStream,
    Withdraw,
)
from aviso_core.planning.plan import Seen, SeenStream
from aviso_core.registry.base import Owner, Published, Version, Withdrawn, hash_of
from aviso_core.schema.model import Schema, encode_schema
from aviso_core.schema.stream import stream_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aviso_core.schema.stream import StreamDifference


class World:
    """What there is. `alive` are the resources that exist, by owner."""

    def __init__(
        self,
        *,
        versions: Iterable[Version] = (),
        streams: Iterable[SeenStream] = (),
        alive: Iterable[Owner] = (),
    ) -> None:
        self.versions = {version.event_type: version for version in versions}
        self.streams = {stream.configuration.name: stream for stream in streams}
        self.alive = set(alive)
        self.lost = 0
        self._revision = max((version.revision for version in self.versions.values()), default=0)
        self._made = 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, World) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]  # it changes

    def copy(self) -> World:
        """Return another one that is the same."""
        return deepcopy(self)

    def seen(self, event_type: str, base: str) -> Seen:
        """Return what an observer sees of it."""
        held = {
            name: version
            for name, version in self.versions.items()
            if isinstance(version, Published) and (version.owner is None or version.owner in self.alive)
        }
        return Seen(
            stream=self.streams.get(stream_name(base)), latest=self.versions.get(event_type), held=held
        )

    def do(self, action: Action) -> None:
        """Do what an action says."""
        match action:
            case CreateStream():
                name = action.configuration.name
                assert name not in self.streams, "the broker has a stream of that name"
                self._made += 1
                self.streams[name] = SeenStream(
                    configuration=action.configuration, created=f"made {self._made}", stamps=action.stamps
                )
            case ChangeStream():
                self._change(action)
            case StampStream():
                stream = self.streams[action.name]
                self.streams[action.name] = msgspec.structs.replace(stream, stamps=action.stamps)
            case DeleteStream():
                gone = self.streams.pop(action.name)
                assert gone.created == action.created
                self.lost += gone.messages
            case Publish():
                self.publish(action.schema, action.owner, uid=action.uid, expected=action.expected_revision)
            case Withdraw():
                self._expect(action.event_type, action.expected_revision)
                self._revision += 1
                self.versions[action.event_type] = Withdrawn(
                    event_type=action.event_type, revision=self._revision
                )
            case AwaitWithdrawn():
                # Nobody serves anything here, so nobody has to be waited for.
                return
            case _:
                assert_never(action)

    def _change(self, action: ChangeStream) -> None:
        stream = self.streams[action.configuration.name]
        assert not any(one.impossible for one in action.differences), "the broker refuses that"
        changes = {one.setting: getattr(action.configuration, one.setting) for one in action.differences}
        changed = msgspec.structs.replace(stream.configuration, **changes)
        age = changed.max_age_seconds
        assert not age or changed.duplicate_window_seconds <= age, "the broker refuses a window above the age"
        left = min(_left(stream, one) for one in action.differences)
        self.lost += stream.messages - left
        stream = msgspec.structs.replace(stream, messages=left)
        self.streams[changed.name] = msgspec.structs.replace(stream, configuration=changed)

    def publish(self, schema: Schema, owner: Owner | None, *, uid: str = "", expected: int) -> None:
        """Publish a schema over a revision."""
        self._expect(schema.event_type, expected)
        self._revision += 1
        self.versions[schema.event_type] = Published(
            event_type=schema.event_type,
            revision=self._revision,
            schema=schema,
            spec_hash=hash_of(encode_schema(schema)),
            owner=owner,
            uid=uid,
        )

    def _expect(self, event_type: str, revision: int) -> None:
        latest = self.versions.get(event_type)
        assert revision == (latest.revision if latest else 0), "the registry is at another revision"


def _left(stream: SeenStream, change: StreamDifference) -> int:
    """Return how many messages a stream has after a change, when it loses as many as it may."""
    if not change.loses_data:
        return stream.messages
    assert isinstance(change.wanted, int | float | str)
    if change.setting == "max_messages":
        return min(stream.messages, int(change.wanted))
    if change.setting == "max_bytes" and stream.bytes <= int(change.wanted):
        return stream.messages
    return 0
