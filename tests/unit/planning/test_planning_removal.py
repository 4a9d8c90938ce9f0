"""State table of what is done for a resource that is gone, or is to go."""

from __future__ import annotations

from typing import Final

import msgspec
import pytest

from aviso_core.planning.plan import Seen, SeenStream
from aviso_core.planning.removal import Removed, plan_removal
from aviso_core.registry.base import Owner, Published, Unreadable, Withdrawn
from aviso_core.schema.stamps import Stamps
from aviso_core.schema.stream import StreamConfiguration
from support.registries import published_schema, schema

OURS: Final = Owner("weather", "alerts")
THEIRS: Final = Owner("ocean", "alerts")
NOW: Final = "2030-01-01T00:00:00Z"
STAMPS: Final = Stamps(owner=str(OURS), uid="1", event_type="alert", key_order=("place",))
STREAM: Final = SeenStream(
    configuration=StreamConfiguration(name="ALERT", subjects=("alert.>",)),
    created="then",
    stamps=STAMPS,
    messages=12,
)


def published(event_type: str, revision: int, owner: Owner, *, base: str = "alert") -> Published:
    """Return a published version."""
    version = published_schema(schema(event_type, base=base), revision)
    return msgspec.structs.replace(version, owner=owner)


def stream(stamps: Stamps | None) -> SeenStream:
    """Return the stream with other stamps."""
    return msgspec.structs.replace(STREAM, stamps=stamps)


def restamped(**changes: str) -> SeenStream:
    """Return the stream with some of its stamps changed."""
    return stream(msgspec.structs.replace(STAMPS, **changes))


MINE: Final = published("alert", 3, OURS)
GONE: Final = Withdrawn(event_type="alert", revision=4)
WITHDRAW: Final = "withdraw alert at revision 3"
ORPHAN: Final = "stamp stream ALERT as orphaned, of weather/alerts"
DELETE: Final = ["wait until nobody serves alert", "delete stream ALERT with its 12 messages"]
RIVAL: Final = published("warning", 2, THEIRS)


@pytest.mark.parametrize(
    ("seen", "retained", "deleted"),
    [
        pytest.param(
            Seen(latest=MINE, stream=STREAM), [WITHDRAW, ORPHAN], [WITHDRAW, *DELETE], id="all is there"
        ),
        pytest.param(Seen(latest=GONE, stream=STREAM), [ORPHAN], DELETE, id="stopped behind the withdrawal"),
        pytest.param(
            Seen(latest=GONE, stream=restamped(orphaned_at="2029-01-01T00:00:00Z")), [], DELETE,
            id="it was retained before",
        ),
        pytest.param(Seen(latest=GONE), [], [], id="nothing is left"),
        pytest.param(Seen(latest=MINE), [WITHDRAW], [WITHDRAW], id="there is no stream"),
        pytest.param(Seen(), [], [], id="it was never accepted"),
        pytest.param(Seen(stream=STREAM), [ORPHAN], DELETE, id="its stream was made and no more"),
        pytest.param(
            Seen(
                latest=Unreadable(event_type="alert", revision=3, reason="new", owner=OURS), stream=STREAM
            ),
            [WITHDRAW, ORPHAN], [WITHDRAW, *DELETE],
            id="its version cannot be read by this build",
        ),
        pytest.param(
            Seen(latest=Unreadable(event_type="alert", revision=3, reason="new"), stream=stream(None)), [], [],
            id="whose version it is cannot be told",
        ),
        pytest.param(
            Seen(latest=published("alert", 5, THEIRS), stream=restamped(owner=str(THEIRS))), [], [],
            id="another resource has taken both over",
        ),
        pytest.param(Seen(latest=MINE, stream=stream(None)), [WITHDRAW], [WITHDRAW], id="the stream is nobody's"),
        pytest.param(
            Seen(latest=GONE, stream=STREAM, held={"warning": RIVAL}), [ORPHAN], [ORPHAN],
            id="somebody else has the base, so their events may be in it",
        ),
        pytest.param(
            Seen(latest=GONE, stream=restamped(uid="0")), [ORPHAN], [ORPHAN],
            id="the stream is of a resource that had the name before",
        ),
        pytest.param(
            Seen(latest=MINE, stream=restamped(event_type="warning")), [WITHDRAW], [WITHDRAW],
            id="the stream is of the event type that the resource declares by now",
        ),
    ],
)  # fmt: skip
def test_what_is_retained_and_what_is_deleted(seen: Seen, retained: list[str], deleted: list[str]) -> None:
    removed = Removed(owner=OURS, event_type="alert", uid="1")
    assert list(map(str, plan_removal(removed, seen, now=NOW))) == retained
    removed = msgspec.structs.replace(removed, policy="Delete")
    assert list(map(str, plan_removal(removed, seen, now=NOW))) == deleted


def test_an_orphaned_stream_tells_since_when() -> None:
    (stamp,) = plan_removal(Removed(owner=OURS, event_type="alert"), Seen(stream=STREAM), now=NOW)
    assert stamp.stamps == msgspec.structs.replace(STAMPS, orphaned_at=NOW)  # type: ignore[union-attr]  # told by the table


def test_whoever_had_the_name_is_meant_where_no_uid_is_given() -> None:
    """A resource that was deleted while nobody looked has told nobody its uid."""
    removed = Removed(owner=OURS, event_type="alert", policy="Delete")
    assert list(map(str, plan_removal(removed, Seen(stream=restamped(uid="0")), now=NOW))) == DELETE
