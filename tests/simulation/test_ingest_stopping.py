"""A service is told to stop while many publish: what was acknowledged is in the log, nobody gets half an answer."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

import pytest

from support.event_logs import asynchronous
from support.lines import Line, get
from support.log_story import stored
from support.nats import open_link, running_server
from support.observed import in_memory, looking, on_broker
from support.producers import check, publishing
from support.services import running_avisod, write_configuration

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping
    from pathlib import Path

    from support.producers import Told
    from support.services import Program

# The moment in which clients notice, and a little for what was accepted: there is nothing slow here.
STOPS_WITHIN_SECONDS: Final = 5.0
# So long an append may take (architecture: the log's own deadline).
APPEND_SECONDS: Final = 10.0


async def exit_code(process: subprocess.Popen[bytes]) -> int:
    """Wait until a process has ended."""
    return await asyncio.to_thread(process.wait, 30)


class Crowd(NamedTuple):
    """Who publishes."""

    singles: int
    batches: int = 0
    headers: Mapping[str, str] = {}
    # Connections on which nothing is asked.
    idle: int = 0


CROWDS: Final = {
    "very many": Crowd(24, 8),
    # All of its connections may be closed at the same moment.
    "one": Crowd(1),
    "connections for one request": Crowd(3, 1, {"Connection": "close"}, idle=1),
}


@asynccontextmanager
async def holding(port: int, count: int) -> AsyncIterator[None]:
    """Hold connections open as long as they last."""
    lines = [Line(port) for _ in range(count)]
    for line in lines:
        assert await line.ask(get("/health")) is not None
    yield
    for line in lines:
        await line.close()


@asynccontextmanager
async def stopped_under_load(
    program: Program, crowd: Crowd, number: signal.Signals = signal.SIGTERM
) -> AsyncIterator[Told]:
    """Have a crowd publish, tell the process to stop, and make sure that it does so in good order."""
    async with (
        holding(program.port, crowd.idle),
        publishing(
            [program.port], singles=crowd.singles, batches=crowd.batches, headers=crowd.headers
        ) as told,
        looking(program.port, "/ready") as looks,
    ):
        await told.wait_more(300)
        await looks.wait(200)
        began = time.monotonic()
        program.process.send_signal(number)
        assert await exit_code(program.process) == 0
        assert time.monotonic() - began < STOPS_WITHIN_SECONDS
        await looks.wait(None)
    assert looks.statuses == [200, 503, None]
    assert told.statuses.keys() == {200}
    assert told.first_unanswered_at is None or looks.first_at[503] < told.first_unanswered_at
    yield told


@pytest.mark.parametrize("crowd", CROWDS)
@asynchronous
async def test_what_was_acknowledged_is_in_the_log(crowd: str, tmp_path: Path) -> None:
    """And what was not answered is not: its connection was closed before the request was taken."""
    with (
        running_server(tmp_path / "broker") as broker,
        running_avisod(tmp_path, on_broker(broker.url)) as program,
    ):
        async with stopped_under_load(program, CROWDS[crowd]) as told:
            check(told, await stored(broker.url), also=())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@asynchronous
async def test_nobody_gets_half_an_answer(number: signal.Signals, tmp_path: Path) -> None:
    """However the process is told, and where nothing is slow."""
    with running_avisod(tmp_path, in_memory()) as program:
        async with stopped_under_load(program, CROWDS["very many"], number) as told:
            assert told.acknowledged


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@asynchronous
async def test_who_is_told_twice_ends_at_once(number: signal.Signals, tmp_path: Path) -> None:
    """As a process does that has nothing to say to it. What was acknowledged until then is in the log."""
    with (
        running_server(tmp_path / "broker") as broker,
        running_avisod(tmp_path, on_broker(broker.url)) as program,
    ):
        async with (
            # It is as good as killed: an answer may be half written then.
            publishing([program.port], singles=8, batches=4, may_break_off=True) as told,
            looking(program.port, "/ready") as looks,
        ):
            await told.wait_more(300)
            program.process.send_signal(number)
            await looks.wait(503)
            began = time.monotonic()
            program.process.send_signal(number)
            code = await exit_code(program.process)
            seconds = time.monotonic() - began
        check(told, await stored(broker.url))
    assert "Traceback" not in program.output.read_text()
    assert code == -number
    # To stop in good order takes longer, and another code.
    assert seconds < 2.0


@asynchronous
async def test_requests_are_answered_though_the_broker_is_away(tmp_path: Path) -> None:
    """Each with what it is answered otherwise, as soon as an append may take no longer; then the process ends."""
    with (
        running_server(tmp_path / "broker") as broker,
        running_avisod(tmp_path, on_broker(broker.url)) as program,
    ):
        async with (
            publishing([program.port], singles=6, batches=3) as told,
            looking(program.port, "/ready") as looks,
        ):
            await told.wait_more(300)
            await asyncio.to_thread(broker.kill)
            await looks.wait(503)
            # What nobody has begun to read when the process is told to stop is not taken any more.
            await told.wait_until(lambda: told.under_way == 9)
            await looks.again()
            began = time.monotonic()
            program.process.send_signal(signal.SIGTERM)
            assert await exit_code(program.process) == 0
            seconds = time.monotonic() - began
        await asyncio.to_thread(broker.start)
        check(told, await stored(broker.url), also=told.failed)
    assert seconds < APPEND_SECONDS + STOPS_WITHIN_SECONDS
    assert told.statuses.keys() == {200, 500}
    assert {json.loads(payload).partition(":")[0] for payload in told.failed} == {f"p{n}" for n in range(9)}


@contextmanager
def starting(folder: Path, file: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process that need not come to the point of listening."""
    with (folder / "output").open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "aviso_all_in_one", "serve", "--config", str(file)],
            stdout=output,
            stderr=output,
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@asynchronous
async def test_a_start_is_given_up(tmp_path: Path) -> None:
    """Where it waits for a broker that does not answer: whoever started it need not wait for that too."""
    with running_server(tmp_path / "broker") as broker:
        async with open_link(broker) as link:
            link.pause()
            file = write_configuration(tmp_path, on_broker(link.url))
            with starting(tmp_path, file) as process:
                await link.wait_connections(1)
                process.send_signal(signal.SIGTERM)
                began = time.monotonic()
                assert await exit_code(process) == 0
                assert time.monotonic() - began < STOPS_WITHIN_SECONDS
    told = (tmp_path / "output").read_text()
    assert "told to stop before it had started" in told
    assert "Traceback" not in told
