"""What one request leaves behind: the series that moved, and the records that were written.

Each row of the tables is a request over real HTTP. Metrics are read before and after it on their own port, and what
moved must be what the row says and nothing else; the records of the process are found by the id of the request.
"""

from __future__ import annotations

import json
import socket
from collections import Counter
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from aviso_core.errors import SettingsError
from support.event_logs import asynchronous
from support.nats import running_server
from support.recordings import GUARDED, OPEN, on_jetstream, token
from support.services import HOST, running_service

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    from support.nats import Server
    from support.services import Service

NOTIFICATION: Final = "/api/v1/notification"
BATCH: Final = "/api/v1/notifications"
EVENTS: Final = "/api/v1/events"
WIPE: Final = "/api/v1/admin/wipe/stream"
SCHEMA: Final = "/api/v1/schema/{event_type}"
DELETE_ONE: Final = "/api/v1/admin/notification/{id}"

RUN: Final = {"class": "od", "expver": "1", "date": "20250706", "time": "0600", "step": 6}
GOOD: Final = {"event_type": "runs", "identifier": RUN, "payload": {"n": 1}}
WRONG: Final = {"event_type": "runs", "identifier": RUN | {"step": -1}, "payload": 1}
THREE: Final = [GOOD, WRONG, GOOD]
UNDECLARED: Final = {"event_type": "nobody-said", "identifier": {"a": "b"}, "payload": None}
DESK: Final = {"event_type": "desk", "identifier": {"k": "v"}}
EVENT: Final = {
    "specversion": "1.0",
    "id": "1",
    "source": "/tests",
    "type": "int.ecmwf.aviso.runs",
    "data": {"identifier": RUN, "payload": {"n": 1}},
}


class Written(NamedTuple):
    """A record: its name, its level, and those of its attributes that others do not have."""

    event: str
    level: str
    attributes: Mapping[str, object]


class Row(NamedTuple):
    """A request, and what it leaves behind beside the series that every request moves."""

    name: str
    method: str
    path: str
    route: str
    status: int
    body: object = None
    content: bytes | None = None
    media_type: str = "application/json"
    token: str | None = None
    moved: Mapping[str, int] = {}
    written: tuple[Written, ...] = ()


# --- what several rows leave behind ----------------------------------------------------------------------


def operation(name: str, outcome: str = "ok", backend: str = "in_memory") -> dict[str, int]:
    """Return what moves with something that the log was asked for."""
    labels = f"{backend} {name} {outcome}"
    return {
        f"aviso_backend_operations_total {labels}": 1,
        f"aviso_backend_operation_duration_seconds_count {labels}": 1,
    }


def counted(event_type: str, status: str, count: int = 1) -> dict[str, int]:
    """Return what moves with notifications."""
    return {f"aviso_notifications_total {event_type} {status}": count}


def auth(outcome: str) -> dict[str, int]:
    """Return what moves with somebody who was asked who they are."""
    return {f"aviso_auth_requests_total trusted_proxy {outcome}": 1}


def stored(name: str = "api.notification.processed", **attributes: object) -> Written:
    """Return the record about a notification that was stored."""
    usual = {"param_count": 5, "payload_kind": "object", "payload_size": 7, "spatial_enabled": False}
    return Written(name, "INFO", usual | attributes)


def refused(event: str, error: str, level: str = "WARN", **attributes: object) -> Written:
    """Return the record about something that went wrong; its text is the error's own."""
    return Written(event, level, {"error.type": f"aviso_core.errors.{error}", **attributes})


RUNS: Final = {"event_type": "runs", "topic": "runs.od.0001.2025-07-06.0600.6"}
PARSING: Final = "api.request.parse.failed"
VALIDATION: Final = "api.request.validation.failed"
STORED: Final = counted("runs", "success") | operation("publish")


