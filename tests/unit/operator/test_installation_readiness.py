"""Waiting for an installation: what is ready is told as it gets so, and what is not is told with its reason."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import urllib3
from kubernetes.client import Configuration

from aviso_core.errors import Unavailable
from aviso_operator.installation.__main__ import main
from aviso_operator.installation.objects import ApiServer
from aviso_operator.installation.readiness import wait_ready, why_not_answering
from aviso_operator.installation.round_trip import frames_of
from aviso_operator.installation.workloads import what_is_missing, why_not_rolled_out
from support.event_logs import asynchronous
from support.http_server import running_http_server

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from support.http_server import Asked


def answer(status: int, body: bytes = b"") -> bytes:
    head = f"HTTP/1.1 {status} Whatever\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def waited(addresses: Mapping[str, str], *, seconds: float) -> list[str]:
    """Wait in a thread, and return what was told."""
    told: list[str] = []
    with urllib3.PoolManager(retries=False) as http:
        parts = {name: partial(why_not_answering, http, url) for name, url in addresses.items()}
        await asyncio.to_thread(wait_ready, parts, seconds=seconds, tell=told.append)
    return told


@asynchronous
async def test_a_part_that_is_not_ready_yet_is_asked_again() -> None:
    async def behaviour(asked: Asked, writer: asyncio.StreamWriter) -> None:
        is_first = len(server.asked) == 1
        writer.write(answer(503, b"starting") if is_first else answer(200))

    async with running_http_server(behaviour) as server:
        assert await waited({"ingest": f"{server.url}/ready"}, seconds=30) == ["ingest: ready"]
        assert [asked.target for asked in server.asked] == ["/ready", "/ready"]


@asynchronous
async def test_what_does_not_get_ready_is_told_with_the_last_reason() -> None:
    async def behaviour(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(200) if asked.target == "/good" else answer(503, b"no broker"))

    async with running_http_server(behaviour) as server:
        addresses = {
            "schema": f"{server.url}/good",
            "gateway": f"{server.url}/bad",
            "ingest": "http://127.0.0.1:9/ready",
        }
        with pytest.raises(Unavailable) as caught:
            await waited(addresses, seconds=0)
    told = str(caught.value)
    assert "gateway: 503 no broker" in told
    assert "ingest: " in told
    assert "schema" not in told


def workload(*, generation: int = 2, observed: int = 2, **status: int) -> dict[str, Any]:
    return {
        "metadata": {"generation": generation},
        "spec": {"replicas": 3},
        "status": {"observedGeneration": observed, **status},
    }


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (workload(replicas=3, updatedReplicas=3, availableReplicas=3), None),
        (workload(observed=1, replicas=3, updatedReplicas=3, availableReplicas=3), "not been seen"),
        (workload(replicas=4, updatedReplicas=3, availableReplicas=4), "replicas 4"),
        (workload(replicas=3, updatedReplicas=1, availableReplicas=3), "updatedReplicas 1"),
        (workload(replicas=3, updatedReplicas=3, availableReplicas=2), "availableReplicas 2"),
        (workload(), "of 3 pods: replicas 0"),
    ],
)
def test_a_workload_is_ready_when_all_its_pods_are_new_ones(
    document: dict[str, Any], words: str | None
) -> None:
    """As many as are wanted, none of before, and each takes requests."""
    missing = what_is_missing(document)
    assert missing is None if words is None else words in (missing or "")


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (200, workload(replicas=3, updatedReplicas=3, availableReplicas=3), None),
        (404, {}, "it is not there"),
        (403, {"message": "no right"}, "no right"),
    ],
)
@asynchronous
async def test_a_workload_is_asked_for_where_it_is(
    status: int, body: dict[str, Any], words: str | None
) -> None:
    async def behaviour(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(status, json.dumps(body).encode()))

    async with running_http_server(behaviour) as server:
        cluster = ApiServer(Configuration(host=server.url))
        told = await asyncio.to_thread(why_not_rolled_out, cluster, "here", "deployments/aviso-ingest")
        assert [asked.target for asked in server.asked] == [
            "/apis/apps/v1/namespaces/here/deployments/aviso-ingest"
        ]
    assert told is None if words is None else words in (told or "")


def test_the_command_fails_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ready", "--seconds=0", "edge=http://127.0.0.1:9/ready"]) == 1
    told = capsys.readouterr().err
    assert "not ready after 0 s" in told
    assert "edge: " in told


def test_workloads_are_asked_for_beside_addresses(tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    context = {"cluster": "it", "user": "it"}
    file.write_text(
        json.dumps(
            {
                "current-context": "it",
                "clusters": [{"name": "it", "cluster": {"server": "http://127.0.0.1:9"}}],
                "users": [{"name": "it", "user": {}}],
                "contexts": [{"name": "it", "context": context}],
            }
        )
    )
    asked = ["--workload=deployments/aviso-ingest", "--workload=statefulsets/aviso-nats"]
    ran = subprocess.run(
        [
            *(sys.executable, "-m", "aviso_operator.installation", "ready", "--seconds=0"),
            *(*asked, "edge=http://127.0.0.1:9/ready"),
        ],
        env={**os.environ, "KUBECONFIG": str(file), "KUBERNETES_SERVICE_HOST": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 1
    assert "deployments/aviso-ingest: the API server gives no answer" in ran.stderr
    assert "statefulsets/aviso-nats: " in ran.stderr
    assert "edge: " in ran.stderr


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["ready", "http://127.0.0.1:9"], "is not NAME=URL"),
        (["ready"], "NAME=URL"),
        (["round-trip", "--name=x"], "--publish-at"),
        ([], "COMMAND"),
    ],
)
def test_a_command_line_that_makes_no_sense_is_refused(
    arguments: list[str], names: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert names in capsys.readouterr().err


@asynchronous
async def test_frames_are_given_as_they_come_and_only_those_with_data() -> None:
    pieces = [
        b'event: live-notification\nid: a\ndata: {"id"',
        b': "1"}\n\n: heartbeat\n\ndata: {"id": "2"}\n\nevent: x\n',
    ]

    async def behaviour(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        writer.close()

    def read(url: str) -> list[tuple[str, object]]:
        with urllib3.PoolManager(retries=False) as http:
            stream = http.request("GET", url, preload_content=False, timeout=10)
            return list(frames_of(stream))

    async with running_http_server(behaviour) as server:
        assert await asyncio.to_thread(read, server.url) == [
            ("live-notification", {"id": "1"}),
            ("", {"id": "2"}),
        ]
