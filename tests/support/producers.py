"""Producers that go on publishing while a test breaks things, and the comparison of what they were told with the truth.

What they publish says who published it and as which number, so that the log alone tells what is missing, there twice,
or out of order.
"""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from support.lines import BrokenOff, Line, post

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence

    from support.lines import Reply

SINGLE: Final = "/api/v1/notification"
BATCH: Final = "/api/v1/notifications"
# A client that was sent away, or found nobody, does not come back at once.
_PAUSE_SECONDS: Final = 0.02


# --- what they were told ---------------------------------------------------------------------------------


class Told:
    """What producers were told of each payload."""

    def __init__(self) -> None:
        self.acknowledged: dict[bytes, None] = {}
        # Told that it failed, or refused; and never told anything.
        self.failed: set[bytes] = set()
        self.unanswered: set[bytes] = set()
        self.statuses: dict[int, int] = {}
        # Requests that are sent and not answered yet.
        self.under_way = 0
        self.first_unanswered_at: float | None = None
        self.slowest_seconds = 0.0
        self._grown = asyncio.Event()

    def note_request(self) -> None:
        """Count a request, which waits for its answer from now on."""
        self.under_way += 1
        self._grown.set()

    def note_reply(self, reply: Reply | None, seconds: float) -> None:
        """Count an answer, or that there was none."""
        self.under_way -= 1
        self.slowest_seconds = max(self.slowest_seconds, seconds)
        if reply is not None:
            self.statuses[reply.status] = self.statuses.get(reply.status, 0) + 1
        elif self.first_unanswered_at is None:
            self.first_unanswered_at = time.monotonic()

    def note(self, payloads: Iterable[bytes], become: set[bytes] | dict[bytes, None]) -> None:
        """Note what became of payloads."""
        for payload in payloads:
            if isinstance(become, dict):
                become[payload] = None
            else:
                become.add(payload)
        self._grown.set()

    async def wait_more(self, count: int) -> None:
        """Wait until so many more are acknowledged."""
        wanted = len(self.acknowledged) + count
        await self.wait_until(lambda: len(self.acknowledged) >= wanted)

    async def wait_until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds of what was told."""
        while not holds():
            self._grown.clear()
            await self._grown.wait()


# --- producers -------------------------------------------------------------------------------------------


class Producer:
    """Publishes single notifications, or batches of a size, one after the other."""

    def __init__(
        self,
        name: str,
        told: Told,
        ports: Sequence[int],
        *,
        size: int | None,
        is_patient: bool,
        headers: Mapping[str, str] | None = None,
        padding: int = 0,
        may_break_off: bool = False,
    ) -> None:
        self._may_break_off = may_break_off
        self._padding = " " * padding
        self._name = name
        self._told = told
        self._lines = [Line(port) for port in ports]
        self._size = size
        self._is_patient = is_patient
        self._headers = headers or {}
        self._count = 0
        self.is_over = False

    async def run(self) -> None:
        """Go on until told to end, or, when not patient, until there is nobody to publish to."""
        try:
            while not self.is_over:
                await self._publish_next()
        finally:
            for line in self._lines:
                await line.close()

    async def _publish_next(self) -> None:
        numbers = range(self._count, self._count + (self._size or 1))
        self._count = numbers.stop
        texts = [f"{self._name}:{number}" for number in numbers]
        await self._publish(self._request(texts), [json.dumps(text).encode() for text in texts])

    def _request(self, texts: Sequence[str]) -> bytes:
        known = {"event_type": "mars", "identifier": {"producer": self._name}}
        records = [{**known, "payload": text + self._padding} for text in texts]
        if self._size is None:
            return post(SINGLE, records[0], Idempotency_Key=texts[0], **self._headers)
        named = [{**one, "id": text} for one, text in zip(records, texts, strict=True)]
        return post(BATCH, named, **self._headers)

    async def _publish(self, request: bytes, payloads: Sequence[bytes]) -> None:
        told = self._told
        while True:
            began = time.monotonic()
            told.note_request()
            reply = await self._ask(request)
            told.note_reply(reply, time.monotonic() - began)
            stored = [] if reply is None else list(_stored(reply, payloads))
            told.note(stored, told.acknowledged)
            missing = set(payloads) - set(stored)
            if not missing:
                return
            if not self._is_patient:
                told.note(missing, told.unanswered if reply is None else told.failed)
                self.is_over |= reply is None
                return
            # Whoever did not answer well may be on the way out: the next one is asked, with the same ids.
            self._lines.append(self._lines.pop(0))
            await asyncio.sleep(_pause_seconds(reply))

    async def _ask(self, request: bytes) -> Reply | None:
        try:
            return await self._lines[0].ask(request)
        except BrokenOff:
            if not self._may_break_off:
                raise
            return None


def _pause_seconds(reply: Reply | None) -> float:
    if reply is None or reply.status == 200 or reply.json["code"] != "OVERLOADED":
        return _PAUSE_SECONDS
    # Whoever is told to come again is told when.
    return int(reply.headers["retry-after"])


def _stored(reply: Reply, payloads: Sequence[bytes]) -> Iterable[bytes]:
    if reply.status != 200:
        assert reply.status in (401, 429, 500, 503), reply
        return ()
    if "results" not in reply.json:
        assert reply.json["status"] == "success"
        return payloads
    results = reply.json["results"]
    assert [result["index"] for result in results] == list(range(len(payloads)))
    statuses = [result["status"] for result in results]
    assert set(statuses) <= {"accepted", "duplicate", "failed"}, results
    return [
        payload
        for payload, status in zip(payloads, statuses, strict=True)
        if status in ("accepted", "duplicate")
    ]


@asynccontextmanager
async def publishing(
    ports: Sequence[int],
    *,
    singles: int,
    batches: int = 0,
    batch_size: int = 50,
    is_patient: bool = False,
    headers: Mapping[str, str] | None = None,
    padding: int = 0,
    may_break_off: bool = False,
) -> AsyncIterator[Told]:
    """Have producers at work for as long as the block runs; afterwards each finishes what it is at.

    Answers may break off only where services are killed.
    """
    told = Told()
    sizes = [None] * singles + [batch_size] * batches
    producers = [
        Producer(
            f"p{place}",
            told,
            [*ports[place % len(ports) :], *ports[: place % len(ports)]],
            size=size,
            is_patient=is_patient,
            headers=headers,
            padding=padding,
            may_break_off=may_break_off,
        )
        for place, size in enumerate(sizes)
    ]
    async with asyncio.TaskGroup() as tasks:
        for producer in producers:
            tasks.create_task(producer.run())
        yield told
        for producer in producers:
            producer.is_over = True


# --- comparison ------------------------------------------------------------------------------------------


def check(told: Told, truth: Mapping[int, bytes], *, also: Collection[bytes] | None = None) -> None:
    """Compare with what is stored, by sequence; what may be there also is what was never acknowledged."""
    stored = [truth[sequence] for sequence in sorted(truth)]
    assert told.acknowledged
    missing = told.acknowledged.keys() - set(stored)
    assert not missing, f"{len(missing)} acknowledged are missing, among them {sorted(missing)[:5]}"
    assert len(set(stored)) == len(stored), "something is stored twice"
    unknown = set(stored) - told.acknowledged.keys()
    unknown -= set(told.failed | told.unanswered if also is None else also)
    assert not unknown, (
        f"{len(unknown)} are stored of which nobody was told, among them {sorted(unknown)[:5]}"
    )
    last: dict[str, int] = {}
    for payload in stored:
        name, _, number = json.loads(payload).partition(":")
        assert last.get(name, -1) < int(number), f"{name} has {number} after {last[name]}"
        last[name] = int(number)
