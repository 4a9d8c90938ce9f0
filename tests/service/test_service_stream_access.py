"""Who may read what (contract 10.3), and the destinations of the ECPDS plugin (10.4), over real HTTP."""

from __future__ import annotations

import base64
import time
from typing import TYPE_CHECKING, Any, Final

from support.event_logs import asynchronous
from support.http_server import answering, hanging, running_http_server
from support.services import IN_MEMORY, running_service
from support.sse import REPLAY, WATCH, streaming
from support.stored import running_with_log
from support.tokens import SECRET, by_hand

if TYPE_CHECKING:
    from collections.abc import Mapping

    from support.services import Service


def _guarded(name: str, auth: Mapping[str, object] | None) -> dict[str, object]:
    declared: dict[str, object] = {
        "topic": {"base": name, "key_order": ["k"]},
        "identifier": {"k": {"type": "StringHandler", "required": True}},
    }
    return declared if auth is None else {**declared, "auth": auth}


STREAMS: Final[dict[str, dict[str, object] | None]] = {
    "free": None,
    "optional": {"required": False},
    "members": {"required": True},
    "readers": {"required": True, "read_roles": {"main": ["reader"]}},
    "desk": {"required": True, "write_roles": {"main": ["writer"]}},
    "realm": {"required": True, "read_roles": {"main": ["*"]}},
    "both": {"required": True, "read_roles": {"other": ["reader"]}, "write_roles": {"main": ["*"]}},
}
AUTH: Final = {
    "enabled": True,
    "mode": "trusted_proxy",
    "jwt_secret": SECRET,
    "admin_roles": {"main": ["operator"]},
}
CONFIGURATION: Final[dict[str, Any]] = {
    "auth": AUTH,
    "notification_schema": {name: _guarded(name, auth) for name, auth in STREAMS.items()},
    "logging": {"level": "warn"},
}


def bearer(**changes: object) -> dict[str, str]:
    """Return the header of Ann of the realm `main`, with other claims; None leaves one out."""
    claims = {"sub": "ann", "realm": "main", "roles": ["reader"], "exp": int(time.time()) + 3600} | changes
    kept = {name: value for name, value in claims.items() if value is not None}
    return {"Authorization": f"Bearer {by_hand(kept)}"}


NOBODY: Final = (401, "UNAUTHORIZED", "Authentication is required for this stream")
INVALID: Final = (401, "UNAUTHORIZED", "Invalid or expired token")
NO_ROLE: Final = (403, "FORBIDDEN", "User does not have required read role for this stream")
OPEN: Final = {"free", "optional"}
KNOWN: Final = {*OPEN, "members", "desk"}

# By caller: what each may read, and what is said of everything else.
MAY_READ: Final[dict[str, tuple[dict[str, str], set[str], tuple[int, str, str]]]] = {
    "nobody": ({}, OPEN, NOBODY),
    "nobody, in another scheme": ({"Authorization": "Basic YTpi"}, OPEN, NOBODY),
    "somebody forged": ({"Authorization": "Bearer a.b.c"}, set(), INVALID),
    "somebody of before": (bearer(exp=int(time.time()) - 120), set(), INVALID),
    "a reader": (bearer(), {*KNOWN, "readers", "realm"}, NO_ROLE),
    "a reader elsewhere": (bearer(realm="other"), {*KNOWN, "both"}, NO_ROLE),
    "a reader of no realm": (bearer(realm=None), KNOWN, NO_ROLE),
    "a writer": (bearer(roles=["writer"]), {*KNOWN, "realm"}, NO_ROLE),
    "a reader in capitals": (bearer(roles=["Reader"]), {*KNOWN, "realm"}, NO_ROLE),
    "without roles": (bearer(roles=None), {*KNOWN, "realm"}, NO_ROLE),
    "an operator": (bearer(roles=["operator"]), set(STREAMS), NO_ROLE),
    "an operator elsewhere": (bearer(roles=["operator"], realm="other"), KNOWN, NO_ROLE),
}


async def asked_for(
    service: Service, path: str, body: object, headers: Mapping[str, str]
) -> tuple[int, str, str] | None:
    """Ask for a stream and leave it; return what was said where there is none."""
    async with streaming(service.port, path, body, headers=headers) as stream:
        if stream.status == 200:
            await stream.next()
            return None
        said = await stream.refusal()
        assert said["request_id"] == stream.headers["x-request-id"][0]
        assert ("www-authenticate" in stream.headers) == (stream.status == 401)
        assert "access-control-allow-origin" not in stream.headers
        return stream.status, said["code"], said["message"]


@asynchronous
async def test_a_stream_is_read_by_those_whom_it_names() -> None:
    """Live and in history; who may not learns nothing about fields, only which event types there are."""
    found = []
    async with running_service(CONFIGURATION) as service:
        for caller, (headers, allowed, refusal) in MAY_READ.items():
            for name in STREAMS:
                for path, start in ((WATCH, {}), (WATCH, {"from_id": "1"}), (REPLAY, {"from_id": "1"})):
                    body = {"event_type": name, "identifier": {"k": "1"}, **start}
                    said = await asked_for(service, path, body, headers)
                    if said != (None if name in allowed else refusal):
                        found.append(f"{caller} of {name} by {path}: {said}")
        wrong = {
            "event_type": "readers",
            "identifier": {"k": "1", "x": 1, "polygon": 1, "point": 1},
            "to_id": "x",
        }
        for path in (WATCH, REPLAY):
            assert await asked_for(service, path, wrong, {}) == NOBODY
            unknown = await asked_for(service, path, {**wrong, "event_type": "nothing"}, {})
            assert unknown == (400, "UNKNOWN_EVENT_TYPE", "unknown event type 'nothing'")
    assert not found, "\n".join(found)


