"""Where the operator tells of itself: what is answered is what is so at that moment."""

from __future__ import annotations

import socket
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import httpx
import pytest

from aviso_core.errors import Unavailable
from aviso_operator.endpoint import Health, open_endpoint
from support.event_logs import asynchronous

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class Told:
    """What the operator says of itself."""

    def __init__(self) -> None:
        self.healthy = Health(True)
        self.ready = Health(False, "the objects of the cluster are not known yet")
        self.metrics = b"a_series 1\n"


@asynccontextmanager
async def asking(told: Told) -> AsyncIterator[httpx.AsyncClient]:
    async with (
        open_endpoint(
            "127.0.0.1",
            0,
            healthy=lambda: told.healthy,
            ready=lambda: told.ready,
            metrics=lambda: told.metrics,
        ) as port,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client,
    ):
        yield client


@asynchronous
async def test_health_and_readiness_are_two_questions_with_reasons() -> None:
    told = Told()
    async with asking(told) as client:
        answers = [await client.get(path) for path in ("/healthz", "/readyz")]
        assert [(one.status_code, one.text) for one in answers] == [
            (200, "ok\n"),
            (503, "the objects of the cluster are not known yet\n"),
        ]
        told.healthy, told.ready = Health(False, "not everything was looked at for 900 s"), Health(True)
        answers = [await client.get(path) for path in ("/healthz", "/readyz")]
        assert [one.status_code for one in answers] == [503, 200]
        assert "900 s" in answers[0].text


@asynchronous
async def test_metrics_are_those_of_now_in_the_form_that_is_scraped() -> None:
    told = Told()
    async with asking(told) as client:
        told.metrics = b"a_series 2\n"
        answer = await client.get("/metrics")
        assert answer.content == b"a_series 2\n"
        assert answer.headers["content-type"].startswith("text/plain; version=")
        assert (await client.get("/")).status_code == 404
        assert (await client.post("/metrics")).status_code == 405


@asynchronous
async def test_a_port_that_is_taken_is_told() -> None:
    told = Told()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(Unavailable, match=f"cannot listen on 127.0.0.1:{port}: "):
            async with open_endpoint(
                "127.0.0.1",
                port,
                healthy=lambda: told.healthy,
                ready=lambda: told.ready,
                metrics=lambda: told.metrics,
            ):
                raise AssertionError("nobody can have it twice")
