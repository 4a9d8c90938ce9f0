"""A process that is told to stop: its streams end one after the other, each with a word, and nothing is cut short."""

from __future__ import annotations

import asyncio
import itertools
import signal
import time
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Final

import httpx

from support.event_logs import asynchronous
from support.nats import running_server
from support.services import running_avisod, running_program, write_configuration
from support.sse import REPLAY, WATCH, Way, streaming
from support.watching import configured, jetstream, of_storms, storm

if TYPE_CHECKING:
    from pathlib import Path

    from support.services import Program
    from support.sse import SseStream

WINDOW_SECONDS: Final = 2


async def closed(stream: SseStream) -> tuple[float, str]:
    """Return when a stream ends, and with what."""
    *_, closing = await stream.rest()
    return time.monotonic(), closing.kind


async def new_stream(program: Program, path: str) -> None:
    """Ask for a stream, which is refused with the advice to come again, on a connection that is closed."""
    async with streaming(program.port, path, of_storms(from_id="1")) as stream:
        assert stream.status == 503
        assert stream.headers["retry-after"] == ["1"]
        assert stream.headers["connection"] == ["close"]
        assert (await stream.refusal())["code"] == "OVERLOADED"


async def drained(client: httpx.AsyncClient) -> None:
    """Wait until the process says that it is on its way out."""
    while (await client.get("/ready")).status_code != 503:
        continue


def test_each_stream_ends_at_a_moment_of_its_own(tmp_path: Path) -> None:
    """Two hundred of them, carried in every way, within the time that is set; new ones are sent elsewhere."""
    configuration = configured(streams={"drain_seconds": WINDOW_SECONDS}, logging={"level": "info"})

    @asynchronous
    async def over(program: Program) -> None:
        async with AsyncExitStack() as stack:
            client = await stack.enter_async_context(httpx.AsyncClient(base_url=program.url))
            for number in range(30):
                await client.post("/api/v1/notification", json=storm(number, payload="x" * 50_000))
            bodies = itertools.cycle((of_storms(identifier={"basin": "none"}), of_storms(from_id="30")))
            streams = [
                await stack.enter_async_context(streaming(program.port, WATCH, body, way=way))
                for way, body in zip(itertools.islice(itertools.cycle(Way), 200), bodies, strict=False)
            ]
            for stream in streams:
                await stream.next()
            # Somebody in the midst of history, who has not read for a while.
            slow = await stack.enter_async_context(
                streaming(program.port, WATCH, of_storms(from_id="1"), is_slow=True)
            )
            told_at = time.monotonic()
            program.process.send_signal(signal.SIGTERM)
            await drained(client)
            await asyncio.gather(*(new_stream(program, path) for path in (WATCH, REPLAY)))
            ended = await asyncio.gather(*map(closed, [*streams, slow]))
            assert {kind for _, kind in ended} == {"connection-closing server_shutdown"}
            moments = sorted(at - told_at for at, _ in ended)
            assert moments[-1] < WINDOW_SECONDS + 2
            # All over the time that is set: in each quarter of it some, and in none nearly all.
            begin, lasted = moments[0], moments[-1] - moments[0]
            assert lasted > WINDOW_SECONDS / 2
            quarters = [min(3, int(4 * (moment - begin) / lasted)) for moment in moments]
            assert all(10 < quarters.count(quarter) < 130 for quarter in range(4)), moments
            assert await asyncio.to_thread(program.process.wait, 10) == 0

    with running_avisod(tmp_path, configuration) as program:
        over(program)
        said = program.output.read_text()
    assert "Traceback" not in said
    assert '"ERROR"' not in said


def test_a_replay_may_end_and_a_reader_that_has_stalled_may_not_hold_the_process(tmp_path: Path) -> None:
    """What was asked for before is answered to its end, if that is read within the time that streams have."""
    configuration = configured(
        streams={"drain_seconds": 1, "send_buffer_bytes": 16_384}, logging={"level": "info"}
    )

    @asynchronous
    async def over(program: Program) -> None:
        async with AsyncExitStack() as stack:
            client = await stack.enter_async_context(httpx.AsyncClient(base_url=program.url))
            for place in range(60):
                await client.post("/api/v1/notification", json=storm(place, payload="x" * 50_000))
            reading, stalled = [
                await stack.enter_async_context(
                    streaming(program.port, REPLAY, of_storms(from_id="1"), is_slow=True)
                )
                for _ in range(2)
            ]
            for stream in (reading, stalled):
                await stream.next()
            program.process.send_signal(signal.SIGINT)
            told_at = time.monotonic()
            frames = await reading.rest()
            assert frames[-1].kind in (
                "connection-closing end_of_stream",
                "connection-closing server_shutdown",
            )
            assert await asyncio.to_thread(program.process.wait, 15) == 0
            assert time.monotonic() - told_at < 12

    with running_avisod(tmp_path, configuration) as program:
        over(program)


def test_several_gateways_serve_one_log(tmp_path: Path) -> None:
    """What one process takes in, watchers of all others are sent; one that stops sends its own elsewhere."""
    with running_server(tmp_path / "broker") as broker:
        configuration = configured(
            jetstream(broker.url), streams={"drain_seconds": 1}, logging={"level": "info"}
        )
        file = write_configuration(tmp_path, configuration)
        environ = {"AVISOSERVER_CONFIG_FILE": str(file)}
        folders = [tmp_path / name for name in ("ingest", "first", "second")]
        for folder in folders:
            folder.mkdir()
        with (
            running_program(folders[0], "aviso_ingest", environ=environ) as ingest,
            running_program(folders[1], "aviso_stream_gateway", environ=environ) as first,
            running_program(folders[2], "aviso_stream_gateway", environ=environ) as second,
        ):
            _watched_through_both(ingest, first, second)


@asynchronous
async def _watched_through_both(ingest: Program, first: Program, second: Program) -> None:
    gateways = (first, second)
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(httpx.AsyncClient(base_url=ingest.url))

        async def notify(*numbers: int) -> None:
            for number in numbers:
                answer = await client.post("/api/v1/notification", json=storm(number))
                assert answer.status_code == 200, answer.text

        streams = [
            await stack.enter_async_context(streaming(program.port, WATCH, of_storms()))
            for program in gateways
            for _ in range(3)
        ]
        for stream in streams:
            await stream.next()
        await notify(1, 2)
        for stream in streams:
            assert [frame.data["id"] for frame in await stream.take(2)] == ["storms@1", "storms@2"]
        first.process.send_signal(signal.SIGTERM)
        left = [await closed(stream) for stream in streams[:3]]
        assert {kind for _, kind in left} == {"connection-closing server_shutdown"}
        await notify(3)
        async with streaming(second.port, WATCH, of_storms(from_id="3")) as resumed:
            assert (await resumed.take(2))[1].data["id"] == "storms@3"
            await notify(4)
            for stream in (*streams[3:], resumed):
                kinds = [frame.kind for frame in await stream.until("live-notification storms@4")]
                assert kinds[-1] == "live-notification storms@4"
        # Each has its own routes and no others.
        async with httpx.AsyncClient() as other:
            assert (await other.post(f"{ingest.url}{WATCH}", json=of_storms())).status_code == 404
            assert (await other.post(f"{second.url}/api/v1/notification", json=storm(1))).status_code == 404
        assert await asyncio.to_thread(first.process.wait, 10) == 0
