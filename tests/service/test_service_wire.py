"""What arrives as bytes: half, too much, two at once, or made to be understood differently by two readers.

Whatever it is, the service answers it or closes the connection, and answers the next one. What is no HTTP is refused
with an empty-handed 400 and the connection is closed, so that nothing behind it is taken for a request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from support.wire import Wire, chunk, listening, request

if TYPE_CHECKING:
    from collections.abc import Iterator

CONFIGURATION: Final[dict[str, Any]] = {
    "notification_schema": {
        "runs": {
            "topic": {"base": "runs", "key_order": ["class"]},
            "identifier": {"class": {"type": "StringHandler", "required": True}},
        }
    }
}
PATH: Final = "/api/v1/notification"
BODY: Final = b'{"event_type":"runs","identifier":{"class":"od"}}'
LENGTH: Final = f"Content-Length: {len(BODY)}"
CHUNKED: Final = "Transfer-Encoding: chunked"
LAST: Final = b"0\r\n\r\n"
GOOD: Final = request("POST", PATH, body=BODY)
HEALTH: Final = request("GET", "/health")
# Behind the end of the other reader's request.
HIDDEN: Final = b"0\r\n\r\n" + HEALTH
MOST_HEAD: Final = 65_536


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """Run one service, which has to survive everything here, and return its port."""
    with listening(CONFIGURATION) as taken:
        yield taken


def answers_on(port: int) -> None:
    """Check that the service still stores notifications and is ready."""
    with Wire(port) as wire:
        wire.send(GOOD)
        assert wire.response().status == 200
        wire.send(request("GET", "/ready"))
        assert wire.response().json == {"status": "ready", "backend_connected": True}


# --- what is no HTTP -------------------------------------------------------------------------------------

NOT_HTTP: Final = {
    "a TLS greeting": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "zeros": bytes(64),
    "an unknown method": request("FOO", "/health"),
    "a method in small letters": request("get", "/health"),
    "a version that is none": request("GET", "/health", version="1.2"),
    "the preface of HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a tunnel": request("CONNECT", "x:80"),
    "a space in a header's name": request("GET", "/health", "X Y: z"),
    "a space behind a header's name": request("POST", PATH, f"Content-Length : {len(BODY)}") + BODY,
    "a zero in a header": request("GET", "/health", "X: a\0b"),
    "a folded header": request("POST", PATH, "Transfer-Encoding:\r\n chunked") + chunk(BODY) + LAST,
    "lines without carriage return": b"GET /health HTTP/1.1\nHost: x\n\n",
    "a letter above ASCII in the path": request("GET", "/h\xe9alth"),
    "a chunk without a size": request("POST", PATH, CHUNKED) + b"zz\r\n{}\r\n" + LAST,
    "a chunk of negative size": request("POST", PATH, CHUNKED) + b"-1\r\n{}\r\n" + LAST,
    "a chunk of more bytes than can be counted": request("POST", PATH, CHUNKED) + b"f" * 17 + b"\r\n{}",
    "a chunk that is longer than its size": request("POST", PATH, CHUNKED) + b"2\r\n{}{}\r\n" + LAST,
    "a bad chunk behind a good one": request("POST", PATH, CHUNKED) + chunk(b"{}") + b"\r\nzz\r\n",
    "a length behind the chunks": request("POST", PATH, CHUNKED)
    + chunk(BODY)
    + b"0\r\n"
    + b"Content-Length: 5\r\n",
    "a length and chunks": request("POST", PATH, LENGTH, CHUNKED) + chunk(BODY) + LAST,
    "a short length and chunks": request("POST", PATH, "Content-Length: 5", CHUNKED) + HIDDEN,
    "chunks and a length": request("POST", PATH, CHUNKED, "Content-Length: 5") + HIDDEN,
    "two lengths": request("POST", PATH, "Content-Length: 5", LENGTH) + BODY,
    "the same length twice": request("POST", PATH, LENGTH, LENGTH) + BODY,
    "a list of lengths": request("POST", PATH, f"{LENGTH}, {len(BODY)}") + BODY,
    "a negative length": request("POST", PATH, "Content-Length: -1") + BODY,
    "a length with a sign": request("POST", PATH, f"Content-Length: +{len(BODY)}") + BODY,
    "a length in hexadecimal": request("POST", PATH, f"Content-Length: {len(BODY):#x}") + BODY,
    "a length that is a word": request("POST", PATH, "Content-Length: long") + BODY,
    "a length without a value": request("POST", PATH, "Content-Length:") + BODY,
    "a length of more bytes than can be counted": request("POST", PATH, f"Content-Length: {'9' * 20}"),
    "chunks inside of something else": request("POST", PATH, "Transfer-Encoding: chunked, gzip") + HIDDEN,
    "chunks twice": request("POST", PATH, CHUNKED, CHUNKED) + HIDDEN,
    "almost chunks": request("POST", PATH, "Transfer-Encoding: xchunked") + HIDDEN,
    "chunks behind a control character": request("POST", PATH, "Transfer-Encoding: \x0bchunked") + HIDDEN,
    "no chunks at all": request("POST", PATH, "Transfer-Encoding: identity") + HIDDEN,
}


@pytest.mark.parametrize("data", NOT_HTTP.values(), ids=NOT_HTTP)
def test_what_is_no_http_is_refused_once_and_the_connection_is_closed(port: int, data: bytes) -> None:
    """One 400 that no request id belongs to; what stands behind it is not read as a request."""
    with Wire(port) as wire:
        wire.send(data)
        (answer,) = wire.responses_until_closed()
    assert answer.status == 400
    assert answer.closes
    assert answer.header("x-request-id") is None
    assert answer.body == b"Invalid HTTP request received."
    answers_on(port)


@pytest.mark.parametrize(
    ("data", "statuses"),
    [
        (GOOD + b"and more", [200, 400]),
        (GOOD + GOOD + bytes(8), [200, 200, 400]),
        (GOOD + request("POST", PATH, CHUNKED) + b"zz\r\n", [200, 400]),
        (GOOD + request("GET", "/health", f"X: {'y' * 3 * MOST_HEAD}"), [200, 431]),
        (request("POST", PATH, f"Content-Length: {len(BODY) - 1}") + BODY, [400, 400]),
    ],
    ids=["bytes", "two requests and bytes", "a bad chunk", "a head without end", "a body that goes on"],
)
def test_a_request_is_answered_whatever_comes_behind_it(port: int, data: bytes, statuses: list[int]) -> None:
    """It was accepted, so its own answer comes first; only then is the rest refused."""
    with Wire(port) as wire:
        wire.send(data)
        answered = wire.responses_until_closed()
    assert [one.status for one in answered] == statuses
    assert [one.header("x-request-id") is not None for one in answered] == [
        *[True] * (len(statuses) - 1),
        False,
    ]
    answers_on(port)


# --- what is unusual and right ---------------------------------------------------------------------------

IN_CHUNKS: Final = request("POST", PATH, CHUNKED)
# Common clients say this with every request over a plain connection.
WISHING: Final = ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: x")
WISH: Final = request("GET", "/health", "Connection: Upgrade", "Upgrade: websocket")
WISH_WITH_BODY: Final = request("POST", PATH, *WISHING, LENGTH)
UNUSUAL: Final = {
    "two requests at once": (GOOD + HEALTH, [200, 200]),
    "fifty requests at once": (GOOD * 50, [200] * 50),
    "an empty line in front": (b"\r\n" + HEALTH, [200]),
    "chunks": (IN_CHUNKS + chunk(BODY[:9]) + chunk(BODY[9:]) + LAST, [200]),
    "chunks of one byte": (IN_CHUNKS + b"".join(chunk(bytes([one])) for one in BODY) + LAST, [200]),
    "a chunk with an extension": (IN_CHUNKS + b"%x;a=b;c\r\n%b\r\n" % (len(BODY), BODY) + LAST, [200]),
    "chunks and a trailer": (IN_CHUNKS + chunk(BODY) + b"0\r\nX: y\r\n\r\n", [200]),
    "no body": (request("POST", PATH), [400]),
    "only the last chunk": (IN_CHUNKS + LAST, [400]),
    "a body with a question": (request("GET", "/health", body=b"x" * 10), [200]),
    "a body that nobody reads": (request("POST", "/nowhere", body=b"x" * 200_000), [404]),
    "an absolute target": (request("GET", "http://elsewhere:80/health"), [200]),
    "an absolute target of an event": (request("POST", "https://x/api/v1/notification", body=BODY), [200]),
    "the target of all": (request("OPTIONS", "*"), [404]),
    "a question behind the path": (request("GET", "/health?a=/b&c=%zz"), [200]),
    "a path with encoded letters": (request("POST", "/api/v1/%6Eotification", body=BODY), [200]),
    "a path with a bad escape": (request("GET", "/health%zz"), [404]),
    "a path that is no UTF-8": (request("GET", "/health%ff%fe"), [404]),
    "a path with a zero": (request("GET", "/health%00"), [404]),
    "a path with dots": (request("GET", "/api/../health"), [404]),
    "a path with encoded dots": (request("GET", "/static/%2e%2e%2f%2e%2e/etc/passwd"), [404]),
    "a path with two slashes": (request("GET", "//health"), [404]),
    "a wish for another protocol": (request("GET", "/health", *WISHING), [200]),
    "a wish for a socket": (
        request("GET", "/health", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"),
        [200],
    ),
    "wishes for a socket at once": (WISH * 3 + HEALTH, [200] * 4),
    "a wish for another protocol and a body": (WISH_WITH_BODY + BODY, [200]),
    "a wish for another protocol and chunks": (
        request("POST", PATH, *WISHING, CHUNKED) + chunk(BODY) + LAST,
        [200],
    ),
    "wishes with bodies at once": ((WISH_WITH_BODY + BODY) * 3 + HEALTH, [200] * 4),
    "a thousand headers": (request("GET", "/health", *(f"X-{n}: y" for n in range(1000))), [200]),
    "a large head": (request("GET", "/health", f"X: {'y' * (MOST_HEAD - 100)}"), [200]),
    "large bodies at once": (request("POST", PATH, body=BODY.ljust(150_000)) * 3 + HEALTH, [200] * 4),
}


@pytest.mark.parametrize(("data", "statuses"), UNUSUAL.values(), ids=UNUSUAL)
def test_what_is_unusual_and_right_is_answered(port: int, data: bytes, statuses: list[int]) -> None:
    """In the order of the requests, each with an id of its own, and the connection goes on."""
    with Wire(port) as wire:
        wire.send(data)
        answered = [wire.response() for _ in statuses]
        wire.send(HEALTH)
        assert wire.response().json == {"status": "ok"}
    assert [one.status for one in answered] == statuses
    assert len({one.header("x-request-id") for one in answered}) == len(statuses)


def test_what_stands_behind_a_body_is_no_header(port: int) -> None:
    """A key in a trailer is not looked at, however bad: whoever checks headers on the way has not seen it."""
    line = f"Idempotency-Key: {'k' * 200}"
    with Wire(port) as wire:
        wire.send(request("POST", PATH, line, body=BODY))
        assert wire.response().status == 400
        wire.send(IN_CHUNKS + chunk(BODY) + f"0\r\n{line}\r\n\r\n".encode())
        assert wire.response().status == 200


WIPE: Final = request("DELETE", "/api/v1/admin/wipe/all")


@pytest.mark.parametrize(
    ("line", "body"),
    [(f"Content-Length: {len(WIPE)}", WIPE), (CHUNKED, chunk(WIPE) + LAST)],
    ids=["a length", "chunks"],
)
def test_the_body_of_a_wish_for_another_protocol_is_no_request(port: int, line: str, body: bytes) -> None:
    """However late it comes: whoever checks requests on the way has taken it for a body."""
    with Wire(port) as wire:
        wire.send(request("POST", "/nowhere", *WISHING, line))
        assert wire.response().status == 404
        wire.send(body)
        wire.send(HEALTH)
        assert wire.response().json == {"status": "ok"}


def test_nothing_is_read_behind_a_wish_for_a_tunnel(port: int) -> None:
    """It is refused, and what was meant for its other end is no request of anybody's."""
    with Wire(port) as wire:
        wire.send(request("CONNECT", "/health") + HEALTH)
        (answer,) = wire.responses_until_closed()
    assert answer.status == 405


