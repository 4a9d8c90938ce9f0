"""The log on JetStream, put together: streams, publisher, consumers, tails."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from nats.nuid import NUID

from aviso_core import instant as instants
from aviso_core.broker.connection import ApiRefusal, Connection, ConnectionOptions, open_connection
from aviso_core.errors import AvisoError, Unavailable
from aviso_core.eventlog.base import (
    Appended,
    AppendFailed,
    Batch,
    Bounds,
    Entry,
    EpochChanged,
    Record,
    StreamMissing,
    StreamRefused,
    Unsupported,
    WrongLastSequence,
)
from aviso_core.eventlog.jetstream.batch import NobodyListens, publish_batch
from aviso_core.eventlog.jetstream.entries import find_entry
from aviso_core.eventlog.jetstream.frames import MESSAGE_ID
from aviso_core.eventlog.jetstream.publisher import Publisher, open_publisher
from aviso_core.eventlog.jetstream.reader import Reader
from aviso_core.eventlog.jetstream.streams import (
    NOT_FOUND,
    OFFERS_BATCHES,
    ensure_stream,
    epoch_changed,
    existing,
    find_stream,
    find_whole_stream,
    get_stream,
    refused,
    streams_of_this_log,
)
from aviso_core.eventlog.jetstream.tail import JetStreamTail
from aviso_core.eventlog.limits import check_batch, check_record
from aviso_core.schema.stream import StreamConfiguration, stream_name

if TYPE_CHECKING:
    from aviso_core.eventlog.jetstream.bound import Bound
    from aviso_core.eventlog.jetstream.stream_info import StreamInfo

# The stream that a base should have, or None for a base that this process knows nothing of.
WantedStreams: TypeAlias = Callable[[str], StreamConfiguration | None]

_APPEND_SECONDS: Final = 10.0
# Whoever may name any event type may name very many.
_MOST_BOUND: Final = 10_000
_LARGEST_SEQUENCE: Final = 2**64 - 1


class _UnderWay(NamedTuple):
    """A record that was sent: where its acknowledgement arrives, and the id that the broker knows it by."""

    answer: asyncio.Future[Appended]
    message_id: str
    is_its_own: bool

    def let_go(self) -> None:
        """Leave it to itself: nobody waits for the answer any more."""
        if not self.answer.cancel() and not self.answer.cancelled():
            self.answer.exception()


class JetStreamLog:
    """An `EventLog` on the broker. Made by `open_jetstream_log`."""

    def __init__(
        self, connection: Connection, wanted: WantedStreams | None, *, append_seconds: float
    ) -> None:
        self._connection = connection
        self._wanted = wanted
        self._append_seconds = append_seconds
        self._publisher: Publisher | None = None
        self._ids = NUID()
        self._bound: dict[str, Bound] = {}
        self._losses = 0
        self._looking: dict[str, asyncio.Future[AvisoError | None]] = {}
        self._tails_in_trouble: set[JetStreamTail] = set()

    @property
    def is_healthy(self) -> bool:
        """Whether the broker was reachable a moment ago, and every tail could go on."""
        return self._connection.is_connected and not self._tails_in_trouble

    # --- streams -----------------------------------------------------------------------------------------

    async def _bind(self, base: str, *, may_be_stale: bool = False) -> Bound:
        """Make sure that the stream of a base is there and as it is wanted, or raise why not.

        One that was seen before the connection was lost will do for an append: the lane looks at it before it sends
        anything over another connection.
        """
        while True:
            wanted = self._wanted(base) if self._wanted is not None else None
            bound = self._bound.get(base)
            if bound is not None and bound.is_for(wanted) and self._is_good(bound, base, may_be_stale):
                return bound
            # Many may come at the same time: one looks, and what it is told is told to all of them.
            looking = self._looking.get(base)
            if looking is None:
                return await self._look_up(base, wanted)
            error = await asyncio.shield(looking)
            if error is not None:
                raise error

    def _is_good(self, bound: Bound, base: str, may_be_stale: bool) -> bool:
        if bound.seen == self._losses:
            return True
        return may_be_stale and self._publisher is not None and self._publisher.has_lane(base)

    async def _look_up(self, base: str, wanted: StreamConfiguration | None) -> Bound:
        # What comes of it: an error for all who wait, or none, and then they look for themselves.
        looking: asyncio.Future[AvisoError | None] = asyncio.get_running_loop().create_future()
        self._looking[base] = looking
        failure: AvisoError | None = None
        try:
            if wanted is None:
                info = await get_stream(self._connection, base)
            else:
                info = await ensure_stream(self._connection, wanted)
            return self._remember(base, wanted, info)
        except AvisoError as error:
            failure = error
            raise
        finally:
            looking.set_result(failure)
            del self._looking[base]

    def _remember(self, base: str, wanted: StreamConfiguration | None, info: StreamInfo) -> Bound:
        bound = info.bound(base, wanted, seen=self._losses)
        if len(self._bound) >= _MOST_BOUND:
            self._bound.clear()
        self._bound[base] = bound
        return bound

    async def _confirm(self, base: str) -> Bound:
        """Look at the stream of a base again, making it anew where that is ours to do."""
        self._forget(base)
        return await self._bind(base)

    def _forget(self, base: str) -> None:
        for spelling in [known for known in self._bound if known.lower() == base.lower()]:
            del self._bound[spelling]

    def on_lost(self) -> None:
        """Look at every stream again once the broker is back: it may be another broker."""
        self._losses += 1

    async def bounds(self, base: str) -> Bounds:
        """Return what the stream holds."""
        bound = await self._bind(base)
        info = await find_whole_stream(self._connection, base)
        if info is None or info.created != bound.epoch:
            # It was removed since it was bound, or somebody has made it again, who knows how.
            await self._confirm(base)
            info = existing(base, await find_whole_stream(self._connection, base))
        return info.bounds()

    # --- appending ---------------------------------------------------------------------------------------

    async def append(self, base: str, record: Record) -> Appended:
        """Store one record."""
        size = check_record(base, record)
        sent = await self._publish(await self._bind(base, may_be_stale=True), base, record, size)
        return await self._outcome(base, sent)

    async def append_all(self, base: str, records: Sequence[Record]) -> list[Appended | AppendFailed]:
        """Store records in their order, all in flight at once."""
        bound = await self._bind(base, may_be_stale=True)
        under_way: list[_UnderWay | AppendFailed] = []
        try:
            for record in records:
                under_way.append(await self._publish_or_refuse(bound, base, record))
            return [
                one if isinstance(one, AppendFailed) else await self._outcome_or_failure(base, one)
                for one in under_way
            ]
        finally:
            for one in under_way:
                if isinstance(one, _UnderWay):
                    one.let_go()

    async def _publish_or_refuse(self, bound: Bound, base: str, record: Record) -> _UnderWay | AppendFailed:
        try:
            size = check_record(base, record)
            return await self._publish(bound, base, record, size)
        except AppendFailed as refusal:
            return refusal
        except Unavailable as error:
            return AppendFailed(str(error), may_retry=True)

    async def _publish(self, bound: Bound, base: str, record: Record, size: int) -> _UnderWay:
        assert self._publisher is not None
        message_id = record.message_id or self._ids.next().decode()
        answer = await self._publisher.publish(base, bound.stored_form(record), message_id, size)
        return _UnderWay(answer, message_id, is_its_own=record.message_id is not None)

    async def _outcome(self, base: str, under_way: _UnderWay) -> Appended:
        try:
            return await under_way.answer
        except WrongLastSequence as refusal:
            # The broker looks at the expectation first, so a record that is sent again is refused where it succeeded.
            sequence = refusal.expected + 1
            stored = await find_entry(self._connection, base, sequence)
            if stored is None or stored.headers.get(MESSAGE_ID) != under_way.message_id:
                raise
            return Appended(sequence, is_duplicate=under_way.is_its_own)

    async def _outcome_or_failure(self, base: str, under_way: _UnderWay) -> Appended | AppendFailed:
        try:
            return await self._outcome(base, under_way)
        except AppendFailed as failure:
            return failure
        except (StreamMissing, StreamRefused) as missing:
            return AppendFailed(str(missing), may_retry=True)

    async def append_atomically(self, base: str, records: Sequence[Record]) -> list[Appended]:
        """Store all records or none."""
        expected_last = check_batch(base, records)
        if not records:
            return []
        if not self._connection.client.is_at_least(*OFFERS_BATCHES):
            # An older broker would take the members for records like any others, and store them one by one.
            raise Unsupported("the broker takes no atomic batches: it is too old")
        try:
            return await self._publish_batch(await self._bind(base), records, expected_last)
        except NobodyListens:
            return await self._publish_batch(await self._confirm(base), records, expected_last)

    async def _publish_batch(
        self, bound: Bound, records: Sequence[Record], expected_last: int | None
    ) -> list[Appended]:
        return await publish_batch(
            self._connection,
            [bound.stored_form(record) for record in records],
            expected_last=expected_last,
            seconds=self._append_seconds,
        )

    # --- reading -----------------------------------------------------------------------------------------

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
        with self._noticing_another(base, epoch):
            bound = await self._bind(base)
            whole = Reader(self._connection, base, epoch).read(
                first=first, last=last, pattern=bound.spelt_pattern(pattern), batch_bytes=batch_bytes
            )
            async with aclosing(whole) as batches:
                async for batch in batches:
                    yield batch

    async def latest(self, base: str, *, pattern: str | None = None, epoch: str | None = None) -> list[Entry]:
        """Return the last entry of each subject."""
        with self._noticing_another(base, epoch):
            bound = await self._bind(base)
            return await Reader(self._connection, base, epoch).latest(bound.spelt_pattern(pattern))

    async def seek(self, base: str, instant: int, *, epoch: str | None = None) -> int:
        """Return the first sequence stored at or after an instant, or the next one to come."""
        with self._noticing_another(base, epoch):
            bounds = await self.bounds(base)
            if epoch is not None and epoch != bounds.epoch:
                raise epoch_changed(base, epoch, bounds.epoch)
            if instant > instants.LATEST_STAMP or not bounds.messages:
                return bounds.last + 1
            found = await Reader(self._connection, base, bounds.epoch).seek(instant)
            return bounds.last + 1 if found is None else found

    @contextmanager
    def _noticing_another(self, base: str, epoch: str | None) -> Iterator[None]:
        """Look at the stream again at the next call if it is another one or gone; one that is gone has no positions."""
        try:
            yield
        except EpochChanged:
            self._forget(base)
            raise
        except StreamMissing as missing:
            self._forget(base)
            if epoch is None:
                raise
            raise epoch_changed(base, epoch, None) from missing

    @asynccontextmanager
    async def tail(self, base: str, *, after: int, epoch: str) -> AsyncIterator[JetStreamTail]:
        """Follow the stream from the entry after a position."""
        info = await find_stream(self._connection, base)
        if info is None or info.created != epoch:
            raise epoch_changed(base, epoch, info.created if info else None)
        tail = JetStreamTail(self._connection, base, after=after, epoch=epoch, on_trouble=self._note_trouble)
        try:
            yield tail
        finally:
            tail.let_go()
            self._tails_in_trouble.discard(tail)

    def _note_trouble(self, tail: JetStreamTail, is_in_trouble: bool) -> None:
        if is_in_trouble:
            self._tails_in_trouble.add(tail)
        else:
            self._tails_in_trouble.discard(tail)

    # --- removing ----------------------------------------------------------------------------------------

    async def delete(self, base: str, sequence: int) -> bool:
        """Remove one entry."""
        info = await find_stream(self._connection, base)
        if info is None or not info.holds(base) or not 0 < sequence <= _LARGEST_SEQUENCE:
            return False
        try:
            await self._connection.ask(f"STREAM.MSG.DELETE.{stream_name(base)}", {"seq": sequence})
        except ApiRefusal as refusal:
            if await find_entry(self._connection, base, sequence) is None:
                return False
            raise refused(base, refusal) from refusal
        return True

    async def wipe(self, base: str) -> bool:
        """Remove all entries of a stream."""
        info = await find_whole_stream(self._connection, base)
        if info is None or not info.holds(base):
            return False
        try:
            # Up to what there is now: a purge without an end that is asked for twice would take what came in between.
            await self._connection.ask(f"STREAM.PURGE.{stream_name(base)}", {"seq": info.state.last_seq + 1})
        except ApiRefusal as refusal:
            if refusal.number == NOT_FOUND:
                return False
            raise refused(base, refusal) from refusal
        return True

    async def wipe_all(self) -> None:
        """Remove all entries of all streams that are bound as ours are, as far as the broker lets us."""
        left: dict[str, StreamRefused | Unavailable] = {}
        for name in await streams_of_this_log(self._connection):
            if left and not self._connection.is_connected:
                left[name] = self._connection.unavailable("the connection was lost before")
                continue
            try:
                await self.wipe(name)
            except (StreamRefused, Unavailable) as error:
                left[name] = error
        if left:
            is_refused = any(isinstance(error, StreamRefused) for error in left.values())
            reasons = "; ".join(f"'{name}': {error}" for name, error in left.items())
            raise (StreamRefused if is_refused else Unavailable)(f"not every stream was emptied: {reasons}")


@asynccontextmanager
async def open_jetstream_log(
    options: ConnectionOptions,
    *,
    wanted: WantedStreams | None = None,
    append_seconds: float = _APPEND_SECONDS,
) -> AsyncIterator[JetStreamLog]:
    """Connect and serve. `wanted` is given by whoever owns the streams; without it streams are bound as they are."""
    async with open_connection(options) as connection:
        log = JetStreamLog(connection, wanted, append_seconds=append_seconds)
        connection.on_lost.append(log.on_lost)
        async with open_publisher(connection, log._confirm, deadline_seconds=append_seconds) as publisher:
            log._publisher = publisher
            yield log
