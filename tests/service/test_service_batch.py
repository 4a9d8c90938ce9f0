"""`POST /api/v1/notifications`, over real HTTP: what becomes of each record, and of requests as a whole."""

from __future__ import annotations

import asyncio
import gzip
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest
import zstandard

from aviso_all_in_one.serving import assemble
from aviso_core.eventlog.entry import OWN_HEADER, TRACE_HEADER
from support.event_logs import ask_broker, asynchronous, payloads, read_all
from support.nats import open_link, running_server
from support.recordings import GUARDED, on_jetstream, token
from support.services import HOST, Answered, Service, running_avisod, running_service

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    from aviso_core.eventlog.base import Entry, EventLog
    from aviso_http.process import Process, Routes

PATH: Final = "/api/v1/notifications"
LINES: Final = "application/x-ndjson"
ARRAY: Final = "application/json"
EVENTS: Final = "application/cloudevents-batch+json"
TRACE: Final = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def keyed(base: str, **more: object) -> dict[str, Any]:
    """Return an event type with one key."""
    return {
        "topic": {"base": base, "key_order": ["step"]},
        "identifier": {"step": {"type": "IntHandler", "range": [0, 240], "required": True}},
        "payload": {"required": True},
        **more,
    }


CONFIGURATION: Final[dict[str, Any]] = {
    "notification_schema": {"runs": keyed("runs"), "maps": keyed("maps")},
    "ingest": {"batch_max_records": 2000, "batch_max_bytes": 1024 * 1024},
}


class Running(NamedTuple):
    """A service, and the log that it writes to."""

    service: Service
    log: EventLog

    async def send(
        self,
        records: object,
        *,
        query: str = "",
        content_type: str = ARRAY,
        headers: Mapping[str, str] | None = None,
    ) -> Answered:
        """Send a batch: bytes as they are, anything else as JSON or as lines of it."""
        if isinstance(records, bytes):
            content = records
        elif content_type == LINES:
            assert isinstance(records, list)
            content = b"\n".join(json.dumps(one).encode() for one in records)
        else:
            content = json.dumps(records).encode()
        sent = {"Content-Type": content_type, **(headers or {})}
        return await self.service.ask("POST", PATH + query, content=content, headers=sent)

    async def stored(self, base: str = "runs") -> list[Entry]:
        """Return what the log holds."""
        return await read_all(self.log, base)


@asynccontextmanager
async def running(configuration: Mapping[str, Any] = CONFIGURATION) -> AsyncIterator[Running]:
    """Run a service for as long as the block runs."""
    opened: list[Process] = []

    def assembled(process: Process) -> Routes:
        opened.append(process)
        return assemble(process)

    async with running_service(configuration, assembled=assembled) as service:
        yield Running(service, opened[0].event_log)


def record(
    number: object = 1, *, event_type: str = "runs", step: object = 6, **more: object
) -> dict[str, Any]:
    """Return a good record; its payload is a number to know it by."""
    return {"event_type": event_type, "identifier": {"step": step}, "payload": number, **more}


def event(number: object = 1, **more: object) -> dict[str, Any]:
    """Return the same as a CloudEvent."""
    data = {"identifier": {"step": 6}, "payload": number}
    return {"specversion": "1.0", "type": "runs", "source": "/tests", "id": f"{number}", "data": data, **more}


def told(answer: Answered) -> list[tuple[str, int | None]]:
    """Return what became of each record, and where."""
    assert answer.status == 200, answer.body
    results = answer.json["results"]
    assert [result["index"] for result in results] == list(range(len(results)))
    counted = {name: answer.json[name] for name in ("accepted", "duplicate", "rejected", "failed")}
    statuses = [result["status"] for result in results]
    assert counted == {name: statuses.count(name) for name in counted}
    return [(result["status"], result.get("sequence")) for result in results]


