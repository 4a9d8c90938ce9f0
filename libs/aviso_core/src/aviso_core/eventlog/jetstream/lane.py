"""The way of records to one stream: in order, sent again when they were lost, given up when their time is over.

When anything on the way is lost the lane is *held*: nothing new is sent until all that was lost is. First the stream
is looked at, then the oldest record goes alone, and only when the broker has answered to that do the others follow,
in their order. The broker takes what is sent over one connection one after the other, so by then whatever is still
without an answer will never get one. It knows records by their ids: what it had stored is not stored again.

Where a record replaces the one before it of its subject, one that was replaced is never sent again: a broker that was
killed knows only the ids of what it still has, and would put it back in the place of its successor. Such a broker is
only asked whether it knows the record.

What loses records: a connection that breaks (everything without an answer counts as lost then); an answer that nobody
listens, while there is no stream or no leader; and silence, when brokers lose it among themselves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec
from nats.nuid import NUID

from aviso_core.errors import Unavailable
from aviso_core.eventlog.base import (
    Appended,
    AppendFailed,
    RecordTooLarge,
    StreamMissing,
    StreamRefused,
    WrongLastSequence,
)
from aviso_core.eventlog.jetstream.bound import Bound
from aviso_core.eventlog.jetstream.entries import StoredEntry, find_last_entry
from aviso_core.eventlog.jetstream.frames import MESSAGE_ID, asking_for_id, publication

if TYPE_CHECKING:
    from aviso_core.broker.connection import Connection, Delivered
    from aviso_core.eventlog.base import Record

# After so long without an answer the oldest record is taken for lost.
_ANSWER_SECONDS: Final = 2.0
_RETRY_SECONDS: Final = 0.1
# Records are numbered in hexadecimal digits, so this begins none of their tokens.
_PROBE: Final = b"p%x"

_WRONG_LAST_SEQUENCE: Final = 10071
_WRONG_LAST_ID: Final = 10070
# The broker is at that very id: it will be known in a moment.
_ID_IN_PROCESS: Final = 10158
SERVER_TROUBLE: Final = 500


class AckError(msgspec.Struct, frozen=True):
    """Why the broker did not store a record."""

    code: int = 0
    err_code: int = 0
    description: str = ""


class Ack(msgspec.Struct, frozen=True):
    """What the broker says of a record, or of a batch."""

    seq: int = 0
    duplicate: bool = False
    error: AckError | None = None


read_ack: Final = msgspec.json.Decoder(Ack).decode


class _Sent:
    """A record on its way."""

    __slots__ = (
        "answer",
        "expected",
        "first_sent",
        "headers",
        "is_replaced",
        "last_sent",
        "message_id",
        "payload",
        "since",
        "size",
        "subject",
    )

    def __init__(self, record: Record, message_id: str, headers: bytes, size: int, now: float) -> None:
        self.subject = record.subject
        self.payload = record.payload
        self.message_id = message_id
        self.headers = headers
        self.is_replaced = False
        self.expected = record.expected_last_sequence
        self.size = size
        self.since = now
        self.first_sent = 0.0
        self.last_sent = 0.0
        self.answer: asyncio.Future[Appended] = asyncio.get_running_loop().create_future()


# Makes sure that the stream of a base is there, making it where this process may, or raises why it is not.
Confirm: TypeAlias = Callable[[str], Awaitable[Bound]]


class Lane:
    """What is on its way to the stream of a base. `leave` is told the size of each record that is not any more."""

    def __init__(
        self,
        base: str,
        *,
        connection: Connection,
        inbox: bytes,
        confirm: Confirm,
        leave: Callable[[int], None],
        deadline_seconds: float,
    ) -> None:
        self.base = base
        self._connection = connection
        self._inbox = inbox
        self._confirm = confirm
        self._leave = leave
        self._deadline_seconds = deadline_seconds
        self._loop = asyncio.get_running_loop()
        self._in_flight: dict[bytes, _Sent] = {}
        self._count = 0
        # Everything in flight that is stored stands behind it.
        self._floor = 0
        # An id that no record has.
        self._nobodys_id = bytes(NUID().next())
        self._is_held = not connection.is_connected
        self._trouble = asyncio.Event()
        self._verdict: asyncio.Future[bool] | None = None
        self._probes = 0
        self._probe = b""
        self._probed = b""

    @property
    def is_idle(self) -> bool:
        """Whether nothing is on its way, and nothing has to be looked at first."""
        return not self._in_flight and not self._is_held and not self._trouble.is_set()

    def publish(self, record: Record, message_id: str, headers: bytes, size: int) -> asyncio.Future[Appended]:
        """Send a record, or keep it for when that may be done; return where its acknowledgement will arrive."""
        sent = _Sent(record, message_id, headers, size, self._loop.time())
        self._count += 1
        token = b"%x" % self._count
        self._in_flight[token] = sent
        if not self._is_held:
            self._send(sent, token)
        return sent.answer

    def _send(self, sent: _Sent, token: bytes) -> None:
        sent.last_sent = self._loop.time()
        sent.first_sent = sent.first_sent or sent.last_sent
        reply = b"%s.%s" % (self._inbox, token)
        if sent.is_replaced:
            frame = publication(sent.subject, reply, asking_for_id(sent.headers, self._nobodys_id), b"")
        else:
            frame = publication(sent.subject, reply, sent.headers, sent.payload)
        self._connection.send(frame)

    # --- answers -----------------------------------------------------------------------------------------

    def on_answer(self, token: bytes, message: Delivered) -> None:
        """Hand an acknowledgement to whoever waits for it."""
        is_probe = token == self._probe
        if is_probe:
            token = self._probed
        sent = self._in_flight.get(token)
        if sent is None and not is_probe:
            return
        ack = read_ack(message.data) if message.data else None
        if ack is None or (ack.error is not None and ack.error.err_code == _ID_IN_PROCESS):
            self._lose()
            return
        if sent is not None:
            if ack.seq > self._floor and token == next(iter(self._in_flight)):
                self._floor = ack.seq
            self._settle(token, sent)
            self._tell(sent, ack)
        if is_probe:
            self._decide(True)

    def _tell(self, sent: _Sent, ack: Ack) -> None:
        if sent.answer.done():
            return
        if ack.error is not None:
            sent.answer.set_exception(_refusal(sent, ack.error))
            return
        is_ours = sent.first_sent != sent.last_sent
        sent.answer.set_result(Appended(ack.seq, is_duplicate=ack.duplicate and not is_ours))

    def _settle(self, token: bytes, sent: _Sent) -> None:
        del self._in_flight[token]
        self._leave(sent.size)

    def _fail(self, token: bytes, sent: _Sent, error: Exception) -> None:
        self._settle(token, sent)
        if not sent.answer.done():
            sent.answer.set_exception(error)

    def fail_all(self, make_error: Callable[[], Exception]) -> None:
        """Give up everything that is on its way."""
        for token, sent in list(self._in_flight.items()):
            self._fail(token, sent, make_error())

    def give_up_overdue(self) -> None:
        """Fail what was not acknowledged in time, and take for lost what has been waiting for too long."""
        now = self._loop.time()
        while self._in_flight:
            token, oldest = next(iter(self._in_flight.items()))
            if oldest.since + self._deadline_seconds > now:
                if not self._is_held and oldest.last_sent + _ANSWER_SECONDS < now:
                    self._trouble.set()
                return
            reason = self._connection.unavailable("no acknowledgement in time")
            self._fail(token, oldest, AppendFailed(str(reason), may_retry=True))

    # --- what is lost ------------------------------------------------------------------------------------

    def on_lost(self) -> None:
        """Hold: whatever was on its way is not any more."""
        self._is_held = True
        self._decide(False)

    def on_back(self) -> None:
        """Send again what was not acknowledged: the connection was lost and is back."""
        self._trouble.set()

    def _lose(self) -> None:
        """Hold, and try again a little later."""
        if self._verdict is not None:
            self._decide(False)
        elif not self._is_held:
            self._is_held = True
            self._loop.call_later(_RETRY_SECONDS, self._trouble.set)

    def _decide(self, is_answered: bool) -> None:
        if self._verdict is not None and not self._verdict.done():
            self._verdict.set_result(is_answered)

    async def mend_for_ever(self) -> None:
        """Send again whatever was lost, whenever there is a reason to."""
        while True:
            await self._trouble.wait()
            self._trouble.clear()
            self._is_held = True
            if self._connection.is_connected and not await self._mend():
                self._loop.call_later(_RETRY_SECONDS, self._trouble.set)

    async def _mend(self) -> bool:
        """Send again what was lost; False where that has to be tried again."""
        try:
            bound = await self._confirm(self.base)
            self._prepare_again(bound)
            if bound.is_bounded_per_subject:
                await self._look_for_replaced()
        except Unavailable:
            return False
        except (StreamMissing, StreamRefused) as refusal:
            self._fail_all_for(refusal)
        if self._in_flight and not await self._is_oldest_answered():
            return False
        self._is_held = False
        for token, sent in self._in_flight.items():
            self._send(sent, token)
        return True

    def _fail_all_for(self, refusal: StreamMissing | StreamRefused) -> None:
        self.fail_all(lambda: type(refusal)(str(refusal)))

    def _prepare_again(self, bound: Bound) -> None:
        """Fail what the broker might not know again, drop what nobody waits for, and spell the rest as it is now."""
        now = self._loop.time()
        for token, sent in list(self._in_flight.items()):
            sent.subject = bound.spelt(sent.subject)
            failure = self._why_not_again(sent, bound, now)
            if sent.answer.done() or failure is not None:
                self._fail(token, sent, failure or AppendFailed("nobody waits for it", may_retry=False))

    def _why_not_again(self, sent: _Sent, bound: Bound, now: float) -> AppendFailed | None:
        if sent.first_sent and sent.first_sent + bound.duplicate_window_seconds < now:
            return _given_up("storing the record twice")
        size, limit = len(sent.headers) + len(sent.payload), self._connection.client.max_payload
        if size <= limit:
            return None
        # It is another broker than the one that the record was made for.
        return _given_up("breaking the connection") if sent.first_sent else RecordTooLarge(size, limit)

    async def _look_for_replaced(self) -> None:
        """Find the records that may have been stored and replaced by what is stored of their subjects now."""
        last_of: dict[str, StoredEntry | None] = {}
        ids_so_far = set()
        for sent in list(self._in_flight.values()):
            ids_so_far.add(sent.message_id)
            # One that expects something is not stored twice: the expectation is looked at first.
            if not sent.first_sent or sent.expected is not None:
                continue
            if sent.subject not in last_of:
                last_of[sent.subject] = await find_last_entry(self._connection, self.base, sent.subject)
            last = last_of[sent.subject]
            sent.is_replaced = (
                last is not None
                and last.sequence > self._floor
                and last.headers.get(MESSAGE_ID) not in ids_so_far
            )

    async def _is_oldest_answered(self) -> bool:
        """Send the oldest record alone and wait for what the broker says to that, and not to an earlier sending."""
        self._probes += 1
        self._probe = _PROBE % self._probes
        self._probed = next(iter(self._in_flight))
        self._verdict = self._loop.create_future()
        self._send(self._in_flight[self._probed], self._probe)
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                return await self._verdict
        except TimeoutError:
            return False
        finally:
            self._verdict = None


def _given_up(harm: str) -> AppendFailed:
    return AppendFailed(f"no acknowledgement, and too late to try again without {harm}", may_retry=False)


def _refusal(sent: _Sent, error: AckError) -> AppendFailed:
    if error.err_code == _WRONG_LAST_SEQUENCE and sent.expected is not None:
        return WrongLastSequence(sent.expected)
    if error.err_code == _WRONG_LAST_ID and sent.is_replaced:
        return _given_up("replacing a later record of its subject")
    return AppendFailed(error.description, may_retry=error.code >= SERVER_TROUBLE)
