"""What has to be done so that an event type is as its resource says. Pure: from what is wanted and seen to actions.

Nothing is remembered between two plans. Whoever was stopped in the middle looks again and gets a plan of what is left,
and where everything is as wanted the plan is empty. What stands in the way is said in words for whoever wrote the
resource: what it is, and what to do about it.

A stream comes before the schema whose events it stores. A stream that cannot be changed as wanted is still one that
stores events, so only one that is missing or somebody else's keeps a schema from being published.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import msgspec

from aviso_core.planning.actions import (
    Action,
    ChangeStream,
    CreateStream,
    Publish,
    StampStream,
    Withdraw,
)
from aviso_core.planning.holding import Rival, has_base, leftovers, rival_of
from aviso_core.planning.promises import broken_promise, misread_events
from aviso_core.registry.base import Owner, Published, Version
from aviso_core.schema.check import check_schema
from aviso_core.schema.model import Schema
from aviso_core.schema.stamps import Stamps
from aviso_core.schema.stream import (
    StreamConfiguration,
    StreamDefaults,
    StreamDifference,
    differences,
    wanted_stream,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# What of a resource an obstacle keeps from being true.
Concern: TypeAlias = Literal["accepted", "stream"]
Reason: TypeAlias = Literal[
    "InvalidSchema",
    "Conflicted",
    "Incompatible",
    "ForeignStream",
    "WouldLoseData",
    "ImmutableStreamField",
]

ADOPT: Final = "aviso.dev/adopt-stream"


class Desired(msgspec.Struct, frozen=True, kw_only=True):
    """What a resource wants. `adopts` is the name of the stream that it may take over from somebody else."""

    owner: Owner
    uid: str
    schema: Schema
    adopts: str | None = None


class SeenStream(msgspec.Struct, frozen=True, kw_only=True):
    """A stream as it was found. `created` tells it from one of the same name that was made before or after."""

    configuration: StreamConfiguration
    created: str
    stamps: Stamps | None = None
    messages: int = 0
    bytes: int = 0
    first_sequence: int = 0
    last_sequence: int = 0


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What there is: the stream of the topic base, if any, and the latest version of each event type.

    An event type that was published for a resource which is no more is held by nobody, so it is not in `held`.
    """

    stream: SeenStream | None = None
    latest: Version | None = None
    held: Mapping[str, Published] = {}

    @property
    def revision(self) -> int:
        """The revision that a write goes over."""
        return self.latest.revision if self.latest else 0


