"""Requests to the service: over kept connections, repeated while that may help, and given up at a deadline.

Only what the service answers with 408, 425, 429 or 5xx is repeated, and what got no answer at all: what is posted must
be such that the service knows it again.

A client pickles to its settings. Its connections are made where they are used.
"""

from __future__ import annotations

import os
import threading
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final

import msgspec
import urllib3

from pyspark_aviso.bodies_of_answers import (
    READ_AT_ONCE,
    SILENCE_SECONDS,
    excerpt,
    read_body,
    read_excuse,
)
from pyspark_aviso.compression import NEXT, Choice, Encoding, compress
from pyspark_aviso.credentials import Credentials
from pyspark_aviso.options import OptionError
from pyspark_aviso.retrying import Attempts, is_worth_repeating, retry_after_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

UNSUPPORTED: Final = 415
CONNECT_SECONDS: Final = 10.0


class TransportError(Exception):
    """The service could not be reached, or did not answer as it says it does, until the deadline."""


class BrokeOff(TransportError):
    """An answer began and did not come to its end; asked again, the service may give all of it."""


class Refused(TransportError):
    """The service refused a request, and would refuse it again."""

    def __init__(self, status: int, message: str, *, what: str, code: str = "") -> None:
        super().__init__(
            f"{what}: the service refused it with {status}: {message}{_REMEDIES.get(status, '')}"
        )
        self.status = status
        # The service's own word for the reason, where it was the service that answered.
        self.code = code
        self.reason = message

    def __reduce__(self) -> tuple[Any, ...]:
        return _refused, (self.status, str(self), self.code, self.reason)


def _refused(status: int, text: str, code: str, reason: str) -> Refused:
    refused = Refused.__new__(Refused)
    Exception.__init__(refused, text)
    refused.status, refused.code, refused.reason = status, code, reason
    return refused


_REMEDIES: Final = {
    401: " (the token is taken from AVISO_TOKEN or from the file of option 'tokenFile'; is it there, and still valid?)",
    403: " (the token's user may not do this)",
    404: " (is option 'url' the address of the service?)",
}


