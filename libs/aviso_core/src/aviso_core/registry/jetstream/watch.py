"""A bucket as it changes: everything that it holds, then every version that is added.

The broker delivers through a consumer that lives in memory, is ours alone, and forgets itself. Each delivery carries
the consumer's own count, and when nothing is to be said the broker says so once a second, with the count: a delivery
that is missing, or silence, means that this consumer is lost. Then another one is made and everything is read again,
which is little, and what is read twice changes nothing for those who follow.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
from nats import errors as nats_errors
from nats.nuid import NUID

from aviso_core.broker.connection import ApiRefusal, Connection, Delivered, read_headers
from aviso_core.errors import AvisoError
from aviso_core.registry.jetstream.bucket import Bucket, BucketMissing, Entry

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

_SECOND: Final = 1_000_000_000
_HEARTBEAT_SECONDS: Final = 1
# After so long without a word the consumer is taken for lost.
_SILENCE_SECONDS: Final = 3.0
_INACTIVE_SECONDS: Final = 30
# In what the broker says when there is nothing to say: how far it has come, and that it waits for our word.
_LAST_DELIVERY: Final = "Nats-Last-Consumer"
_LAST_SEQUENCE: Final = "Nats-Last-Stream"
_STALLED: Final = "Nats-Consumer-Stalled"
_SHORTEST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 1.0


class WatchLost(AvisoError):
    """The consumer is gone, silent, or skipped something."""


class Watch:
    """An open watch. Made by `open_watch`."""

    def __init__(self, bucket: Bucket, through: int) -> None:
        self._bucket = bucket
        self._connection = bucket.connection
        self._through = through
        self._arrived: list[Entry] = []
        self._something = asyncio.Event()
        self._count = 0
        self._is_complete = through == 0
        self._lost: str | None = None

    async def load(self) -> list[Entry]:
        """Return everything that the bucket held when the watch began, ascending."""
        while not self._is_complete:
            await self._wait()
        return self._take()

    async def more(self) -> list[Entry]:
        """Wait for versions that were added and return them, ascending."""
        while not self._arrived:
            await self._wait()
        return self._take()

    def _take(self) -> list[Entry]:
        taken, self._arrived = self._arrived, []
        return taken

    async def _wait(self) -> None:
        if self._lost is not None:
            raise WatchLost(self._lost)
        self._something.clear()
        try:
            async with asyncio.timeout(_SILENCE_SECONDS):
                await self._something.wait()
        except TimeoutError as error:
            raise WatchLost("the broker has gone silent") from error

    def lose(self, why: str = "the connection was lost") -> None:
        """Note that nothing can be expected any more."""
        self._lost = self._lost or why
        self._something.set()

    # --- what the broker says ----------------------------------------------------------------------------

    def on_message(self, message: Delivered) -> None:
        """Take what the broker sends."""
        if message.reply.startswith(b"$JS.ACK."):
            self._take_delivery(message)
        else:
            self._take_status(message)
        self._something.set()

    def _take_delivery(self, message: Delivered) -> None:
        place = _read_place(message.reply)
        self._count += 1
        if place.number != self._count:
            self.lose(f"delivery {place.number} came where {self._count} was due")
            return
        subject = message.subject.decode("utf-8", "replace")
        self._arrived.append(
            self._bucket.entry(subject, place.sequence, message.headers or b"", message.data)
        )
        # A replica that lags says too early that nothing is left; the leader said how far it must go.
        if place.sequence >= self._through and not place.pending:
            self._is_complete = True

    def _take_status(self, message: Delivered) -> None:
        status, headers = read_headers(message.headers or b"")
        if not status.startswith("100"):
            self.lose(status)
            return
        asks_at = message.reply or headers.get(_STALLED, "").encode()
        if asks_at:
            # The broker asks whether we keep up, and says nothing more until it knows.
            self._connection.send(b"PUB %s 0\r\n\r\n" % asks_at)
        if _LAST_DELIVERY in headers:
            self._take_heartbeat(int(headers[_LAST_DELIVERY]), int(headers.get(_LAST_SEQUENCE, 0)))

    def _take_heartbeat(self, deliveries: int, sequence: int) -> None:
        if deliveries != self._count:
            self.lose(f"{deliveries} deliveries were made and {self._count} came")
        elif sequence >= self._through:
            # What was expected up to there has been removed.
            self._is_complete = True


class _Place(NamedTuple):
    sequence: int
    number: int
    pending: int


def _read_place(reply: bytes) -> _Place:
    tokens = reply.split(b".")
    # Brokers of several domains put two tokens in front.
    _, sequence, number, _, pending = tokens[4:9] if len(tokens) == 9 else tokens[6:11]
    return _Place(int(sequence), int(number), int(pending))


class _Created(msgspec.Struct, frozen=True):
    name: str


_read_created: Final = msgspec.json.Decoder(_Created).decode


@asynccontextmanager
async def open_watch(bucket: Bucket, *, subject: str, through: int) -> AsyncIterator[Watch]:
    """Watch a bucket, or one subject of it, for as long as the block runs.

    What it holds has been seen when the sequence `through` was, the last one that there is; 0 means that it is empty.
    """
    connection, stream = bucket.connection, bucket.settings.stream
    watch = Watch(bucket, through)
    inbox = connection.client.new_inbox()
    name = NUID().next().decode()
    listening = await connection.listen(inbox, watch.on_message)
    connection.on_lost.append(watch.lose)
    is_made = False
    try:
        await connection.ask(f"CONSUMER.CREATE.{stream}.{name}", _question(stream, name, inbox, subject))
        is_made = True
        yield watch
    finally:
        connection.on_lost.remove(watch.lose)
        listening.stop()
        if is_made:
            # Nobody waits for the answer: a consumer that is not deleted forgets itself a little later.
            connection.send(f"PUB $JS.API.CONSUMER.DELETE.{stream}.{name} 0\r\n\r\n".encode())


def _question(stream: str, name: str, inbox: str, subject: str) -> dict[str, object]:
    return {
        "stream_name": stream,
        "config": {
            "name": name,
            "deliver_subject": inbox,
            "deliver_policy": "all",
            "filter_subject": subject,
            "ack_policy": "none",
            "replay_policy": "instant",
            "flow_control": True,
            "idle_heartbeat": _HEARTBEAT_SECONDS * _SECOND,
            "inactive_threshold": _INACTIVE_SECONDS * _SECOND,
            "mem_storage": True,
            "num_replicas": 1,
        },
    }


async def read_bucket(bucket: Bucket) -> list[Entry]:
    """Return everything that a bucket holds, ascending, or raise `Unavailable`."""
    return await _read(bucket, subject=bucket.subjects, through=await _last_of(bucket))


async def read_key(bucket: Bucket, key: str) -> list[Entry]:
    """Return the versions of a key that are kept, ascending, or raise `Unavailable`."""
    latest = await bucket.get(key)
    return await _read(bucket, subject=bucket.subject_of(key), through=latest.revision if latest else 0)


async def _read(bucket: Bucket, *, subject: str, through: int) -> list[Entry]:
    if not through:
        return []
    try:
        async with open_watch(bucket, subject=subject, through=through) as watch:
            return await watch.load()
    except (WatchLost, ApiRefusal, nats_errors.Error) as error:
        raise bucket.connection.unavailable(
            f"bucket '{bucket.settings.name}' cannot be read", error
        ) from error


async def watch_for_ever(
    bucket: Bucket,
    *,
    on_everything: Callable[[list[Entry]], None],
    on_more: Callable[[list[Entry]], None],
    seconds_between_readings: float | None = None,
) -> None:
    """Hand over everything that a bucket holds, then what is added; after every loss begin again with everything.

    A bucket that is removed after it was read holds nothing. With a time between readings it also begins again
    whenever that has passed, which is how what expired is noticed.
    """
    pause = _SHORTEST_PAUSE
    was_there = False
    while True:
        try:
            async with asyncio.timeout(seconds_between_readings):
                through = await _last_of(bucket)
                async with open_watch(bucket, subject=bucket.subjects, through=through) as watch:
                    on_everything(await watch.load())
                    was_there = True
                    pause = _SHORTEST_PAUSE
                    while True:
                        on_more(await watch.more())
        except TimeoutError:
            continue
        except (AvisoError, nats_errors.Error) as error:
            if was_there and isinstance(error, BucketMissing):
                on_everything([])
            await _wait_better(bucket.connection, pause)
            pause = min(2 * pause, _LONGEST_PAUSE)


async def _last_of(bucket: Bucket) -> int:
    """Return the last sequence of a bucket, 0 where it is empty; its owner makes it where there is none."""
    try:
        state = await bucket.state()
    except BucketMissing:
        if not bucket.is_owner:
            raise
        await bucket.ensure()
        return 0
    return state.last_seq if state.messages else 0


async def _wait_better(connection: Connection, pause: float) -> None:
    """Wait a little and, where the connection is lost, until it is back."""
    await asyncio.sleep(pause)
    while not connection.is_connected:
        back = asyncio.Event()
        connection.on_back.append(back.set)
        try:
            async with asyncio.timeout(_LONGEST_PAUSE):
                await back.wait()
        except TimeoutError:
            continue
        finally:
            connection.on_back.remove(back.set)