def test_who_asks_whether_to_go_on_is_told_so(port: int) -> None:
    """Before the body is sent, and only where it is wanted: for one that is too large there is only the refusal."""
    with Wire(port) as wire:
        wire.send(request("POST", PATH, "Expect: 100-continue", LENGTH))
        assert wire.response().status == 100
        wire.send(BODY)
        assert wire.response().status == 200
        wire.send(request("POST", PATH, "Expect: 100-continue", "Content-Length: 300000"))
        assert wire.response().status == 413


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_the_older_version_closes_and_the_newer_when_it_is_told_to(port: int, version: str) -> None:
    """Both are answered in the newer one, as the contract wants it of servers."""
    with Wire(port) as wire:
        lines = () if version == "1.0" else ("Connection: close",)
        wire.send(request("POST", PATH, *lines, body=BODY, version=version))
        (answer,) = wire.responses_until_closed()
    assert answer.status == 200
    assert answer.closes


# --- too much --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "head",
    [
        request("GET", "/health", f"X: {'y' * MOST_HEAD}"),
        request("GET", "/health", *(f"X-{n}: {'y' * 10}" for n in range(5000))),
        request("GET", f"/{'y' * MOST_HEAD}"),
        request("GET", f"/health?{'y' * MOST_HEAD}"),
        b"GET /health HTTP/1.1\r\nX: " + b"y" * MOST_HEAD,
    ],
    ids=["one header", "many headers", "the path", "the question", "a head without end"],
)
@pytest.mark.parametrize("is_first", [True, False], ids=["first", "later"])
def test_a_head_of_more_than_64_kib_is_refused(port: int, head: bytes, *, is_first: bool) -> None:
    """On a new connection and on one that was used, in whatever pieces it comes."""
    with Wire(port) as wire:
        if not is_first:
            wire.send(HEALTH)
            assert wire.response().status == 200
        wire.send(head)
        (answer,) = wire.responses_until_closed()
    assert answer.status == 431
    assert answer.closes
    answers_on(port)


