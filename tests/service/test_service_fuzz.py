"""Bytes that no client would send, over real sockets against one running service.

Whatever comes in, the answer is never a fault of the service's own, it comes in time, and the connection that stays
open is still in step: the next request on it is answered as ever. Where a body turns into far more than was sent,
memory stays where it was. Requests that are framed wrongly or sent slowly are another matter (`test_service_wire`).
"""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
import zstandard
from hypothesis import example, given
from hypothesis import strategies as st

from aviso_all_in_one.sample import SAMPLES_FOLDER
from aviso_ingest.describe.examples import examples
from support.services import running_avisod
from support.wire import Response, Wire, request

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hypothesis.strategies import SearchStrategy

    from support.services import Program

MIB: Final = 1024 * 1024
LARGEST_BATCH: Final = 2 * MIB
# What is stored is bounded to almost nothing, so that what grows is a leak.
CONFIGURATION: Final[dict[str, Any]] = {
    "notification_backend": {
        "kind": "in_memory",
        "in_memory": {"max_history_per_topic": 1, "max_topics": 10},
    },
    "registry": {"kind": "folder", "folder": str(SAMPLES_FOLDER)},
    "ingest": {"batch_max_bytes": LARGEST_BATCH, "max_bytes_in_flight": 32 * MIB},
}

NOTIFICATION: Final = ("POST", "/api/v1/notification", "application/json", "WeatherAlert")
RETRACTION: Final = ("DELETE", "/api/v1/notification", "application/json", "Retraction")
ARRAY: Final = ("POST", "/api/v1/notifications", "application/json", "BatchRecords")
LINES: Final = ("POST", "/api/v1/notifications", "application/x-ndjson", "BatchRecordsInLines")
EVENTS_OF_BATCH: Final = (
    "POST",
    "/api/v1/notifications?atomic=true",
    "application/cloudevents-batch+json",
    "CloudEvents",
)
EVENT: Final = ("POST", "/api/v1/events", "application/cloudevents+json", "CloudEvent")
EVENTS: Final = ("POST", "/api/v1/events", "application/cloudevents-batch+json", "CloudEvents")
EVENT_DATA: Final = ("POST", "/api/v1/events", "application/json", "CloudEventData")
WIPE: Final = ("DELETE", "/api/v1/admin/wipe/stream", "application/json", "WipeStream")
OPERATIONS: Final = (
    NOTIFICATION, RETRACTION, ARRAY, LINES, EVENTS_OF_BATCH, EVENT, EVENTS, EVENT_DATA, WIPE,
)  # fmt: skip
BATCHES: Final = (ARRAY, LINES, EVENTS)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """Run one service for everything, and see at the end that it met no bug."""
    with running_avisod(tmp_path_factory.mktemp("avisod"), CONFIGURATION) as running:
        yield running
        assert running.process.poll() is None
    assert b"api.request.failed" not in running.output.read_bytes()


def send(service: Program, data: bytes) -> Response:
    """Send one request, see that the service is well afterwards, and return the answer."""
    with Wire(service.port) as wire:
        wire.send(data)
        answer = wire.response()
        if not answer.closes:
            wire.send(request("GET", "/health"))
            assert wire.response().body == b'{"status":"ok"}'
    assert answer.status < 500, answer
    request_id = answer.header("x-request-id")
    if answer.header("content-type") == "application/json":
        assert answer.json.get("request_id", request_id) == request_id
    return answer


def body_of(operation: tuple[str, str, str, str]) -> bytes:
    """Return a body that the operation takes."""
    value = examples()[operation[3]]["value"]
    return value.encode() if isinstance(value, str) else json.dumps(value).encode()


def framed(operation: tuple[str, str, str, str], body: bytes, *lines: str) -> bytes:
    """Return a request of the operation with another body."""
    method, path, content_type, _ = operation
    extra = (
        ()
        if operation != EVENT_DATA
        else ("ce-specversion: 1.0", "ce-id: 1", "ce-source: /a", "ce-type: weather_alert")
    )
    return request(method, path, f"Content-Type: {content_type}", *extra, *lines, body=body)


@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_what_is_mangled_below_is_taken_as_it_is(
    service: Program, operation: tuple[str, str, str, str]
) -> None:
    """Or nothing would be tried but refusals."""
    assert send(service, framed(operation, body_of(operation))).status == 200


# --- bodies ----------------------------------------------------------------------------------------------

# Text that is almost JSON, bytes that are almost text, and numbers that are almost numbers.
NASTY: Final = (
    b"\0", b"\xff", b"\xc3\x28", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\\ud800", b"\\u0000", b"\\",
    b'"', b"'", b",", b":", b"{", b"}", b"[", b"]", b"\n", b"\r", b"NaN", b"-Infinity", b"1e400", b"1e-400", b"-0",
    b"9" * 5000, b"0." + b"1" * 5000, b"null", b"true", b"1.", b"01", b"[" * 500, b'{"a":' * 500, b"]" * 500,
)  # fmt: skip


