"""Whatever there is and whatever is wanted: plans come to an end, and take nothing from anybody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
from hypothesis import assume, event, given
from hypothesis import strategies as st

from aviso_core.fields.choice import ChoiceField
from aviso_core.fields.text import TextField
from aviso_core.planning.actions import AwaitWithdrawn, DeleteStream
from aviso_core.planning.plan import Desired, Plan, SeenStream, make_plan
from aviso_core.planning.removal import Removed, plan_removal
from aviso_core.registry.base import Owner, Published, Unreadable, Version, Withdrawn, hash_of
from aviso_core.registry.served import nothing_served, take_all, take_in
from aviso_core.schema.model import Schema, Storage, Topic, encode_schema
from aviso_core.schema.stamps import Stamps
from aviso_core.schema.stream import StreamConfiguration, StreamDefaults, stream_name
from support.planned_world import World

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aviso_core.planning.actions import Action

OWNERS: Final = (Owner("weather", "alerts"), Owner("weather", "warnings"), Owner("ocean", "alerts"))
EVENT_TYPES: Final = ("alpha", "beta", "gamma")
BASES: Final = ("x", "X", "y")
NOW: Final = "2030-01-01T00:00:00Z"

_STORAGES: Final = st.builds(
    Storage,
    retention_seconds=st.sampled_from((60, 3600, None)),
    max_messages=st.sampled_from((None, 10, 1000)),
    duplicate_window_seconds=st.sampled_from((None, 30)),
    medium=st.sampled_from(("File", "Memory")),
    keep_all=st.booleans(),
    shrink=st.sampled_from(("Reject", "Allow")),
)


@st.composite
def schemas(draw: st.DrawFn, event_type: str | None = None) -> Schema:
    """Return schemas of a few event types and bases, some with faults."""
    order = draw(st.sampled_from((("a",), ("a", "b"), ("b", "a"), ("nowhere",))))
    return Schema(
        event_type=event_type or draw(st.sampled_from(EVENT_TYPES)),
        description=draw(st.sampled_from(("", "another"))),
        topic=Topic(base=draw(st.sampled_from(BASES)), key_order=order),
        fields=(
            TextField(name="a", default="1"),
            ChoiceField(name="b", values=draw(st.sampled_from((("p",), ("p", "q")))), default="p"),
        ),
        storage=draw(_STORAGES),
        compatibility=draw(st.sampled_from(("Backward", "None"))),
    )


@st.composite
def versions(draw: st.DrawFn, event_type: str, revision: int) -> Version:
    """Return a version of an event type, of any kind."""
    match draw(st.sampled_from(("published", "published", "withdrawn", "unreadable"))):
        case "withdrawn":
            return Withdrawn(event_type=event_type, revision=revision)
        case "unreadable":
            owner = draw(st.none() | st.sampled_from(OWNERS))
            return Unreadable(event_type=event_type, revision=revision, reason="new", owner=owner)
    return published(
        draw(schemas(event_type)), revision, draw(st.none() | st.sampled_from(OWNERS)), uid=draw(_UIDS)
    )


_UIDS: Final = st.sampled_from(("1", "2"))


def published(schema: Schema, revision: int, owner: Owner | None, *, uid: str = "1") -> Published:
    """Return a published version."""
    return Published(
        event_type=schema.event_type,
        revision=revision,
        schema=schema,
        spec_hash=hash_of(encode_schema(schema)),
        owner=owner,
        uid=uid,
    )


_STAMPS: Final = st.builds(
    Stamps,
    owner=st.sampled_from(OWNERS).map(str),
    uid=_UIDS,
    event_type=st.sampled_from(EVENT_TYPES),
    key_order=st.sampled_from((("a",), ("a", "b"), ("b", "a"), ())),
    orphaned_at=st.none() | st.just("2029-01-01T00:00:00Z"),
)


@st.composite
def streams(draw: st.DrawFn, base: str) -> SeenStream:
    """Return a stream of a base, as anybody may have made or changed it."""
    age = draw(st.sampled_from((0, 60, 7200)))
    return SeenStream(
        configuration=StreamConfiguration(
            name=stream_name(base),
            subjects=draw(
                st.sampled_from(((f"{base}.>",), (f"{base.upper()}.>",), (f"{base}.>", "other.>")))
            ),
            max_messages=draw(st.sampled_from((-1, 0, 10, 100))),
            max_messages_per_subject=draw(st.sampled_from((-1, 1, 2))),
            max_age_seconds=age,
            medium=draw(st.sampled_from(("file", "memory"))),
            replicas=draw(st.sampled_from((0, 1, 3))),
            retention=draw(st.sampled_from(("limits", "interest", "workqueue"))),
            duplicate_window_seconds=min(120, age) if age else 120,
        ),
        created="before",
        stamps=draw(st.none() | _STAMPS),
        messages=draw(st.sampled_from((0, 5))),
    )


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Return a world in any state."""
    names = draw(st.lists(st.sampled_from(EVENT_TYPES), unique=True))
    bases = draw(st.lists(st.sampled_from(("x", "y")), unique=True))
    return World(
        versions=[draw(versions(name, revision)) for revision, name in enumerate(names, 1)],
        streams=[draw(streams(base)) for base in bases],
        alive=draw(st.sets(st.sampled_from(OWNERS))),
    )


