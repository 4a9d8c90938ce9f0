"""What goes wrong with the broker while many publish over HTTP: what each is told, and what is there in the end."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import pytest

from support.event_logs import asynchronous
from support.lines import ask, get, post
from support.log_story import stored
from support.nats import open_link, running_server
from support.observed import looking, on_broker, serving
from support.producers import BATCH, SINGLE, check, publishing
from support.services import running_avisod

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from support.nats import Link
    from support.producers import Told
    from support.services import Program

# How long the log tries to append (its own deadline), and what the rest of an answer may take.
APPEND_SECONDS: Final = 10.0
ANSWERS_WITHIN_SECONDS: Final = 1.0
CUTS: Final = (1, 5)
SINGLES: Final = 12
BATCHES: Final = 4
MORE_THAN_UNDER_WAY: Final = 300

ONE: Final = {"event_type": "mars", "identifier": {"producer": "a"}, "payload": "a:0"}


@asynchronous
async def test_a_broker_that_is_away_is_told_until_it_is_back(tmp_path: Path) -> None:
    """To whoever publishes within the deadline, to whoever asks for readiness at once; nobody has to restart us."""
    with (
        running_server(tmp_path / "broker") as broker,
        running_avisod(tmp_path, on_broker(broker.url)) as program,
    ):
        single = post(SINGLE, ONE, Idempotency_Key="a:0")
        batch = post(BATCH, [{**ONE, "payload": f"a:{n}", "id": f"a:{n}"} for n in range(3)])
        atomic = post(f"{BATCH}?atomic=true", [{**ONE, "payload": "a:9", "id": "a:9"}])
        assert (await ask(program.port, single)).status == 200
        async with looking(program.port, "/ready") as looks:
            await looks.wait(200)
            await asyncio.to_thread(broker.kill)
            await looks.wait(503)
            began = time.monotonic()
            answers = await asyncio.gather(
                *(ask(program.port, request) for request in (single, batch, atomic, get("/health")))
            )
            seconds = time.monotonic() - began
            assert [answer.status for answer in answers] == [500, 200, 500, 200]
            assert {answers[0].json["code"], answers[2].json["code"]} == {"NOTIFICATION_STORAGE_FAILED"}
            became = [(one["status"], one["code"]) for one in answers[1].json["results"]]
            assert became == [("failed", "NOTIFICATION_STORAGE_FAILED")] * 3
            assert seconds < APPEND_SECONDS + ANSWERS_WITHIN_SECONDS
            assert looks.statuses == [200, 503]
            await asyncio.to_thread(broker.start)
            await looks.wait(200)
        assert (await ask(program.port, single)).status == 200
        again = (await ask(program.port, batch)).json["results"]
        assert [one["status"] for one in again] == ["duplicate", "accepted", "accepted"]
        assert list((await stored(broker.url)).values()) == [b'"a:0"', b'"a:1"', b'"a:2"']


@asynccontextmanager
async def linked(tmp_path: Path) -> AsyncIterator[tuple[Program, Link, Told]]:
    """Have producers publish to a service whose way to the broker can be broken; at the end compare what is there."""
    with running_server(tmp_path / "broker") as broker:
        async with open_link(broker) as link:
            async with (
                serving(tmp_path, on_broker(link.url)) as program,
                publishing([program.port], singles=SINGLES, batches=BATCHES, is_patient=True) as told,
            ):
                await told.wait_more(MORE_THAN_UNDER_WAY)
                yield program, link, told
                await told.wait_more(MORE_THAN_UNDER_WAY)
            check(told, await stored(broker.url), also=())


@pytest.mark.parametrize("seconds", CUTS)
@asynchronous
async def test_the_way_to_the_broker_is_cut(seconds: int, tmp_path: Path) -> None:
    """Shorter than an append may take, that is only a pause: nobody is told of it, and nothing is stored twice."""
    async with linked(tmp_path) as (program, link, told):
        link.cut()
        async with looking(program.port, "/ready") as looks:
            await looks.wait(503)
            await asyncio.sleep(seconds)
            link.mend()
            await looks.wait(200)
    assert told.statuses.keys() == {200}


@pytest.mark.parametrize("seconds", CUTS)
@asynchronous
async def test_the_broker_is_slow(seconds: int, tmp_path: Path) -> None:
    """It takes nothing and says nothing for a while, and then everything at once."""
    async with linked(tmp_path) as (_, link, told):
        link.pause()
        await asyncio.sleep(seconds)
        link.mend()
    assert told.statuses.keys() == {200}


@asynchronous
async def test_answers_of_the_broker_are_lost(tmp_path: Path) -> None:
    """Several times: everything was stored, and nobody was told."""
    async with linked(tmp_path) as (_, link, told):
        for _ in range(3):
            link.lose_answers()
            await link.wait_lost_answers(3)
            link.cut()
            link.mend()
            # More than was under way: what is acknowledged now came over the new connection.
            await told.wait_more(MORE_THAN_UNDER_WAY)
    assert told.statuses.keys() == {200}


@asynchronous
async def test_the_broker_is_killed_again_and_again(tmp_path: Path) -> None:
    """With producers that come again until they are told that it is stored."""
    with (
        running_server(tmp_path / "broker") as broker,
        running_avisod(tmp_path, on_broker(broker.url)) as program,
    ):
        async with publishing([program.port], singles=SINGLES, batches=BATCHES, is_patient=True) as told:
            for _ in range(4):
                await told.wait_more(MORE_THAN_UNDER_WAY)
                await asyncio.to_thread(broker.kill)
                await asyncio.to_thread(broker.start)
            await told.wait_more(MORE_THAN_UNDER_WAY)
        check(told, await stored(broker.url), also=())
