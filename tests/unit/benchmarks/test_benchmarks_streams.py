"""The generator of streams counts what really came: holes, repetitions, lost streams, what was held for a reader."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

import pytest
from msgspec import structs

from aviso_core.request import decode_body
from aviso_core.settings.loader import load
from aviso_core.startup import configured_catalog
from load.posting import generator
from load.watching import Announcing, Watch, watching
from streaming import announcement, everything, own_filter, settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

OPENED: Final = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
LAST: Final = b"0\r\n\r\n"
# Said where the connection is to be closed.
CLOSED: Final = b""
ANSWER: Final = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def frame(number: int) -> bytes:
    return b"event: live-notification\ndata: mark%012d\n\n" % number


class Server:
    """A server that says on each stream what it is told to, and hands on what is announced."""

    def __init__(self, said: Callable[[int], Sequence[bytes]], padding: int) -> None:
        self.requests: list[bytes] = []
        self._said = said
        self._padding = b"x" * padding
        self._streams: list[socket.socket] = []
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]

    def serve(self) -> None:
        """Take connections until the listener is closed."""
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def close(self) -> None:
        """Take no more."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _answer(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # Whoever reads may be gone before everything was said.
        with connection, suppress(OSError):
            while request := connection.recv(65_536):
                self.requests.append(request)
                if request.startswith(b"POST /announce "):
                    # Whoever ends the streams because of this answer ends them behind what is announced.
                    with self._lock:
                        connection.sendall(ANSWER)
                        self._tell(chunk(frame(int(request[-12:])) + self._padding))
                elif not self._say(connection):
                    return

    def end(self) -> None:
        """End every stream."""
        with self._lock:
            self._tell(LAST)

    def _tell(self, data: bytes) -> None:
        for stream in self._streams:
            with suppress(OSError):
                stream.sendall(data)

    def _say(self, connection: socket.socket) -> bool:
        """Say what is to be said on a stream; False where the connection is then closed."""
        with self._lock:
            place = len(self._streams)
            self._streams.append(connection)
        for data in self._said(place):
            if data is CLOSED:
                return False
            connection.sendall(data)
        return True


@contextmanager
def saying(said: Callable[[int], Sequence[bytes]], *, padding: int = 0) -> Iterator[Server]:
    server = Server(said, padding)
    thread = threading.Thread(target=server.serve)
    thread.start()
    try:
        yield server
    finally:
        server.close()
        thread.join()


@pytest.fixture(autouse=True, scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Compile these sources, in a cache of the tests' own."""
    if shutil.which("cc") is None:
        pytest.skip("not on this machine: a C compiler")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield generator("streams")


def watch(streams: int = 1, *, stride: int = 1, body: bytes = b"{n} {n:3}") -> Watch:
    return Watch(
        path="/watch", body=body, streams=streams, stride=stride, headers={"Content-Type": "text/plain"}
    )


def test_every_place_in_a_request_has_the_number_of_its_stream() -> None:
    """All streams are opened, and told apart by what they ask for."""
    with saying(lambda _: [OPENED]) as server, watching(watch(3), port=server.port) as run:
        opened = run.wait_opened()
    assert (opened.opened, opened.refused, opened.lost) == (3, 0, 0)
    bodies = sorted(request.partition(b"\r\n\r\n")[2] for request in server.requests)
    assert bodies == [b"%012d %03d" % (number, number) for number in range(3)]
    assert all(b"content-type: text/plain\r\n" in request.lower() for request in server.requests)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 15, 16, 17, 1000])
def test_marks_are_found_wherever_pieces_are_cut(size: int) -> None:
    """Neither the pieces of the network nor the chunks of the answer are those of the frames."""
    body = b"".join(frame(number) for number in range(20)) + b"event: heartbeat\ndata: {}\n\n"
    chunks = b"".join(chunk(body[at : at + size]) for at in range(0, len(body), size)) + LAST
    pieces = [(OPENED + chunks)[at : at + size] for at in range(0, len(OPENED + chunks), size)]
    with saying(lambda _: pieces) as server, watching(watch(), port=server.port) as run:
        opened = run.wait_opened()
        report = run.finish(20)
    assert opened.deliveries + report.deliveries == 20
    assert opened.heartbeats + report.heartbeats == 1
    assert opened.bytes + report.bytes == len(body)
    assert opened.ended + report.ended == 1
    assert [one.holes + one.repeated + one.lost for one in (opened, report)] == [0, 0]


