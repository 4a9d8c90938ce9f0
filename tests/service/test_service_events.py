"""`POST /api/v1/events`, over real HTTP: CloudEvents in all three modes, on memory and on a broker."""

from __future__ import annotations

import gzip
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import pytest
import zstandard

from aviso_all_in_one.serving import assemble
from aviso_core.eventlog.entry import OWN_HEADER, TRACE_HEADER
from support.event_logs import asynchronous, read_all
from support.nats import running_server
from support.recordings import GUARDED, on_jetstream, token
from support.services import Answered, Service, running_service

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    from aviso_core.eventlog.base import EventLog
    from aviso_http.process import Process, Routes

PATH: Final = "/api/v1/events"
STRUCTURED: Final = "application/cloudevents+json"
BATCH: Final = "application/cloudevents-batch+json"
TRACE: Final = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
ANOTHER_TRACE: Final = "00-11111111111111111111111111111111-2222222222222222-01"

CONFIGURATION: Final[dict[str, Any]] = {
    "notification_schema": {
        "runs": {
            "topic": {"base": "runs", "key_order": ["step"]},
            "identifier": {"step": {"type": "IntHandler", "range": [0, 240], "required": True}},
            "payload": {"required": True},
        }
    }
}
DATA: Final = {"identifier": {"step": 6}, "payload": {"n": 1}}
EVENT: Final[dict[str, Any]] = {
    "specversion": "1.0",
    "id": "7",
    "source": "/tests",
    "type": "int.ecmwf.aviso.runs",
    "data": DATA,
}


@asynccontextmanager
async def running(
    configuration: Mapping[str, Any] = CONFIGURATION,
) -> AsyncIterator[tuple[Service, EventLog]]:
    """Run a service, and show the log that it writes to."""
    opened: list[Process] = []

    def assembled(process: Process) -> Routes:
        opened.append(process)
        return assemble(process)

    async with running_service(configuration, assembled=assembled) as service:
        yield service, opened[0].event_log


async def send(
    service: Service,
    event: object,
    *,
    headers: Mapping[str, str] | None = None,
    content_type: str = STRUCTURED,
) -> Answered:
    """Send what is no bytes as JSON."""
    content = event if isinstance(event, bytes) else json.dumps(event).encode()
    return await service.ask(
        "POST", PATH, content=content, headers={"Content-Type": content_type, **(headers or {})}
    )


def in_headers(**changes: str) -> dict[str, str]:
    """Return the attributes as headers."""
    attributes = {name: value for name, value in (EVENT | changes).items() if name != "data"}
    return {f"ce-{name}": value for name, value in attributes.items()}


async def check_all_modes(service: Service, log: EventLog) -> None:
    """Send one event in each mode, and then others."""
    first = await send(service, EVENT)
    assert first.status == 200
    assert list(first.json) == [
        "status",
        "request_id",
        "processed_at",
        "event_type",
        "sequence",
        "id",
        "duplicate",
    ]
    assert first.json["request_id"] == first.headers["x-request-id"]
    stored = {"status": "success", "event_type": "runs", "sequence": 1, "id": "7"}
    assert first.json.items() >= {**stored, "duplicate": False}.items()

    again = await send(service, EVENT | {"type": "runs"})
    assert again.json.items() >= {**stored, "duplicate": True}.items()
    binary = await send(service, DATA, headers=in_headers(), content_type="application/json")
    assert binary.json.items() >= {**stored, "duplicate": True}.items()

    batch = await send(service, [EVENT, EVENT | {"id": "8"}, EVENT | {"id": ""}, 5], content_type=BATCH)
    results = [(one["status"], one.get("sequence"), one.get("field")) for one in batch.json["results"]]
    assert results == [
        ("duplicate", 1, None),
        ("accepted", 2, None),
        ("rejected", None, "id"),
        ("rejected", None, None),
    ]
    other = await send(service, EVENT | {"source": "/others"})
    assert other.json.items() >= {"sequence": 3, "duplicate": False}.items()
    assert (await log.bounds("runs")).last == 3


@asynchronous
async def test_an_event_is_the_same_in_every_mode() -> None:
    """It is stored once, and every answer tells where."""
    async with running() as (service, log):
        await check_all_modes(service, log)


@asynchronous
async def test_a_broker_stores_events_as_memory_does(tmp_path: Path) -> None:
    """The broker knows them again, too."""
    with running_server(tmp_path) as server:
        async with running(on_jetstream(CONFIGURATION, server.url)) as (service, log):
            await check_all_modes(service, log)


