"""`aviso-operator release-finalizers`, as it is run: which cluster it finds, what it takes off, and what it says."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest

from aviso_operator.cluster import Outdated
from aviso_operator.finalizers import release_finalizers
from aviso_operator.handlers import FINALIZER
from aviso_operator.options import Watched
from support.event_logs import asynchronous
from support.http_server import answering, running_http_server
from support.stand_in_cluster import StandInCluster, standing_in

if TYPE_CHECKING:
    from pathlib import Path

    from support.http_server import Asked, Behaviour

SPEC: Final = {"topic": {"base": "alert", "keyOrder": ["place"]}, "identifiers": []}
OTHER: Final = "example.com/other"


class Ran(NamedTuple):
    """What a command said, and how it ended."""

    code: int | None
    said: str
    complained: str


async def run(kubeconfig: Path, *arguments: str) -> Ran:
    """Run the command outside of any pod, with a kubeconfig."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "aviso_operator", *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "KUBECONFIG": str(kubeconfig), "KUBERNETES_SERVICE_HOST": ""},
    )
    said, complained = await process.communicate()
    return Ran(process.returncode, said.decode(), complained.decode())


def kubeconfig(server: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "it",
        "clusters": [{"name": "it", "cluster": {"server": server}}],
        "users": [{"name": "it", "user": {"token": "a-token"}}],
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
    }


@asynchronous
async def test_our_finalizer_is_taken_off_and_others_stay(tmp_path: Path) -> None:
    kept = StandInCluster()
    kept.create("alert", SPEC, finalizers=[FINALIZER, OTHER])
    kept.create("free", SPEC)
    kept.create("foreign", SPEC, namespace="ocean", finalizers=[FINALIZER])
    file = tmp_path / "kubeconfig"
    async with running_http_server(kept.answer) as server:
        file.write_text(json.dumps(kubeconfig(server.url)))
        ran = await run(file, "release-finalizers", "--namespace=weather")
    assert ran == (0, "released weather/alert\n", "")
    assert kept.get("weather/alert").finalizers == (OTHER,)
    assert kept.get("ocean/foreign").finalizers == (FINALIZER,), "that namespace was not meant"
    assert kept.writes == ["metadata weather/alert"]


@pytest.mark.parametrize("content", [None, "{}", "no: [yaml"], ids=["no file", "nothing in it", "no YAML"])
@asynchronous
async def test_without_a_cluster_it_is_said_how_to_name_one(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "kubeconfig"
    if content is not None:
        file.write_text(content)
    ran = await run(file, "release-finalizers", "--all-namespaces")
    assert (ran.code, ran.said) == (1, "")
    assert ran.complained.startswith(
        "aviso-operator: which cluster? Run in a pod with a ServiceAccount, or set KUBECONFIG"
    )
    assert "Traceback" not in ran.complained


@asynchronous
async def test_whoever_changes_an_object_meanwhile_loses_nothing() -> None:
    kept = StandInCluster()
    kept.create("alert", SPEC, finalizers=[FINALIZER])
    changes = [{"note": "1"}, {"note": "2"}]

    def annotate(asked: Asked) -> Behaviour | None:
        if asked.method == "PATCH" and changes:
            kept.annotate("weather/alert", **changes.pop())
        return None

    kept.before = annotate
    async with standing_in(kept) as cluster:
        assert await release_finalizers(cluster, Watched(None)) == ["weather/alert"]
    now = kept.get("weather/alert")
    assert (now.finalizers, now.annotations) == ((), {"note": "1"})


@asynchronous
async def test_one_that_goes_meanwhile_is_released_too() -> None:
    kept = StandInCluster()
    kept.create("alert", SPEC, finalizers=[FINALIZER])

    def go(asked: Asked) -> Behaviour | None:
        if asked.method == "PATCH":
            kept.delete("weather/alert")
        return None

    kept.before = go
    async with standing_in(kept) as cluster:
        assert await release_finalizers(cluster, Watched(None)) == ["weather/alert"]


@asynchronous
async def test_where_everything_has_gone_nothing_is_to_be_done() -> None:
    """The definition may go before the release does, and so may a namespace."""
    kept = StandInCluster()
    kept.create("alert", SPEC, namespace="ocean", finalizers=[FINALIZER])

    def gone(asked: Asked) -> Behaviour | None:
        return answering(404, {"message": "gone"}) if "/namespaces/weather/" in asked.target else None

    kept.before = gone
    async with standing_in(kept) as cluster:
        assert await release_finalizers(cluster, Watched(("weather", "ocean"))) == ["ocean/alert"]


@asynchronous
async def test_one_that_changes_all_the_time_is_an_error() -> None:
    kept = StandInCluster()
    kept.create("alert", SPEC, finalizers=[FINALIZER])

    def annotate(asked: Asked) -> Behaviour | None:
        if asked.method == "PATCH":
            kept.annotate("weather/alert", note="again")
        return None

    kept.before = annotate
    async with standing_in(kept) as cluster:
        with pytest.raises(Outdated, match="weather/alert changes faster"):
            await release_finalizers(cluster, Watched(None))
