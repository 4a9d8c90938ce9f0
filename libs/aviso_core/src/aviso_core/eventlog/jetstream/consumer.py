"""A consumer of the broker, pulled: what reads and tails are made of.

The consumer is ours alone, lives in memory and forgets itself. Entries come in answer to a pull, which is bounded in
number and bytes, and another one is sent when few of them are still to come: the broker never waits for us for long,
and never runs ahead of us by more than that.

Each delivery carries the consumer's own count, and so does the broker's heartbeat. A count that is not the next one
means that something was skipped on the way, and then the consumer is lost: whoever reads opens another one where this
one stopped. So is one that has gone silent.
"""

from __future__ import annotations

import asyncio
import re
from typing import Final, NamedTuple

import msgspec
from nats.nuid import NUID

from aviso_core.broker.connection import ApiRefusal, Connection, Delivered, read_headers
from aviso_core.eventlog.base import Entry

_SECOND: Final = 1_000_000_000
_MOST_ON_THE_WAY: Final = 4096
_BYTES_A_PULL: Final = 4 * 1024 * 1024
_EXPIRES_SECONDS: Final = 30
_HEARTBEAT_SECONDS: Final = 1
# After so long without a word the consumer is taken for lost.
_SILENCE_SECONDS: Final = 3.0
_INACTIVE_SECONDS: Final = 30
_LARGEST_SEQUENCE: Final = 2**64 - 1

_TOO_LARGE: Final = "Message Size Exceeds MaxBytes"
_PULL_ENDED: Final = (_TOO_LARGE, "Batch Completed")


class ConsumerLost(Exception):
    """The consumer is gone, silent, or skipped something; reading goes on with another one."""


