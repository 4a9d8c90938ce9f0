"""A bucket of the broker: keys, their values and the last versions of each.

A bucket is a stream with one subject for each key, laid out as all clients of the broker lay out theirs, so that its
own tools can look into ours. The sequence of a message is the revision of the key. The client library has buckets too;
they are spoken to directly here because its watcher gives up what it cannot hand over in time, does not notice that
its consumer is gone, and its deletion does not tell the revision.
"""

from __future__ import annotations

import asyncio
import base64
from typing import Any, Final, Literal

import msgspec
from nats import errors as nats_errors

from aviso_core.broker.connection import ApiRefusal, Connection, Listener, Listening, read_headers
from aviso_core.broker.creation import create_stream
from aviso_core.errors import AvisoError, Unavailable

_SECOND: Final = 1_000_000_000
_WRITE_SECONDS: Final = 5.0
_LONGEST_DUPLICATE_WINDOW_SECONDS: Final = 120.0

_NO_STREAM: Final = 10059
_NAME_IN_USE: Final = 10058
_NO_MESSAGE: Final = 10037
_WRONG_LAST: Final = (10071, 10164)

_EXPECTED_LAST: Final = "Nats-Expected-Last-Subject-Sequence"
_OPERATION: Final = "KV-Operation"
# Written by the broker itself where a message had expired or was purged.
_MARKER: Final = "Nats-Marker-Reason"


class BucketSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What a bucket is like. An age of 0 keeps for ever."""

    name: str
    history: int = 1
    replicas: int = 1
    max_age_seconds: float = 0.0
    medium: Literal["file", "memory"] = "file"

    @property
    def stream(self) -> str:
        """The name of its stream."""
        return f"KV_{self.name}"


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A version of a key. A tombstone marks that the key was deleted."""

    key: str
    revision: int
    value: bytes
    is_tombstone: bool


class WrongRevision(AvisoError):
    """The key is not at the revision that the write expected."""


class BucketMissing(Unavailable):
    """There is no such bucket, or its stream has no leader at the moment."""


class BucketRefused(AvisoError):
    """The broker refuses the bucket as it is wanted."""

    code = "BUCKET_REFUSED"


class State(msgspec.Struct, frozen=True):
    """What the stream of a bucket holds."""

    messages: int
    last_seq: int


class _Info(msgspec.Struct, frozen=True):
    config: dict[str, Any]
    state: State


class _Message(msgspec.Struct, frozen=True):
    subject: str
    seq: int
    hdrs: str = ""
    data: str = ""


class _Found(msgspec.Struct, frozen=True):
    message: _Message


class _WriteError(msgspec.Struct, frozen=True):
    err_code: int = 0
    description: str = ""


class _Written(msgspec.Struct, frozen=True):
    seq: int = 0
    error: _WriteError | None = None


_read_info: Final = msgspec.json.Decoder(_Info).decode
_read_found: Final = msgspec.json.Decoder(_Found).decode
_read_written: Final = msgspec.json.Decoder(_Written).decode