ANYBODY: Final = (
    Row("stored", "POST", NOTIFICATION, NOTIFICATION, 200, GOOD, moved=STORED,
        written=(stored(**RUNS, sequence=1),)),
    Row("undeclared", "POST", NOTIFICATION, NOTIFICATION, 200, UNDECLARED,
        moved=counted("generic", "success") | operation("publish"),
        written=(stored(event_type="generic", topic="nobody-said.b", sequence=1, param_count=1,
                        payload_kind="null", payload_size=4),)),
    Row("undeclared and wrong", "POST", NOTIFICATION, NOTIFICATION, 400,
        UNDECLARED | {"identifier": {"point": "1,2"}}, moved=counted("generic", "error"),
        written=(refused(VALIDATION, "InvalidRequest", event_type="generic"),)),
    Row("no JSON", "POST", NOTIFICATION, NOTIFICATION, 400, content=b"{", moved=counted("unknown", "error"),
        written=(refused(PARSING, "InvalidJson"),)),
    Row("unknown member", "POST", NOTIFICATION, NOTIFICATION, 400, GOOD | {"colour": 1},
        moved=counted("unknown", "error"), written=(refused(PARSING, "UnknownField"),)),
    Row("wrong value", "POST", NOTIFICATION, NOTIFICATION, 400, WRONG, moved=counted("runs", "error"),
        written=(refused(VALIDATION, "InvalidIdentifier", event_type="runs"),)),
    Row("too large", "POST", NOTIFICATION, NOTIFICATION, 413, content=b" " * 262_145,
        moved=counted("unknown", "error"),
        written=(Written(PARSING, "WARN", {"error.type": "aviso_http.body.BodyTooLarge"}),)),
    Row("taken back", "DELETE", NOTIFICATION, NOTIFICATION, 200,
        {"event_type": "storms", "identifier": {"basin": "indian", "season": "a", "category": 1, "wind": 2}},
        moved=counted("storms", "success") | operation("publish"),
        written=(stored("api.retraction.processed", event_type="storms", topic="storms.indian.a.1.2",
                        sequence=1, param_count=4, payload_kind="null", payload_size=4),)),
    Row("batch", "POST", BATCH, BATCH, 200, THREE,
        moved=counted("runs", "success", 2) | counted("runs", "error") | operation("publish"),
        written=(
            refused(VALIDATION, "InvalidIdentifier", event_type="runs", index=1),
            Written("api.notifications.processed", "INFO", {
                "event_types": ["runs"], "is_atomic": False, "size": len(json.dumps(THREE)),
                "accepted": 2, "duplicate": 0, "rejected": 1, "failed": 0,
            }),
        )),
    Row("event", "POST", EVENTS, EVENTS, 200, EVENT, media_type="application/cloudevents+json",
        moved=STORED, written=(stored(**RUNS, sequence=4),)),
    Row("no event", "POST", EVENTS, EVENTS, 415, content=b"hello", media_type="text/plain",
        moved=counted("unknown", "error"),
        written=(Written(PARSING, "WARN", {"error.type": "aviso_ingest.batch.wanted.UnsupportedMediaType"}),)),
    Row("schema", "GET", "/api/v1/schema/runs", SCHEMA, 200),
    Row("no schema", "GET", "/api/v1/schema/nothing", SCHEMA, 404),
    Row("health", "GET", "/health", "/health", 200),
    Row("ready", "GET", "/ready", "/ready", 200),
    Row("no metrics here", "GET", "/metrics", "unmatched", 404),
    Row("no path", "GET", "/a/b?c=d", "unmatched", 404),
    Row("wrong method", "PUT", NOTIFICATION, NOTIFICATION, 405),
    Row("rare method", "PROPFIND", NOTIFICATION, NOTIFICATION, 405),
    Row("deleted", "DELETE", "/api/v1/admin/notification/runs@1", DELETE_ONE, 200,
        moved=operation("delete_message"),
        written=tuple(Written(f"admin.notification.delete.{step}", "INFO", {"notification_id": "runs@1"})
                      for step in ("requested", "succeeded"))),
    Row("nothing deleted", "DELETE", "/api/v1/admin/notification/runs@1", DELETE_ONE, 404,
        moved=operation("delete_message"),
        written=(Written("admin.notification.delete.requested", "INFO", {"notification_id": "runs@1"}),
                 Written("admin.notification.delete.not_found", "WARN", {"notification_id": "runs@1"}))),
    Row("no id", "DELETE", "/api/v1/admin/notification/runs", DELETE_ONE, 400,
        written=(Written("admin.notification.delete.requested", "INFO", {"notification_id": "runs"}),
                 Written("admin.notification.delete.invalid_id", "WARN", {"notification_id": "runs"}))),
    Row("stream wiped", "DELETE", WIPE, WIPE, 200, {"stream_name": "runs"}, moved=operation("wipe_stream"),
        written=tuple(Written(f"admin.stream.wipe.{step}", "INFO", {"stream_name": "runs"})
                      for step in ("requested", "succeeded"))),
    Row("no stream", "DELETE", WIPE, WIPE, 404, {"stream_name": "nothing"}, moved=operation("wipe_stream"),
        written=(Written("admin.stream.wipe.requested", "INFO", {"stream_name": "nothing"}),
                 Written("admin.stream.wipe.not_found", "WARN", {"stream_name": "nothing"}))),
    Row("all wiped", "DELETE", "/api/v1/admin/wipe/all", "/api/v1/admin/wipe/all", 200,
        moved=operation("wipe_all"),
        written=tuple(Written(f"admin.all.wipe.{step}", "INFO", {}) for step in ("requested", "succeeded"))),
)  # fmt: skip