@pytest.mark.parametrize(
    ("numbers", "stride", "holes", "repeated"),
    [
        ((5, 6, 7), 1, 0, 0),
        ((5, 7, 8), 1, 1, 0),
        ((5, 9), 1, 3, 0),
        ((5, 6, 6, 7), 1, 0, 1),
        ((5, 6, 5, 7), 1, 0, 1),
        ((3, 1003, 2003), 1000, 0, 0),
        ((3, 3003), 1000, 2, 0),
        ((3, 1003, 1003), 1000, 0, 1),
    ],
)
def test_holes_and_repetitions_are_counted(
    numbers: Sequence[int], stride: int, holes: int, repeated: int
) -> None:
    """By the numbers on one stream, whatever comes on others."""
    said = [OPENED, *(chunk(frame(number)) for number in numbers), LAST]
    with saying(lambda _: said) as server, watching(watch(2, stride=stride), port=server.port) as run:
        reports = [run.wait_opened(), run.finish(20)]
    assert sum(one.deliveries for one in reports) == 2 * len(numbers)
    assert sum(one.holes for one in reports) == 2 * holes
    assert sum(one.repeated for one in reports) == 2 * repeated


@pytest.mark.parametrize(
    "said",
    [
        [OPENED, b"nonsense\r\n"],
        [OPENED, b"3\r\nabcd\r\n"],
        [OPENED, b"\r\n"],
        [OPENED, chunk(b"abc")[:-2] + b"xx"],
        [OPENED, chunk(b"abc"), CLOSED],
        [CLOSED],
    ],
    ids=["no size", "longer than it says", "an empty size", "no line end", "cut off", "no answer"],
)
def test_what_is_no_whole_answer_is_a_lost_stream(said: Sequence[bytes]) -> None:
    """Also where the connection just ends."""
    with saying(lambda _: said) as server, watching(watch(), port=server.port) as run:
        reports = [run.wait_opened(), run.finish(20)]
    assert [sum(one.lost for one in reports), sum(one.ended for one in reports)] == [1, 0]
    assert "first loss" in reports[-1].faults


def test_a_refused_stream_is_counted_and_told() -> None:
    """The others are opened all the same."""
    refusal = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n"
    with (
        saying(lambda place: [OPENED] if place else [refusal]) as server,
        watching(watch(3), port=server.port) as run,
    ):
        opened = run.wait_opened()
    assert (opened.opened, opened.refused) == (2, 1)
    assert "503" in opened.faults
    with pytest.raises(RuntimeError, match="503"):
        opened.require_complete()


def announcing(server: Server) -> Announcing:
    return Announcing(port=server.port, path="/announce", body=b"mark{n}")


def test_what_is_announced_is_waited_for_and_timed() -> None:
    """Measured is what was announced behind the warm-up; every stream gets each once."""
    with (
        saying(lambda _: [OPENED]) as server,
        watching(watch(3), port=server.port, announcing=announcing(server)) as run,
    ):
        run.wait_opened()
        run.announce(rate=100, warm_up_seconds=0.1, seconds=0.2, each=3)
        run.wait_measuring()
        report = run.wait_announced()
    assert (report.deliveries, report.expected) == (60, 60)
    report.require_complete()
    assert 0 < report.latency_ms.p50 <= report.latency_ms.p99 <= report.latency_ms.max
    announced = [request for request in server.requests if request.startswith(b"POST /announce")]
    assert [int(request[-12:]) for request in announced] == list(range(30))


