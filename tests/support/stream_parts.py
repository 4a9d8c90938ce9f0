"""Parts of the stream gateway as its tests put them together: all real, with time and the log in the test's hands."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from aviso_core.eventlog.entry import Origin, write_record
from aviso_core.eventlog.memory import MemoryLimits, MemoryLog
from aviso_core.fields.text import TextField
from aviso_core.request import decode_body
from aviso_core.schema.catalog import build_catalog
from aviso_core.schema.model import Schema, Topic
from aviso_http.access.open import OpenAccess
from aviso_http.body import ClientGone
from aviso_http.metrics.streams import StreamMetrics
from aviso_stream_gateway.moment import Timekeeper
from aviso_stream_gateway.request import Mode, read_asked
from aviso_stream_gateway.session import Session
from aviso_stream_gateway.stream import Limits, Stream
from aviso_stream_gateway.through_server import ThroughServer
from aviso_stream_gateway.wheel import Wheel
from support.registries import ManualClock

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    from aviso_core.eventlog.base import Batch, Bounds, Entry, Tail
    from aviso_core.schema.catalog import Catalog
    from aviso_http.access.base import Access
    from aviso_http.access.user import User
    from aviso_http.asgi import Message
    from aviso_stream_gateway.request import Asked
    from aviso_stream_gateway.session import Cause

BASE_URL: Final = "http://localhost:8000"
PLACES: Final = Schema(
    event_type="places",
    topic=Topic(base="places", key_order=("place", "step")),
    fields=(TextField(name="place", required=True), TextField(name="step")),
)
CATALOG: Final = build_catalog([PLACES], strict=False)


def asked(
    mode: Mode = Mode.WATCH,
    event_type: str = "places",
    *,
    catalog: Catalog = CATALOG,
    access: Access | None = None,
    user: User | None = None,
    identifier: object = None,
    **members: object,
) -> Asked:
    """Return a checked request with these members, by default for all events of `places`."""
    if identifier is None:
        identifier = {"place": "*"} if event_type == "places" else {}
    body = {"event_type": event_type, "identifier": identifier, **members}
    return read_asked(
        decode_body(json.dumps(body).encode()),
        mode,
        catalog=catalog,
        access=OpenAccess() if access is None else access,
        user=user,
    )


async def announce(log: MemoryLog, place: str = "here", *, payload: bytes = b"null", actor: str = "") -> int:
    """Store an event of `places` and return its sequence."""
    event_type = CATALOG.get("places")
    assert event_type is not None
    announced = event_type.announce({"place": place, "step": "1"})
    record = write_record(event_type, announced, payload, origin=Origin(actor=actor))
    return (await log.append("places", record)).sequence


async def entries_of(log: MemoryLog, base: str = "places") -> list[Entry]:
    """Return all that is stored."""
    last = (await log.bounds(base)).last
    return [entry async for batch in log.read(base, first=1, last=last) for entry in batch.entries]


# --- the log ---------------------------------------------------------------------------------------------


class HeldLog(MemoryLog):
    """A log in memory that keeps all, tells what it was asked, and can be held up or fail.

    Questions are `bounds`, `seek`, `read`, `on` (for the next batch of a read) and `tail`.
    """

    def __init__(self) -> None:
        self.clock = ManualClock()
        super().__init__(MemoryLimits(max_history_per_topic=100_000, max_topics=100_000), self.clock)
        self.questions: list[str] = []
        # What tails fail with at their next batch.
        self.tail_failure: Exception | None = None
        self.open_tails = 0
        self.open_reads = 0
        self._failures: dict[str, Exception] = {}
        self._held: str | None = None
        self._goes_on = asyncio.Event()
        self._asked = asyncio.Event()

    def fail(self, question: str, failure: Exception) -> None:
        """Fail at the next question of a kind."""
        self._failures[question] = failure

    def hold(self, question: str) -> None:
        """Do not answer questions of a kind until `go_on`."""
        self._held = question
        self._goes_on.clear()

    def go_on(self) -> None:
        """Answer again."""
        self._held = None
        self._goes_on.set()

    async def wait_asked(self, question: str) -> None:
        """Wait until a question has come."""
        while question not in self.questions:
            self._asked.clear()
            await self._asked.wait()

    async def wait_tails(self, count: int) -> None:
        """Wait until so many tails are held."""
        while self.open_tails != count:
            self._asked.clear()
            await self._asked.wait()

    async def _take(self, question: str, what: object) -> None:
        self.questions.append(f"{question} {what}")
        self._asked.set()
        failure = self._failures.pop(question, None)
        if question == self._held:
            await self._goes_on.wait()
        if failure is not None:
            raise failure

    async def bounds(self, base: str) -> Bounds:
        """Return what the stream held when the question came."""
        bounds = await super().bounds(base)
        await self._take("bounds", base)
        return bounds

    async def seek(self, base: str, instant: int, *, epoch: str | None = None) -> int:
        """Return the first sequence stored at or after an instant."""
        await self._take("seek", base)
        return await super().seek(base, instant, epoch=epoch)

    async def read(
        self,
        base: str,
        *,
        first: int,
        last: int,
        pattern: str | None = None,
        batch_bytes: int = 1_048_576,
        epoch: str | None = None,
    ) -> AsyncGenerator[Batch, None]:
        """Yield what is stored in a range."""
        await self._take("read", f"{first} to {last}")
        batches = super().read(
            base, first=first, last=last, pattern=pattern, batch_bytes=batch_bytes, epoch=epoch
        )
        self.open_reads += 1
        try:
            async for batch in batches:
                yield batch
                await self._take("on", batch.through)
        finally:
            self.open_reads -= 1

    @asynccontextmanager
    async def tail(self, base: str, *, after: int, epoch: str) -> AsyncIterator[Tail]:  # type: ignore[override]  # of a kind of its own
        """Follow the stream."""
        await self._take("tail", f"{base} after {after}")
        self._count_tail(1)
        try:
            async with super().tail(base, after=after, epoch=epoch) as tail:
                yield _FailingTail(self, tail)
        finally:
            self._count_tail(-1)

    def _count_tail(self, change: int) -> None:
        self.open_tails += change
        self._asked.set()


class _FailingTail:
    def __init__(self, log: HeldLog, tail: Tail) -> None:
        self._log = log
        self._tail = tail

    async def __aiter__(self) -> AsyncIterator[Batch]:
        async for batch in self._tail:
            if self._log.tail_failure is not None:
                raise self._log.tail_failure
            yield batch


# --- streams and their readers ---------------------------------------------------------------------------


class Told(NamedTuple):
    """A frame, read."""

    event: str
    data: dict[str, Any]

    @property
    def kind(self) -> str:
        """What it is, in a word: its type, its place in the log, its reason, or its name."""
        for name in ("sequence", "reason", "error", "type"):
            if name in self.data:
                return f"{self.event} {self.data[name]}"
        return self.event


def read_frames(data: bytes) -> list[Told]:
    """Read frames as strictly as they are written; there must be no other bytes."""
    *frames, rest = data.split(b"\n\n")
    assert rest == b"", rest
    told = []
    for frame in frames:
        event, content = frame.split(b"\n")
        assert event.startswith(b"event: ")
        assert content.startswith(b"data: ")
        told.append(Told(event[7:].decode(), json.loads(content[6:])))
    return told


def kinds(data: bytes) -> list[str]:
    """Return what frames are, in a word each."""
    return [told.kind for told in read_frames(data)]


class Reader:
    """Who reads a stream: the other side of an ASGI server. What is sent waits until somebody takes it."""

    def __init__(self) -> None:
        self.outlet = ThroughServer(self._receive, self._send)
        self.is_ended = False
        self.is_cut = False
        self._data = b""
        self._came = asyncio.Event()
        self._reads = asyncio.Event()
        self._offered = asyncio.Event()
        self._left = asyncio.Event()
        self._carrying = asyncio.create_task(self._carry())

    async def _carry(self) -> None:
        try:
            await self.outlet.carry()
        except ClientGone:
            self.is_cut = True
        self._came.set()

    async def _receive(self) -> Message:
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        self._offered.set()
        await self._reads.wait()
        self._data += message["body"]
        self.is_ended = not message["more_body"]
        self._came.set()

    async def take(self, count: int) -> list[str]:
        """Wait for so many frames, and tell what has come since the last time, in a word each."""
        return [told.kind for told in await self.frames(count)]

    async def frames(self, count: int) -> list[Told]:
        """Wait for so many frames, and return what has come since the last time."""
        self._reads.set()
        while self._data.count(b"\n\n") < count:
            self._came.clear()
            await self._came.wait()
        self._reads.clear()
        data, self._data = self._data, b""
        return read_frames(data)

    async def wait_offered(self) -> None:
        """Wait until there is something to take."""
        await self._offered.wait()

    async def wait_over(self) -> None:
        """Wait for the end of the connection, without taking anything of what waits."""
        await self._carrying

    async def rest(self) -> list[str]:
        """Wait for the end of the answer, and tell what has come since the last time."""
        self._reads.set()
        await self._carrying
        return kinds(self._data)

    async def leave(self) -> None:
        """Go away."""
        self._left.set()
        await self._carrying


class Streaming:
    """What streams need beside a log. Nothing moves but by the test's hand."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.clock = ManualClock()
        self.timekeeper = Timekeeper(self.clock)
        self.wheel = Wheel(self.timekeeper)
        self.metrics = StreamMetrics()
        self.metrics.declare(["places"])
        self.series = self.metrics.open("/api/v1/watch", "places", None)
        self.limits = limits or Limits()
        # Why streams ended, in the order in which they did.
        self.ended: list[Cause | None] = []

    def stream(
        self, *, position: int = 0, goes_on: bool = True, shows_actor: bool = False
    ) -> tuple[Stream, Reader]:
        """Begin a live stream at a position, and read its first frames."""
        reader = Reader()
        now = self.timekeeper.now()
        session = Session(
            topic="places.*.*",
            request_id="r",
            position=position,
            goes_on=goes_on,
            limit=10_000,
            closes_at=now.seconds + 3600,
        )
        stream = Stream(
            session,
            reader.outlet,
            self.series,
            wheel=self.wheel,
            timekeeper=self.timekeeper,
            limits=self.limits,
            on_end=lambda stream: self.ended.append(stream.session.cause),
            shows_actor=shows_actor,
        )
        reader.outlet.on_gone = stream.gone
        stream.send(session.open_live(now, heartbeat_seconds=self.limits.heartbeat_seconds))
        stream.watch_time()
        return stream, reader

    def pass_time(self, seconds: float) -> None:
        """Let time pass, and have everybody told."""
        self.clock.advance(seconds)
        self.wheel.turn()