@st.composite
def mangled(draw: st.DrawFn, whole: bytes) -> bytes:
    """Return bytes with a few places cut out or overwritten."""
    for _ in range(draw(st.integers(1, 4))):
        begin = draw(st.integers(0, len(whole)))
        end = begin + draw(st.integers(0, 12))
        whole = whole[:begin] + draw(st.sampled_from(NASTY) | st.binary(max_size=8)) + whole[end:]
    return whole


@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
@given(st.data())
def test_any_body_is_answered(
    service: Program, operation: tuple[str, str, str, str], data: st.DataObject
) -> None:
    """A good one with a few bytes changed, or bytes of any kind."""
    body = data.draw(mangled(body_of(operation)) | st.binary(max_size=200))
    send(service, framed(operation, body))


DEEP: Final = 60_000


@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
@pytest.mark.parametrize(
    ("opening", "closing"),
    [(b"[", b"]"), (b'{"a":', b"}"), (b'[{"a":', b"}]"), (b"[", b""), (b'{"a":', b"")],
)
def test_deep_nesting_is_refused(
    service: Program, operation: tuple[str, str, str, str], opening: bytes, closing: bytes
) -> None:
    """As the whole body and in place of a value in a good one, whether it is closed or not."""
    depth = DEEP // len(opening + closing)
    nested = opening * depth + b"1" + closing * depth
    assert send(service, framed(operation, nested)).status in (200, 400)
    inside = body_of(operation).replace(b'"north"', nested, 1).replace(b'"tern"', nested, 1)
    answer = send(service, framed(operation, inside))
    if inside != body_of(operation):
        assert answer.status == 400 or answer.json["accepted"] < 2


@pytest.mark.parametrize(
    "number",
    [b"9" * 100_000, b"-" + b"9" * 100_000, b"0." + b"9" * 100_000, b"1e" + b"9" * 1000, b"9" * 4301],
)
@pytest.mark.parametrize("operation", [NOTIFICATION, ARRAY, LINES, EVENT], ids=str)
def test_long_numbers_are_answered(
    service: Program, operation: tuple[str, str, str, str], number: bytes
) -> None:
    """Where a field wants a number, and where anything may stand."""
    good = body_of(operation)
    for place in (b"4", b"24", b"7", b'"tern"', b'"wind"', b'"Storm on the coast"'):
        send(service, framed(operation, good.replace(b": " + place, b": " + number, 1)))


@pytest.mark.parametrize(
    "content_type", ["", "text/plain", "application/xml", "a" * 5000, "application/json;charset=\xff"]
)
@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_other_content_types_are_answered(
    service: Program, operation: tuple[str, str, str, str], content_type: str
) -> None:
    """Some routes do not look at it, the others refuse it."""
    method, path, _, _ = operation
    answer = send(service, request(method, path, f"Content-Type: {content_type}", body=body_of(operation)))
    assert answer.status in (200, 400, 415)


# --- the head --------------------------------------------------------------------------------------------

NAMES: Final = (
    "Accept", "Accept-Encoding", "Authorization", "Content-Encoding", "Content-Type", "Cookie", "Host",
    "Idempotency-Key", "If-Modified-Since", "If-None-Match", "Origin", "Range", "X-Forwarded-For", "X-Request-ID",
    "ce-id", "ce-source", "ce-specversion", "ce-time", "ce-type", "ce-", "traceparent", "tracestate",
)  # fmt: skip


def lines() -> SearchStrategy[list[str]]:
    """Return headers of any value, some of them several times; what frames a request is not among them."""
    values = st.text(
        st.characters(max_codepoint=255, exclude_characters="\r\n"), max_size=60
    ) | st.sampled_from(
        [
            "gzip",
            "zstd",
            "*",
            '"',
            "a" * 10_000,
            "Bearer a.b.c",
            "Basic !",
            "application/cloudevents+json",
            "1.0",
        ]
    )
    return st.lists(st.builds("{}: {}".format, st.sampled_from(NAMES), values), max_size=8)


@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
@given(headers=lines())
@example(["Idempotency-Key: a"] * 200)
@example([f"x-{number}: y" for number in range(3000)])
def test_any_headers_are_answered(
    service: Program, operation: tuple[str, str, str, str], headers: list[str]
) -> None:
    """Beside a body that is good."""
    send(service, framed(operation, body_of(operation), *headers))