@asynchronous
async def test_only_administrators_are_told_who_wrote_an_event() -> None:
    """Live and in history; of an event that nobody in particular wrote, nobody is told."""
    operator, reader = bearer(roles=["operator"]), bearer()
    async with running_service(CONFIGURATION) as service:
        body = {"event_type": "free", "identifier": {"k": "1"}}
        async with (
            streaming(service.port, WATCH, body, headers=operator) as told,
            streaming(service.port, WATCH, body, headers=reader) as untold,
            streaming(service.port, WATCH, body) as nobody,
        ):
            streams = (told, untold, nobody)
            for stream in streams:
                await stream.next()
            assert (await service.notify(body, headers=bearer(sub="bob"))).status == 200
            assert (await service.notify(body)).status == 200
            live = [[frame.data.get("actor") for frame in await stream.take(2)] for stream in streams]
        history = []
        for headers in (operator, reader, {}):
            async with streaming(service.port, REPLAY, {**body, "from_id": "1"}, headers=headers) as stream:
                history.append([frame.data.get("actor") for frame in (await stream.take(3))[1:]])
    assert live == history == [["bob", None], [None, None], [None, None]]


@asynchronous
async def test_one_user_has_no_more_streams_than_may_be() -> None:
    """Whoever else asks gets theirs, and so does everybody who is nobody in particular."""
    async with running_service({**CONFIGURATION, "streams": {"max_streams_per_user": 1}}) as service:
        body = {"event_type": "free", "identifier": {"k": "1"}}
        async with streaming(service.port, WATCH, body, headers=bearer()) as first:
            await first.next()
            refused = await asked_for(service, REPLAY, {**body, "from_id": "1"}, bearer())
            assert refused is not None
            assert refused[:2] == (429, "TOO_MANY_STREAMS")
            for headers in (bearer(sub="bob"), bearer(realm="other"), {}, {}):
                assert await asked_for(service, WATCH, body, headers) is None


# --- destinations ----------------------------------------------------------------------------------------


def _listing(*names: str, success: str = "yes") -> dict[str, object]:
    return {"destinationList": [{"name": name, "active": True} for name in names], "success": success}


def with_ecpds(*servers: str) -> dict[str, Any]:
    """Return the configuration of an event type whose destinations these servers know."""
    return {
        "auth": AUTH,
        "ecpds": {
            "username": "aviso",
            "password": "secret",
            "servers": list(servers),
            "match_key": "destination",
            "request_timeout_seconds": 1,
        },
        "notification_schema": {
            "delivered": {
                "topic": {"base": "delivered", "key_order": ["destination", "k"]},
                "identifier": {
                    "destination": {"type": "StringHandler", "required": True},
                    "k": {"type": "StringHandler", "required": False},
                },
                "auth": {"required": True, "plugins": ["ecpds"]},
            }
        },
        "logging": {"level": "error"},
    }


def delivered(**identifier: object) -> dict[str, object]:
    """Return a request for a watch."""
    return {"event_type": "delivered", "identifier": identifier}


@asynchronous
async def test_a_destination_is_read_by_those_who_may() -> None:
    """The server is asked for the user by name, as the service's own account, and once for all streams of a while."""
    not_yours = (403, "FORBIDDEN", "User 'ann' does not have access to destination 'D2'")
    operator = bearer(roles=["operator"])
    async with (
        running_http_server(answering(body=_listing("D1", "D3"))) as ecpds,
        running_with_log(with_ecpds(ecpds.url), IN_MEMORY) as stored,
    ):
        service = stored.service
        for path, start in ((WATCH, {}), (REPLAY, {"from_id": "1"})):
            assert await asked_for(service, path, delivered(destination="D1") | start, bearer()) is None
            assert await asked_for(service, path, delivered(destination="D2") | start, bearer()) == not_yours
            assert await asked_for(service, path, delivered(destination="D2") | start, operator) is None
            assert await asked_for(service, path, delivered(destination="D1") | start, {}) == NOBODY
        wrong = await asked_for(service, WATCH, delivered(destination="", colour=1), bearer(sub="eve"))
        assert wrong == (400, "INVALID_WATCH_REQUEST", "Unknown field 'colour' provided for watch operation")
        notified = {"event_type": "delivered", "identifier": {"destination": "D2", "k": "1"}}
        await stored.service.notify(notified, headers=operator)
        (asked,) = ecpds.asked
        assert asked.target == "/ecpds/v1/destination/list?id=ann"
        assert asked.headers["authorization"] == f"Basic {base64.b64encode(b'aviso:secret').decode()}"
        for outcome, count in (
            ("allow", 2),
            ("deny_destination", 2),
            ("admin_bypass", 2),
        ):
            assert stored.count("aviso_ecpds_access_decisions_total", outcome=outcome) == count
        assert stored.count("aviso_ecpds_fetch_total", outcome="success") == 1


@asynchronous
async def test_who_cannot_be_checked_reads_nothing() -> None:
    """And is told that it is not their fault, unless the servers say something else."""
    down = (503, "SERVICE_UNAVAILABLE", "ECPDS service is inaccessible")
    for behaviour in (
        answering(500),
        answering(body=_listing("D1", success="no")),
        answering(401),
        hanging(),
    ):
        async with (
            running_http_server(behaviour) as ecpds,
            running_service(with_ecpds(ecpds.url)) as service,
        ):
            assert await asked_for(service, WATCH, delivered(destination="D1"), bearer()) == down
            ecpds.behaviour = answering(body=_listing("D1"))
            assert await asked_for(service, WATCH, delivered(destination="D1"), bearer()) is None