# --- forms -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content_type", [LINES, ARRAY, EVENTS])
@pytest.mark.parametrize("coding", ["identity", "gzip", "zstd"])
@asynchronous
async def test_records_are_stored_in_their_order(content_type: str, coding: str) -> None:
    """In any form and coding, and in as many windows as they need."""
    made = [event(n) if content_type == EVENTS else record(n, id=f"{n}") for n in range(700)]
    texts = [json.dumps(one).encode() for one in made]
    body = b"\r\n".join(texts) if content_type == LINES else b"[" + b" ,\n".join(texts) + b"]"
    match coding:
        case "gzip":
            body = gzip.compress(body)
        case "zstd":
            body = zstandard.ZstdCompressor().compress(body)
    async with running() as subject:
        answer = await subject.send(body, content_type=content_type, headers={"Content-Encoding": coding})
        stored = await subject.stored()
    assert told(answer) == [("accepted", n + 1) for n in range(700)]
    assert payloads(stored) == [b"%d" % n for n in range(700)]
    assert answer.json["results"][3] == {
        "index": 3,
        "status": "accepted",
        "event_type": "runs",
        "sequence": 4,
        "id": "3",
    }
    assert answer.json["request_id"] == answer.headers["x-request-id"]


@pytest.mark.parametrize("records", [[], [record()], [record(), record(step="x")] * 200])
@asynchronous
async def test_an_answer_may_come_in_lines(records: list[object]) -> None:
    """One for each record, and the sums behind them."""
    async with running() as subject:
        plain = await subject.send(records)
        lines = await subject.send(records, headers={"Accept": LINES})
    assert lines.headers["content-type"] == LINES
    *results, totals = map(json.loads, lines.body.splitlines())
    expected = [{**one} for one in plain.json["results"]]
    for one in expected:
        if "sequence" in one:
            one["sequence"] += plain.json["accepted"]
    assert results == expected
    assert totals.items() >= {"accepted": plain.json["accepted"], "rejected": plain.json["rejected"]}.items()
    assert totals["request_id"] == lines.headers["x-request-id"]


@pytest.mark.parametrize("form", [LINES, ARRAY])
@asynchronous
async def test_an_answer_may_be_short(form: str) -> None:
    """It has the same sums, and of the results those of records that are not stored, at their places."""
    records = [record(id="a"), record(step="x"), record(id="b"), {"event_type": "runs"}, record(id="a")]
    async with running() as subject:
        whole = await subject.send(records)
        short = await subject.send(records, headers={"Accept": form, "Prefer": "return=minimal"})
        stored = await subject.send([record()], headers={"Accept": form, "Prefer": "return=minimal"})
        atomic = await subject.send([record()], query="?atomic=true", headers={"Prefer": "return=minimal"})
    assert "preference-applied" not in whole.headers
    assert short.headers["preference-applied"] == "return=minimal"
    if form == ARRAY:
        results, totals = short.json.pop("results"), short.json
    else:
        *results, totals = map(json.loads, short.body.splitlines())
    assert results == [whole.json["results"][place] for place in (1, 3)]
    assert {name: totals[name] for name in ("accepted", "duplicate", "rejected", "failed")} == {
        "accepted": 0,
        "duplicate": 3,
        "rejected": 2,
        "failed": 0,
    }
    assert (stored.json.get("results", []), stored.json["accepted"]) == ([], 1)
    assert (atomic.json["results"], atomic.json["accepted"]) == ([], 1)


@asynchronous
async def test_a_batch_of_nothing_is_a_batch() -> None:
    """A producer that had nothing to say this time made no mistake."""
    async with running() as subject:
        for body, content_type in ((b"[]", ARRAY), (b"", LINES), (b"\r\n \n", LINES), (b"[]", EVENTS)):
            assert told(await subject.send(body, content_type=content_type)) == []
        assert told(await subject.send(b"[]", query="?atomic=true")) == []


# --- records ---------------------------------------------------------------------------------------------

