"""What is written as a status, when, and what is not: a table for the values, a stand-in for the API server."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

import pytest
from msgspec.structs import replace

from aviso_core.planning.plan import Plan, SeenStream
from aviso_core.registry.acknowledgements import Standing
from aviso_core.schema.stream import StreamConfiguration
from aviso_operator.announcements import Announcements
from aviso_operator.cluster import ClusterRefused, Outdated
from aviso_operator.findings import Findings, Live
from aviso_operator.objects import Objects
from aviso_operator.options import Watched
from aviso_operator.resources import (
    LONGEST_MESSAGE,
    LONGEST_PROCESS,
    MOST_STALE,
    NO_STATUS,
    Propagation,
    Status,
    StreamStatus,
)
from aviso_operator.status import StatusWriter, status_of
from support.event_logs import asynchronous
from support.http_server import answering
from support.registries import ManualClock
from support.stand_in_cluster import StandInCluster, standing_in

if TYPE_CHECKING:
    from aviso_operator.cluster import Cluster
    from support.http_server import Asked, Behaviour

SPEC: Final = {"topic": {"base": "alert", "keyOrder": ["place"]}, "identifiers": []}
NOW: Final = datetime(2026, 1, 1, 12, tzinfo=UTC)
CURRENT: Final = Standing(state="current", revision=3)
BEHIND: Final = Standing(state="behind", revision=2)
LIVE: Final = Live(revision=3, spec_hash="sha256:0", standings={"ingest/pod-a": CURRENT})
STREAM: Final = SeenStream(
    configuration=StreamConfiguration(name="ALERT", subjects=("alert.>",)),
    created="2026-01-01T00:00:00Z",
    messages=5,
    bytes=500,
    first_sequence=1,
    last_sequence=5,
)
WELL: Final = Findings(generation=1, event_type="alert", plan=Plan(), live=LIVE, stream=STREAM)


def observed(at: datetime, *, name: str = "ALERT", messages: int = 5) -> StreamStatus:
    return StreamStatus(
        name=name, messages=messages, bytes=500, first_sequence=1, last_sequence=5, observed_at=at
    )


# --- values ----------------------------------------------------------------------------------------------


def test_what_was_found_becomes_the_status() -> None:
    status = status_of(WELL, NO_STATUS, now=NOW)
    assert (status.observed_generation, status.event_type) == (1, "alert")
    assert (status.revision, status.spec_hash) == (3, "sha256:0")
    assert status.propagation == Propagation(summary="1/1", desired=1, acknowledged=1)
    assert status.stream == observed(NOW)
    assert {one.observed_generation for one in status.conditions} == {1}


def test_what_nobody_could_look_at_stays_as_it_was() -> None:
    """A broker that is away takes neither the revision nor the stream out of the status."""
    before = status_of(WELL, NO_STATUS, now=NOW)
    unreachable = Findings(generation=2, event_type="alert", unreachable="gone")
    after = status_of(unreachable, before, now=NOW + timedelta(minutes=9))
    for member in ("revision", "spec_hash", "propagation", "stream"):
        assert getattr(after, member) == getattr(before, member)
    assert after.observed_generation == 2


def test_the_stale_are_named_by_their_pods_and_not_without_end() -> None:
    standings = {f"ingest/pod-{number:02}": BEHIND for number in range(MOST_STALE + 5)} | {
        "schema/one": CURRENT
    }
    status = status_of(replace(WELL, live=replace(LIVE, standings=standings)), NO_STATUS, now=NOW)
    assert status.propagation is not None
    assert status.propagation.summary == f"1/{MOST_STALE + 6}"
    assert status.propagation.stale == tuple(f"pod-{number:02}" for number in range(MOST_STALE))


def test_what_is_longer_than_the_api_server_takes_is_cut() -> None:
    """One long text would keep the whole status from being written."""
    name = f"ingest/{'p' * 2 * LONGEST_PROCESS}"
    findings = replace(WELL, invalid="ö" * 2 * LONGEST_MESSAGE, live=replace(LIVE, standings={name: BEHIND}))
    status = status_of(findings, NO_STATUS, now=NOW)
    assert {len(one.message) for one in status.conditions if one.reason == "InvalidSchema"} == {
        LONGEST_MESSAGE
    }
    assert all(len(one.message) <= LONGEST_MESSAGE for one in status.conditions)
    assert status.propagation is not None
    assert status.propagation.stale == ("p" * LONGEST_PROCESS,)


MINUTE: Final = timedelta(minutes=1)


@pytest.mark.parametrize(
    ("before", "seen", "after"),
    [
        pytest.param(None, STREAM, observed(NOW), id="first seen"),
        pytest.param(observed(NOW - MINUTE / 2, messages=4), STREAM, None, id="moved, too soon"),
        pytest.param(observed(NOW - MINUTE, messages=4), STREAM, observed(NOW), id="moved, a minute ago"),
        pytest.param(observed(NOW - 9 * MINUTE), STREAM, None, id="the same"),
        pytest.param(observed(NOW, name="OLD"), STREAM, observed(NOW), id="another stream, at once"),
        pytest.param(observed(NOW - 9 * MINUTE), None, None, id="not looked at"),
    ],
)
def test_numbers_of_a_stream_are_new_once_a_minute_and_when_they_moved(
    before: StreamStatus | None, seen: SeenStream | None, after: StreamStatus | None
) -> None:
    """Without `after` it is what it was before."""
    status = status_of(replace(WELL, stream=seen), Status(stream=before), now=NOW)
    assert status.stream == (after or before)


# --- writing ---------------------------------------------------------------------------------------------


class Desk:
    """A writer, what it knows of objects, and its clock."""

    def __init__(self, cluster: Cluster) -> None:
        self.clock = ManualClock()
        self.objects = Objects(Watched(None))
        self.writer = StatusWriter(
            cluster, self.objects, Announcements(cluster, self.clock, pod="operator-0"), self.clock
        )


@asynchronous
async def test_what_did_not_change_is_not_written() -> None:
    kept = StandInCluster()
    seen = kept.create("alert", SPEC)
    async with standing_in(kept) as cluster:
        desk = Desk(cluster)
        status = await desk.writer.write(seen, WELL)
        assert kept.get("weather/alert").status == status
        assert desk.objects.get("weather/alert") == kept.get("weather/alert"), "it knows its own work at once"
        kept.writes.clear()
        desk.clock.advance(3600)
        assert await desk.writer.write(kept.get("weather/alert"), WELL) == status
        assert kept.writes == []


@asynchronous
async def test_what_is_not_so_any_more_goes() -> None:
    """A condition that is said only while it is so, and a whole member, are gone from what the API server keeps."""
    kept = StandInCluster()
    seen = kept.create("alert", SPEC)
    async with standing_in(kept) as cluster:
        desk = Desk(cluster)
        invalid = Findings(generation=1, event_type="alert", invalid="spec.topic: wrong")
        await desk.writer.write(seen, invalid)
        assert "Stalled" in {one.type for one in kept.get("weather/alert").status.conditions}
        await desk.writer.write(kept.get("weather/alert"), WELL)
        assert "Stalled" not in {one.type for one in kept.get("weather/alert").status.conditions}


@asynchronous
async def test_a_status_is_written_over_what_changed_beside_the_spec() -> None:
    """Whoever annotates an object meanwhile loses nothing, and the status is there all the same."""
    kept = StandInCluster()
    seen = kept.create("alert", SPEC)
    kept.annotate("weather/alert", note="changed since")
    async with standing_in(kept) as cluster:
        await Desk(cluster).writer.write(seen, WELL)
    now = kept.get("weather/alert")
    assert now.annotations == {"note": "changed since"}
    assert now.status.observed_generation == 1


@pytest.mark.parametrize("what", ["edited", "deleted", "made anew"])
@asynchronous
async def test_nothing_is_written_for_what_it_was_not_found_of(what: str) -> None:
    kept = StandInCluster()
    seen = kept.create("alert", SPEC)
    if what == "edited":
        kept.edit("weather/alert", description="another")
    else:
        kept.delete("weather/alert")
    if what == "made anew":
        kept.create("alert", SPEC)
    async with standing_in(kept) as cluster:
        await Desk(cluster).writer.write(seen, WELL)
    assert kept.writes == []
    assert kept.events == [], "nor is anybody told"


@asynchronous
async def test_an_edit_between_looking_again_and_writing_is_found_out_too() -> None:
    """The write itself names what it is over: there is no moment at which a newer generation could be hit."""
    kept = StandInCluster()
    seen = kept.create("alert", SPEC)
    kept.annotate("weather/alert", note="1")

    def edit_after_looking(asked: Asked) -> Behaviour | None:
        if asked.method == "GET":
            looked = kept.get("weather/alert")
            kept.before = edit_before_writing
            assert looked.generation == 1
        return None

    def edit_before_writing(asked: Asked) -> Behaviour | None:
        if asked.method == "PATCH":
            kept.before = lambda asked: None
            kept.edit("weather/alert", description="another")
        return None

    kept.before = edit_after_looking
    async with standing_in(kept) as cluster:
        await Desk(cluster).writer.write(seen, WELL)
    assert kept.writes == []
    assert kept.get("weather/alert").generation == 2


@asynchronous
async def test_one_that_changes_all_the_time_is_given_up_for_now() -> None:
    kept = StandInCluster()
    seen = kept.create("alert", SPEC)

    def annotate(asked: Asked) -> Behaviour | None:
        if asked.method == "PATCH":
            kept.annotate("weather/alert", note=str(len(kept.writes)))
        return None

    kept.before = annotate
    async with standing_in(kept) as cluster:
        with pytest.raises(Outdated, match="weather/alert changes faster"):
            await Desk(cluster).writer.write(seen, WELL)


# --- telling people --------------------------------------------------------------------------------------


def told(kept: StandInCluster) -> list[tuple[str, str]]:
    return [(one["type"], one["reason"]) for one in kept.events]


@asynchronous
async def test_people_are_told_what_is_new_of_the_summary() -> None:
    """Waiting is no news, and neither is what was told before; a reason that is another is."""
    kept = StandInCluster()
    kept.create("alert", SPEC)
    waiting = replace(WELL, live=replace(LIVE, standings={"ingest/pod-a": BEHIND}))
    late = replace(WELL, live=replace(LIVE, standings={"ingest/pod-a": BEHIND}, waited_seconds=99))
    async with standing_in(kept) as cluster:
        desk = Desk(cluster)
        for findings in (waiting, WELL, WELL, late, replace(late, live=replace(LIVE, standings={})), WELL):
            await desk.writer.write(kept.get("weather/alert"), findings)
    assert told(kept) == [
        ("Normal", "Ready"),
        ("Warning", "AckTimeout"),
        ("Warning", "NoReplicas"),
        ("Normal", "Ready"),
    ]
    assert {one["involvedObject"]["name"] for one in kept.events} == {"alert"}


@asynchronous
async def test_an_event_that_cannot_be_stored_stops_nothing() -> None:
    kept = StandInCluster()
    seen = kept.create("alert", SPEC)
    kept.before = lambda asked: answering(403) if asked.target.endswith("/events") else None
    async with standing_in(kept) as cluster:
        await Desk(cluster).writer.write(seen, WELL)
    assert kept.get("weather/alert").status.observed_generation == 1


@asynchronous
async def test_a_status_that_may_not_be_written_is_an_error() -> None:
    kept = StandInCluster()
    seen = kept.create("alert", SPEC)
    message = {"message": 'cannot patch resource "eventschemas/status"'}
    kept.before = lambda asked: answering(403, message)
    async with standing_in(kept) as cluster:
        with pytest.raises(ClusterRefused, match="eventschemas/status"):
            await Desk(cluster).writer.write(seen, WELL)
