"""What the API server says, and what becomes of it: over HTTP, from a server that answers as it is told."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Final

import pytest
from kubernetes.client import Configuration

from aviso_core.errors import AvisoError, Unavailable
from aviso_operator.cluster import ClusterRefused, Outdated, Vanished, open_cluster
from support.event_logs import asynchronous
from support.http_server import BROKEN, answering, running_http_server
from support.nats import free_ports
from support.stand_in_cluster import StandInCluster, configuration, standing_in

if TYPE_CHECKING:
    from aviso_operator.resources import Resource
    from support.http_server import Asked, Behaviour

# More than two pages of them.
MANY: Final = 1001
SPEC: Final = {"topic": {"base": "alert", "keyOrder": ["place"]}, "identifiers": []}


def names(resources: tuple[Resource, ...]) -> set[str]:
    return {one.key for one in resources}


# --- listing ---------------------------------------------------------------------------------------------


@asynchronous
async def test_all_pages_are_read() -> None:
    kept = StandInCluster()
    made = {kept.create(f"alert{number}", SPEC).key for number in range(MANY)}
    async with standing_in(kept) as cluster:
        listing = await cluster.list_all(None)
        assert cluster.requests == 3
    assert names(listing.resources) == made
    assert len(listing.resources) == MANY
    assert listing.resource_version == kept.get(f"weather/alert{MANY - 1}").resource_version


@asynchronous
async def test_a_namespace_is_listed_alone() -> None:
    kept = StandInCluster()
    kept.create("alert", SPEC)
    kept.create("alert", SPEC, namespace="ocean")
    async with standing_in(kept) as cluster:
        assert names((await cluster.list_all("ocean")).resources) == {"ocean/alert"}
        assert names((await cluster.list_all(None)).resources) == {"ocean/alert", "weather/alert"}


@asynchronous
async def test_an_object_that_cannot_be_read_is_told_and_keeps_no_other_back() -> None:
    metadata = {"namespace": "weather", "uid": "u", "resourceVersion": "7", "generation": 1}
    items = [
        {"metadata": {"name": "alert", **metadata}, "spec": SPEC},
        {"metadata": {"name": "broken", **metadata}, "spec": {**SPEC, "deletionPolicy": "Perhaps"}},
    ]
    said = {"metadata": {"resourceVersion": "9"}, "items": items}
    async with (
        running_http_server(answering(200, said)) as server,
        open_cluster(configuration(server)) as cluster,
    ):
        listing = await cluster.list_all(None)
    assert names(listing.resources) == {"weather/alert"}
    (reason,) = listing.unreadable
    assert reason.startswith("broken: ")
    assert "deletionPolicy" in reason


@asynchronous
async def test_a_page_that_became_too_old_begins_the_list_anew() -> None:
    kept = StandInCluster()
    made = {kept.create(f"alert{number}", SPEC).key for number in range(MANY)}
    too_old = [410, 410]

    def expire(asked: Asked) -> Behaviour | None:
        if "continue=" in asked.target and too_old:
            return answering(too_old.pop())
        return None

    kept.before = expire
    async with standing_in(kept) as cluster:
        assert names((await cluster.list_all(None)).resources) == made
        kept.before = lambda asked: answering(410, {"message": "too old"})
        with pytest.raises(ClusterRefused, match="too old") as refused:
            await cluster.list_all(None)
    assert refused.value.status == 410


# --- refusals and silence --------------------------------------------------------------------------------

SAID: Final = {"kind": "Status", "message": "as the API server says it"}


@pytest.mark.parametrize(
    ("status", "error"),
    [
        *((status, ClusterRefused) for status in (400, 401, 403, 413, 422)),
        (404, Vanished),
        (409, Outdated),
        *((status, Unavailable) for status in (429, 500, 502, 503, 504)),
    ],
)
@asynchronous
async def test_each_refusal_is_an_error_with_the_words_of_the_api_server(
    status: int, error: type[AvisoError]
) -> None:
    async with (
        running_http_server(answering(status, SAID)) as server,
        open_cluster(configuration(server)) as cluster,
    ):
        with pytest.raises(error, match=SAID["message"]) as raised:
            await cluster.get("weather", "alert")
    assert type(raised.value) is error


@asynchronous
async def test_a_refusal_that_is_no_document_is_told_by_its_status_line() -> None:
    async with (
        running_http_server(answering(403, b"<html>")) as server,
        open_cluster(configuration(server)) as cluster,
    ):
        with pytest.raises(ClusterRefused, match="X"):
            await cluster.get("weather", "alert")


SILENT: Final = (
    "hangs",
    "hangs in the headers",
    "hangs in the body",
    "closes at once",
    "closes in the body",
    "is not HTTP",
)


@pytest.mark.parametrize("how", SILENT)
@asynchronous
async def test_no_answer_is_unavailable(how: str) -> None:
    async with (
        running_http_server(BROKEN[how]) as server,
        open_cluster(configuration(server), answer_seconds=0.2) as cluster,
        asyncio.timeout(5),
    ):
        with pytest.raises(Unavailable):
            await cluster.get("weather", "alert")


@asynchronous
async def test_nobody_there_is_unavailable() -> None:
    nowhere = Configuration()
    nowhere.host, nowhere.retries = f"http://127.0.0.1:{free_ports(1)[0]}", False
    async with open_cluster(nowhere) as cluster:
        with pytest.raises(Unavailable, match="gives no answer"):
            await cluster.list_all(None)


@pytest.mark.parametrize("said", [b"", b"[1]", b"{", b'{"metadata": {}}', b"\xff"])
@asynchronous
async def test_an_answer_that_is_none_is_unavailable(said: bytes) -> None:
    """Something else answers in the place of the API server: that passes, or somebody has to look at it."""
    async with (
        running_http_server(answering(200, said)) as server,
        open_cluster(configuration(server)) as cluster,
    ):
        with pytest.raises(Unavailable, match="cannot be read"):
            await cluster.get("weather", "alert")
        with pytest.raises(Unavailable, match="cannot be read"):
            await cluster.list_all(None)


@asynchronous
async def test_many_are_asked_at_once_and_nobody_waits_for_another() -> None:
    kept = StandInCluster()
    kept.create("alert", SPEC)
    async with standing_in(kept) as cluster, asyncio.timeout(10):
        await asyncio.gather(*(cluster.get("weather", "alert") for _ in range(50)))
        assert cluster.requests == 50


@asynchronous
async def test_what_is_sent_is_what_the_api_server_takes() -> None:
    """A merge, over the version that was seen, as the owner of the token."""
    kept = StandInCluster()
    seen = kept.create("alert", SPEC)
    asked: list[Asked] = []
    kept.before = lambda one: asked.append(one)
    async with standing_in(kept) as cluster:
        await cluster.write_status(seen, {"revision": 3})
        await cluster.write_finalizers(kept.get("weather/alert"), ["example.com/other"])
    place = "/apis/aviso.dev/v1alpha1/namespaces/weather/eventschemas/alert"
    assert [(one.method, one.target) for one in asked] == [("PATCH", f"{place}/status"), ("PATCH", place)]
    assert {one.headers["content-type"] for one in asked} == {"application/merge-patch+json"}
    assert {one.headers["authorization"] for one in asked} == {"Bearer a-token"}
    assert json.loads(asked[0].body) == {
        "metadata": {"resourceVersion": seen.resource_version},
        "status": {"revision": 3},
    }
    now = kept.get("weather/alert")
    assert (now.finalizers, now.status.revision) == (("example.com/other",), 3)