_UNKNOWN_MEMBER: Final = "Request contains unknown fields: Unknown field 'x' in request."
BAD_RECORDS: Final[list[tuple[object, str, str | None, str]]] = [
    (5, "INVALID_REQUEST_SHAPE", None, "Request deserialization failed: expected an object"),
    (
        {"event_type": "runs"},
        "INVALID_REQUEST_SHAPE",
        "identifier",
        "Request deserialization failed: missing",
    ),
    (record(x=1), "UNKNOWN_FIELD", "x", _UNKNOWN_MEMBER),
    (record(event_type="none"), "UNKNOWN_EVENT_TYPE", "event_type", "unknown event type 'none'"),
    (record(step=241), "INVALID_NOTIFICATION_REQUEST", "step", "Field 'step' value 241 is outside"),
    (record(None), "INVALID_NOTIFICATION_REQUEST", "payload", "Payload is required"),
    (record(to_id="5"), "INVALID_NOTIFICATION_REQUEST", "to_id", "to_id and to_date are only supported"),
    (record(id=""), "INVALID_NOTIFICATION_REQUEST", "id", "id must be 1 to 128 printable ASCII characters"),
    (record(id="x" * 129), "INVALID_NOTIFICATION_REQUEST", "id", "id must be 1 to 128"),
    (record(id="ü"), "INVALID_NOTIFICATION_REQUEST", "id", "id must be 1 to 128"),
    (record(id="a\nb"), "INVALID_NOTIFICATION_REQUEST", "id", "id must be 1 to 128"),
    (record(id=7), "INVALID_REQUEST_SHAPE", "id", "Request deserialization failed: `id`: expected a string"),
    (record(time="soon"), "INVALID_NOTIFICATION_REQUEST", "time", "time must be a valid datetime"),
    (record("x" * 262_144), "PAYLOAD_TOO_LARGE", None, "A notification has at most 262144 bytes"),
]


@asynchronous
async def test_a_rejected_record_never_stops_the_others() -> None:
    """Each is told what is wrong with it, as if it had been posted alone."""
    records = [one for bad, *_ in BAD_RECORDS for one in (record(), bad)]
    async with running() as subject:
        answers = [await subject.send(records), await subject.send(records, content_type=LINES)]
        assert len(await subject.stored()) == 2 * len(BAD_RECORDS)
    for answer in answers:
        assert answer.json["accepted"] == answer.json["rejected"] == len(BAD_RECORDS)
        for (_, code, field, message), result in zip(BAD_RECORDS, answer.json["results"][1::2], strict=True):
            assert (result["status"], result["code"], result.get("field")) == ("rejected", code, field)
            assert message.lower() in result["message"].lower()


@asynchronous
async def test_a_line_that_is_no_json_is_one_rejected_record() -> None:
    """The others can be read all the same."""
    good = json.dumps(record()).encode()
    async with running() as subject:
        answer = await subject.send(b"\n".join([good, b"{", good, b"\xff", good]), content_type=LINES)
    assert [status for status, _ in told(answer)] == ["accepted", "rejected"] * 2 + ["accepted"]
    assert answer.json["results"][1]["code"] == "INVALID_JSON"
    assert answer.json["results"][1]["event_type"] is None


_NINES: Final = b"9" * 5000
NOT_JSON_WITHIN: Final = (
    b'{"event_type":"runs","identifier":{"step":6},"payload":[%s],"payload":"\\ud800","payload":1}' % _NINES,
    b'{"event_type":"runs","identifier":{"step":6},"payload":{"n":%s,"a":"\\ud800","a":1}}' % _NINES,
    b'{"event_type":"\\ud800","event_type":"runs","identifier":{"step":6},"payload":%s}' % _NINES,
    b'{"event_type":"runs","identifier":{"step":"\\ud800"},"identifier":{"step":6},"payload":%s}' % _NINES,
    b'{"event_type":"\xff","event_type":"runs","identifier":{"step":6},"payload":1}',
    b'{"event_type":"runs","identifier":{"step":6},"payload":"\xff","payload":1}',
    b'{"event_type":"runs","identifier":{"\xff":1},"identifier":{"step":6},"payload":1}',
)


