"""The way of a trace through the service: from a request's header into the stored event, with a span or without."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, cast

import pytest

from aviso_all_in_one.serving import assemble
from support.collectors import collector, plain
from support.event_logs import asynchronous
from support.recordings import OPEN
from support.services import running_service

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    from aviso_core.eventlog.base import Entry, EventLog
    from aviso_http.process import Process, Routes
    from support.services import Service

TRACE: Final = "4bf92f3577b34da6a3ce929d0e0e4736"
SPAN: Final = "00f067aa0ba902b7"
CALLER: Final = f"00-{TRACE}-{SPAN}-01"
OTHER: Final = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"

RUN: Final = {"class": "od", "expver": "1", "date": "20250706", "time": "0600", "step": 6}
DATA: Final = {"identifier": RUN, "payload": 1}
GOOD: Final = {"event_type": "runs", **DATA}
EVENT: Final = {"specversion": "1.0", "id": "1", "source": "/x", "type": "runs", "data": DATA}


@asynccontextmanager
async def running(configuration: Mapping[str, Any]) -> AsyncIterator[tuple[Service, EventLog]]:
    """Run a service and give the log that it writes to."""
    logs: list[EventLog] = []

    def assembled(process: Process) -> Routes:
        logs.append(process.event_log)
        return assemble(process)

    async with running_service({**OPEN, **configuration}, assembled=assembled) as service:
        yield service, logs[0]


async def entries(log: EventLog) -> list[Entry]:
    """Return everything that is stored."""
    last = (await log.bounds("runs")).last
    return [entry async for batch in log.read("runs", first=1, last=last) for entry in batch.entries]


@pytest.mark.parametrize(
    ("method", "path", "media_type", "body", "traceparent"),
    [
        ("POST", "/api/v1/notification", "application/json", GOOD, CALLER),
        ("DELETE", "/api/v1/notification", "application/json", {**GOOD, "payload": None}, CALLER),
        ("POST", "/api/v1/notifications", "application/json", [GOOD], CALLER),
        ("POST", "/api/v1/events", "application/cloudevents+json", EVENT, CALLER),
        ("POST", "/api/v1/events", "application/cloudevents+json", EVENT | {"traceparent": OTHER}, OTHER),
    ],
)
@asynchronous
async def test_the_callers_trace_goes_into_the_event(
    method: str, path: str, media_type: str, body: object, traceparent: str
) -> None:
    """As it came; what an event says itself goes before what the request says."""
    async with running({}) as (service, log):
        headers = {"Content-Type": media_type, "traceparent": CALLER, "tracestate": "a=b"}
        answer = await service.ask(method, path, body, headers=headers)
        (entry,) = await entries(log)
    assert answer.status == 200, answer
    assert entry.headers["traceparent"] == traceparent


@pytest.mark.parametrize("lines", [[], ["nonsense"], [CALLER, CALLER], [CALLER, OTHER], [f"{CALLER}-more"]])
@asynchronous
async def test_what_is_no_trace_begins_none(lines: list[str]) -> None:
    """And keeps nothing from being stored."""
    body = json.dumps(GOOD)
    head = [
        "POST /api/v1/notification HTTP/1.1",
        "Host: x",
        "Connection: close",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        *(f"traceparent: {line}" for line in lines),
    ]
    async with running({}) as (service, log):
        answer = await service.send_bytes("\r\n".join([*head, "", body]).encode())
        (entry,) = await entries(log)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert "traceparent" not in entry.headers


@asynchronous
async def test_with_tracing_the_event_belongs_to_the_span_of_its_request(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """The span is below the caller's, and the record about the request names it."""
    with collector("http") as collected:
        tracing = {"enabled": True, "endpoint": collected.endpoint, "protocol": "http"}
        async with running({"tracing": tracing}) as (service, log):
            answer = await service.notify(GOOD, headers={"traceparent": CALLER})
            (entry,) = await entries(log)
        request = cast("ExportTraceServiceRequest", await asyncio.to_thread(collected.next))
    (resource,) = request.resource_spans
    assert plain(iter(resource.resource.attributes))["service.name"] == "aviso-server"
    ((span,),) = (scope.spans for scope in resource.scope_spans)
    assert (span.trace_id.hex(), span.parent_span_id.hex()) == (TRACE, SPAN)
    assert span.name == "POST /api/v1/notification"
    assert plain(iter(span.attributes)) == {
        "http.request.method": "POST",
        "http.route": "/api/v1/notification",
        "http.response.status_code": 200,
    }
    assert entry.headers["traceparent"] == f"00-{TRACE}-{span.span_id.hex()}-01"
    records = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    mine = [one for one in records if one["attributes"].get("request_id") == answer.headers["x-request-id"]]
    assert [(one["traceId"], one["spanId"]) for one in mine] == [(TRACE, span.span_id.hex())]


@asynchronous
async def test_a_trace_that_the_caller_does_not_record_is_not_recorded_here() -> None:
    """It goes on all the same, and the next one is recorded."""
    with collector("http") as collected:
        tracing = {"enabled": True, "endpoint": collected.endpoint, "protocol": "http"}
        async with running({"tracing": tracing}) as (service, log):
            await service.notify(GOOD, headers={"traceparent": OTHER})
            await service.ask("GET", "/nowhere")
            (entry,) = await entries(log)
        request = cast("ExportTraceServiceRequest", await asyncio.to_thread(collected.next))
    _, trace_id, span_id, flags = entry.headers["traceparent"].split("-")
    assert (trace_id, flags) == (OTHER.split("-")[1], "00")
    assert span_id != OTHER.split("-")[2]
    names = [span.name for scope in request.resource_spans[0].scope_spans for span in scope.spans]
    assert names == ["GET unmatched"]