def denied(route: str) -> tuple[Written, ...]:
    """Return the record about a request that went no further than who is asking."""
    return (Written("auth.middleware.request.denied", "WARN", {"route": route}),)


SOMEBODY: Final = (
    Row("nobody", "POST", NOTIFICATION, NOTIFICATION, 401, DESK, moved=counted("desk", "rejected"),
        written=(refused(VALIDATION, "Unauthorized", event_type="desk"),)),
    Row("forged", "POST", NOTIFICATION, NOTIFICATION, 401, DESK, token="wrong secret",
        moved=auth("unauthorized"), written=denied(NOTIFICATION)),
    Row("reader", "POST", NOTIFICATION, NOTIFICATION, 403, DESK, token="reader",
        moved=auth("success") | counted("desk", "rejected"),
        written=(refused(VALIDATION, "Forbidden", event_type="desk"),)),
    Row("writer", "POST", NOTIFICATION, NOTIFICATION, 200, DESK, token="writer",
        moved=auth("success") | counted("desk", "success") | operation("publish"),
        written=(stored(event_type="desk", topic="desk.v", sequence=1, param_count=1,
                        payload_kind="null", payload_size=4),)),
    Row("undeclared", "POST", NOTIFICATION, NOTIFICATION, 400, UNDECLARED, token="writer",
        moved=auth("success") | counted("unknown", "rejected"),
        written=(refused(VALIDATION, "UnknownEventType", event_type="unknown"),)),
    Row("no administrator", "DELETE", "/api/v1/admin/wipe/all", "/api/v1/admin/wipe/all", 403, token="writer",
        moved=auth("forbidden"), written=denied("/api/v1/admin/wipe/all")),
    Row("nobody administers", "DELETE", "/api/v1/admin/x", "unmatched", 401,
        moved=auth("unauthorized"), written=denied("unmatched")),
    Row("administrator", "DELETE", "/api/v1/admin/wipe/all", "/api/v1/admin/wipe/all", 200, token="operator",
        moved=auth("success") | operation("wipe_all"),
        written=tuple(Written(f"admin.all.wipe.{step}", "INFO", {}) for step in ("requested", "succeeded"))),
    Row("schemas are for all", "GET", "/api/v1/schema/desk", SCHEMA, 200, token="garbage"),
)  # fmt: skip


# --- reading them ----------------------------------------------------------------------------------------


class Observed:
    """A running service and the port where its metrics are."""

    def __init__(self, service: Service, port: int, client: httpx.AsyncClient) -> None:
        self.service = service
        self.url = f"http://{HOST}:{port}/metrics"
        self._client = client

    async def series(self) -> Counter[str]:
        """Return all numbers of ours, by name and values of labels, which are told in the order of their names."""
        answer = await self._client.get(self.url)
        return Counter(
            {
                " ".join((sample.name, *sample.labels.values())): int(sample.value)
                for family in text_string_to_metric_families(answer.text)
                for sample in family.samples
                if family.name.startswith("aviso_") and not sample.name.endswith(("_sum", "_bucket"))
            }
        )