@asynchronous
async def test_what_a_later_member_replaces_must_be_json_too() -> None:
    """Of a record in a batch as of a notification alone: a fault there is nobody else's."""
    good = json.dumps(record()).encode()
    lines = [one for bad in NOT_JSON_WITHIN for one in (good, bad)]
    async with running() as subject:
        batch = await subject.send(b"\n".join(lines), content_type=LINES)
        alone = [
            await subject.service.ask("POST", "/api/v1/notification", content=bad) for bad in NOT_JSON_WITHIN
        ]
    assert [status for status, _ in told(batch)] == ["accepted", "rejected"] * len(NOT_JSON_WITHIN)
    assert {result["code"] for result in batch.json["results"][1::2]} == {"INVALID_JSON"}
    assert [(answer.status, answer.json["code"]) for answer in alone] == [(400, "INVALID_JSON")] * len(alone)


@asynchronous
async def test_what_somebody_sent_comes_back_in_part() -> None:
    """An answer is not larger than what it answers."""
    async with running() as subject:
        answer = await subject.send([record(event_type="e" * 100_000, id="i" * 100_000), record()])
    assert len(answer.body) < 3_000
    assert answer.json["results"][0]["event_type"].startswith("eee")


@asynchronous
async def test_event_types_may_be_mixed() -> None:
    """Each has its own log, and its own order."""
    records = [record(n, event_type="runs" if n % 3 else "maps", id=f"{n}") for n in range(600)]
    async with running() as subject:
        assert {status for status, _ in told(await subject.send(records))} == {"accepted"}
        runs, maps = await subject.stored("runs"), await subject.stored("maps")
    assert payloads(runs) == [b"%d" % n for n in range(600) if n % 3]
    assert payloads(maps) == [b"%d" % n for n in range(0, 600, 3)]


@asynchronous
async def test_what_its_producer_says_is_kept() -> None:
    """Its own time, and its place in a trace."""
    async with running() as subject:
        await subject.send([record(time="2025-01-01T00:00:01Z")], headers={"traceparent": TRACE})
        (entry,) = await subject.stored()
    assert json.loads(entry.headers[OWN_HEADER]) == {"time": 1_735_689_601_000_000_000}
    assert entry.headers[TRACE_HEADER] == TRACE


# --- ids -------------------------------------------------------------------------------------------------


@asynchronous
async def test_the_same_id_is_stored_once() -> None:
    """Within a batch, across windows and requests, and in whichever way it comes; each is told the first sequence."""
    twice = [record(n, id=f"{n % 300}") for n in range(600)]
    async with running() as subject:
        assert told(await subject.send(twice)) == [
            *[("accepted", n + 1) for n in range(300)],
            *[("duplicate", n + 1) for n in range(300)],
        ]
        assert told(await subject.send([record(id="7"), record(id="new")])) == [
            ("duplicate", 8),
            ("accepted", 301),
        ]
        single = await subject.service.notify(record(), headers={"Idempotency-Key": "9"})
        assert (single.status, single.json["status"]) == (200, "success")
        assert len(await subject.stored()) == 301


@asynchronous
async def test_an_id_means_something_in_one_event_type_and_source_only() -> None:
    """Another's is another."""
    async with running() as subject:
        assert told(await subject.send([record(id="1"), record(id="1", event_type="maps")])) == [
            ("accepted", 1),
            ("accepted", 1),
        ]
        events = [event(id="1"), event(id="1", source="/others"), event(id="1")]
        assert told(await subject.send(events, content_type=EVENTS)) == [
            ("accepted", 2),
            ("accepted", 3),
            ("duplicate", 2),
        ]


@asynchronous
async def test_nobody_suppresses_the_notification_of_another() -> None:
    """Whoever uses an id that somebody else used has one of his own."""
    shared = {
        "topic": {"base": "shared", "key_order": ["k"]},
        "identifier": {"k": {"type": "StringHandler", "required": True}},
        "auth": {"required": True, "write_roles": {"main": ["*"], "other": ["*"]}},
    }
    configuration = {**GUARDED, "notification_schema": {"shared": shared}}
    one = [{"event_type": "shared", "identifier": {"k": "a"}, "payload": 1, "id": "1"}]
    became = []
    async with running(configuration) as subject:
        for name in ("reader", "reader of another realm", "writer"):
            answer = await subject.send(one, headers={"Authorization": f"Bearer {token(name)}"})
            became += told(answer)
    # The last is the first, in another role.
    assert became == [("accepted", 1), ("accepted", 2), ("duplicate", 1)]