def test_a_head_is_counted_from_its_own_beginning(port: int) -> None:
    """A large body and the first half of the next request in one piece are within the bounds of both."""
    large = request("POST", PATH, body=BODY.ljust(200_000))
    next_one = request("GET", "/health", f"X: {'y' * 30_000}")
    with Wire(port) as wire:
        wire.send(large + next_one[:20_000])
        assert wire.response().status == 200
        wire.send(next_one[20_000:])
        assert wire.response().status == 200


@pytest.mark.parametrize(
    ("head", "body"),
    [
        (request("POST", PATH, "Content-Length: 262145"), b" " * 262_145),
        (request("POST", PATH, "Content-Length: 99999999999"), b" " * 500_000),
        (request("POST", PATH, CHUNKED), chunk(b" " * 262_145) + LAST),
        (request("POST", PATH, CHUNKED), chunk(b" " * 1000) * 263 + LAST),
        (request("POST", PATH, CHUNKED), b"fffffffff\r\n" + b" " * 300_000),
    ],
    ids=["announced", "announced and much", "one chunk", "many chunks", "one chunk without end"],
)
def test_a_body_of_more_than_256_kib_is_refused(port: int, head: bytes, body: bytes) -> None:
    """With the text of the contract, to whoever sends it to the end as well as to whoever asks first."""
    with Wire(port) as wire:
        wire.send(head + body)
        answer = wire.response()
    assert answer.status == 413
    assert answer.closes
    assert answer.header("content-type") == "text/plain; charset=utf-8"
    assert answer.header("x-request-id") is not None
    assert answer.body == b"payload reached size limit"
    answers_on(port)


