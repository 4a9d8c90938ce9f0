"""The load generator counts what really happened: an instrument is only as good as what has tested it."""

from __future__ import annotations

import shutil
import subprocess
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, NamedTuple

import pytest

from load.posting import CannotGenerateLoad, Report, Work, generator, posting, rendered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path


class Answer(NamedTuple):
    """What the server says to one request; None for `status` ends the connection instead."""

    status: int | None = 200
    body: bytes = b"right"
    headers: Mapping[str, str] = {}
    # Whether it is said before the body has been read; the connection then ends.
    is_early: bool = False


class Server(ThreadingHTTPServer):
    """A server that keeps what it was sent, and answers each request by its place among all."""

    daemon_threads = True

    def __init__(self, answer: Callable[[int], Answer]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer
        self.bodies: list[bytes] = []
        self.heads: list[Mapping[str, str]] = []
        self.lock = threading.Lock()

    def take(self, heads: Mapping[str, str]) -> Answer:
        """Note a request and decide about it."""
        with self.lock:
            self.heads.append(heads)
            return self.answer(len(self.heads) - 1)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body are two writes: the second would wait for the first to be confirmed.
    disable_nagle_algorithm = True
    server: Server

    def do_POST(self) -> None:
        answer = self.server.take({"path": self.path, **self.headers})
        if not answer.is_early:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            with self.server.lock:
                self.server.bodies.append(body)
        if answer.status is None:
            self.close_connection = True
            return
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if answer.is_early:
            self.send_header("Connection", "close")
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Keep the output of tests clean."""


@contextmanager
def answering(answer: Callable[[int], Answer]) -> Iterator[Server]:
    server = Server(answer)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(autouse=True, scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Compile these sources, in a cache of the tests' own."""
    if shutil.which("cc") is None:
        pytest.skip("not on this machine: a C compiler")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield generator()


def posted(work: Work, server: Server) -> Report:
    with posting(work, port=server.server_port) as run:
        run.wait_measuring()
        return run.wait_report()


def work(
    body: bytes = b"{n}",
    *,
    count: int = 10,
    connections: int = 1,
    expected: str | None = None,
    retries: bool = False,
) -> Work:
    return Work(
        path="/notifications",
        headers={"Content-Type": "text/plain"},
        body=body,
        connections=connections,
        count=count,
        limit_seconds=20,
        expected=expected,
        retries=retries,
    )


def test_every_request_has_the_numbers_that_come_next() -> None:
    """Twelve digits for `{n}`, fewer where fewer are asked for, and no number twice."""
    with answering(lambda _: Answer()) as server:
        report = posted(work(b"a {n} b {n:1} {m} {n:0}", count=6), server)
    assert server.bodies == [
        b"a %012d b %d {m} {n:0}" % (2 * place, (2 * place + 1) % 10) for place in range(6)
    ]
    assert (report.requests, report.right, report.errors, report.unanswered) == (6, 6, 0, 0)
    assert {(head["path"], head["Content-Type"]) for head in server.heads} == {
        ("/notifications", "text/plain")
    }


def test_no_number_comes_twice_however_many_connections_there_are() -> None:
    """Connections draw from one sequence."""
    with answering(lambda _: Answer()) as server:
        posted(work(count=200, connections=8), server)
    assert sorted(server.bodies) == [b"%012d" % number for number in range(200)]


def test_a_body_of_many_pieces_arrives_whole() -> None:
    """Numbers at the seams of pieces are neither cut nor lost."""
    template = b"{n}," * 50_000
    with answering(lambda _: Answer()) as server:
        posted(work(template, count=2, connections=2), server)
    expected = [b"".join(b"%012d," % (first + place) for place in range(50_000)) for first in (0, 50_000)]
    assert sorted(server.bodies) == expected
    assert {len(body) for body in server.bodies} == {rendered(template)}


def test_answers_are_counted_by_status_and_by_what_they_say() -> None:
    """Unexpected is what is not 2xx, and what does not contain the text."""
    answers = [Answer(), Answer(400), Answer(201), Answer(200, b"wrong"), Answer(503)]
    with answering(lambda place: answers[place % 5]) as server:
        report = posted(work(expected="right"), server)
    assert report.by_status == {"200": 4, "201": 2, "400": 2, "503": 2}
    assert (report.requests, report.unexpected, report.right) == (10, 6, 4)
    assert "400 right" in report.faults
    with pytest.raises(RuntimeError, match="400 right"):
        report.require_all_right()


def test_who_is_told_to_come_again_comes_with_the_same_request() -> None:
    """Told by 429 and 503 with Retry-After; without it they are answers like any other."""
    later = {"Retry-After": "0"}
    answers = [
        Answer(503, headers=later),
        Answer(429, headers=later),
        Answer(),
        Answer(400, headers=later),
        Answer(503),
    ]
    with answering(lambda place: answers[place]) as server:
        report = posted(work(count=3, retries=True), server)
    assert server.bodies == [b"%012d" % number for number in (0, 0, 0, 1, 2)]
    assert (report.retried, report.by_status) == (2, {"200": 1, "400": 1, "503": 1})


def test_an_answer_before_the_end_of_the_request_is_an_answer() -> None:
    """A server may refuse what it has not read; the next request goes over a new connection."""
    with answering(lambda place: Answer(413 if place else 200, is_early=place > 0)) as server:
        report = posted(work(b"{n}" * 2000, count=3), server)
    assert (report.by_status, report.errors, report.unanswered) == ({"200": 1, "413": 2}, 0, 0)


def test_a_connection_that_ends_without_an_answer_is_an_error() -> None:
    """It is told, and the others go on over a new connection."""
    with answering(lambda place: Answer(None if place == 1 else 200)) as server:
        report = posted(work(count=4), server)
    assert (report.requests, report.errors, report.unanswered) == (3, 1, 0)
    assert "first error: closed without an answer" in report.faults


def test_what_nobody_answers_is_told() -> None:
    """No request disappears: one that is open at the limit is unanswered, and so are those that waited behind it."""
    speaks = threading.Event()

    def answer_late(place: int) -> Answer:
        speaks.wait(20)
        return Answer()

    with answering(answer_late) as server:
        report = posted(Work(path="/", body=b"{n}", connections=1, count=5, limit_seconds=0.3), server)
        speaks.set()
    assert (report.requests, report.unanswered) == (0, 5)


def test_what_began_in_the_warm_up_is_not_counted() -> None:
    """The count begins where measuring does."""
    with answering(lambda _: Answer()) as server:
        warm = Work(path="/", body=b"{n}", connections=2, count=10, warm_up_seconds=0.1)
        report = posted(warm, server)
    assert report.requests == 10 < len(server.bodies)


def test_latencies_are_in_order_and_positive() -> None:
    """Of many requests the percentiles rise."""
    with answering(lambda _: Answer()) as server:
        latency = posted(work(count=100, connections=4), server).latency_ms
    assert 0 < latency.p50 <= latency.p90 <= latency.p99 <= latency.max


@pytest.mark.parametrize(
    "address", ["192.0.2.1:80", "0.0.0.0:80", "localhost:80", "127.0.0.1", "127.0.0.1:0", "::1:80"]
)
def test_load_is_sent_to_this_machine_only(program: Path, address: str, tmp_path: Path) -> None:
    """Anything but an address of the loopback network is refused before a connection is made."""
    body = tmp_path / "body"
    body.write_bytes(b"{n}")
    command = [str(program), f"--to={address}", f"--body={body}", "--count=1"]
    outcome = subprocess.run(command, capture_output=True, text=True, timeout=20)
    assert outcome.returncode == 2
    assert "--to" in outcome.stderr


def test_without_a_compiler_it_is_said_how_to_get_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What is cached still works; what is not cannot be made."""
    generator()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert generator().exists()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(CannotGenerateLoad, match="apt install gcc"):
        generator()