class Obstacle(msgspec.Struct, frozen=True, kw_only=True):
    """Why something is not done, and what whoever wrote the resource can do about it."""

    concern: Concern
    reason: Reason
    message: str


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be done, in this order; what stands in the way of more; and how the stream differs from the wanted."""

    actions: tuple[Action, ...] = ()
    obstacles: tuple[Obstacle, ...] = ()
    drift: tuple[StreamDifference, ...] = ()

    def obstacle(self, concern: Concern) -> Obstacle | None:
        """Return the first obstacle that concerns this."""
        return next((one for one in self.obstacles if one.concern == concern), None)


def make_plan(desired: Desired, seen: Seen, defaults: StreamDefaults) -> Plan:
    """Return what is to be done for a resource that is wanted, as if it were to be enforced."""
    left = tuple(map(_withdrawal, leftovers(desired.owner, desired.schema.event_type, seen.held)))
    refusal = _refusal(desired, seen)
    if refusal is not None:
        return Plan(actions=(*left, *_given_up(desired, seen)), obstacles=(refusal,))
    wanted = wanted_stream(desired.schema, defaults)
    stream = _plan_stream(desired, seen.stream, wanted)
    is_foreign = any(one.reason == "ForeignStream" for one in stream.obstacles)
    publication = () if is_foreign else _publication(desired, seen)
    return msgspec.structs.replace(stream, actions=(*left, *stream.actions, *publication))


def _withdrawal(version: Published) -> Withdraw:
    return Withdraw(event_type=version.event_type, expected_revision=version.revision)


# --- whether it can be accepted --------------------------------------------------------------------------


def _refusal(desired: Desired, seen: Seen) -> Obstacle | None:
    faults = check_schema(desired.schema)
    if faults:
        return _not_accepted("InvalidSchema", "; ".join(map(str, faults)))
    rival = _rival(desired, seen)
    if rival is not None and not (rival.yields and not _publication(desired, seen)):
        return _not_accepted("Conflicted", rival.message)
    broken = broken_promise(desired.schema, seen.latest)
    if broken is None and seen.stream is not None and _is_ours(desired, seen.stream):
        broken = misread_events(desired.schema, seen.stream.stamps, messages=seen.stream.messages)
    return None if broken is None else _not_accepted("Incompatible", broken)


def _rival(desired: Desired, seen: Seen) -> Rival | None:
    return rival_of(desired.owner, desired.schema, latest=seen.latest, held=seen.held)


def _not_accepted(reason: Reason, message: str) -> Obstacle:
    return Obstacle(concern="accepted", reason=reason, message=message)


def _given_up(desired: Desired, seen: Seen) -> tuple[Action, ...]:
    """Return what is taken back: only what another one has a better right to. All else stays as it was published."""
    rival = _rival(desired, seen)
    own = seen.held.get(desired.schema.event_type)
    is_ours = own is not None and own.owner == desired.owner and has_base(own, desired.schema.base)
    if own is None or rival is None or rival.yields or not is_ours:
        return ()
    return (_withdrawal(own),)


# --- its stream ------------------------------------------------------------------------------------------


def _plan_stream(desired: Desired, stream: SeenStream | None, wanted: StreamConfiguration) -> Plan:
    stamps = Stamps(
        owner=str(desired.owner),
        uid=desired.uid,
        event_type=desired.schema.event_type,
        key_order=desired.schema.routed,
    )
    if stream is None:
        return Plan(actions=(CreateStream(wanted, stamps),))
    if not _is_ours(desired, stream):
        return Plan(obstacles=(_foreign(stream, wanted.name),))
    drift = tuple(one for one in differences(wanted, stream.configuration) if not one.is_spelling)
    storage = desired.schema.storage
    may_shrink = storage is not None and storage.shrink == "Allow"
    losing = [one for one in drift if one.loses_data and not one.impossible and not fits_below(one, stream)]
    changes = tuple(one for one in drift if not one.impossible and (may_shrink or one not in losing))
    actions: list[Action] = [StampStream(wanted.name, stamps)] if stream.stamps != stamps else []
    if changes:
        actions.append(ChangeStream(wanted, changes))
    return Plan(
        actions=tuple(actions),
        obstacles=tuple(_stream_obstacles(drift, [] if may_shrink else losing, messages=stream.messages)),
        drift=drift,
    )


def _is_ours(desired: Desired, stream: SeenStream) -> bool:
    is_stamped = stream.stamps is not None and stream.stamps.owner == str(desired.owner)
    return is_stamped or desired.adopts == stream.configuration.name


def _foreign(stream: SeenStream, name: str) -> Obstacle:
    holds = f"stream {name} with {stream.messages} messages"
    if stream.stamps is None:
        whose = "was there before and belongs to no EventSchema"
    elif stream.stamps.orphaned_at:
        whose = f"was that of {stream.stamps.owner}, which was deleted {stream.stamps.orphaned_at}"
    else:
        whose = f"belongs to {stream.stamps.owner}"
    message = f"{holds} {whose}: to take it over, annotate this EventSchema with {ADOPT}={name}"
    return Obstacle(concern="stream", reason="ForeignStream", message=message)


def fits_below(limit: StreamDifference, stream: SeenStream) -> bool:
    """Tell whether everything that the stream holds fits below a lower limit, so that nothing is lost by it."""
    wanted = limit.wanted
    match limit.setting:
        case "max_messages":
            return isinstance(wanted, int) and stream.messages <= wanted
        case "max_bytes":
            return isinstance(wanted, int) and stream.bytes <= wanted
        case "max_age_seconds" | "max_messages_per_subject":
            return stream.messages == 0
        case _:
            return False


def _stream_obstacles(
    drift: Iterable[StreamDifference], losing: Sequence[StreamDifference], *, messages: int
) -> Iterable[Obstacle]:
    impossible = [str(one) for one in drift if one.impossible]
    if impossible:
        yield Obstacle(
            concern="stream",
            reason="ImmutableStreamField",
            message=f"the broker changes this on no stream: {'; '.join(impossible)}; "
            "set it back, or declare a new event type with a topic base of its own",
        )
    if losing:
        yield Obstacle(
            concern="stream",
            reason="WouldLoseData",
            message=f"this deletes stored messages (there are {messages}) at once: {'; '.join(map(str, losing))}; "
            "set spec.storage.shrink: Allow to mean it",
        )


# --- its publication -------------------------------------------------------------------------------------


def _publication(desired: Desired, seen: Seen) -> tuple[Action, ...]:
    latest = seen.latest
    if (
        isinstance(latest, Published)
        and latest.schema == desired.schema
        and latest.owner == desired.owner
        and latest.uid == desired.uid
    ):
        return ()
    return (
        Publish(schema=desired.schema, expected_revision=seen.revision, owner=desired.owner, uid=desired.uid),
    )
