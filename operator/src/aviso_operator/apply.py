"""Doing what was planned: one action after another, each told when it is done.

Nothing is undone and nothing is remembered. Whoever was stopped between two actions looks again and gets a plan of what
is left. Each action names what it goes by (the stream that was seen, the revision that was seen); where that is another
by now, nothing is done and it is looked at again (`LookAgain`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias, assert_never

import msgspec

from aviso_core.errors import AvisoError, SchemaError
from aviso_core.eventlog.jetstream.owned import BrokerRefused, StreamChanged
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
from aviso_core.registry.base import Conflict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aviso_core.eventlog.jetstream.owned import FoundStream
    from aviso_core.planning.plan import Concern, Seen
    from aviso_core.registry.base import Owner
    from aviso_core.schema.model import Schema
    from aviso_core.schema.stamps import Stamps
    from aviso_core.schema.stream import StreamConfiguration, StreamDifference


class Streams(Protocol):
    """What is done with streams (`OwnedStreams`)."""

    async def create(self, configuration: StreamConfiguration, metadata: Mapping[str, str]) -> FoundStream:
        """Make a stream."""
        ...

    async def change(
        self, configuration: StreamConfiguration, differences: Sequence[StreamDifference], *, created: str
    ) -> FoundStream:
        """Bring settings to what is wanted."""
        ...

    async def stamp(self, name: str, stamps: Stamps, *, created: str, before: Stamps | None) -> FoundStream:
        """Write whose a stream is."""
        ...

    async def delete(self, name: str, created: str) -> bool:
        """Delete a stream."""
        ...


class Publications(Protocol):
    """What is done with schemas (any `WritableRegistry`)."""

    async def publish(
        self, schema: Schema, *, expected_revision: int, owner: Owner | None = None, uid: str | None = None
    ) -> int:
        """Publish a schema over a revision; return the new one."""
        ...

    async def withdraw(self, event_type: str, *, expected_revision: int) -> int:
        """Withdraw an event type at a revision; return that of the mark."""
        ...


class Withdrawals(Protocol):
    """Who hears of what processes serve (`Propagation`)."""

    async def wait_withdrawn(self, event_type: str, revision: int, *, seconds: float) -> tuple[str, ...]:
        """Wait until every process has got to a revision; return who has not, when the time is over."""
        ...


class Ports(NamedTuple):
    """Through what it is done. So long at most is waited until nobody serves what was withdrawn."""

    streams: Streams
    registry: Publications
    withdrawals: Withdrawals
    withdrawal_seconds: float


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """An action that was done: with the revision that was written, or who had not stopped when the time was over."""

    action: Action
    revision: int | None = None
    behind: tuple[str, ...] = ()


Tell: TypeAlias = Callable[[Done], None]


class LookAgain(AvisoError):
    """Something is another than it was when this was planned. It was not touched."""

    code = "LOOK_AGAIN"


class Refused(AvisoError):
    """What was planned is refused for good: what of the resource that concerns, and why, as a condition says it."""

    code = "REFUSED"

    def __init__(self, concern: Concern, reason: str, message: str) -> None:
        super().__init__(message)
        self.concern = concern
        self.reason = reason
        self.message = message


async def apply(actions: Sequence[Action], seen: Seen, ports: Ports, *, tell: Tell) -> tuple[Done, ...]:
    """Do what was planned on what was seen, and tell of each action when it is done; return the same.

    A stream that cannot be changed as wanted still stores events, so what comes after is done before that is raised;
    after any other refusal nothing is. `Unavailable` goes through: what was under way may have been done.
    """
    doing = _Doing(seen, ports)
    done: list[Done] = []
    unchanged: Refused | None = None
    for action in actions:
        try:
            one = await _do(doing, action)
        except Refused as refused:
            if not isinstance(action, ChangeStream):
                raise
            unchanged = refused
            continue
        done.append(one)
        tell(one)
    if unchanged is not None:
        raise unchanged
    return tuple(done)


async def _do(doing: _Doing, action: Action) -> Done:
    try:
        return await doing.act(action)
    except (Conflict, StreamChanged) as error:
        raise LookAgain(f"cannot {action}: {error}") from error
    except BrokerRefused as error:
        raise Refused("stream", _reason(action, error.number), f"cannot {action}: {error}") from error
    except SchemaError as error:
        raise Refused("accepted", "InvalidSchema", "; ".join(map(str, error.faults))) from error


def published_revision(done: Sequence[Done]) -> int | None:
    """Return the revision that was published by what was done, if any."""
    return next((one.revision for one in done if isinstance(one.action, Publish)), None)


class _Doing:
    """One plan being carried out: what was seen, and what has changed of it by our own doing."""

    def __init__(self, seen: Seen, ports: Ports) -> None:
        self._seen = seen
        self._ports = ports
        self._revision = seen.revision

    async def act(self, action: Action) -> Done:
        match action:
            case CreateStream():
                await self._ports.streams.create(action.configuration, action.stamps.metadata())
            case ChangeStream():
                await self._change(action)
            case StampStream():
                await self._stamp(action)
            case DeleteStream():
                await self._ports.streams.delete(action.name, action.created)
            case Publish():
                return Done(action=action, revision=await self._publish(action))
            case Withdraw():
                return Done(action=action, revision=await self._withdraw(action))
            case AwaitWithdrawn():
                return Done(action=action, behind=await self._wait_withdrawn(action))
            case _:
                assert_never(action)
        return Done(action=action)

    async def _change(self, action: ChangeStream) -> None:
        stream = self._seen.stream
        assert stream is not None, "a stream that nobody saw cannot be planned to change"
        await self._ports.streams.change(action.configuration, action.differences, created=stream.created)

    async def _stamp(self, action: StampStream) -> None:
        stream = self._seen.stream
        assert stream is not None, "a stream that nobody saw cannot be planned to be stamped"
        await self._ports.streams.stamp(
            action.name, action.stamps, created=stream.created, before=stream.stamps
        )

    async def _publish(self, action: Publish) -> int:
        return await self._ports.registry.publish(
            action.schema, expected_revision=action.expected_revision, owner=action.owner, uid=action.uid
        )

    async def _withdraw(self, action: Withdraw) -> int:
        self._revision = await self._ports.registry.withdraw(
            action.event_type, expected_revision=action.expected_revision
        )
        return self._revision

    async def _wait_withdrawn(self, action: AwaitWithdrawn) -> tuple[str, ...]:
        if not self._revision:
            # Nothing was ever published, so nobody has anything to stop.
            return ()
        return await self._ports.withdrawals.wait_withdrawn(
            action.event_type, self._revision, seconds=self._ports.withdrawal_seconds
        )


# --- what the broker refuses -----------------------------------------------------------------------------

_OVERLAP: Final = 10065
_INVALID: Final = 10052
# A single server cannot have several, and a cluster only as many as it has servers with room.
_NO_REPLICAS: Final = frozenset({10074, 10005})


def _reason(action: Action, number: int) -> str:
    if number == _OVERLAP:
        return "SubjectOverlap"
    if number in _NO_REPLICAS:
        return "InsufficientReplicas"
    # The number is that of every setting that the broker does not take; on a stream that exists it is a change.
    if number == _INVALID and isinstance(action, ChangeStream):
        return "ImmutableStreamField"
    return "RefusedByBroker"