_DESIRED: Final = st.builds(
    Desired,
    owner=st.sampled_from(OWNERS),
    uid=_UIDS,
    schema=schemas(),
    adopts=st.sampled_from((None, None, "X", "Y")),
)
_DEFAULTS: Final = st.builds(StreamDefaults, replicas=st.sampled_from((None, 3)))
_REMOVED: Final = st.builds(
    Removed,
    owner=st.sampled_from(OWNERS),
    event_type=st.sampled_from(EVENT_TYPES),
    uid=st.sampled_from(("", "1", "2")),
    policy=st.sampled_from(("Retain", "Delete")),
)


def plan_of(world: World, desired: Desired, defaults: StreamDefaults) -> Plan:
    """Return the plan for what is seen of a world."""
    return make_plan(desired, world.seen(desired.schema.event_type, desired.schema.base), defaults)


def done(world: World, actions: Sequence[Action]) -> World:
    """Return the world after some actions."""
    after = world.copy()
    for action in actions:
        after.do(action)
    return after


@given(worlds(), _DESIRED, _DEFAULTS)
def test_nothing_is_left_to_do_after_a_plan_however_often_it_was_stopped(
    world: World, desired: Desired, defaults: StreamDefaults
) -> None:
    """Also when it was stopped behind any of its actions: what follows leads to the same world."""
    world.alive.add(desired.owner)
    plan = plan_of(world, desired, defaults)
    event(f"{len(plan.actions)} actions, {', '.join(one.reason for one in plan.obstacles) or 'no obstacle'}")
    end = done(world, plan.actions)
    assert plan_of(end, desired, defaults).actions == ()
    for place in range(len(plan.actions)):
        stopped = done(world, plan.actions[:place])
        assert done(stopped, plan_of(stopped, desired, defaults).actions) == end


@given(worlds(), _DESIRED, _DEFAULTS)
def test_what_stands_in_the_way_is_the_same_before_and_after(
    world: World, desired: Desired, defaults: StreamDefaults
) -> None:
    """A plan that tells of no obstacle meets none behind its own actions."""
    world.alive.add(desired.owner)
    plan = plan_of(world, desired, defaults)
    after = plan_of(done(world, plan.actions), desired, defaults)
    assert [(one.concern, one.reason) for one in plan.obstacles] == [
        (one.concern, one.reason) for one in after.obstacles
    ]


@given(worlds(), _DESIRED, _DEFAULTS)
def test_nothing_is_lost_unless_it_may_be(world: World, desired: Desired, defaults: StreamDefaults) -> None:
    world.alive.add(desired.owner)
    storage = desired.schema.storage
    assert storage is not None
    end = done(world, plan_of(world, desired, defaults).actions)
    assert end.lost == 0 or storage.shrink == "Allow"
    assert end.streams.keys() >= world.streams.keys()


@given(worlds(), _DESIRED, _DEFAULTS)
def test_what_is_somebody_elses_stays_as_it_is(
    world: World, desired: Desired, defaults: StreamDefaults
) -> None:
    """Streams without the annotation, and versions that were published for a resource that is alive."""
    world.alive.add(desired.owner)
    end = done(world, plan_of(world, desired, defaults).actions)
    for name, stream in world.streams.items():
        is_ours = stream.stamps is not None and stream.stamps.owner == str(desired.owner)
        if not is_ours and desired.adopts != name:
            assert end.streams[name] == stream
    for name, version in world.versions.items():
        if _is_of_another(version, desired.owner, world):
            assert end.versions[name] == version


def _is_of_another(version: Version, owner: Owner, world: World) -> bool:
    match version:
        case Published():
            return version.owner != owner and (version.owner is None or version.owner in world.alive)
        case Unreadable():
            return version.owner not in (None, owner)
    return False


@given(worlds(), _DESIRED, _DEFAULTS)
def test_no_base_is_published_that_somebody_else_has(
    world: World, desired: Desired, defaults: StreamDefaults
) -> None:
    """Nor an event type without its stream."""
    world.alive.add(desired.owner)
    end = done(world, plan_of(world, desired, defaults).actions)
    name, base = desired.schema.event_type, desired.schema.base
    if end.versions.get(name) == world.versions.get(name) or isinstance(end.versions[name], Withdrawn):
        return
    others = [one for key, one in end.seen(name, base).held.items() if key != name]
    assert all(one.schema.base.lower() != base.lower() for one in others)
    stamps = end.streams[stream_name(base)].stamps
    assert stamps is not None
    assert (stamps.owner, stamps.key_order) == (str(desired.owner), desired.schema.routed)


