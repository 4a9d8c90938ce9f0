"""One connection to the broker: how it is made, kept and asked.

The client library keeps the connection and speaks the protocol (`client` says where we go our own ways). It reconnects
by itself, for ever unless told otherwise, with a pause that differs from process to process so that a broker that comes
back is not met by all of them at once. What was waiting in its send buffer when a connection broke is dropped: whoever
waits for an answer sends again, in order, and the buffer would overtake that.

A connection over which nothing comes any more is not seen to break, so the broker is pinged: one that owes several
answers is taken for lost.
"""

from __future__ import annotations

import asyncio
import logging
import random
import re
import ssl
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import msgspec
from nats import errors as nats_errors

from aviso_core.broker.client import BrokerClient
from aviso_core.broker.parser import Delivered as Delivered
from aviso_core.broker.parser import Listener as Listener
from aviso_core.errors import AvisoError, Unavailable
from aviso_core.plain.secret import Secret, hide_credentials

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

_API: Final = "$JS.API."
_ASK_AGAIN_SECONDS: Final = 1.0
_CLOSE_SECONDS: Final = 2.0
_PING_SECONDS: Final = 2
_PINGS_UNANSWERED: Final = 2
_JITTER: Final = 0.5
# What may stand in a subject as it is.
_PLAIN_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]+")
# How much waits to be sent is bounded by whoever sends. The library's own bound would make it wait where it cannot be
# cancelled.
_NO_LIMIT: Final = 2**40

# The broker's words for "not now" and "not here": without a leader, offline, without JetStream.
_CANNOT_ANSWER: Final = frozenset({10008, 10009, 10039, 10076, 10118, 10119})


class ConnectionOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Where the broker is and how it lets us in."""

    servers: tuple[str, ...] = ("nats://localhost:4222",)
    name: str = "aviso"
    token: Secret | None = None
    user: str | None = None
    password: Secret | None = None
    credentials_file: str | None = None
    nkey_seed_file: str | None = None
    tls_ca_file: str | None = None
    tls_certificate_file: str | None = None
    tls_key_file: str | None = None
    connect_seconds: float = 5.0
    connect_attempts: int = 3
    request_seconds: float = 5.0
    reconnect_delay_seconds: float = 2.0
    # None is for ever.
    reconnect_attempts: int | None = None

    def __repr__(self) -> str:
        # An address may carry credentials.
        return hide_credentials(super().__repr__())

    @property
    def needs_tls(self) -> bool:
        """Whether a connection that is not encrypted must not be used."""
        return bool(self.tls_ca_file or self.tls_certificate_file) or any(
            server.startswith(("tls:", "wss:")) for server in self.servers
        )


class Listening:
    """A subscription of ours; letting go of it is a plain call."""

    def __init__(self, client: BrokerClient, sid: int) -> None:
        self._client = client
        self._sid = sid

    def stop(self) -> None:
        """Stop listening."""
        self._client.stop_listening(self._sid)


def read_headers(raw: bytes) -> tuple[str, dict[str, str]]:
    """Return the status that the broker may have put in front, and the headers."""
    status, *lines = raw.decode("utf-8", "replace").split("\r\n")
    headers = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if colon:
            headers[name] = value.removeprefix(" ")
    return status.removeprefix("NATS/1.0").strip(), headers


class ApiRefusal(AvisoError):
    """The broker answered and said no. The number is the broker's own."""

    def __init__(self, number: int, description: str) -> None:
        super().__init__(description)
        self.number = number


class _ApiError(msgspec.Struct, frozen=True):
    code: int = 0
    err_code: int = 0
    description: str = "no description"


class _ApiAnswer(msgspec.Struct, frozen=True):
    error: _ApiError | None = None


class _Question(msgspec.Struct, frozen=True):
    frame: bytes
    may_repeat: bool
    answer: asyncio.Future[Delivered]


_read_answer: Final = msgspec.json.Decoder(_ApiAnswer).decode
_encode: Final = msgspec.json.Encoder().encode

_log: Final = logging.getLogger(__name__)


