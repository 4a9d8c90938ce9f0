"""A tail over the broker: one consumer after another, so that it looks like one that is never lost.

Where several servers keep a stream, the consumer is at any of them. One that lags behind the leader and does not catch
up within seconds is left for another: it would keep back what everybody else is told.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from aviso_core.broker.connection import ApiRefusal, Connection
from aviso_core.errors import Unavailable
from aviso_core.eventlog.base import Batch, StreamMissing, StreamRefused
from aviso_core.eventlog.jetstream.consumer import (
    Consumer,
    ConsumerLost,
    Taken,
    from_sequence,
    start_consumer,
)
from aviso_core.eventlog.jetstream.entries import find_newest_entry
from aviso_core.eventlog.jetstream.streams import NOT_FOUND, epoch_changed, find_stream
from aviso_core.schema.stream import stream_name

if TYPE_CHECKING:
    from collections.abc import Callable

_SHORTEST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 1.0
# When nothing has come for so long, the leader is asked whether it has more; what it has may take as long again.
_STILL_SECONDS: Final = 5.0
_NOTHING: Final = Taken([], 0)


class JetStreamTail:
    """A stream as it grows: the place where one reader is.

    `on_trouble` is told whenever the tail cannot go on, and when it can again.
    """

    def __init__(
        self,
        connection: Connection,
        base: str,
        *,
        after: int,
        epoch: str,
        on_trouble: Callable[[JetStreamTail, bool], None],
    ) -> None:
        self._connection = connection
        self._base = base
        self._position = after
        self._epoch = epoch
        self._tell = on_trouble
        self._pause = _SHORTEST_PAUSE
        self._consumer: Consumer | None = None
        # Whether the consumer may be at a server that lags, and what the leader had when that was last looked at.
        self._may_lag = False
        self._leader_had = 0

    def __aiter__(self) -> JetStreamTail:
        return self

    async def __anext__(self) -> Batch:
        """Return what came; wait while the broker is away, end when the stream is."""
        while True:
            try:
                consumer = self._consumer or await self._begin()
                taken = await self._take(consumer)
            except ConsumerLost:
                # The next one begins after what was returned last.
                self.let_go()
                await self._wait()
            except (ApiRefusal, Unavailable, StreamRefused):
                if self._connection.is_over:
                    raise
                self._tell(self, True)
                await self._wait()
            else:
                # A start beyond the stream's end is taken for its end by some brokers.
                entries = tuple(entry for entry in taken.entries if entry.sequence > self._position)
                if entries:
                    self._position = entries[-1].sequence
                    self._pause = _SHORTEST_PAUSE
                    return Batch(entries=entries, through=self._position)

    async def _take(self, consumer: Consumer) -> Taken:
        if not self._may_lag:
            return await consumer.take()
        try:
            async with asyncio.timeout(_STILL_SECONDS):
                return await consumer.take()
        except TimeoutError:
            if self._leader_had > self._position:
                raise ConsumerLost("the server that it is at lags behind the stream's leader") from None
        self._leader_had = await self._ask_the_leader()
        return _NOTHING

    async def _ask_the_leader(self) -> int:
        """Return the last sequence that the leader has, or 0 where that is not to be known now."""
        try:
            # What was removed counts there as well, but brings no payload with it.
            info = await find_stream(self._connection, self._base)
            if info is None or info.state.last_seq <= self._position:
                return 0
            newest = await find_newest_entry(self._connection, self._base)
        except (ApiRefusal, Unavailable, StreamRefused, StreamMissing):
            return 0
        return 0 if newest is None else newest.sequence

    async def _begin(self) -> Consumer:
        start = from_sequence(self._position + 1)
        try:
            consumer = await start_consumer(self._connection, stream_name(self._base), start)
        except ApiRefusal as refusal:
            if refusal.number == NOT_FOUND:
                raise epoch_changed(self._base, self._epoch, None) from refusal
            raise
        try:
            # Asked now and not before: the stream may have been made anew in between, and the consumer be of that.
            info = await find_stream(self._connection, self._base)
            if info is None or info.created != self._epoch:
                raise epoch_changed(self._base, self._epoch, info.created if info else None)
        except BaseException:
            consumer.let_go()
            raise
        self._consumer, self._leader_had = consumer, 0
        self._may_lag = not info.is_alone
        self._tell(self, False)
        return consumer

    async def _wait(self) -> None:
        """Wait a little, or until the connection is back."""
        pause, self._pause = self._pause, min(2 * self._pause, _LONGEST_PAUSE)
        if self._connection.is_connected:
            await asyncio.sleep(pause)
            return
        back = asyncio.Event()
        self._connection.on_back.append(back.set)
        try:
            async with asyncio.timeout(_LONGEST_PAUSE):
                await back.wait()
        except TimeoutError:
            return
        finally:
            self._connection.on_back.remove(back.set)

    def let_go(self) -> None:
        """End it, at least for now: whoever goes on reading gets another consumer."""
        if self._consumer is not None:
            self._consumer.let_go()
            self._consumer = None
