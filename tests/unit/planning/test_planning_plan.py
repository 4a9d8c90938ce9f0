"""State table of the plan: for what is wanted and what is seen, the actions in order and what stands in the way."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import pytest

from aviso_core.fields.choice import ChoiceField
from aviso_core.fields.text import TextField
from aviso_core.planning.plan import Desired, Plan, Seen, SeenStream, make_plan
from aviso_core.registry.base import Owner, Published, Unreadable, Version, Withdrawn, hash_of
from aviso_core.schema.model import Schema, Storage, Topic, encode_schema
from aviso_core.schema.stamps import Stamps
from aviso_core.schema.stream import StreamConfiguration, StreamDefaults, wanted_stream

OURS: Final = Owner("weather", "alerts")
THEIRS: Final = Owner("ocean", "alerts")
DEFAULTS: Final = StreamDefaults()
SCHEMA: Final = Schema(
    event_type="alert",
    topic=Topic(base="alert", key_order=("region", "level")),
    fields=(TextField(name="region"), ChoiceField(name="level", values=("low", "high"))),
    storage=Storage(retention_seconds=3600, keep_all=True),
    compatibility="Backward",
)


def schema(**changes: Any) -> Schema:
    """Return the schema with other members."""
    return msgspec.structs.replace(SCHEMA, **changes)


def stored(**changes: Any) -> Schema:
    """Return the schema with other rules of storage."""
    assert SCHEMA.storage is not None
    return schema(storage=msgspec.structs.replace(SCHEMA.storage, **changes))


def desired(wanted: Schema = SCHEMA, *, uid: str = "1", adopts: str | None = None) -> Desired:
    """Return what our resource wants."""
    return Desired(owner=OURS, uid=uid, schema=wanted, adopts=adopts)


def published(
    was: Schema = SCHEMA, *, revision: int = 3, owner: Owner | None = OURS, uid: str = "1"
) -> Published:
    """Return a published version."""
    return Published(
        event_type=was.event_type,
        revision=revision,
        schema=was,
        spec_hash=hash_of(encode_schema(was)),
        owner=owner,
        uid=uid,
    )


STAMPS: Final = Stamps(owner=str(OURS), uid="1", event_type="alert", key_order=("region", "level"))
STREAM: Final = SeenStream(
    configuration=wanted_stream(SCHEMA, DEFAULTS), created="then", stamps=STAMPS, messages=12
)


def stream(stamps: Stamps | None = STAMPS, **configuration: Any) -> SeenStream:
    """Return the stream with other stamps and settings."""
    changed = msgspec.structs.replace(STREAM.configuration, **configuration)
    return msgspec.structs.replace(STREAM, stamps=stamps, configuration=changed)


def holding(messages: int, *, size: int = 1000) -> SeenStream:
    """Return the stream with so much in it."""
    return msgspec.structs.replace(STREAM, messages=messages, bytes=size)


def seen(latest: Version | None, there: SeenStream | None, *others: Published) -> Seen:
    """Return what is seen: ours is held where it is published, and so are the others."""
    held = [*([latest] if isinstance(latest, Published) else []), *others]
    return Seen(latest=latest, stream=there, held={one.event_type: one for one in held})


def told(plan: Plan) -> tuple[list[str], list[str]]:
    """Return the actions as lines, and the obstacles by their reasons."""
    return [str(action) for action in plan.actions], [one.reason for one in plan.obstacles]


MINE: Final = published()
ELSEWHERE: Final = msgspec.structs.replace(
    SCHEMA, event_type="warning", topic=Topic(base="ALERT", key_order=("region",))
)
STAMP: Final = "stamp stream ALERT as of weather/alerts"
LONGER: Final = stored(retention_seconds=7200)
SHORTER: Final = stored(retention_seconds=1800)
TURNED: Final = schema(topic=Topic(base="alert", key_order=("level", "region")))
TURNED_BY_MEANING_IT: Final = msgspec.structs.replace(TURNED, compatibility="None")
DESCRIBED: Final = schema(description="new")
GONE: Final = Withdrawn(event_type="alert", revision=4)
ORPHANED: Final = msgspec.structs.replace(STAMPS, orphaned_at="2030-01-01T00:00:00Z")
FOREIGN: Final = msgspec.structs.replace(STAMPS, owner=str(THEIRS))


@pytest.mark.parametrize(
    ("wanted", "there", "actions", "obstacles"),
    [
        pytest.param(
            desired(), seen(None, None), ["create stream ALERT", "publish alert over revision 0"], [],
            id="nothing is there",
        ),
        pytest.param(desired(), seen(MINE, stream()), [], [], id="all is as wanted"),
        pytest.param(
            desired(), seen(None, stream()), ["publish alert over revision 0"], [],
            id="stopped behind the stream",
        ),
        pytest.param(
            desired(), seen(MINE, None), ["create stream ALERT"], [], id="the stream was removed by hand"
        ),
        pytest.param(
            desired(DESCRIBED), seen(MINE, stream()), ["publish alert over revision 3"], [],
            id="an edit of the schema does not touch the stream",
        ),
        pytest.param(
            desired(LONGER), seen(MINE, stream()),
            ["change stream ALERT: max_age_seconds: 3600 → 7200", "publish alert over revision 3"], [],
            id="an edit of both begins with the stream",
        ),
        pytest.param(
            desired(), seen(MINE, stream(max_age_seconds=60, duplicate_window_seconds=60)),
            ["change stream ALERT: max_age_seconds: 60 → 3600; duplicate_window_seconds: 60 → 120"], [],
            id="the stream was changed by hand",
        ),
        # --- its identity
        pytest.param(
            desired(uid="2"), seen(MINE, stream()), [STAMP, "publish alert over revision 3"], [],
            id="made anew under its name while nobody looked",
        ),
        pytest.param(
            desired(uid="2"), seen(GONE, stream(ORPHANED)), [STAMP, "publish alert over revision 4"], [],
            id="made anew after it was withdrawn",
        ),
        pytest.param(
            desired(),
            seen(Unreadable(event_type="alert", revision=5, reason="new", owner=OURS), stream()),
            ["publish alert over revision 5"], [],
            id="our own version cannot be read by this build",
        ),
        pytest.param(
            desired(),
            seen(Unreadable(event_type="alert", revision=5, reason="new", owner=THEIRS), stream()),
            [], ["Conflicted"],
            id="somebody else's version cannot be read by this build",
        ),
        # --- its event type
        pytest.param(
            desired(), seen(published(owner=THEIRS), None), [], ["Conflicted"],
            id="the event type is somebody else's",
        ),
        pytest.param(
            desired(), seen(published(owner=None), None), [], ["Conflicted"],
            id="the event type was published by nobody",
        ),
        pytest.param(
            desired(),
            Seen(latest=published(owner=THEIRS), stream=stream(FOREIGN)), [], ["ForeignStream"],
            id="renamed: the owner is gone, its stream is not ours",
        ),
        pytest.param(
            desired(adopts="ALERT"),
            Seen(latest=published(owner=THEIRS), stream=stream(FOREIGN)),
            [STAMP, "publish alert over revision 3"], [],
            id="renamed: the owner is gone, its stream is taken over",
        ),
        pytest.param(
            desired(), seen(None, None, published(schema(event_type="old"), revision=2)),
            ["withdraw old at revision 2", "create stream ALERT", "publish alert over revision 0"], [],
            id="made anew with another event type and the same base",
        ),
        # --- its base
        pytest.param(
            desired(), seen(None, None, published(ELSEWHERE, owner=THEIRS)), [], ["Conflicted"],
            id="the base is somebody else's, in other letters",
        ),
        pytest.param(
            desired(), seen(MINE, stream(), published(ELSEWHERE, owner=THEIRS, revision=2)),
            ["withdraw alert at revision 3"], ["Conflicted"],
            id="the base was published earlier by somebody else",
        ),
        pytest.param(
            desired(), seen(MINE, stream(), published(ELSEWHERE, owner=THEIRS, revision=4)), [], [],
            id="the base was published later by somebody else",
        ),
        pytest.param(
            desired(DESCRIBED), seen(MINE, stream(), published(ELSEWHERE, owner=THEIRS, revision=4)),
            [], ["Conflicted"],
            id="an edit waits until who came later has withdrawn",
        ),
        pytest.param(
            desired(),
            seen(
                published(schema(topic=Topic(base="other", key_order=("region", "level")))), None,
                published(ELSEWHERE, owner=THEIRS, revision=2),
            ),
            [], ["Conflicted"],
            id="what is published under another base stays when the wanted one is taken",
        ),
        # --- its stream
        pytest.param(
            desired(), seen(None, stream(None)), [], ["ForeignStream"], id="a stream that nobody stamped"
        ),
        pytest.param(
            desired(adopts="alert"), seen(None, stream(None)), [], ["ForeignStream"],
            id="an annotation that names another stream",
        ),
        pytest.param(
            desired(adopts="ALERT"), seen(None, stream(None)), [STAMP, "publish alert over revision 0"], [],
            id="a stream that is taken over",
        ),
        pytest.param(
            desired(adopts="ALERT"), seen(None, stream(None, max_age_seconds=0)),
            [STAMP, "publish alert over revision 0"], ["WouldLoseData"],
            id="a stream that is taken over is not cut",
        ),
        pytest.param(
            desired(LONGER), seen(MINE, stream(FOREIGN)), [], ["ForeignStream"],
            id="the stream was taken over by somebody else",
        ),
        pytest.param(
            desired(SHORTER), seen(MINE, stream()), ["publish alert over revision 3"], ["WouldLoseData"],
            id="a shorter retention",
        ),
        pytest.param(
            desired(SHORTER), seen(MINE, holding(0)),
            ["change stream ALERT: max_age_seconds: 3600 → 1800", "publish alert over revision 3"], [],
            id="a shorter retention of nothing",
        ),
        pytest.param(
            desired(stored(max_messages=12)), seen(MINE, holding(12)),
            ["change stream ALERT: max_messages: -1 → 12", "publish alert over revision 3"], [],
            id="a limit that everything fits below",
        ),
        pytest.param(
            desired(stored(max_messages=12)), seen(MINE, holding(13)),
            ["publish alert over revision 3"], ["WouldLoseData"],
            id="a limit that one is above",
        ),
        pytest.param(
            desired(stored(max_bytes=2_000_000)), seen(MINE, holding(13, size=2_000_001)),
            ["publish alert over revision 3"], ["WouldLoseData"],
            id="a size that everything together is above",
        ),
        pytest.param(
            desired(stored(retention_seconds=1800, shrink="Allow")), seen(MINE, stream()),
            ["change stream ALERT: max_age_seconds: 3600 → 1800", "publish alert over revision 3"], [],
            id="a shorter retention that is meant",
        ),
        pytest.param(
            desired(stored(retention_seconds=1800, replicas=3)), seen(MINE, stream()),
            ["change stream ALERT: replicas: 1 → 3", "publish alert over revision 3"], ["WouldLoseData"],
            id="what loses nothing is done beside what would",
        ),
        pytest.param(
            desired(stored(medium="Memory", shrink="Allow")), seen(MINE, stream()),
            ["publish alert over revision 3"], ["ImmutableStreamField"],
            id="another medium",
        ),
        pytest.param(
            desired(), seen(MINE, stream(subjects=("Alert.>",))), [], [], id="subjects keep their spelling"
        ),
        # --- its promises
        pytest.param(
            desired(TURNED), seen(MINE, stream()), [], ["Incompatible"],
            id="another key order over the published one",
        ),
        pytest.param(
            desired(TURNED), seen(GONE, stream(ORPHANED)), [], ["Incompatible"],
            id="another key order over events of one that was withdrawn",
        ),
        pytest.param(
            desired(TURNED), seen(GONE, msgspec.structs.replace(stream(ORPHANED), messages=0)),
            [STAMP, "publish alert over revision 4"], [],
            id="another key order over an empty stream",
        ),
        pytest.param(
            desired(TURNED_BY_MEANING_IT), seen(GONE, stream(ORPHANED)),
            [STAMP, "publish alert over revision 4"], [],
            id="another key order that is meant",
        ),
        pytest.param(
            desired(schema(fields=(*SCHEMA.fields[:1], ChoiceField(name="level", values=("low",))))),
            seen(MINE, stream()), [], ["Incompatible"],
            id="a value that was removed",
        ),
        pytest.param(
            desired(schema(topic=Topic(base="alert", key_order=("nowhere",)))), seen(MINE, stream()),
            [], ["InvalidSchema"],
            id="a schema with faults",
        ),
    ],
)  # fmt: skip
def test_what_is_done_and_what_stands_in_the_way(
    wanted: Desired, there: Seen, actions: list[str], obstacles: list[str]
) -> None:
    assert told(make_plan(wanted, there, DEFAULTS)) == (actions, obstacles)


@pytest.mark.parametrize(
    ("wanted", "there", "message"),
    [
        (
            desired(), seen(published(owner=THEIRS), None),
            "event type 'alert' is declared by EventSchema ocean/alerts: delete that one, "
            "or set another spec.eventType",
        ),
        (
            desired(), seen(None, None, published(ELSEWHERE, owner=THEIRS)),
            "topic base 'alert' is that of event type 'warning', declared by EventSchema ocean/alerts: "
            "every event type needs a base of its own",
        ),
        (
            desired(DESCRIBED), seen(MINE, stream(), published(ELSEWHERE, owner=None, revision=4)),
            "topic base 'alert' was taken later by event type 'warning' too, declared by somebody without an "
            "EventSchema: revision 3 stays in force, and changes wait until that one is withdrawn",
        ),
        (
            desired(), seen(None, stream(None)),
            "stream ALERT with 12 messages was there before and belongs to no EventSchema: to take it over, "
            "annotate this EventSchema with aviso.dev/adopt-stream=ALERT",
        ),
        (
            desired(), seen(None, stream(msgspec.structs.replace(FOREIGN, orphaned_at="2030-01-01T00:00:00Z"))),
            "stream ALERT with 12 messages was that of ocean/alerts, which was deleted 2030-01-01T00:00:00Z: to take "
            "it over, annotate this EventSchema with aviso.dev/adopt-stream=ALERT",
        ),
        (
            desired(SHORTER), seen(MINE, stream()),
            "this deletes stored messages (there are 12) at once: max_age_seconds: 3600 → 1800; "
            "set spec.storage.shrink: Allow to mean it",
        ),
        (
            desired(stored(medium="Memory")), seen(MINE, stream()),
            "the broker changes this on no stream: medium: file → memory; set it back, or declare a new event type "
            "with a topic base of its own",
        ),
        (
            desired(TURNED), seen(MINE, stream()),
            "revision 3 stays in force: topic.key_order: was [region, level], is [level, region]: stored subjects "
            "follow it (keep the order; declare new identifiers outside it); or set spec.compatibility: None "
            "to mean it",
        ),
        (
            desired(TURNED), seen(GONE, stream(ORPHANED)),
            "its stream has 12 messages that were stored with the key order [region, level] and would be read wrongly "
            "with [level, region]: keep that order, declare a topic base of its own, or set spec.compatibility: None "
            "to mean it",
        ),
    ],
)  # fmt: skip
def test_a_message_tells_what_is_the_matter_and_what_to_do(
    wanted: Desired, there: Seen, message: str
) -> None:
    (obstacle,) = make_plan(wanted, there, DEFAULTS).obstacles
    assert obstacle.message == message


def test_a_plan_tells_all_that_differs_also_what_it_does_not_change() -> None:
    wanted = stored(retention_seconds=1800, replicas=3, medium="Memory")
    plan = make_plan(desired(wanted), seen(MINE, stream()), DEFAULTS)
    assert [one.setting for one in plan.drift] == ["max_age_seconds", "medium", "replicas"]
    assert [one.reason for one in plan.obstacles] == ["ImmutableStreamField", "WouldLoseData"]
    assert plan.obstacle("accepted") is None
    assert plan.obstacle("stream") is plan.obstacles[0]


def test_a_stream_is_made_with_the_stamps_of_its_resource() -> None:
    """They hold the order of its subjects, which outlives the resource."""
    create, publish = make_plan(desired(), seen(None, None), DEFAULTS).actions
    assert create.configuration == wanted_stream(SCHEMA, DEFAULTS)  # type: ignore[union-attr]  # told by the test above
    assert create.stamps == STAMPS  # type: ignore[union-attr]  # as above
    assert (publish.owner, publish.uid) == (OURS, "1")  # type: ignore[union-attr]  # as above


def test_the_installation_decides_what_the_resource_leaves_open() -> None:
    plan = make_plan(desired(), seen(MINE, stream()), StreamDefaults(replicas=3))
    assert told(plan) == (["change stream ALERT: replicas: 1 → 3"], [])


def test_a_window_never_gets_longer_than_the_retention_that_stays() -> None:
    """The broker refuses such a stream, and would refuse the rest of the change with it."""
    wanted = stored(retention_seconds=60)
    there = stream(max_age_seconds=90, duplicate_window_seconds=90)
    (change, _) = make_plan(desired(wanted), seen(MINE, there), DEFAULTS).actions
    assert str(change) == "change stream ALERT: duplicate_window_seconds: 90 → 60"


def test_an_annotation_is_compared_with_the_name_of_the_stream_that_is_there() -> None:
    other = msgspec.structs.replace(
        STREAM, configuration=StreamConfiguration(name="OTHER", subjects=("other.>",)), stamps=None
    )
    assert told(make_plan(desired(adopts="ALERT"), seen(None, other), DEFAULTS))[1] == ["ForeignStream"]
