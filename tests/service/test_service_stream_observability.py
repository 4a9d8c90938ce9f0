"""What streams leave behind: the series that moved, the records that were written (13), and headers for browsers."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from support.event_logs import asynchronous
from support.services import IN_MEMORY, running_service
from support.sse import REPLAY, WATCH, streaming
from support.stored import running_with_log, told
from support.tokens import SECRET, by_hand
from support.watching import configured, numbers, of_storms, opened, publish, storm, until

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pytest

    from support.stored import Stored

AUTH: Final = {
    "enabled": True,
    "mode": "trusted_proxy",
    "jwt_secret": SECRET,
    "admin_roles": {"main": ["operator"]},
}


def bearer(name: str) -> dict[str, str]:
    """Return the header of somebody of the realm `main`."""
    claims = {"sub": name, "realm": "main", "exp": int(time.time()) + 3600}
    return {"Authorization": f"Bearer {by_hand(claims)}"}


# --- series ----------------------------------------------------------------------------------------------


def streams(stored: Stored, route: str) -> dict[str, float]:
    """Return what is counted of the streams of a route."""
    counts = {
        name: stored.count(f"aviso_sse_{name}", route=route, event_type="storms")
        for name in ("connections_active", "connections_total", "events_sent_total", "stream_errors_total")
    }
    counts["users"] = stored.count("aviso_sse_unique_users_active", route=route)
    counts["lasted"] = stored.count("aviso_sse_connection_duration_seconds_count", route=route)
    return {name: count for name, count in counts.items() if count}


@asynchronous
async def test_streams_are_counted_as_long_as_they_are_open() -> None:
    """Users once each, frames with events and no others; anonymous streams are nobody's."""
    async with running_with_log(configured(auth=AUTH), IN_MEMORY) as stored:
        port = stored.service.port
        await publish(stored.service, numbers(2))
        async with (
            streaming(port, WATCH, of_storms(), headers=bearer("ann")) as first,
            streaming(port, WATCH, of_storms(), headers=bearer("ann")) as second,
            streaming(port, WATCH, of_storms(from_id="1"), headers=bearer("bob")) as third,
            streaming(port, WATCH, of_storms(identifier={"basin": "none"})) as fourth,
        ):
            for stream in (first, second, fourth):
                await stream.next()
            await third.until("replay-control replay_completed")
            await publish(stored.service, numbers(1))
            for stream in (first, second, third):
                await stream.take(1)
            assert streams(stored, WATCH) == {
                "connections_active": 4,
                "connections_total": 4,
                "events_sent_total": 5,
                "users": 2,
            }
            assert stored.count("aviso_http_requests_in_flight", method="POST") == 0
            first.leave()
            fourth.leave()
            while streams(stored, WATCH)["connections_active"] > 2:
                await second.frame()
            assert streams(stored, WATCH)["users"] == 2
            assert streams(stored, WATCH)["lasted"] == 2
        async with streaming(port, REPLAY, of_storms(from_id="2")) as stream:
            await stream.rest()
        assert streams(stored, REPLAY) == {"connections_total": 1, "events_sent_total": 2, "lasted": 1}
        assert stored.count("aviso_http_requests_total", route=WATCH, method="POST", status_code="200") == 4
        assert stored.count("aviso_http_requests_total", route=REPLAY, method="POST", status_code="200") == 1
        assert stored.count("aviso_sse_connections_ended_total", route=REPLAY, cause="finished") == 1
        assert stored.count("aviso_sse_connections_ended_total", route=WATCH, cause="client_left") >= 2


@asynchronous
async def test_who_leaves_in_the_midst_of_an_answer_is_one_request() -> None:
    """It was answered with its headers; that its reader left is told of the stream."""
    async with running_with_log(configured(), IN_MEMORY) as stored:
        await publish(stored.service, [storm(number, payload="x" * 50_000) for number in range(100)])
        async with streaming(stored.service.port, REPLAY, of_storms(from_id="1"), is_slow=True) as stream:
            await stream.next()
        await opened(stored, 0)
        await until(
            lambda: not stored.count("aviso_http_requests_in_flight", method="POST"),
            "the request does not end",
        )
        assert stored.count("aviso_http_requests_total", route=REPLAY, method="POST") == 1
        assert stored.count("aviso_http_requests_total", route="error", method="POST") == 0
        assert stored.count("aviso_sse_connections_ended_total", route=REPLAY, cause="client_left") == 1


@asynchronous
async def test_what_was_refused_is_no_stream() -> None:
    """And what nobody declared has no label of its own."""
    configuration = configured(auth=AUTH) | {"notification_schema_strict": False}
    async with running_with_log(configuration, IN_MEMORY) as stored:
        bodies: tuple[object, ...] = (of_storms(from_id="x"), of_storms(identifier={"colour": "red"}), [])
        for body in bodies:
            assert (await stored.service.ask("POST", REPLAY, body)).status == 400
        assert not streams(stored, REPLAY)
        undeclared = {"event_type": "nobody-said", "identifier": {}, "from_id": "1"}
        async with streaming(stored.service.port, REPLAY, undeclared) as stream:
            await stream.rest()
        assert stored.count("aviso_sse_connections_total", event_type="generic") == 1
        assert stored.count("aviso_sse_connections_total") == 1


