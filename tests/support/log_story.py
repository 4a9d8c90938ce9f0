"""Appends and tails that go on while a test breaks things, and the comparison of what they were told with the truth.

The truth is what the broker has in the end, read without our own code. The model is simple: what was acknowledged, in
the order of its sequences. Nothing acknowledged may be missing, nothing may be there twice, nobody's records change
their order, and a tail sees all of it.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

import nats
from nats.errors import TimeoutError as NatsTimeoutError
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy
from nats.js.errors import ServiceUnavailableError

from aviso_core.errors import Unavailable
from aviso_core.eventlog.base import Appended, AppendFailed
from support.event_logs import record

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

    from aviso_core.eventlog.base import EventLog, Record

T = TypeVar("T")

_BASE: Final = "mars"
# So many records are handed over in one call by the producer that does.
_CALL: Final = 50
_PAUSE_SECONDS: Final = 0.1
_ANSWER_SECONDS: Final = 2.0


class Acknowledged:
    """What producers were told, by sequence."""

    def __init__(self) -> None:
        self.payloads: dict[int, bytes] = {}
        self.unknown: set[bytes] = set()
        self._grown = asyncio.Event()

    def note(self, sent: Sequence[Record], results: Sequence[Appended | AppendFailed]) -> None:
        """Note what became of records."""
        for one, result in zip(sent, results, strict=True):
            if isinstance(result, AppendFailed):
                self.unknown.add(one.payload)
            else:
                assert self.payloads.setdefault(result.sequence, one.payload) == one.payload
        self._grown.set()

    async def wait_more(self, count: int) -> None:
        """Wait until so many more are acknowledged."""
        wanted = len(self.payloads) + count
        while len(self.payloads) < wanted:
            self._grown.clear()
            await self._grown.wait()


class Watched:
    """What one tail has brought."""

    def __init__(self, after: int = 0) -> None:
        self.after = after
        self.last = after
        self.payloads: dict[int, bytes] = {}
        self._grown = asyncio.Event()

    async def run(self, log: EventLog, epoch: str) -> None:
        """Read a tail for as long as it lasts."""
        async with log.tail(_BASE, after=self.after, epoch=epoch) as tail:
            async for batch in tail:
                for entry in batch.entries:
                    assert entry.sequence > self.last, f"{entry.sequence} came after {self.last}"
                    self.last = entry.sequence
                    self.payloads[entry.sequence] = entry.payload
                self._grown.set()

    async def wait_past(self, sequence: int) -> None:
        """Wait until the tail has got there."""
        while self.last < sequence:
            self._grown.clear()
            await self._grown.wait()


class Story:
    """Two producers and two tails at work. Made by `under_way`."""

    def __init__(self, log: EventLog) -> None:
        self.log = log
        self.acknowledged = Acknowledged()
        self.tails = [Watched(), Watched()]
        # What was removed on purpose, or may have been, and up to where everything was.
        self.removed: set[int] = set()
        self.wiped_up_to = 0
        self._is_over = False
        self._count = 0

    async def goes_on(self, count: int = 100) -> None:
        """Wait until producers and tails have got further, past whatever was under way when this was asked."""
        await self.acknowledged.wait_more(count)
        reached = max(self.acknowledged.payloads)
        for tail in self.tails:
            await tail.wait_past(reached)

    def end(self) -> None:
        """Let the producers finish what they are at."""
        self._is_over = True

    def is_kept(self, sequence: int) -> bool:
        """Tell whether nobody has removed that entry on purpose."""
        return sequence > self.wiped_up_to and sequence not in self.removed

    async def produce_singly(self) -> None:
        """Append one record after the other."""
        while not self._is_over:
            one = self._next("single")
            try:
                self.acknowledged.note([one], [await self.log.append(_BASE, one)])
            except AppendFailed as failure:
                self.acknowledged.note([one], [failure])
            except Unavailable as error:
                self.acknowledged.note([one], [AppendFailed(str(error), may_retry=True)])

    async def produce_in_calls(self) -> None:
        """Append many records at a time."""
        while not self._is_over:
            several = [self._next("several") for _ in range(_CALL)]
            try:
                results = await self.log.append_all(_BASE, several)
            except Unavailable as error:
                results = [AppendFailed(str(error), may_retry=True)] * _CALL
            self.acknowledged.note(several, results)

    def _next(self, producer: str) -> Record:
        self._count += 1
        return record(f"{_BASE}.{producer}.1", b'{"%s":%d}' % (producer.encode(), self._count))


@asynccontextmanager
async def under_way(log: EventLog) -> AsyncIterator[Story]:
    """Have producers and tails at work while the block breaks things; at its end the tails have seen everything."""
    epoch = (await log.bounds(_BASE)).epoch
    story = Story(log)
    async with asyncio.TaskGroup() as tasks:
        tails = [tasks.create_task(tail.run(log, epoch)) for tail in story.tails]
        producers = [
            tasks.create_task(story.produce_singly()),
            tasks.create_task(story.produce_in_calls()),
        ]
        yield story
        story.end()
        await asyncio.wait(producers)
        last = (await log.bounds(_BASE)).last
        for watched in story.tails:
            await watched.wait_past(last)
        for tail in tails:
            tail.cancel()


async def stored(*urls: str) -> dict[int, bytes]:
    """Return what the broker has, by sequence, read without our own code."""
    client = await nats.connect(list(urls))
    try:
        stream = client.jetstream(timeout=_ANSWER_SECONDS)
        count = (await _patiently(lambda: stream.stream_info(_BASE.upper()))).state.messages
        config = ConsumerConfig(ack_policy=AckPolicy.NONE, deliver_policy=DeliverPolicy.ALL)
        consumer = await _patiently(lambda: stream.pull_subscribe("", stream=_BASE.upper(), config=config))
        found: dict[int, bytes] = {}
        while len(found) < count:
            wanted = min(1000, count - len(found))
            for message in await _patiently(partial(consumer.fetch, wanted, timeout=5)):
                found[message.metadata.sequence.stream] = message.data
        return found
    finally:
        await client.close()


async def _patiently(ask: Callable[[], Awaitable[T]]) -> T:
    """Return the answer of a cluster, which gives none while it elects who answers: a consumer, too, has a leader."""
    while True:
        try:
            return await ask()
        except (ServiceUnavailableError, NatsTimeoutError):
            await asyncio.sleep(_PAUSE_SECONDS)


def check(story: Story, truth: dict[int, bytes]) -> None:
    """Compare, leaving out what was removed on purpose."""
    acknowledged = story.acknowledged
    told = {place: payload for place, payload in acknowledged.payloads.items() if story.is_kept(place)}
    kept = {place: payload for place, payload in truth.items() if story.is_kept(place)}
    assert told
    assert {place: kept.get(place) for place in told} == told, "something acknowledged is missing"
    assert len(set(truth.values())) == len(truth), "something is stored twice"
    assert set(truth.values()) <= set(acknowledged.payloads.values()) | acknowledged.unknown
    for producer in (b"single", b"several"):
        numbers = [_number(payload) for _, payload in sorted(truth.items()) if producer in payload]
        assert numbers == sorted(numbers), f"records of {producer.decode()} changed their order"
    for tail in story.tails:
        check_tail(story, tail, truth)


def check_tail(story: Story, tail: Watched, truth: dict[int, bytes]) -> None:
    """Compare what a tail has brought with what is stored after where it began, up to where it is."""
    seen = {place: payload for place, payload in tail.payloads.items() if story.is_kept(place)}
    expected = {
        place: payload
        for place, payload in truth.items()
        if tail.after < place <= tail.last and story.is_kept(place)
    }
    assert seen == expected, "a tail saw something else than what is stored"


def _number(payload: bytes) -> int:
    return int(payload.rpartition(b":")[2].rstrip(b"}"))
