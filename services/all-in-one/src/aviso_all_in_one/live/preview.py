"""What applying a manifest would do: the operator's own plan, and what it would mean to those who are there. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from aviso_all_in_one.comparison import Change, changes, untold
from aviso_core.errors import Fault
from aviso_core.planning.actions import ChangeStream
from aviso_core.planning.plan import Obstacle, Plan, Seen, fits_below, make_plan
from aviso_core.registry.acknowledgements import Standing, standing
from aviso_core.registry.base import Published, Version, Withdrawn
from aviso_core.schema.compatibility import incompatibilities
from aviso_core.schema.stream import StreamDifference, wanted_stream

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from aviso_all_in_one.live.asked import Asked
    from aviso_all_in_one.live.sight import Sight, Stream
    from aviso_core.registry.acknowledgements import Report
    from aviso_core.schema.stream import StreamDefaults


class Now(msgspec.Struct, frozen=True, kw_only=True):
    """What there is: the published version and the stream. Revision 0 is none at all."""

    revision: int = 0
    state: Literal["published", "withdrawn", "unreadable", "none"] = "none"
    owner: str = ""
    stream: str = ""
    messages: int = 0


class Loss(msgspec.Struct, frozen=True, kw_only=True):
    """A setting that would remove stored messages at once: how many at most, and whether it is as many."""

    setting: str
    at_most: int
    is_exact: bool
    # Whether it would be done, or stands in the way.
    is_planned: bool


class Process(msgspec.Struct, frozen=True, kw_only=True):
    """A process that is alive, and how it stands to the version that is published now."""

    name: str
    standing: Standing


class Preview(msgspec.Struct, frozen=True, kw_only=True):
    """One manifest: what would be done, what stands in the way, what would be lost and what would break."""

    place: str
    event_type: str
    owner: str
    policy: str
    now: Now
    actions: tuple[str, ...] = ()
    obstacles: tuple[Obstacle, ...] = ()
    drift: tuple[StreamDifference, ...] = ()
    losses: tuple[Loss, ...] = ()
    breaks: tuple[Fault, ...] = ()
    changes: tuple[Change, ...] = ()
    processes: tuple[Process, ...] = ()

    @property
    def is_harmless(self) -> bool:
        """Whether it would be done as a whole, and nobody would lose anything by it."""
        return not self.obstacles and not self.breaks and not any(loss.is_planned for loss in self.losses)


def preview(asked: Asked, sight: Sight, defaults: StreamDefaults) -> Preview:
    """Return what applying a manifest would do, where this is what there is."""
    schema = asked.schema
    latest, stream = sight.versions.get(schema.event_type), sight.streams.get(schema.base)
    desired = asked.desired(latest, stream.seen if stream else None)
    # Whether a resource is gone only a cluster knows; what is published for one is taken to be wanted.
    held = {name: one for name, one in sight.versions.items() if isinstance(one, Published)}
    seen = Seen(stream=stream.seen if stream else None, latest=latest, held=held)
    plan = make_plan(desired, seen, defaults)
    old = latest.schema if isinstance(latest, Published) else None
    breaks = tuple(incompatibilities(old, schema)) if old else ()
    return Preview(
        place=asked.place,
        event_type=schema.event_type,
        owner=str(desired.owner),
        policy=asked.policy,
        now=_now(latest, stream),
        actions=tuple(map(str, plan.actions)),
        obstacles=plan.obstacles,
        drift=plan.drift,
        losses=tuple(_losses(plan, stream, wanted_stream(schema, defaults).max_messages)),
        breaks=breaks,
        changes=tuple(untold(changes(old, schema), breaks)) if old else (),
        processes=_processes(sight.reports, schema.event_type, latest),
    )


def _now(latest: Version | None, stream: Stream | None) -> Now:
    there = (
        Now() if stream is None else Now(stream=stream.seen.configuration.name, messages=stream.seen.messages)
    )
    match latest:
        case None:
            return there
        case Withdrawn():
            return msgspec.structs.replace(there, revision=latest.revision, state="withdrawn")
    state = "published" if isinstance(latest, Published) else "unreadable"
    return msgspec.structs.replace(
        there, revision=latest.revision, state=state, owner=str(latest.owner or "")
    )


def _losses(plan: Plan, stream: Stream | None, max_messages: int) -> Iterator[Loss]:
    if stream is None:
        return
    planned = {
        one.setting
        for action in plan.actions
        if isinstance(action, ChangeStream)
        for one in action.differences
    }
    messages = stream.seen.messages
    has_gaps = messages != stream.seen.last_sequence - stream.seen.first_sequence + 1
    for one in plan.drift:
        if not one.loses_data or one.impossible or fits_below(one, stream.seen):
            continue
        match one.setting:
            case "max_age_seconds":
                at_most, is_exact = stream.too_old, not (stream.too_old and has_gaps)
            case "max_messages":
                at_most, is_exact = max(0, messages - max_messages), True
            case _:
                at_most, is_exact = messages, not messages
        yield Loss(setting=one.setting, at_most=at_most, is_exact=is_exact, is_planned=one.setting in planned)


def _processes(reports: Mapping[str, Report], event_type: str, latest: Version | None) -> tuple[Process, ...]:
    revision = latest.revision if latest else 0
    return tuple(
        Process(name=name, standing=standing(report.get(event_type), revision))
        for name, report in sorted(reports.items())
    )