@asynchronous
async def test_a_single_notification_has_an_id_of_its_own_too() -> None:
    """`Idempotency-Key`: the retry is answered as the first was, and stored once."""
    async with running() as subject:
        for _ in range(2):
            answer = await subject.service.notify(record(), headers={"Idempotency-Key": "mine"})
            assert (answer.status, answer.json["status"]) == (200, "success")
        bad = await subject.service.notify(record(), headers={"Idempotency-Key": "x" * 129})
        assert (bad.status, bad.json["code"]) == (400, "INVALID_NOTIFICATION_REQUEST")
        assert bad.json["message"].startswith("Idempotency-Key must be 1 to 128")
        twice = [("Idempotency-Key", "one"), ("Idempotency-Key", "two")]
        both = await subject.service.client.post("/api/v1/notification", json=record(), headers=twice)
        assert (both.status_code, both.json()["message"]) == (400, "Idempotency-Key is there twice: send one")
        assert len(await subject.stored()) == 1


# --- all or nothing --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("records", "status", "code", "said"),
    [
        (
            [record(), record(step=999)],
            400,
            "INVALID_NOTIFICATION_REQUEST",
            "1 of 2 notifications are rejected",
        ),
        ([record(), record(event_type="maps")], 400, "INVALID_NOTIFICATION_REQUEST", "of one event type"),
        ([record(id="a"), record(id="a")], 409, "ATOMIC_BATCH_REFUSED", "the same id"),
        ([record(), record(id="before")], 409, "ATOMIC_BATCH_REFUSED", "stored before"),
        ([record()] * 1001, 413, "PAYLOAD_TOO_LARGE", "at most 1000 notifications"),
        ({"not": "an array"}, 400, "INVALID_JSON", "must be one JSON array"),
    ],
)
@asynchronous
async def test_all_or_nothing_means_nothing(records: object, status: int, code: str, said: str) -> None:
    """Whatever is wrong with one record is wrong with the batch."""
    async with running() as subject:
        await subject.send([record(id="before")])
        answer = await subject.send(records, query="?atomic=true")
        assert (answer.status, answer.json["code"]) == (status, code)
        assert said in answer.json["message"]
        assert len(await subject.stored()) == 1


@asynchronous
async def test_all_or_nothing_tells_of_every_rejected_record() -> None:
    """They can all be mended at once."""
    async with running() as subject:
        answer = await subject.send([record(step=241), record(), record(x=1)], query="?atomic=true")
    results = [(one["index"], one["status"], one["code"]) for one in answer.json["results"]]
    assert results == [(0, "rejected", "INVALID_NOTIFICATION_REQUEST"), (2, "rejected", "UNKNOWN_FIELD")]
    assert answer.json["details"] == "Field 'step' value 241 is outside allowed range [0, 240]"


@asynchronous
async def test_all_or_nothing_stores_all() -> None:
    """As many as there may be, one after the other."""
    async with running() as subject:
        answer = await subject.send([record(n, id=f"{n}") for n in range(1000)], query="?atomic=true")
        assert told(answer) == [("accepted", n + 1) for n in range(1000)]


# --- whole requests --------------------------------------------------------------------------------------