# --- who has a base --------------------------------------------------------------------------------------


@st.composite
def claims(draw: st.DrawFn) -> list[tuple[Published, Schema]]:
    """Return published versions of living resources, of which some have the same base, and what each wants now."""
    names = draw(st.permutations(EVENT_TYPES))
    found = []
    for revision, (name, owner) in enumerate(zip(names, OWNERS, strict=True), 1):
        schema = msgspec.structs.replace(
            draw(schemas(name)),
            topic=Topic(base=draw(st.sampled_from(BASES)), key_order=("a",)),
            storage=Storage(),
        )
        edited = msgspec.structs.replace(schema, description=draw(st.sampled_from(("", "edited"))))
        found.append((published(schema, revision, owner), edited))
    return found


def _winners(world: World) -> dict[str, str]:
    """Return who has each base with services that begin anew."""
    served = take_all(nothing_served(None), world.versions.values())
    return {one.base.lower(): name for name, one in served.catalog.event_types.items()}


@given(claims(), st.data())
def test_who_has_a_base_is_who_the_services_would_serve(
    claimed: list[tuple[Published, Schema]], data: st.DataObject
) -> None:
    """Losers withdraw, in whichever order they are looked at, and at no moment does the base change hands."""
    world = World(versions=[version for version, _ in claimed], alive=OWNERS)
    winners = _winners(world)
    running = take_in(nothing_served(None), world.versions.values())
    assert {one.base.lower(): name for name, one in running.catalog.event_types.items()} == winners
    for _ in range(2):
        for version, schema in data.draw(st.permutations(claimed)):
            assert version.owner is not None
            desired = Desired(owner=version.owner, uid="1", schema=schema)
            for action in plan_of(world, desired, StreamDefaults()).actions:
                world.do(action)
                assert _winners(world) == winners
    for version, schema in claimed:
        latest = world.versions[version.event_type]
        if version.event_type in winners.values():
            assert isinstance(latest, Published)
            assert latest.schema == schema
        else:
            assert isinstance(latest, Withdrawn)


# --- what is gone ----------------------------------------------------------------------------------------


def _gone(world: World, removed: Removed, base: str) -> tuple[Action, ...]:
    return plan_removal(removed, world.seen(removed.event_type, base), now=NOW)


@given(worlds(), _REMOVED, st.sampled_from(("x", "y")))
def test_what_is_removed_is_removed_once_however_often_that_was_stopped(
    world: World, removed: Removed, base: str
) -> None:
    world.alive.discard(removed.owner)
    actions = _gone(world, removed, base)
    end = done(world, actions)
    left = [one for one in _gone(end, removed, base) if not isinstance(one, AwaitWithdrawn)]
    assert left == []
    for place in range(len(actions)):
        stopped = done(world, actions[:place])
        assert done(stopped, _gone(stopped, removed, base)) == end


@given(worlds(), _REMOVED, st.sampled_from(("x", "y")))
def test_what_is_removed_takes_nothing_of_anybody_else(world: World, removed: Removed, base: str) -> None:
    """A stream goes only where that was asked for, behind the withdrawal, and where nobody has its base."""
    world.alive.discard(removed.owner)
    actions = _gone(world, removed, base)
    end = done(world, actions)
    assert all(
        end.versions[name] == version
        for name, version in world.versions.items()
        if isinstance(version, Withdrawn) or version.owner != removed.owner
    )
    for name, stream in world.streams.items():
        if stream.stamps is None or stream.stamps.owner != str(removed.owner):
            assert end.streams[name] == stream
    deleted = [one for one in actions if isinstance(one, DeleteStream)]
    if deleted:
        assert removed.policy == "Delete"
        assert isinstance(actions[-2], AwaitWithdrawn)
        held = world.seen(removed.event_type, base).held.values()
        assert all(one.schema.base.lower() != base for one in held)
    else:
        assert end.lost == 0


@given(worlds(), _DESIRED, _DEFAULTS)
def test_what_was_retained_is_found_again_by_a_resource_of_the_same_name(
    world: World, desired: Desired, defaults: StreamDefaults
) -> None:
    """Whatever its uid is by then."""
    world.alive.add(desired.owner)
    plan = plan_of(world, desired, defaults)
    assume(not plan.obstacles)
    there = done(world, plan.actions)
    there.alive.discard(desired.owner)
    schema: Any = desired.schema
    removed = Removed(owner=desired.owner, event_type=schema.event_type, uid=desired.uid)
    gone = done(there, _gone(there, removed, schema.base))
    gone.alive.add(desired.owner)
    again = plan_of(gone, msgspec.structs.replace(desired, uid="another", adopts=None), defaults)
    assert again.obstacles == ()
    back = done(gone, again.actions).versions[schema.event_type]
    assert isinstance(back, Published)
    assert back.uid == "another"