class Connection:
    """A connection that is asked, and tells those who want to know when it was lost and is back."""

    def __init__(self, client: BrokerClient, options: ConnectionOptions) -> None:
        self.client = client
        self.servers = ", ".join(map(hide_credentials, options.servers))
        self.on_lost: list[Callable[[], None]] = []
        self.on_back: list[Callable[[], None]] = []
        # Called with the subject of each question to the API and what came of it: 0 is well, None that nobody answered,
        # and any other number is the broker's own for why not.
        self.on_asked: list[Callable[[str, int | None], None]] = []
        self.last_error = ""
        self._is_lost = False
        # While it is opened: how many failures there may be before every server has had its chance.
        self._chances: int | None = len(options.servers)
        self._request_seconds = options.request_seconds
        self._inbox = ""
        self._questions: dict[bytes, _Question] = {}
        self._count = 0

    @property
    def is_connected(self) -> bool:
        """Whether the broker was reachable a moment ago."""
        return self.client.is_connected and not self._is_lost

    @property
    def is_over(self) -> bool:
        """Whether it was closed, or given up after the attempts that the options allow."""
        return self.client.is_closed

    async def open(self, options: ConnectionOptions) -> None:
        """Connect to one of the servers, or raise `Unavailable` when each of them has failed."""
        try:
            async with asyncio.timeout(options.connect_seconds * len(options.servers)):
                await self.client.connect(**_client_options(self, options))
            self._chances = None
            self.last_error = ""
            self._inbox = self.client.new_inbox()
            await self.listen(f"{self._inbox}.*", self._on_answer)
        except (nats_errors.Error, OSError, ValueError) as error:
            self.client.abort()
            raise self.unavailable("cannot connect", error) from error
        except BaseException:
            self.client.abort()
            raise

    async def close(self) -> None:
        """Send what is to be sent, if the broker takes it in time, and end the connection."""
        try:
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self.client.close()
        except (TimeoutError, OSError):
            # Nobody takes it, or what there is of a connection is being made anew.
            self.client.abort()
            await self.noticed_loss()

    async def listen(self, subject: str, listener: Listener) -> Listening:
        """Hand every message on a subject to a listener, as it comes off the wire."""
        if self.is_over:
            raise self.unavailable("the connection is closed")
        subscription = await self.client.subscribe(subject)
        self.client.listeners[subscription._id] = listener
        return Listening(self.client, subscription._id)

    def send(self, frame: bytes) -> None:
        """Send a ready-made frame of the protocol. Without a connection it is dropped."""
        if self.is_connected:
            self.client.write(frame)

    # --- questions ---------------------------------------------------------------------------------------

    async def ask(self, subject: str, question: object = None, *, may_repeat: bool = True) -> bytes:
        """Return the broker's answer to a question of its API, or raise what it refused.

        One that may be repeated is asked again while there is no answer, also over another connection.
        """
        came: int | None = None
        try:
            answer = await self._ask(subject, question, may_repeat=may_repeat)
            came = 0
        except ApiRefusal as refusal:
            came = refusal.number
            raise
        finally:
            for tell in self.on_asked:
                tell(subject, came)
        return answer

    async def _ask(self, subject: str, question: object, *, may_repeat: bool) -> bytes:
        body = b"" if question is None else _encode(question)
        head = f"{_API}{subject}".encode()
        message = await self.request(
            lambda reply: b"PUB %s %s %d\r\n%s\r\n" % (head, reply, len(body), body),
            what=subject,
            seconds=self._request_seconds,
            may_repeat=may_repeat,
        )
        if not message.data:
            raise self.unavailable(f"nobody answers to {subject}")
        refusal = _read_answer(message.data).error
        if refusal is None:
            return message.data
        if refusal.err_code in _CANNOT_ANSWER:
            raise self.unavailable(refusal.description)
        raise ApiRefusal(refusal.err_code, refusal.description)

    async def request(
        self, frame: Callable[[bytes], bytes], *, what: str, seconds: float, may_repeat: bool
    ) -> Delivered:
        """Send a frame of the protocol, made for the subject of the reply, and return the reply.

        One that may be repeated is sent again every now and then, for brokers lose a question while they elect who
        answers it, and after the connection was lost. Any other is given up then.
        """
        if self.is_over:
            raise self.unavailable("the connection is closed")
        if not may_repeat and not self.is_connected:
            raise self.unavailable("not connected")
        self._count += 1
        token = b"%x" % self._count
        reply = b"%s.%s" % (self._inbox.encode(), token)
        asked = _Question(frame(reply), may_repeat, asyncio.get_running_loop().create_future())
        self._questions[token] = asked
        self.send(asked.frame)
        try:
            async with asyncio.timeout(seconds):
                while may_repeat and not (await asyncio.wait((asked.answer,), timeout=_ASK_AGAIN_SECONDS))[0]:
                    self.send(asked.frame)
                return await asked.answer
        except TimeoutError as error:
            raise self.unavailable(f"no answer to {what}") from error
        finally:
            del self._questions[token]

    def _on_answer(self, message: Delivered) -> None:
        asked = self._questions.get(message.subject.rpartition(b".")[2])
        if asked is not None and not asked.answer.done():
            asked.answer.set_result(message)

    def unavailable(self, what: str, error: Exception | None = None) -> Unavailable:
        """Return the error of a broker that cannot be reached: which, and why."""
        reason = self.last_error if error is None or isinstance(error, TimeoutError) else ""
        reason = reason or ("" if error is None else _reason(error))
        return Unavailable(f"NATS at {self.servers}: {what}{': ' if reason else ''}{reason}")

    # --- what the client calls ---------------------------------------------------------------------------

    async def noticed_error(self, error: Exception) -> None:
        """Remember why the broker cannot be reached; while opening, give up when no server is left to try."""
        self.last_error = _reason(error)
        if self._chances is not None:
            self._chances -= 1
            if self._chances <= 0:
                raise error

    async def noticed_loss(self) -> None:
        """Drop what was not sent, and tell."""
        if self._chances is None and not self._is_lost and not self.is_over:
            reason = self.last_error or "it was closed"
            _tell(logging.WARNING, "lost", f"the connection to {self.servers} is lost: {reason}")
        self._is_lost = True
        self.client.forget_unsent()
        for asked in self._questions.values():
            if (self.is_over or not asked.may_repeat) and not asked.answer.done():
                asked.answer.set_exception(self.unavailable("the connection was lost before the answer"))
        for tell in list(self.on_lost):
            tell()

    async def noticed_return(self) -> None:
        """Ask again what was not answered, and tell that the broker answers again."""
        if self._is_lost:
            _tell(logging.INFO, "restored", f"the connection to {self.servers} is back")
        self._is_lost = False
        self.last_error = ""
        for asked in self._questions.values():
            self.send(asked.frame)
        for tell in list(self.on_back):
            tell()