_MANY: Final = b"[" + b",".join([json.dumps(record()).encode()] * 2001) + b"]"
_LARGE: Final = b" " * (1024 * 1024 + 1)
WHOLE: Final[dict[str, tuple[bytes, dict[str, str], int, str, str]]] = {
    "no array": (b"5", {}, 400, "INVALID_JSON", "one JSON array"),
    "cut off": (b"[1", {}, 400, "INVALID_JSON", "one JSON array"),
    "no line is JSON": (b"{\n}\n", {"Content-Type": LINES}, 400, "INVALID_JSON", "JSON parsing failed: "),
    "cut off gzip": (gzip.compress(b"[]")[:-1], {"Content-Encoding": "gzip"}, 400, "INVALID_ENCODING", "its time"),
    "no zstd": (b"[]", {"Content-Encoding": "zstd"}, 400, "INVALID_ENCODING", "not zstd"),
    "perhaps atomic": (b"[]", {"?": "?atomic=perhaps"}, 400, "INVALID_NOTIFICATION_REQUEST", "true or false"),
    "too many": (_MANY, {}, 413, "PAYLOAD_TOO_LARGE", "at most 2000 notifications"),
    "too many lines": (b"{}\n" * 2001, {"Content-Type": LINES}, 413, "PAYLOAD_TOO_LARGE", "at most 2000"),
    "too large": (_LARGE, {}, 413, "PAYLOAD_TOO_LARGE", "at most 1048576 bytes"),
    "too large in gzip": (gzip.compress(_LARGE), {"Content-Encoding": "gzip"}, 413, "PAYLOAD_TOO_LARGE", "1048576"),
    "too large in zstd": (
        zstandard.ZstdCompressor().compress(bytes(2**28)),
        {"Content-Encoding": "zstd"},
        413,
        "PAYLOAD_TOO_LARGE",
        "counted after decompression",
    ),
    "no content type": (b"[]", {"Content-Type": ""}, 415, "UNSUPPORTED_MEDIA_TYPE", "Content-Type must be"),
    "one CloudEvent": (
        b"[]", {"Content-Type": "application/cloudevents+json"}, 415, "UNSUPPORTED_MEDIA_TYPE", "Content-Type must be",
    ),
    "two codings in two lines": (
        gzip.compress(gzip.compress(b"[]")),
        {"Content-Encoding": "gzip", "content-encoding": "gzip"},
        415,
        "UNSUPPORTED_MEDIA_TYPE",
        "must be gzip or zstd",
    ),
    "unknown coding": (b"[]", {"Content-Encoding": "br"}, 415, "UNSUPPORTED_MEDIA_TYPE", "must be gzip or zstd"),
}  # fmt: skip


@asynchronous
async def test_what_is_wrong_with_a_request_as_a_whole() -> None:
    """Nothing of it is stored, the answer says why, and the service goes on."""
    async with running() as subject:
        for name, (body, headers, status, code, said) in WHOLE.items():
            query = headers.get("?", "")
            sent = {key: value for key, value in headers.items() if key != "?"}
            answer = await subject.send(body, query=query, headers=sent)
            assert (answer.status, answer.json["code"]) == (status, code), name
            assert said in answer.json["message"], name
            assert answer.json["request_id"] == answer.headers["x-request-id"], name
        assert told(await subject.send([record()])) == [("accepted", 1)]


@asynchronous
async def test_a_body_without_a_length_is_refused_when_it_is_too_large() -> None:
    """Nobody announced it, and nobody holds more of it than the limit."""

    async def endless() -> AsyncIterator[bytes]:
        for _ in range(24):
            yield b" " * 65_536

    async with running() as subject:
        sent = subject.service.client.post(PATH, content=endless(), headers={"Content-Type": ARRAY})
        answer = await sent
    assert answer.status_code == 413
    assert "at most 1048576 bytes" in answer.json()["message"]


@pytest.mark.parametrize(
    ("name", "types", "status", "codes"),
    [
        (None, ["free", "members"], 200, [None, "UNAUTHORIZED"]),
        (None, ["members", "desk"], 401, "UNAUTHORIZED"),
        ("reader", ["free", "members", "desk"], 200, [None, "FORBIDDEN", "FORBIDDEN"]),
        ("reader", ["desk", "desk"], 403, "FORBIDDEN"),
        ("reader", ["none", "desk"], 403, "FORBIDDEN"),
        ("writer", ["desk", "free"], 200, [None, None]),
        ("garbage", ["free"], 401, "UNAUTHORIZED"),
    ],
)
@pytest.mark.parametrize("is_good", [True, False])
@asynchronous
async def test_each_record_needs_its_permission(
    name: str | None, types: list[str], status: int, codes: str | list[str | None], is_good: bool
) -> None:
    """Where no record has it the request as a whole is refused, whatever else is wrong with the records."""
    records = [{"event_type": one, "identifier": {"k": "a"}, "id": None if is_good else ""} for one in types]
    headers = {} if name is None else {"Authorization": f"Bearer {token(name)}"}
    async with running(GUARDED) as subject:
        if is_good or status != 200:
            answer = await subject.send(records, headers=headers)
            assert answer.status == status
            if status == 200:
                assert [result.get("code") for result in answer.json["results"]] == codes
            elif is_good:
                assert answer.json["code"] == codes
                assert ("www-authenticate" in answer.headers) == (status == 401)