@asynchronous
async def test_what_an_event_says_of_itself_is_kept() -> None:
    """Its time, and its own trace before that of the request."""
    async with running() as (service, log):
        sent = EVENT | {"time": "2025-01-01T01:00:01+01:00", "traceparent": TRACE}
        await send(service, sent, headers={"traceparent": ANOTHER_TRACE})
        await send(service, EVENT | {"id": "8"}, headers={"traceparent": ANOTHER_TRACE})
        own, requests = await read_all(log, "runs")
    assert json.loads(own.headers[OWN_HEADER]) == {"time": 1_735_689_601_000_000_000}
    assert (own.payload, own.headers[TRACE_HEADER]) == (b'{"n":1}', TRACE)
    assert requests.headers[TRACE_HEADER] == ANOTHER_TRACE


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
@asynchronous
async def test_an_event_may_be_compressed(coding: str) -> None:
    """With the limit of a single notification, counted after decompression."""
    pack = {"gzip": gzip.compress, "zstd": zstandard.ZstdCompressor().compress}[coding]
    headers = {"Content-Encoding": coding}
    async with running() as (service, _):
        assert (await send(service, pack(json.dumps(EVENT).encode()), headers=headers)).status == 200
        refused = await send(service, pack(b" " * 262_145), headers=headers)
        assert (refused.status, refused.json["code"]) == (413, "PAYLOAD_TOO_LARGE")


def changed(**changes: object) -> bytes:
    """Return an event as it is sent."""
    return json.dumps(EVENT | changes).encode()


REFUSED: Final[dict[str, tuple[bytes, dict[str, str], int, str, str | None]]] = {
    "no JSON": (b"{", {}, 400, "INVALID_JSON", None),
    "no object": (b"[]", {}, 400, "INVALID_REQUEST_SHAPE", None),
    "attribute": (changed(specversion="2"), {}, 400, "INVALID_NOTIFICATION_REQUEST", "specversion"),
    "id": (changed(id="x" * 129), {}, 400, "INVALID_NOTIFICATION_REQUEST", "id"),
    "time": (changed(time="soon"), {}, 400, "INVALID_NOTIFICATION_REQUEST", "time"),
    "type": (changed(type="none"), {}, 400, "UNKNOWN_EVENT_TYPE", "type"),
    "data": (changed(data=5), {}, 400, "INVALID_NOTIFICATION_REQUEST", "data"),
    "field": (
        changed(data={"identifier": {"step": 241}}), {}, 400, "INVALID_NOTIFICATION_REQUEST", "data.identifier.step",
    ),
    "no field": (changed(data={"identifier": {}}), {}, 400, "INVALID_NOTIFICATION_REQUEST", "data.identifier.step"),
    "payload": (changed(data={"identifier": {"step": 1}}), {}, 400, "INVALID_NOTIFICATION_REQUEST", "data.payload"),
    "too large": (b" " * 262_145, {}, 413, "PAYLOAD_TOO_LARGE", None),
    "no event": (json.dumps(DATA).encode(), {"Content-Type": "application/json"}, 415, "UNSUPPORTED_MEDIA_TYPE", None),
    "lines": (b"", {"Content-Type": "application/x-ndjson"}, 415, "UNSUPPORTED_MEDIA_TYPE", None),
    "no type": (changed(), {"Content-Type": ""}, 415, "UNSUPPORTED_MEDIA_TYPE", None),
    "text": (changed(), {"Content-Type": "text/plain", **in_headers()}, 415, "UNSUPPORTED_MEDIA_TYPE", None),
    "coding": (changed(), {"Content-Encoding": "br"}, 415, "UNSUPPORTED_MEDIA_TYPE", "Content-Encoding"),
    "headers": (
        json.dumps(DATA).encode(),
        {"Content-Type": "application/json", **in_headers(source="")}, 400, "INVALID_NOTIFICATION_REQUEST", "source",
    ),
}  # fmt: skip


@asynchronous
async def test_a_refused_event_says_what_is_at_fault() -> None:
    """By the name of the attribute, and of the part of `data`; nothing is stored."""
    async with running() as (service, log):
        for name, (body, headers, status, code, field) in REFUSED.items():
            answer = await send(service, body, headers=headers)
            assert (answer.status, answer.json["code"]) == (status, code), name
            if status == 400:
                assert answer.json.get("field") == field, name
            assert answer.json["request_id"] == answer.headers["x-request-id"], name
        await send(service, EVENT)
        assert (await log.bounds("runs")).last == 1


@pytest.mark.parametrize(("name", "status"), [(None, 401), ("reader", 403), ("writer", 200)])
@asynchronous
async def test_an_event_needs_its_permission(name: str | None, status: int) -> None:
    """As a notification does; whoever sent it is stored with it."""
    event = EVENT | {"type": "desk", "data": {"identifier": {"k": "a"}}}
    headers = {} if name is None else {"Authorization": f"Bearer {token(name)}"}
    async with running(GUARDED) as (service, log):
        answer = await send(service, event, headers=headers)
        assert answer.status == status
        assert ("www-authenticate" in answer.headers) == (status == 401)
        if status == 200:
            (entry,) = await read_all(log, "desk")
            assert json.loads(entry.headers[OWN_HEADER]) == {"actor": "ann"}