def test_what_does_not_arrive_is_missed() -> None:
    """A service that keeps something for itself does not pass for a complete one."""
    with (
        saying(lambda place: [OPENED] if place else [OPENED, chunk(b"abc"), LAST]) as server,
        watching(watch(1), port=server.port, announcing=announcing(server)) as run,
    ):
        assert run.wait_opened().ended + run.finish(20).ended == 1
        run.announce(rate=100, warm_up_seconds=0, seconds=0.1, each=1)
        run.wait_measuring()
        report = run.wait_announced()
    assert (report.deliveries, report.expected) == (0, 10)
    with pytest.raises(RuntimeError, match="not complete"):
        report.require_complete()


def test_a_stalled_stream_is_left_out_of_what_is_measured() -> None:
    """It is read again when that is asked for, and must have missed nothing either."""
    with (
        saying(lambda _: [OPENED]) as server,
        watching(watch(3), port=server.port, announcing=announcing(server)) as run,
    ):
        run.wait_opened()
        run.stall(1)
        run.announce(rate=50, warm_up_seconds=0, seconds=0.2, each=2)
        run.wait_measuring()
        report = run.wait_announced()
        run.resume()
        server.end()
        after = run.finish(20)
    assert (report.deliveries, report.expected, report.resumed) == (20, 20, 0)
    assert (after.holes, after.repeated, after.deliveries) == (0, 0, 0)
    assert after.bytes == 10 * len(frame(0))
    assert (after.ended, after.resumed) == (3, 1)
    # Everything but the last chunk had arrived here.
    assert after.most_held <= len(LAST)


def test_what_was_held_for_a_stalled_stream_is_told() -> None:
    """It is what arrives when it is read again, without what had arrived before."""
    padding = 500_000
    stalling = structs.replace(watch(), receive_buffer_bytes=4096)
    with (
        saying(lambda _: [OPENED], padding=padding) as server,
        watching(stalling, port=server.port, announcing=announcing(server)) as run,
    ):
        run.wait_opened()
        run.stall(1)
        run.announce(rate=1, warm_up_seconds=0, seconds=1, each=0)
        run.wait_measuring()
        run.wait_announced()
        run.resume()
        server.end()
        after = run.finish(20)
    assert after.bytes == len(frame(0)) + padding
    assert (after.ended, after.resumed) == (1, 1)
    # With what stands around chunks, of which there are two.
    assert padding - 200_000 < after.most_held < after.bytes + 50


def test_streams_are_opened_on_this_machine_only(program: Path, tmp_path: Path) -> None:
    """Anything but an address of the loopback network is refused before a connection is made."""
    body = tmp_path / "body"
    body.write_bytes(b"{n}")
    command = [str(program), "--to=192.0.2.1:80", f"--body={body}"]
    outcome = subprocess.run(command, capture_output=True, text=True, timeout=20, stdin=subprocess.PIPE)
    assert outcome.returncode == 2
    assert "--to" in outcome.stderr


def written(template: bytes, number: int) -> bytes:
    """Put a number into the places for it."""
    for digits in (3, 5):
        template = template.replace(b"{n:%d}" % digits, b"%0*d" % (digits, number % 10**digits))
    return template.replace(b"{n}", b"%012d" % number)


def test_an_announcement_is_selected_by_the_filters_of_its_destination_and_by_no_other() -> None:
    """Filters of their own are different, and one in a thousand of them selects an event."""
    text = json.dumps(settings()).encode()
    catalog = configured_catalog(load({"AVISOSERVER_CONFIG_FILE": "any.yaml"}, read_file=lambda _: text))
    event_type = catalog.get("runs")
    assert event_type is not None
    body = decode_body(written(announcement(payload_bytes=120), 4711))
    assert event_type.announce(body.identifier).identifier["destination"] == "dest711"
    assert len(body.compact_payload()) == 120
    filters = [json.loads(written(own_filter(), number))["identifier"] for number in (711, 10_711, 14_712)]
    assert [one["destination"] for one in filters] == ["dest711", "dest711", "dest712"]
    assert [one["step"]["lt"] for one in filters] == [100_711, 110_711, 114_712]
    assert json.loads(everything(from_sequence=7)) == {
        "event_type": "runs",
        "identifier": {"class": "od"},
        "from_id": "7",
    }
