"""Readers that do not keep up, over connections as they are: they are closed, and delay nobody."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Final

from support.event_logs import asynchronous
from support.kernel import held_for
from support.services import IN_MEMORY
from support.sse import REPLAY, WATCH, Way, streaming
from support.stored import running_with_log
from support.watching import QUIET, configured, of_storms, opened, publish, storm, until

LARGE: Final = "x" * 50_000
SMALL: Final = {"max_waiting_bytes": 100_000, "send_buffer_bytes": 16_384, "stalled_seconds": 1}


@asynchronous
async def test_who_does_not_keep_up_is_closed_and_delays_nobody() -> None:
    """With a word that makes it resume, behind all that it was sent, without a gap; whoever reads gets all at once."""
    # None is cut off while the others are still served, however long that takes.
    streams = SMALL | {"stalled_seconds": 60}
    async with running_with_log(configured(watch_endpoint=QUIET, streams=streams), IN_MEMORY) as stored:
        port = stored.service.port
        async with AsyncExitStack() as stack:
            slow = [
                await stack.enter_async_context(streaming(port, WATCH, of_storms(), way=way, is_slow=True))
                for way in Way
            ]
            quick = [await stack.enter_async_context(streaming(port, WATCH, of_storms())) for _ in range(20)]
            for stream in (*slow, *quick):
                await stream.next()
            await opened(stored, 23)
            held = 0
            for number in range(1, 41):
                await publish(stored.service, [storm(number, payload=LARGE)])
                # Each has it before the next is stored, however many others do not read.
                assert {(await stream.next()).kind for stream in quick} == {
                    f"live-notification storms@{number}"
                }
                one = held_for(port, slow[0].port)
                held = max(held, one.unsent_bytes if one else 0)
            await opened(stored, 20)
            # The kernel counts twice what it was asked for, and was given all that it takes at a time.
            assert held < 4 * 16_384
            for stream in slow:
                *events, closing = await stream.rest()
                assert [frame.kind for frame in events] == [
                    f"live-notification storms@{number}" for number in range(1, len(events) + 1)
                ]
                assert len(events) < 20
                assert closing.kind == "connection-closing end_of_stream"


@asynchronous
async def test_who_takes_nothing_at_all_is_cut_off() -> None:
    """Live or in history, some seconds after its stream has ended; who takes a little now and then is not."""
    async with running_with_log(configured(watch_endpoint=QUIET, streams=SMALL), IN_MEMORY) as stored:
        port = stored.service.port
        await publish(stored.service, [storm(number, payload=LARGE) for number in range(30)])
        async with AsyncExitStack() as stack:
            stalled = [
                await stack.enter_async_context(
                    streaming(port, path, of_storms(**members), way=way, is_slow=True)
                )
                for path, members, way in (
                    (WATCH, {}, Way.PLAIN),
                    (WATCH, {}, Way.PIPELINED),
                    (WATCH, {"from_id": "1"}, Way.PLAIN),
                    (WATCH, {"from_id": "1"}, Way.PIPELINED),
                    (REPLAY, {"from_id": "1"}, Way.PLAIN),
                )
            ]
            steady = await stack.enter_async_context(
                streaming(port, REPLAY, of_storms(from_id="1"), is_slow=True)
            )
            kinds = [(await steady.next()).kind]
            await publish(stored.service, [storm(number, payload=LARGE) for number in range(30)])

            async def read_steadily() -> None:
                # Much slower than everything else here, and always before it would have stalled.
                for _ in range(10):
                    await asyncio.sleep(0.3)
                    kinds.extend([frame.kind for frame in await steady.take(2)])

            await read_steadily()
            kinds += [frame.kind for frame in await steady.rest()]
            assert kinds[-2:] == ["replay-control replay_completed", "connection-closing end_of_stream"]
            await opened(stored, 0)
            await until(
                lambda: all(held_for(port, stream.port) is None for stream in stalled),
                "a connection that nobody reads is still open",
            )