@pytest.mark.parametrize(("path", "status"), [("/nowhere", 404), ("/health", 405)])
def test_who_sends_much_to_no_use_is_answered_all_the_same(port: int, path: str, status: int) -> None:
    """Also where the connection ends with the answer: closing it over unread bytes would take the answer along."""
    with Wire(port) as wire:
        wire.send_all_or_fail(request("POST", path, "Connection: close", body=bytes(8 * 1024 * 1024)))
        (answer,) = wire.responses_until_closed()
    assert answer.status == status
    assert answer.closes


@pytest.mark.parametrize("in_chunks", [False, True])
def test_a_body_of_exactly_256_kib_is_taken(port: int, *, in_chunks: bool) -> None:
    """The limit itself is within it."""
    body = BODY.ljust(262_144)
    with Wire(port) as wire:
        wire.send(
            request("POST", PATH, CHUNKED) + chunk(body) + LAST
            if in_chunks
            else request("POST", PATH, body=body)
        )
        assert wire.response().status == 200


# --- half ------------------------------------------------------------------------------------------------

HALVES: Final = {
    "nothing": b"",
    "half a line": b"POST /api/v1/not",
    "half a head": request("POST", PATH, LENGTH)[:-2],
    "a head and no body": request("POST", PATH, LENGTH),
    "half a body": request("POST", PATH, LENGTH) + BODY[:20],
    "half a chunk": IN_CHUNKS + chunk(BODY)[:20],
    "chunks without the last": IN_CHUNKS + chunk(BODY),
}


@pytest.mark.parametrize("ending", ["end", "reset"])
@pytest.mark.parametrize("data", HALVES.values(), ids=HALVES)
def test_half_a_request_is_let_go_of_with_its_connection(port: int, data: bytes, ending: str) -> None:
    """Nobody waits for the other half of it, and nobody is answered who has only said that nothing more comes."""
    with Wire(port) as wire:
        wire.send(data)
        if ending == "end":
            wire.end_sending()
            assert wire.read_until_closed() == b""
        else:
            wire.reset()
    answers_on(port)


def test_who_only_stops_sending_is_answered(port: int) -> None:
    """A request that is complete has its answer, also when its sender can be told nothing more."""
    with Wire(port) as wire:
        wire.send(GOOD)
        wire.end_sending()
        (answer,) = wire.responses_until_closed()
    assert answer.status == 200