def _tell(level: int, what: str, text: str) -> None:
    _log.log(level, "%s", text, extra={"event": f"backend.connection.{what}"}, stacklevel=2)


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "it does not answer"
    return hide_credentials(str(error) or type(error).__name__)


@asynccontextmanager
async def open_connection(options: ConnectionOptions) -> AsyncIterator[Connection]:
    """Connect, or raise `Unavailable` after the attempts that the options allow."""
    connection = await _connect(options)
    try:
        yield connection
    finally:
        await connection.close()


async def _connect(options: ConnectionOptions) -> Connection:
    attempt = 1
    while True:
        client = BrokerClient(credentials_file=options.credentials_file, needs_tls=options.needs_tls)
        connection = Connection(client, options)
        try:
            await connection.open(options)
            return connection
        except Unavailable:
            if attempt >= options.connect_attempts:
                raise
        attempt += 1
        await asyncio.sleep(options.reconnect_delay_seconds)


def _client_options(connection: Connection, options: ConnectionOptions) -> dict[str, Any]:
    jitter = 1 + _JITTER * random.random()  # noqa: S311 (spreads load, guards nothing)
    return {
        "servers": list(options.servers),
        "name": options.name,
        "allow_reconnect": True,
        "max_reconnect_attempts": options.reconnect_attempts or -1,
        "reconnect_time_wait": options.reconnect_delay_seconds * jitter,
        "connect_timeout": options.connect_seconds,
        "ping_interval": _PING_SECONDS,
        "max_outstanding_pings": _PINGS_UNANSWERED,
        "pending_size": _NO_LIMIT,
        "token": options.token.reveal() if options.token else None,
        "user": options.user,
        "password": options.password.reveal() if options.password else None,
        "inbox_prefix": _inbox_prefix(options.user),
        "user_credentials": options.credentials_file,
        "nkeys_seed": options.nkey_seed_file,
        "tls": _tls(options),
        "error_cb": connection.noticed_error,
        "disconnected_cb": connection.noticed_loss,
        "reconnected_cb": connection.noticed_return,
    }


def _inbox_prefix(user: str | None) -> str:
    """Return below which subject answers come: a user's own, so that a broker can keep users from each other's."""
    return f"_INBOX.{user}" if user is not None and _PLAIN_TOKEN.fullmatch(user) else "_INBOX"


def _tls(options: ConnectionOptions) -> ssl.SSLContext:
    """Return how a server is trusted that wants TLS, whether we asked for it or not."""
    files = (options.tls_ca_file, options.tls_certificate_file, options.tls_key_file)
    try:
        context = ssl.create_default_context(cafile=options.tls_ca_file)
        if options.tls_certificate_file:
            context.load_cert_chain(options.tls_certificate_file, options.tls_key_file)
    except OSError as error:
        # The library below does not say which file it could not read.
        named = ", ".join(f"'{file}'" for file in files if file)
        raise OSError(f"{named} cannot be used for TLS: {error.strerror or error}") from error
    return context
