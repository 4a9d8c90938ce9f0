"""A tail over the broker: one consumer after another, so that it looks like one that is never lost."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from aviso_core.broker.connection import ApiRefusal, Connection
from aviso_core.errors import Unavailable
from aviso_core.eventlog.base import Batch, StreamRefused
from aviso_core.eventlog.jetstream.consumer import Consumer, ConsumerLost, from_sequence, start_consumer
from aviso_core.eventlog.jetstream.streams import NOT_FOUND, epoch_changed, find_stream
from aviso_core.schema.stream import stream_name

if TYPE_CHECKING:
    from collections.abc import Callable

_SHORTEST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 1.0


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

    def __aiter__(self) -> JetStreamTail:
        return self

    async def __anext__(self) -> Batch:
        """Return what came; wait while the broker is away, end when the stream is."""
        while True:
            try:
                consumer = self._consumer or await self._begin()
                taken = await consumer.take()
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
        self._consumer = consumer
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