class Client:
    """A client of one service, for any number of threads."""

    def __init__(
        self,
        url: str,
        credentials: Credentials | None = None,
        *,
        deadline_seconds: float = 60.0,
        compression: Choice = "auto",
        ca_file: str | None = None,
        connections: int = 4,
    ) -> None:
        self._url = url.rstrip("/")
        self._credentials = credentials or Credentials()
        self._deadline_seconds = deadline_seconds
        self._compression = compression
        self._ca_file = ca_file
        self._connections = connections
        # What the service takes is learnt from its answers.
        self._encoding: Encoding = "zstd" if compression == "auto" else compression
        self._lock = threading.Lock()
        self._opened: urllib3.PoolManager | None = None
        # Answers that are being read; whoever waits in one of them is let go by `close`.
        self._streaming: set[urllib3.BaseHTTPResponse] = set()
        self.requests = 0
        self.repeated = 0

    def __repr__(self) -> str:
        return f"Client({self._url!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (
            self._url,
            self._credentials,
            self._deadline_seconds,
            self._compression,
            self._ca_file,
            self._connections,
        )

    @property
    def deadline_seconds(self) -> float:
        """How long one piece of work may take with all its attempts."""
        return self._deadline_seconds

    def close(self) -> None:
        """Let go of the connections, and end answers that are being read; a request afterwards makes new ones."""
        with self._lock:
            opened, self._opened = self._opened, None
            for response in self._streaming:
                response.shutdown()
        if opened is not None:
            opened.clear()

    # --- what is asked ---------------------------------------------------------------------------------------

    def post(
        self, path: str, data: bytes, headers: dict[str, str], attempts: Attempts, *, what: str
    ) -> bytes:
        """Post data, compressed as far as the service takes that, and return its answer, until the attempts are over.

        Raises where the service does not answer, or refuses it; `what` is what an error says was posted.
        """
        while True:
            encoding = self._encoding
            body, encoded = compress(data, encoding)
            try:
                return self._ask("POST", path, body, headers | encoded, attempts, what=what)
            except Refused as refusal:
                if refusal.status != UNSUPPORTED or self._compression != "auto" or encoding not in NEXT:
                    raise
                self._encoding = NEXT[encoding]

    def get_json(self, path: str) -> Any:
        """Return what a path of the service answers, decoded."""
        answer = self._ask(
            "GET", path, None, {"Accept": "application/json"}, Attempts(self._deadline_seconds)
        )
        try:
            return msgspec.json.decode(answer)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise TransportError(f"GET {path}: the answer is no JSON: {excerpt(answer)}") from error

    def get_header(self, path: str, name: str) -> str | None:
        """Return a header of what a path of the service answers."""
        attempts = Attempts(self._deadline_seconds)
        with closing(
            self._begin("GET", path, None, {}, attempts, f"GET {path}", timeout=_until_deadline)
        ) as response:
            value: str | None = response.headers.get(name)
            return value

    def stream(self, path: str, body: bytes | None, accept: str) -> Generator[bytes, None, None]:
        """Ask for an endless or large answer and yield it as it comes: a POST where there is a body, else a GET.

        Repeated is only the request, until an answer begins; an answer that breaks off raises `BrokeOff`, as the
        caller alone knows from where to go on. Close the generator to end the answer early.
        """
        method = "GET" if body is None else "POST"
        headers = {"Accept": accept} | ({} if body is None else {"Content-Type": "application/json"})
        what = f"{method} {path}"
        attempts = Attempts(self._deadline_seconds)
        response = self._begin(method, path, body, headers, attempts, what, timeout=_while_it_lives)
        with self._lock:
            self._streaming.add(response)
        try:
            while data := response.read1(READ_AT_ONCE):
                yield data
        except urllib3.exceptions.HTTPError as error:
            raise BrokeOff(f"{what}: the answer broke off: {_named(error)}") from error
        finally:
            with self._lock:
                self._streaming.discard(response)
            # Whether or not all of it was read: a connection with an unread rest is of no use to anybody.
            response.close()

    # --- one request -----------------------------------------------------------------------------------------

    def _ask(
        self,
        method: str,
        path: str,
        body: bytes | None,
        headers: dict[str, str],
        attempts: Attempts,
        *,
        what: str | None = None,
    ) -> bytes:
        what = what or f"{method} {path}"
        while True:
            # An answer that breaks off is worth no more than none.
            with closing(
                self._begin(method, path, body, headers, attempts, what, timeout=_until_deadline)
            ) as response:
                try:
                    data = read_body(response, attempts)
                except urllib3.exceptions.HTTPError as error:
                    self._repeat(attempts, 0.0, what, _named(error), error)
                    continue
                response.release_conn()
                return data

    def _begin(
        self,
        method: str,
        path: str,
        body: bytes | None,
        headers: dict[str, str],
        attempts: Attempts,
        what: str,
        *,
        timeout: Callable[[Attempts], urllib3.Timeout],
    ) -> urllib3.BaseHTTPResponse:
        """Return an answer of 200 of which the body is not read yet."""
        while True:
            self.requests += 1
            try:
                response = self._pool().request(
                    method,
                    self._url + path,
                    body=body,
                    headers={**headers, **self._credentials.headers()},
                    retries=False,
                    redirect=False,
                    preload_content=False,
                    timeout=timeout(attempts),
                )
            except urllib3.exceptions.HTTPError as error:
                self._repeat(attempts, 0.0, what, _named(error), error)
                continue
            if response.status == 200:
                return response
            excuse = read_excuse(response, attempts)
            if not is_worth_repeating(response.status):
                raise Refused(response.status, excuse.text, what=what, code=excuse.code)
            wanted = retry_after_seconds(response.headers.get("Retry-After"), now=time.time())
            self._repeat(attempts, wanted, what, f"{response.status}: {excuse.text}", None)

    def _repeat(
        self, attempts: Attempts, at_least_seconds: float, what: str, reason: str, cause: Exception | None
    ) -> None:
        if not attempts.pause(at_least_seconds):
            raise TransportError(
                f"{what} at {self._url}: given up after {attempts.made} attempts within option 'deadlineSeconds' "
                f"({self._deadline_seconds:g} s); the last one: {reason}"
            ) from cause
        self.repeated += 1

    def _pool(self) -> urllib3.PoolManager:
        with self._lock:
            if self._opened is None:
                if self._ca_file is not None and not os.path.isfile(self._ca_file):
                    raise OptionError(
                        f"there is no file '{self._ca_file}', which option 'caFile' names: it must be there wherever "
                        "requests are made, on executors as well"
                    )
                self._opened = urllib3.PoolManager(maxsize=self._connections, ca_certs=self._ca_file)
            return self._opened


def _restored(
    url: str,
    credentials: Credentials,
    deadline_seconds: float,
    compression: Choice,
    ca_file: str | None,
    connections: int,
) -> Client:
    return Client(
        url,
        credentials,
        deadline_seconds=deadline_seconds,
        compression=compression,
        ca_file=ca_file,
        connections=connections,
    )


def _named(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _until_deadline(attempts: Attempts) -> urllib3.Timeout:
    """Return the patience with an answer that is wanted whole: a record must not be on its way for longer."""
    left = max(attempts.seconds_left, 0.001)
    return urllib3.Timeout(connect=min(CONNECT_SECONDS, left), read=min(SILENCE_SECONDS, left))


def _while_it_lives(attempts: Attempts) -> urllib3.Timeout:
    """Return the patience with an answer that goes on, of which only the beginning has a deadline."""
    left = max(attempts.seconds_left, 0.001)
    return urllib3.Timeout(connect=min(CONNECT_SECONDS, left), read=SILENCE_SECONDS)


def client_of(
    *,
    url: str,
    token_file: str | None,
    ca_file: str | None,
    deadline_seconds: float,
    compression: Choice = "auto",
    connections: int = 4,
) -> Client:
    """Return a client for these options."""
    return Client(
        url,
        Credentials(token_file),
        deadline_seconds=deadline_seconds,
        compression=compression,
        ca_file=ca_file,
        connections=connections,
    )