class Start(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a consumer begins, in the broker's words."""

    deliver_policy: str
    opt_start_seq: int | None = None
    opt_start_time: str | None = None


def from_sequence(sequence: int) -> Start:
    """Begin with a sequence."""
    return Start(deliver_policy="by_start_sequence", opt_start_seq=min(max(1, sequence), _LARGEST_SEQUENCE))


class _Delivered(msgspec.Struct, frozen=True):
    consumer_seq: int = 0


class _Info(msgspec.Struct, frozen=True):
    num_pending: int = 0
    delivered: _Delivered = _Delivered()


_read_info: Final = msgspec.json.Decoder(_Info).decode
_encode: Final = msgspec.json.Encoder().encode


class Taken(NamedTuple):
    """Entries that came, and how many more there were then."""

    entries: list[Entry]
    pending: int


class Consumer:
    """An open consumer. Made by `start_consumer`.

    `most` bounds one that is for what is stored: it brings so many entries in all, and does not wait for more.
    """

    def __init__(self, connection: Connection, stream: str, *, most: int | None) -> None:
        self._connection = connection
        self._stream = stream
        self._name = NUID().next().decode()
        self._inbox = connection.client.new_inbox()
        self._most = most
        self._arrived: list[Delivered] = []
        self._something = asyncio.Event()
        self._pending = 0
        self._to_come = 0
        self._bytes_a_pull = _BYTES_A_PULL
        self._expected = 1
        self._is_dry = False
        self._ran_out = False
        self._lost: str | None = None
        # Since when something is waited for, and what will see that it was for too long.
        self._waits_since: float | None = None
        self._silence: asyncio.TimerHandle | None = None

    async def open(self, start: Start, pattern: str | None) -> None:
        """Ask the broker for the consumer."""
        self._listening = await self._connection.listen(self._inbox, self._on_message)
        self._connection.on_lost.append(self._lose)
        try:
            answer = await self._connection.ask(
                f"CONSUMER.CREATE.{self._stream}.{self._name}",
                {"stream_name": self._stream, "config": self._configuration(start, pattern)},
            )
        except BaseException:
            self.let_go()
            raise
        self._pending = _read_info(answer).num_pending
        self._is_dry = self._most is not None and not self._pending
        if not self._is_dry:
            # What is there is on its way while whoever opens this looks at something else first.
            self._pull()

    def _configuration(self, start: Start, pattern: str | None) -> dict[str, object]:
        configuration = {
            "name": self._name,
            "ack_policy": "none",
            "replay_policy": "instant",
            "inactive_threshold": _INACTIVE_SECONDS * _SECOND,
            "mem_storage": True,
            "num_replicas": 1,
            **msgspec.to_builtins(start),
        }
        return configuration if pattern is None else configuration | {"filter_subject": pattern}

    def let_go(self) -> None:
        """End it: at once here, and at the broker as soon as it hears of it."""
        self._connection.on_lost.remove(self._lose)
        self._listening.stop()
        if self._silence is not None:
            self._silence.cancel()
        # Nobody waits for the answer: a consumer that is not deleted forgets itself a little later.
        self._connection.send(f"PUB $JS.API.CONSUMER.DELETE.{self._stream}.{self._name} 0\r\n\r\n".encode())

    def _on_message(self, message: Delivered) -> None:
        self._arrived.append(message)
        self._something.set()

    def _lose(self) -> None:
        self._lost = "the connection was lost"
        self._something.set()

    async def take(self) -> Taken:
        """Return what came, one entry at least, and nothing where nothing is to come; `ConsumerLost` if it is lost.

        A call that is cancelled while it waits has taken nothing.
        """
        while True:
            entries = self._read_arrived() if self._arrived else []
            if self._ran_out and not entries:
                await self._check_everything_came()
            if self._lost is None and not self._is_dry:
                self._pull()
            if not entries and self._lost is not None:
                raise ConsumerLost(self._lost)
            if entries or self._is_dry:
                return Taken(entries, self._pending)
            await self._wait()

    async def _check_everything_came(self) -> None:
        """Be dry if the broker has nothing more because it was removed, lost if it has sent what never came."""
        try:
            answer = await self._connection.ask(f"CONSUMER.INFO.{self._stream}.{self._name}")
        except ApiRefusal as refusal:
            raise ConsumerLost(str(refusal)) from refusal
        self._ran_out = False
        info = _read_info(answer)
        if info.delivered.consumer_seq >= self._expected:
            self._lost = f"delivery {self._expected} never came, there were {info.delivered.consumer_seq}"
        self._is_dry = True

    async def _wait(self) -> None:
        if self._arrived:
            return
        self._something.clear()
        loop = asyncio.get_running_loop()
        self._waits_since = loop.time()
        if self._silence is None:
            self._silence = loop.call_later(_SILENCE_SECONDS, self._check_silence)
        try:
            await self._something.wait()
        finally:
            self._waits_since = None

    def _check_silence(self) -> None:
        """Be lost if nothing came for too long, or look again when that may be: a timer for each wait costs more."""
        self._silence = None
        if self._waits_since is None:
            return
        loop = asyncio.get_running_loop()
        silence_ends = self._waits_since + _SILENCE_SECONDS
        if loop.time() < silence_ends:
            self._silence = loop.call_at(silence_ends, self._check_silence)
        else:
            self._lost = "the broker has gone silent"
            self._something.set()

    # --- pulls -------------------------------------------------------------------------------------------

    def _pull(self) -> None:
        """Ask for more, if few are still to come."""
        # Of what is stored one pull follows another: one that came while another is answered would be refused.
        enough = _MOST_ON_THE_WAY // 2 if self._most is None else 0
        if self._to_come > enough:
            return
        count = _MOST_ON_THE_WAY - self._to_come
        question: dict[str, object] = {"max_bytes": self._bytes_a_pull}
        if self._most is None:
            question["expires"] = _EXPIRES_SECONDS * _SECOND
            question["idle_heartbeat"] = _HEARTBEAT_SECONDS * _SECOND
        else:
            count = min(count, self._most)
            question["no_wait"] = True
        body = _encode(question | {"batch": count})
        self._to_come += count
        self._connection.send(
            b"PUB $JS.API.CONSUMER.MSG.NEXT.%s.%s %s %d\r\n%s\r\n"
            % (self._stream.encode(), self._name.encode(), self._inbox.encode(), len(body), body)
        )

    # --- what arrives ------------------------------------------------------------------------------------

    def _read_arrived(self) -> list[Entry]:
        """Return the entries among what arrived, up to where the consumer was lost."""
        arrived, self._arrived = self._arrived, []
        entries: list[Entry] = []
        for message in arrived:
            if message.reply.startswith(b"$JS.ACK."):
                self._read_delivery(message, entries)
            else:
                self._read_status(message, nothing_came=not entries)
            if self._lost is not None:
                break
        return entries

    def _read_delivery(self, message: Delivered, entries: list[Entry]) -> None:
        tokens = message.reply.split(b".")
        # Brokers of several domains put two tokens in front, and newer ones may put more behind.
        _, sequence, count, instant, pending = tokens[4:9] if len(tokens) == 9 else tokens[6:11]
        if int(count) != self._expected:
            self._lost = f"delivery {count.decode()} came where {self._expected} was due"
            return
        self._expected += 1
        self._to_come -= 1
        self._pending = int(pending)
        if self._most is not None:
            self._most -= 1
            self._is_dry = not self._pending or not self._most
        entries.append(
            Entry(
                sequence=int(sequence),
                instant=int(instant),
                subject=message.subject.decode(),
                payload=message.data,
                headers=_producers_headers(message.headers),
            )
        )

    def _read_status(self, message: Delivered, *, nothing_came: bool) -> None:
        status, headers = read_headers(message.headers or b"")
        code, _, description = status.partition(" ")
        if code == "100":
            self._check_heartbeat(headers)
        elif code == "404":
            self._to_come = 0
            self._ran_out = self._most is not None
        elif code == "408" or description in _PULL_ENDED:
            self._to_come -= int(headers.get("Nats-Pending-Messages", 0))
            if description == _TOO_LARGE and nothing_came:
                # Not even one entry goes into such a pull.
                self._bytes_a_pull *= 2
        else:
            self._lost = status

    def _check_heartbeat(self, headers: dict[str, str]) -> None:
        """Notice a delivery that got lost when no other one came after it."""
        count = headers.get("Nats-Last-Consumer")
        if count is not None and int(count) >= self._expected:
            self._lost = f"delivery {self._expected} never came, there were {count}"


_NO_HEADERS: Final[dict[str, str]] = {}
# Headers of which none is a producer's.
_FOR_THE_BROKER: Final = re.compile(rb"NATS/1\.0\r\n(?:Nats-[^\r]*\r\n)*\r\n").fullmatch


def _producers_headers(raw: bytes | None) -> dict[str, str]:
    """Return the headers that were appended, without those that were for the broker."""
    if raw is None or _FOR_THE_BROKER(raw):
        return _NO_HEADERS
    _, headers = read_headers(raw)
    if b"Nats-" not in raw:
        return headers
    return {name: value for name, value in headers.items() if not name.startswith("Nats-")}


async def start_consumer(
    connection: Connection, stream: str, start: Start, *, pattern: str | None = None, most: int | None = None
) -> Consumer:
    """Make a consumer and listen to it; whoever gets it lets go of it."""
    consumer = Consumer(connection, stream, most=most)
    await consumer.open(start, pattern)
    return consumer