@asynccontextmanager
async def observed(configuration: Mapping[str, Any]) -> AsyncIterator[Observed]:
    """Run a service with its metrics on a free port."""
    port = free_port()
    metrics = {"metrics": {"enabled": True, "port": port}}
    async with (
        running_service({**configuration, **metrics}) as service,
        httpx.AsyncClient(timeout=30) as client,
    ):
        yield Observed(service, port, client)


def free_port() -> int:
    """Return a port that nobody has at the moment."""
    with socket.socket() as listener:
        listener.bind((HOST, 0))
        port: int = listener.getsockname()[1]
        return port


async def leave_behind(seen: Observed, row: Row) -> tuple[str, dict[str, int]]:
    """Send the request of a row; return its id and what moved."""
    before = await seen.series()
    headers = {"Content-Type": row.media_type}
    if row.token is not None:
        headers["Authorization"] = f"Bearer {token(row.token)}"
    answer = await seen.service.ask(row.method, row.path, row.body, headers=headers, content=row.content)
    assert answer.status == row.status, (row.name, answer)
    after = await seen.series()
    moved = {name: after[name] - before[name] for name in after if after[name] != before[name]}
    return answer.headers["x-request-id"], moved


def expected_moves(row: Row) -> dict[str, int]:
    """Return what a row moves, with what every request does."""
    method = "other" if row.method == "PROPFIND" else row.method
    return {
        f"aviso_http_requests_total {method} {row.route} {row.status}": 1,
        f"aviso_http_request_duration_seconds_count {method} {row.route}": 1,
        **row.moved,
    }


def records_of(output: str) -> list[dict[str, Any]]:
    """Return all records that a process has written."""
    return [json.loads(line) for line in output.splitlines()]


def plain_record(record: Mapping[str, Any]) -> Written:
    """Return what of a record its row speaks of, and see to the rest."""
    attributes = dict(record["attributes"])
    for name in ("request_id", "username", "auth_realm", "code.target", "code.filepath", "code.lineno"):
        del attributes[name]
    if "error.type" in attributes:
        assert attributes.pop("exception.message") == record["body"]
    return Written(attributes.pop("event.name"), record["severityText"], attributes)


async def go_through(
    rows: tuple[Row, ...], configuration: Mapping[str, Any], capture: pytest.CaptureFixture[str]
) -> dict[str, list[dict[str, Any]]]:
    """Send all rows to one service, compare what moved and what was written, and return the records by row."""
    names: dict[str, str] = {}
    async with observed(configuration) as seen:
        for row in rows:
            request_id, moved = await leave_behind(seen, row)
            names[request_id] = row.name
            assert moved == expected_moves(row), row.name
        in_flight = {name: count for name, count in (await seen.series()).items() if "in_flight" in name}
        assert set(in_flight.values()) == {0}
    written: dict[str, list[dict[str, Any]]] = {row.name: [] for row in rows}
    for record in records_of(capture.readouterr().out):
        if record["attributes"].get("request_id") in names:
            written[names[record["attributes"]["request_id"]]].append(record)
    for row in rows:
        assert tuple(map(plain_record, written[row.name])) == row.written, row.name
    return written


# --- the tables ------------------------------------------------------------------------------------------


@asynchronous
async def test_what_anybody_does_is_counted_and_recorded(capfd: pytest.CaptureFixture[str]) -> None:
    """And nothing that somebody sent becomes a label."""
    written = await go_through(ANYBODY, {**OPEN, "notification_schema_strict": False}, capfd)
    said = [record["attributes"] for records in written.values() for record in records]
    assert {(one["username"], one["auth_realm"]) for one in said} == {("anonymous", "none")}