# --- records ---------------------------------------------------------------------------------------------


@asynchronous
async def test_streams_are_recorded(capfd: pytest.CaptureFixture[str]) -> None:
    """That they open, what was refused, and why one ended that its reader was told nothing particular of."""
    configuration = configured(auth=AUTH, logging={"level": "info"}, streams={"max_waiting_bytes": 100_000})
    async with running_with_log(configuration, IN_MEMORY) as stored:
        port = stored.service.port
        ids: list[str] = []
        for path, start, headers in ((WATCH, {}, bearer("ann")), (REPLAY, {"from_id": "1"}, {})):
            async with streaming(port, path, of_storms(**start), headers=headers) as stream:
                await stream.next()
                ids += stream.headers["x-request-id"]
        refused = await stored.service.ask("POST", WATCH, of_storms(to_id="1"), headers=bearer("ann"))
        unread = await stored.service.ask("POST", REPLAY, content=b"{")
        async with streaming(port, WATCH, of_storms(identifier={"basin": "b"}), is_slow=True) as stream:
            await stream.next()
            while not stored.count("aviso_sse_connections_ended_total", cause="slow_reader"):
                await publish(stored.service, [storm(1, basin="b", payload="x" * 50_000)])
        ids += [answer.headers["x-request-id"] for answer in (refused, unread)]
    output = capfd.readouterr().out
    records = [*told(output, "api.watch"), *told(output, "api.replay"), *told(output, "api.request")]
    by_id = {record["request_id"]: record for record in records}
    watch, replay, refusal, rubbish = (by_id[one] for one in ids)
    assert _of(watch) == ("api.watch.stream.established", "INFO", "ann", "main")
    assert (watch["event_type"], watch["topic"]) == ("storms", "cyclones.*.*")
    assert _of(replay) == ("api.replay.stream.established", "INFO", "anonymous", "none")
    assert _of(refusal) == ("api.request.validation.failed", "WARN", "ann", "main")
    assert _of(rubbish) == ("api.request.parse.failed", "WARN", "anonymous", "none")
    (closed,) = told(output, "stream.closed")
    assert (closed["level"], closed["cause"], closed["topic"]) == ("INFO", "slow_reader", "cyclones.b.*")


@asynchronous
async def test_asking_for_an_event_that_is_not_there_is_no_failure_of_the_service(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Anybody can ask; who looks after the service is not to be woken by it."""
    async with running_service(configured(logging={"level": "info"})) as service:
        answer = await service.ask(
            "POST", "/api/v1/explain", {"event_type": "storms", "identifier": {}, "sequence": 9}
        )
        assert answer.status == 404
    output = capfd.readouterr().out
    assert [record["level"] for record in told(output, "api.request.validation.failed")] == ["WARN"]
    assert told(output, "stream.sse.initialization.failed") == []


def _of(record: Mapping[str, Any]) -> tuple[str, str, str, str]:
    return record["event.name"], record["level"], record["username"], record["auth_realm"]


# --- headers for browsers --------------------------------------------------------------------------------


@asynchronous
async def test_other_methods_are_told_which_one_there_is() -> None:
    """No HEAD: there is no GET; and pages of other origins ask in vain."""
    async with running_service(configured()) as service:
        for path in (WATCH, REPLAY):
            for method in ("GET", "HEAD", "PUT", "DELETE", "OPTIONS"):
                headers = {"Origin": "https://a.example", "Access-Control-Request-Method": "POST"}
                answer = await service.ask(method, path, headers=headers)
                assert (answer.status, answer.headers["allow"], answer.body) == (405, "POST", b"")
                assert "access-control-allow-origin" not in answer.headers
            assert (await service.ask("POST", f"{path}/", of_storms())).status == 404
        large = await service.ask("POST", WATCH, content=b" " * 262_145)
        assert (large.status, large.body) == (413, b"payload reached size limit")


@asynchronous
async def test_pages_of_named_origins_may_read_streams() -> None:
    """Then an answer names the origin, once, and what a browser asks beforehand is answered."""
    configuration = configured(application={"cors": {"allowed_origins": ["https://a.example"]}})
    async with running_service(configuration) as service:
        for path, start in ((WATCH, {}), (REPLAY, {"from_id": "1"})):
            for origin, allowed in (
                ("https://a.example", ["https://a.example"]),
                ("https://b.example", None),
            ):
                headers = {"Origin": origin}
                asks = {**headers, "Access-Control-Request-Method": "POST"}
                before = await service.ask("OPTIONS", path, headers=asks)
                assert before.status == (405 if allowed is None else 204)
                async with streaming(service.port, path, of_storms(**start), headers=headers) as stream:
                    assert stream.status == 200
                    assert stream.headers.get("access-control-allow-origin") == allowed
