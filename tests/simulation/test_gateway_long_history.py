"""A long history with much going on meanwhile fills nobody's mailbox: what is stored since is read when its turn comes.

In virtual time a reader takes its bytes at a steady pace, faster than events come, and slower than the log gives them.
`AVISO_LONG_TESTS` makes history a million events long.
"""

from __future__ import annotations

import asyncio
import logging
import os
from typing import TYPE_CHECKING, Final

import pytest

from aviso_core.eventlog.entry import write_record
from aviso_core.eventlog.memory import MemoryLimits, MemoryLog
from aviso_core.registry.memory import MemoryRegistry
from support.gateways import MARS, MARS_EVENTS, WATCH, running_gateway, settings
from support.virtual_time import VirtualLoop, virtual_clock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.readers import Reader
    from support.sse import Frame

_HISTORY: Final = 1_000_000 if os.environ.get("AVISO_LONG_TESTS") else 30_000
_LIVE_SECONDS: Final = 0.0005
_READING_SECONDS: Final = 0.001
# So much a reader takes every time: about 20 000 events in a second.
_PACE_BYTES: Final = 8_192
# What fits into the mailbox: a few events, where history comes in pieces of half a megabyte. A server that was filled
# up takes nothing until most of it was read, for as long as some more events take to come.
_MAILBOX_BYTES: Final = {True: 4_096, False: 65_536}


class Reading:
    """What one reader has got."""

    def __init__(self) -> None:
        self.last = 0
        self.live = 0
        self.ending: Frame | None = None
        self.grown = asyncio.Event()
        self.reader: Reader

    def take(self, frame: Frame) -> None:
        """Take a frame."""
        self.grown.set()
        if frame.event in ("replay", "live-notification"):
            assert frame.data["sequence"] == self.last + 1
            self.last += 1
            self.live += frame.event == "live-notification"
        elif frame.event in ("connection-closing", "error"):
            self.ending = frame

    async def keep_pace(self) -> None:
        """Take what comes, so much at a time."""
        while True:
            await asyncio.sleep(_READING_SECONDS)
            self.reader.take(_PACE_BYTES)


@pytest.fixture(autouse=True)
def no_records() -> Iterator[None]:
    """Write no records."""
    level = logging.root.level
    logging.root.setLevel(logging.CRITICAL)
    yield
    logging.root.setLevel(level)


@pytest.mark.parametrize("is_handed_over", [True, False], ids=["handed over", "through the server"])
def test_no_stream_ends_because_its_history_is_long_and_much_happens(is_handed_over: bool) -> None:
    """With 2000 events a second and the smallest mailbox; and in the end the reader has all of them."""

    async def story() -> None:
        clock = virtual_clock()
        log = MemoryLog(MemoryLimits(max_history_per_topic=2 * _HISTORY), clock)
        registry = MemoryRegistry()
        await registry.publish(MARS, expected_revision=0)
        record = write_record(MARS_EVENTS, MARS_EVENTS.announce({"class": "od", "step": 1}), b'"x"')

        async def publish() -> None:
            while True:
                await asyncio.sleep(_LIVE_SECONDS)
                await log.append("mars", record)

        for _ in range(_HISTORY):
            await log.append("mars", record)
        configured = settings(
            watch={"max_historical_notifications": 2 * _HISTORY},
            streams={"max_waiting_bytes": _MAILBOX_BYTES[is_handed_over]},
        )
        async with running_gateway(log, registry, clock, configured) as gateway:
            reading = Reading()
            body = {"event_type": "mars", "identifier": {}, "from_id": "1"}
            reading.reader = gateway.ask(WATCH, body, is_handed_over=is_handed_over, on_frame=reading.take)
            reading.reader.stall()
            async with asyncio.TaskGroup() as tasks:
                works = [tasks.create_task(publish()), tasks.create_task(reading.keep_pace())]
                while reading.last < (await log.bounds("mars")).last - 100 and reading.ending is None:
                    await reading.grown.wait()
                    reading.grown.clear()
                # It is level: from here on it is sent what everybody is.
                await asyncio.sleep(5)
                works[0].cancel()
                await asyncio.sleep(1)
                works[1].cancel()
            assert reading.ending is None, reading.ending
            assert reading.last == (await log.bounds("mars")).last
            assert reading.live > 2000 * 5
            reading.reader.go_on()

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(story())