@asynchronous
async def test_who_asks_is_counted_and_recorded(capfd: pytest.CaptureFixture[str]) -> None:
    """Records name who it was, as far as that is known; tokens are in none of them."""
    written = await go_through(SOMEBODY, {**GUARDED, "notification_schema_strict": True}, capfd)
    names = {
        name: (record["attributes"]["username"], record["attributes"]["auth_realm"])
        for name, records in written.items()
        for record in records
    }
    known = {"reader", "writer", "undeclared", "administrator"}
    assert names == {name: ("ann", "main") if name in known else ("anonymous", "none") for name in names}
    assert token("writer").rpartition(".")[0] not in json.dumps(written)


# --- a broker, and what keeps a service from starting ----------------------------------------------------


async def until(seen: Observed, series: str, value: int) -> None:
    """Read metrics until a series has a value; the deadline of the test ends this."""
    found = None
    while found != value:
        found = (await seen.series())[series]


def test_a_broker_that_refuses_and_one_that_goes_are_told(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """What is not stored is an error of ours; the connection has a gauge, and records when it goes and comes."""
    full = {"max_messages": 1, "discard_policy": "new"}
    row = Row("refused", "POST", NOTIFICATION, NOTIFICATION, 500, GOOD | {"identifier": RUN | {"step": 7}},
              moved=counted("runs", "error") | operation("publish", "error", "jetstream"))  # fmt: skip

    @asynchronous
    async def over(server: Server) -> None:
        configuration = on_jetstream(OPEN, server.url)
        backend = configuration["notification_backend"]
        backend["jetstream"] |= full | {"reconnect_delay_ms": 50}
        async with observed(configuration) as seen:
            first = await seen.service.notify(GOOD)
            assert first.status == 200
            _, moved = await leave_behind(seen, row)
            assert moved == expected_moves(row)
            connected = "aviso_backend_connected jetstream"
            assert (await seen.series())[connected] == 1
            server.stop()
            await until(seen, connected, 0)
            assert (await seen.service.ask("GET", "/ready")).status == 503
            server.start()
            await until(seen, connected, 1)

    with running_server(tmp_path) as server:
        over(server)
    records = records_of(capfd.readouterr().out)
    (failed,) = named(records, "api.request.processing.failed")
    assert failed["severityText"] == "ERROR"
    assert failed["attributes"]["event_type"] == "runs"
    (lost,) = named(records, "backend.connection.lost")
    assert lost["severityText"] == "WARN"
    assert "request_id" not in lost["attributes"]
    (back,) = named(records, "backend.connection.restored")
    assert back["severityText"] == "INFO"


def named(records: list[dict[str, Any]], event: str) -> list[dict[str, Any]]:
    """Return the records of one event."""
    return [record for record in records if record["attributes"]["event.name"] == event]


@asynchronous
async def test_a_service_says_how_it_starts_and_ends(capfd: pytest.CaptureFixture[str]) -> None:
    """With what, with which event types, on which ports; secrets stay out of it."""
    async with observed(GUARDED) as seen:
        port = seen.service.port
    output = capfd.readouterr().out
    assert GUARDED["auth"]["jwt_secret"] not in output
    records = records_of(output)
    told = [record["attributes"] for record in records]
    assert [one["event.name"] for one in told] == [
        "startup.configuration.dumped",
        "configuration.schemas.changed",
        "startup.metrics.listening",
        "startup.server.listening",
        "startup.server.stopping",
    ]
    assert {record["severityText"] for record in records} == {"INFO"}
    assert told[0]["configuration"]["auth"]["mode"] == "trusted_proxy"
    assert told[1]["served"] == 3
    assert told[2]["port"] == int(seen.url.rpartition(":")[2].partition("/")[0])
    assert told[3]["port"] == port


@asynchronous
async def test_a_service_that_cannot_start_leaves_a_record(capfd: pytest.CaptureFixture[str]) -> None:
    """Beside what its command prints; here the port for metrics is somebody else's."""
    with socket.socket() as other:
        other.bind((HOST, 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(SettingsError, match=r"^metrics\.port: "):
            async with running_service({**OPEN, "metrics": {"enabled": True, "port": port}}):
                pass
    record = records_of(capfd.readouterr().out)[-1]
    assert record["attributes"]["event.name"] == "startup.failed"
    assert record["severityText"] == "ERROR"
    assert f"cannot listen on 127.0.0.1 port {port}" in record["body"]