# --- pressure --------------------------------------------------------------------------------------------


async def half_sent(service: Service, body: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Announce a body and send its first byte."""
    reader, writer = await asyncio.open_connection(HOST, service.port)
    head = f"POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Type: {ARRAY}\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body[:1])
    await writer.drain()
    return reader, writer


@asynchronous
async def test_who_finds_no_room_is_told_to_come_again() -> None:
    """And finds it when the others were answered, who lose nothing by it."""
    configuration = {**CONFIGURATION, "ingest": {"max_bytes_in_flight": 2000, "max_waiting_seconds": 1}}
    body = json.dumps([record("x" * 3000)]).encode()
    async with running(configuration) as subject:
        reader, writer = await half_sent(subject.service, body)
        refused = await subject.send([record()])
        assert (refused.status, refused.json["code"]) == (503, "OVERLOADED")
        assert int(refused.headers["retry-after"]) >= 1
        writer.write(body[1:])
        assert (await reader.readuntil(b"\r\n")) == b"HTTP/1.1 200 OK\r\n"
        writer.close()
        assert told(await subject.send([record()])) == [("accepted", 2)]


@asynchronous
async def test_a_client_that_leaves_gives_its_room_back() -> None:
    """Nobody waits for somebody who is not there."""
    configuration = {**CONFIGURATION, "ingest": {"max_bytes_in_flight": 2000, "max_waiting_seconds": 15}}
    async with running(configuration) as subject:
        _, writer = await half_sent(subject.service, b"[" + b" " * 5000)
        writer.close()
        assert told(await subject.send([record()])) == [("accepted", 1)]


def peak_bytes(process_id: int) -> int:
    """Return the most memory that a process ever held."""
    with open(f"/proc/{process_id}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))


def test_bombs_do_not_fill_the_memory(tmp_path: Path) -> None:
    """Of 32 bodies that would be 16 GiB together, nothing is held but what the limits say."""

    async def send_all(port: int) -> set[int]:
        bomb = zstandard.ZstdCompressor().compress(bytes(2**29))
        head = f"POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Type: {LINES}\r\nContent-Encoding: zstd\r\n"
        request = f"{head}Connection: close\r\nContent-Length: {len(bomb)}\r\n\r\n".encode() + bomb
        service = Service(port, None)  # type: ignore[arg-type]  # only its port is used
        answers = await asyncio.gather(*(service.send_bytes(request) for _ in range(32)))
        return {int(answer.split(b" ", 2)[1]) for answer in answers}

    with running_avisod(tmp_path, {"notification_schema": {"runs": keyed("runs")}}) as program:
        before = peak_bytes(program.process.pid)
        statuses = asyncio.run(send_all(program.port))
        grown = peak_bytes(program.process.pid) - before
    assert statuses <= {413, 503}
    assert 413 in statuses
    assert grown < 96 * 1024 * 1024


# --- on a broker -----------------------------------------------------------------------------------------


KEEPING: Final[dict[str, Any]] = {
    **CONFIGURATION,
    "notification_schema": {
        base: keyed(base, storage_policy={"allow_duplicates": True}) for base in ("runs", "maps", "alone")
    },
}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Run a server that takes less than we do."""
    with running_server(tmp_path_factory.mktemp("broker"), settings=["max_payload: 65536"]) as server:
        yield server


def results_of(answer: Answered, *members: str) -> list[tuple[object, ...]]:
    """Return some members of each result."""
    return [tuple(result.get(member) for member in members) for result in answer.json["results"]]


@asynchronous
async def test_a_broker_stores_a_batch_as_memory_does(broker: Any) -> None:
    """Order, ids within and across batches, mixed event types, rejected ones, all or nothing."""
    first = [record(n, id=f"{n % 600}", event_type="runs" if n % 2 else "maps") for n in range(900)]
    async with running(on_jetstream(KEEPING, broker.url)) as subject:
        answer = await subject.send(first)
        assert results_of(answer, "status") == [("accepted",)] * 600 + [("duplicate",)] * 300
        assert payloads(await subject.stored("runs")) == [b"%d" % n for n in range(1, 600, 2)]
        assert payloads(await subject.stored("maps")) == [b"%d" % n for n in range(0, 600, 2)]
        again = await subject.send([record(id="1"), record(step=999), record(id="x")])
        assert results_of(again, "status", "sequence") == [
            ("duplicate", 1),
            ("rejected", None),
            ("accepted", 301),
        ]

        whole = await subject.send([record(id="y"), record(id="z")], query="?atomic=true")
        assert results_of(whole, "status", "sequence") == [("accepted", 302), ("accepted", 303)]
        for bad, status in (([record(), record(id="z")], 409), ([record(), record(step=999)], 400)):
            assert (await subject.send(bad, query="?atomic=true")).status == status
        for _ in range(2):
            single = await subject.service.notify(record(), headers={"Idempotency-Key": "k"})
            assert single.status == 200
        assert len(await subject.stored("runs")) == 304


@asynchronous
async def test_what_the_broker_does_not_take_costs_nobody_the_connection(broker: Any) -> None:
    """It is told before anything is sent. An id that could not be stored is still to be had."""
    large = record("x" * 70_000, event_type="maps", id="large")
    small = record("small", event_type="maps", id="large")
    async with open_link(broker) as link:
        async with running(on_jetstream(KEEPING, link.url)) as subject:
            answer = await subject.send([record(event_type="maps"), large, small, small])
            statuses = [status for status, _ in told(answer)]
            assert statuses == ["accepted", "rejected", "accepted", "duplicate"]
            assert "bytes, at most 65536 are taken" in answer.json["results"][1]["message"]
            assert (await subject.send([large], query="?atomic=true")).status == 400
        assert link.connections == 1


@asynchronous
async def test_a_stream_that_takes_no_atomic_batches_is_a_conflict(broker: Any) -> None:
    """Nothing is stored, and the answer says what is missing."""
    async with running(on_jetstream(KEEPING, broker.url)) as subject:
        one = record(event_type="alone")
        await subject.send([one])
        (name,) = [
            one for one in (await ask_broker(broker.url, "STREAM.NAMES"))["streams"] if "ALONE" in one.upper()
        ]
        config = (await ask_broker(broker.url, f"STREAM.INFO.{name}"))["config"]
        changed = await ask_broker(broker.url, f"STREAM.UPDATE.{name}", {**config, "allow_atomic": False})
        assert "error" not in changed, changed
        answer = await subject.send([one, one], query="?atomic=true")
        assert (answer.status, answer.json["code"]) == (409, "ATOMIC_BATCH_REFUSED")
        assert len(await subject.stored("alone")) == 1


@asynchronous
async def test_what_the_broker_did_not_acknowledge_has_failed(tmp_path: Path) -> None:
    """It may be sent again with the same ids, and is stored once."""
    records = [record(n, id=f"{n}") for n in range(3)]
    with running_server(tmp_path) as server:
        async with open_link(server) as link, running(on_jetstream(KEEPING, link.url)) as subject:
            await subject.send([record(id="first")])
            link.lose_answers()
            answer = await subject.send([*records, record(step=999)])
            assert results_of(answer, "status", "code") == [
                *[("failed", "NOTIFICATION_STORAGE_FAILED")] * 3,
                ("rejected", "INVALID_NOTIFICATION_REQUEST"),
            ]
            # A connection that was being made in silence is given up at once.
            link.cut()
            link.mend()
            while (again := await subject.send(records)).json["failed"]:
                pass
            assert [sequence for _, sequence in told(again)] == [2, 3, 4]
            assert len(await subject.stored()) == 4
