"""Events beside the objects that they are about: what they say, and that none of them stops anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from aviso_operator.announcements import COMPONENT, Announcements
from support.event_logs import asynchronous
from support.http_server import answering
from support.registries import ManualClock
from support.stand_in_cluster import StandInCluster, standing_in

if TYPE_CHECKING:
    from aviso_operator.cluster import Cluster

SPEC: Final = {"topic": {"base": "alert", "keyOrder": ["place"]}, "identifiers": []}


def announcements(cluster: Cluster) -> Announcements:
    return Announcements(cluster, ManualClock(), pod="operator-0")


@asynchronous
async def test_an_event_tells_of_what_it_is_who_says_it_and_when() -> None:
    kept = StandInCluster()
    about = kept.create("alert", SPEC)
    async with standing_in(kept) as cluster:
        await announcements(cluster).tell(
            about, "Warning", "Conflicted", "ocean/alert has topic base 'alert'"
        )
    (event,) = kept.events
    assert event["metadata"] == {"name": f"alert.{1000 * 10**9:x}", "namespace": "weather"}
    assert event["involvedObject"] == {
        "apiVersion": "aviso.dev/v1alpha1",
        "kind": "EventSchema",
        "namespace": "weather",
        "name": "alert",
        "uid": about.uid,
        "resourceVersion": about.resource_version,
    }
    assert (event["type"], event["reason"]) == ("Warning", "Conflicted")
    assert event["message"] == "ocean/alert has topic base 'alert'"
    assert event["source"] == {"component": COMPONENT, "host": "operator-0"}
    assert event["firstTimestamp"] == event["lastTimestamp"] == "1970-01-01T00:16:40Z"


@asynchronous
async def test_what_is_too_long_for_the_api_server_is_cut() -> None:
    kept = StandInCluster()
    # The cut falls on a character with which no name may end.
    about = kept.create(f"{'a' * 240}.{'b' * 12}", SPEC)
    async with standing_in(kept) as cluster:
        await announcements(cluster).tell(about, "Normal", "Ready", "x" * 2000)
    (event,) = kept.events
    assert len(event["metadata"]["name"]) <= 253
    assert event["metadata"]["name"].startswith("a" * 240)
    assert ".." not in event["metadata"]["name"]
    assert event["involvedObject"]["name"] == about.name
    assert event["message"] == f"{'x' * 1023}…"


@pytest.mark.parametrize("status", [403, 404, 422, 429, 500])
@asynchronous
async def test_what_cannot_be_stored_is_only_logged(status: int) -> None:
    kept = StandInCluster()
    about = kept.create("alert", SPEC)
    kept.before = lambda asked: answering(status)
    async with standing_in(kept) as cluster:
        await announcements(cluster).tell(about, "Normal", "Ready", "all is well")
    assert kept.events == []
