"""A proxy before a real service that makes of some requests what networks and loaded services make of them.

What it does to the next requests is told beforehand, in their order: pass them on, refuse them with a status, lose the
answer after the service has done what it was asked for, change what the service answers, or hold everything until the
test has done something else. It lives in threads, so that clients that block can be tested in the thread of the test.
"""

from __future__ import annotations

import threading
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import urllib3

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


class Refusal(NamedTuple):
    """Answer with a status instead of passing the request on."""

    status: int
    headers: Mapping[str, str] = {}
    body: bytes = b"{}"


class LostAnswer(NamedTuple):
    """Pass the request on, read the answer, and close the connection without it."""


class Changed(NamedTuple):
    """Pass the request on, and change the body of the answer."""

    change: Callable[[bytes], bytes]


class Held(NamedTuple):
    """Pass the request on or not, say that it is there, and when told to go on, close the connection or answer."""

    reached: threading.Event
    go_on: threading.Event
    is_passed_on: bool = True
    is_answered: bool = False


Fault: TypeAlias = Refusal | LostAnswer | Changed | Held | None


class Request(NamedTuple):
    """A request as it came."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


class FaultProxy:
    """A running proxy. `faults` are for the next posts in their order; what is asked otherwise is passed on.

    Where posts come from several clients at once, `judge` decides by what they say instead.
    """

    def __init__(self, target: str) -> None:
        self.url = ""
        self.faults: list[Fault] = []
        self.judge: Callable[[Request], Fault] | None = None
        self.requests: list[Request] = []
        # Another process takes the place of one that was killed.
        self.target = target
        self._pool = urllib3.PoolManager()
        self._lock = threading.Lock()

    def take(self, request: Request) -> Fault:
        """Note a request, and return what is to be done to it."""
        with self._lock:
            self.requests.append(request)
            if self.judge is not None and request.method == "POST":
                return self.judge(request)
            return self.faults.pop(0) if self.faults and request.method == "POST" else None

    @property
    def posts(self) -> list[Request]:
        """The posts that came."""
        return [request for request in self.requests if request.method == "POST"]

    def pass_on(self, request: Request, *, is_endless: bool = False) -> urllib3.BaseHTTPResponse:
        """Return what the service answers, whole unless it has no end."""
        own = {"host", "connection", "content-length"}
        headers = {name: value for name, value in request.headers.items() if name.lower() not in own}
        return self._pool.request(
            request.method,
            self.target + request.path,
            body=request.body,
            headers=headers,
            retries=False,
            preload_content=not is_endless,
        )

    def close(self) -> None:
        """Let go of the connections to the service."""
        self._pool.clear()


@contextmanager
def running_fault_proxy(target: str) -> Iterator[FaultProxy]:
    """Run a proxy before a service for as long as the block runs."""
    proxy = FaultProxy(target)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            """Handle one request."""
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            request = Request(self.command, self.path, dict(self.headers), body)
            try:
                self._handle(request)
            except (urllib3.exceptions.HTTPError, OSError):
                # The service or the client went away.
                self.close_connection = True

        def _handle(self, request: Request) -> None:
            match proxy.take(request):
                case Refusal(status, headers, body):
                    self._answer(status, headers, body)
                case LostAnswer():
                    proxy.pass_on(request)
                    self.close_connection = True
                case Changed(change):
                    answer = proxy.pass_on(request)
                    self._answer(answer.status, dict(answer.headers), change(answer.data))
                case Held(reached, go_on, is_passed_on, is_answered):
                    held = proxy.pass_on(request) if is_passed_on else None
                    reached.set()
                    go_on.wait()
                    if is_answered:
                        held = held or proxy.pass_on(request)
                        self._answer(held.status, dict(held.headers), held.data)
                    else:
                        self.close_connection = True
                case None if self.headers.get("Accept") == "text/event-stream":
                    self._stream(request)
                case None:
                    answer = proxy.pass_on(request)
                    self._answer(answer.status, dict(answer.headers), answer.data)

        do_GET = do_POST = handle_any  # noqa: N815 (names that the base class looks for)

        def _answer(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
            self.send_response_only(status)
            for name, value in headers.items():
                if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def _stream(self, request: Request) -> None:
            with closing(proxy.pass_on(request, is_endless=True)) as answer:
                self.send_response_only(answer.status)
                self.send_header("Content-Type", answer.headers["Content-Type"])
                self.send_header("Connection", "close")
                self.end_headers()
                while piece := answer.read1():
                    self.wfile.write(piece)

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    proxy.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
        proxy.close()