class Bucket:
    """A bucket, there or not yet. `is_owner` makes and mends it; everybody else takes it as it is."""

    def __init__(self, connection: Connection, settings: BucketSettings, *, is_owner: bool) -> None:
        self.connection = connection
        self.settings = settings
        self.is_owner = is_owner

    @property
    def subjects(self) -> str:
        """All subjects of the bucket."""
        return self.subject_of(">")

    def subject_of(self, key: str) -> str:
        """Return the subject of a key."""
        return f"$KV.{self.settings.name}.{key}"

    def entry(self, subject: str, revision: int, headers: bytes, value: bytes) -> Entry:
        """Return what a message of the stream says of a key."""
        _, named = read_headers(headers)
        return Entry(
            key=subject.removeprefix(self.subject_of("")),
            revision=revision,
            value=value,
            is_tombstone=named.get(_OPERATION) in ("DEL", "PURGE") or _MARKER in named,
        )

    # --- the bucket as a whole ---------------------------------------------------------------------------

    async def ensure(self) -> None:
        """Make the bucket, or mend it where it differs from what is wanted."""
        wanted = _configuration(self.settings, self.subjects)
        info = await self._find()
        if info is None and await self._create(wanted):
            return
        info = info or await self._find()
        if info is None:
            raise BucketRefused(
                f"bucket '{self.settings.name}' is made and removed by others at the same time"
            )
        if not _fits(wanted, info.config):
            await self._change(info.config | wanted)

    async def _create(self, wanted: dict[str, object]) -> bool:
        try:
            await create_stream(self.connection, self.settings.stream, wanted)
        except ApiRefusal as refusal:
            if refusal.number == _NAME_IN_USE:
                # Somebody else made it in between, with other settings.
                return False
            raise self._refused(refusal) from refusal
        return True

    async def _change(self, configuration: dict[str, object]) -> None:
        try:
            await self.connection.ask(f"STREAM.UPDATE.{self.settings.stream}", configuration)
        except ApiRefusal as refusal:
            raise self._refused(refusal) from refusal

    def _refused(self, refusal: ApiRefusal) -> BucketRefused:
        return BucketRefused(f"bucket '{self.settings.name}': {refusal}")

    async def _find(self) -> _Info | None:
        try:
            return _read_info(await self.connection.ask(f"STREAM.INFO.{self.settings.stream}"))
        except ApiRefusal as refusal:
            if refusal.number == _NO_STREAM:
                return None
            raise self._unreachable(refusal) from refusal

    async def state(self) -> State:
        """Return what the bucket holds, or raise `BucketMissing`."""
        info = await self._find()
        if info is None:
            raise self._missing()
        return info.state

    def _missing(self) -> BucketMissing:
        return BucketMissing(str(self.connection.unavailable(f"there is no bucket '{self.settings.name}'")))

    def _unreachable(self, refusal: ApiRefusal) -> Unavailable:
        return self.connection.unavailable(f"bucket '{self.settings.name}' cannot be reached", refusal)

    # --- keys --------------------------------------------------------------------------------------------

    async def get(self, key: str) -> Entry | None:
        """Return the latest version of a key, or None; it is asked of the stream's leader, so it is the latest."""
        question = {"last_by_subj": self.subject_of(key)}
        try:
            answer = await self.connection.ask(f"STREAM.MSG.GET.{self.settings.stream}", question)
        except ApiRefusal as refusal:
            if refusal.number == _NO_MESSAGE:
                return None
            if refusal.number == _NO_STREAM:
                raise self._missing() from refusal
            raise self._unreachable(refusal) from refusal
        found = _read_found(answer).message
        return self.entry(
            found.subject, found.seq, base64.b64decode(found.hdrs), base64.b64decode(found.data)
        )

    async def put(self, key: str, value: bytes, *, expected: int | None) -> int:
        """Write a value, if the key is at the expected revision; None takes any. Return the new revision."""
        return await self._write(key, value, _expecting(expected))

    async def delete(self, key: str, *, expected: int | None) -> int:
        """Write a tombstone, if the key is at the expected revision. Return its revision."""
        return await self._write(key, b"", {_OPERATION: "DEL"} | _expecting(expected))

    def delete_soon(self, key: str) -> None:
        """Write a tombstone without asking what became of it."""
        self.connection.send(_frame(self.subject_of(key), "", {_OPERATION: "DEL"}, b""))

    async def _write(self, key: str, value: bytes, headers: dict[str, str]) -> int:
        try:
            return await self._try_writing(key, value, headers)
        except BucketMissing:
            if not self.is_owner:
                raise
            # The broker lost it, or came back as another one.
            await self.ensure()
            return await self._try_writing(key, value, headers)

    async def _try_writing(self, key: str, value: bytes, headers: dict[str, str]) -> int:
        size = len(_head(headers)) + len(value)
        if size > self.connection.client.max_payload:
            # Sent, it would break the connection, and with it everything in flight.
            limit = self.connection.client.max_payload
            raise self.connection.unavailable(f"key '{key}' takes {size} bytes, at most {limit} are taken")
        answer = await self._send(self.subject_of(key), value, headers)
        if not answer:
            # Nobody listens to the subject.
            raise self._missing()
        written = _read_written(answer)
        if written.error is None:
            return written.seq
        if written.error.err_code in _WRONG_LAST:
            raise WrongRevision(written.error.description)
        raise self.connection.unavailable(f"key '{key}' was not stored: {written.error.description}")

    async def _send(self, subject: str, value: bytes, headers: dict[str, str]) -> bytes:
        """Send a write once and return the answer; unlike a question it must not be sent again by itself."""
        answer: asyncio.Future[bytes | None] = asyncio.get_running_loop().create_future()

        def settle(data: bytes | None = None) -> None:
            if not answer.done():
                answer.set_result(data)

        inbox = self.connection.client.new_inbox()
        listening = await self._listen(inbox, lambda message: settle(message.data))
        self.connection.on_lost.append(settle)
        try:
            if not self.connection.is_connected:
                settle()
            self.connection.send(_frame(subject, inbox, headers, value))
            async with asyncio.timeout(_WRITE_SECONDS):
                data = await answer
        except TimeoutError as error:
            raise self.connection.unavailable(f"no answer to writing {subject}", error) from error
        finally:
            self.connection.on_lost.remove(settle)
            listening.stop()
        if data is None:
            raise self.connection.unavailable(f"the connection was lost while writing {subject}")
        return data

    async def _listen(self, inbox: str, listener: Listener) -> Listening:
        try:
            return await self.connection.listen(inbox, listener)
        except nats_errors.Error as error:
            raise self.connection.unavailable("the connection is closed", error) from error


def _frame(subject: str, reply: str, headers: dict[str, str], value: bytes) -> bytes:
    """Return a write in the protocol."""
    head = _head(headers)
    sizes = f"{len(head)} {len(head) + len(value)}"
    return b"%s%s%s\r\n" % (f"HPUB {subject} {reply} {sizes}\r\n".encode(), head, value)


def _head(headers: dict[str, str]) -> bytes:
    lines = "".join(f"{name}: {text}\r\n" for name, text in headers.items())
    return f"NATS/1.0\r\n{lines}\r\n".encode()


def _expecting(revision: int | None) -> dict[str, str]:
    return {} if revision is None else {_EXPECTED_LAST: str(revision)}


def _configuration(settings: BucketSettings, subjects: str) -> dict[str, object]:
    """Return the stream of a bucket as every client of the broker would make it."""
    age = settings.max_age_seconds
    window = min(age, _LONGEST_DUPLICATE_WINDOW_SECONDS) if age else _LONGEST_DUPLICATE_WINDOW_SECONDS
    return {
        "name": settings.stream,
        "subjects": [subjects],
        "max_msgs_per_subject": settings.history,
        "max_age": int(age * _SECOND),
        "duplicate_window": int(window * _SECOND),
        "storage": settings.medium,
        "num_replicas": settings.replicas,
        "retention": "limits",
        "discard": "new",
        "deny_delete": True,
        "allow_rollup_hdrs": True,
        "allow_direct": True,
    }


def _fits(wanted: dict[str, object], observed: dict[str, Any]) -> bool:
    return all(observed.get(name, _UNSAID.get(name)) == value for name, value in wanted.items())


# What the broker leaves out of a configuration where it is so.
_UNSAID: Final[dict[str, object]] = {"max_age": 0}