PATHS: Final = (
    "/api/v1/schema/", "/api/v1/schema/weather_alert/", "/api/v1/admin/notification/", "/static/", "/swagger-ui/",
    "/api-docs/", "/api/v1/notifications?", "/api/v1/notifications?atomic=", "/api/v1/schema?", "/", "",
)  # fmt: skip
PIECES: Final = (
    "%",
    "%2",
    "%zz",
    "%00",
    "%2f",
    "%2e%2e",
    "..",
    "/",
    "//",
    "?",
    "&",
    "=",
    ";",
    "@",
    "@1",
    "\\",
    "%ff",
    "%f0%9f",
    "#",
    "+",
)


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "PUT", "OPTIONS", "TRACE"])
@given(
    start=st.sampled_from(PATHS),
    pieces=st.lists(
        st.sampled_from(PIECES) | st.text(st.characters(min_codepoint=33, max_codepoint=255), max_size=20)
    ),
)
@example("/api/v1/admin/notification/", ["weather_alert@" + "9" * 5000])
@example("/api/v1/admin/notification/", ["a/b"])
@example("/api/v1/admin/notification/", ["%2f"])
@example("/api/v1/schema/", ["%00" * 1000])
@example("/api/v1/notifications?", ["atomic=true&" * 3000])
def test_any_path_is_answered(service: Program, method: str, start: str, pieces: list[str]) -> None:
    """With any query."""
    send(service, request(method, "".join([start, *pieces]) or "*", body=b"{}" if method != "GET" else None))


# --- memory ----------------------------------------------------------------------------------------------


def zeros_in_gzip(mebibytes: int) -> bytes:
    """Return a body of zeros, a thousandth of its size."""
    made = io.BytesIO()
    with gzip.GzipFile(fileobj=made, mode="wb", compresslevel=6) as packed:
        for _ in range(mebibytes):
            packed.write(bytes(MIB))
    return made.getvalue()


def zeros_in_zstd(mebibytes: int) -> bytes:
    """Return a body of zeros, some ten thousandths of its size."""
    packed = zstandard.ZstdCompressor(level=3).compressobj()
    return b"".join([packed.compress(bytes(MIB)) for _ in range(mebibytes)]) + packed.flush()


BOMBS: Final = {
    "gzip": ("gzip", zeros_in_gzip(100)),
    "zstd": ("zstd", zeros_in_zstd(1000)),
    "gzip in parts": ("gzip", gzip.compress(bytes(64 * 1024)) * 2000),
    "zstd in parts": ("zstd", zstandard.compress(bytes(64 * 1024)) * 2000),
}
BROKEN: Final = {
    "gzip of gzip": ("gzip", gzip.compress(zeros_in_gzip(10))),
    "cut off": ("gzip", gzip.compress(b"[]")[:-3]),
    "no gzip": ("gzip", b"[]"),
    "no zstd": ("zstd", b"[]"),
    "gzip and more": ("gzip", gzip.compress(b"[]") + b"[]"),
    "a window that is too large": ("zstd", bytes.fromhex("28b52ffd00f8") + b"\xff" * 64),
    "nothing in gzip": ("gzip", b""),
    "nothing in zstd": ("zstd", b""),
    "very many parts": ("gzip", gzip.compress(b"") * 20_000),
}


@pytest.mark.parametrize("bomb", BOMBS)
@pytest.mark.parametrize("operation", BATCHES, ids=str)
def test_a_body_that_becomes_too_large_is_refused(
    service: Program, operation: tuple[str, str, str, str], bomb: str
) -> None:
    """As soon as it does, not after."""
    encoding, body = BOMBS[bomb]
    answer = send(service, framed(operation, body, f"Content-Encoding: {encoding}"))
    assert (answer.status, answer.json["code"]) == (413, "PAYLOAD_TOO_LARGE")


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("operation", BATCHES, ids=str)
def test_a_body_that_cannot_be_unpacked_is_refused(
    service: Program, operation: tuple[str, str, str, str], name: str
) -> None:
    """As a fault of the request."""
    encoding, body = BROKEN[name]
    assert send(service, framed(operation, body, f"Content-Encoding: {encoding}")).status == 400


def test_memory_does_not_grow(service: Program) -> None:
    """However often such requests come, there is never more than they may become, and nothing stays.

    The allocator keeps some of what was once needed: a tenth of what these requests are together, once.
    """
    for _ in range(3):
        round_of_requests(service)
    before = resident_bytes(service)
    for _ in range(5):
        round_of_requests(service)
    assert resident_bytes(service) - before < 24 * MIB
    assert resident_bytes(service, "VmHWM") - before < 64 * MIB


def round_of_requests(service: Program) -> None:
    """Send one of each kind."""
    for operation in BATCHES:
        for encoding, body in (*BOMBS.values(), *BROKEN.values()):
            send(service, framed(operation, body, f"Content-Encoding: {encoding}"))
        send(service, framed(operation, b"[" * LARGEST_BATCH))
        send(service, framed(operation, b"[" + b"{}," * 5000 + b"{}]"))
        send(service, framed(operation, b"{}\n" * 5000))
    for operation in (NOTIFICATION, EVENT):
        send(service, framed(operation, b'{"a":' * 40_000))
        send(service, framed(operation, body_of(operation).replace(b": 4", b": " + b"9" * 200_000)))


def resident_bytes(service: Program, name: str = "VmRSS") -> int:
    """Return the memory that the process holds, or the most that it held."""
    status = Path(f"/proc/{service.process.pid}/status").read_text(encoding="ascii")
    line = next(line for line in status.splitlines() if line.startswith(f"{name}:"))
    return int(line.split()[1]) * 1024
