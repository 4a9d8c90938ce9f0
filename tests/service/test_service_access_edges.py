"""Who is asking, over real HTTP: the table of contract 10.2, and headers and paths that try to get around it."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest

from support.access import AUTH
from support.event_logs import asynchronous
from support.http_server import Behaviour, HttpServer, answering, hanging, running_http_server, sending
from support.services import Answered, Service, running_service
from support.tokens import by_hand, claims, shared_token

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

# The service has the clock of the machine.
ENDS = int(time.time()) + 3600
READER = shared_token(claims(exp=ENDS))
OPERATOR = shared_token(claims(exp=ENDS, roles=["operator"]))
ADMIN = "/api/v1/admin/wipe/all"
ONE = "/api/v1/admin/notification"
EVENT_TYPES = {
    "free": {"identifier": {"k": {"type": "StringHandler", "required": True}}},
    "members": {
        "identifier": {"k": {"type": "StringHandler", "required": True}},
        "auth": {"required": True, "write_roles": {"main": ["reader"]}},
    },
}

REQUIRED = "Authorization header is required"
SCHEME = "Authorization header must use Bearer or Basic scheme"
NOT_BEARER = "Authorization header must use Bearer token"
INVALID = "Invalid or expired token"
UNAVAILABLE = "Authentication service temporarily unavailable"
LOGIN = "Authentication is required for this stream"


@asynccontextmanager
async def guarded(**auth: Any) -> AsyncIterator[Service]:
    """Run the service with this `auth` block."""
    configuration = {"auth": AUTH | auth, "notification_schema": EVENT_TYPES}
    async with running_service(configuration) as service:
        yield service


@asynccontextmanager
async def direct(behaviour: Behaviour, **auth: Any) -> AsyncIterator[tuple[Service, HttpServer]]:
    """Run the service in front of an auth service that behaves like this."""
    async with (
        running_http_server(behaviour) as server,
        guarded(mode="direct", auth_o_tron_url=server.url, **auth) as service,
    ):
        yield service, server


def notification(event_type: str) -> dict[str, Any]:
    """Return a notification."""
    return {"event_type": event_type, "identifier": {"k": "1"}}


async def _ask(
    service: Service, authorization: str | None, *, admin: bool, event_type: str = "free"
) -> Answered:
    headers = {} if authorization is None else {"authorization": authorization}
    if admin:
        return await service.ask("DELETE", ADMIN, headers=headers)
    return await service.notify(notification(event_type), headers=headers)


def _check(answered: Answered, status: int, message: str, *, challenges: Sequence[str]) -> None:
    label = {401: "unauthorized", 403: "forbidden", 503: "service_unavailable"}[status]
    assert answered.status == status
    assert answered.json == {
        "code": label.upper(),
        "error": label,
        "message": message,
        "request_id": answered.headers["x-request-id"],
    }
    assert answered.headers.get_list("www-authenticate") == (list(challenges) if status == 401 else [])


# --- direct ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "text"),
    [
        (None, REQUIRED),
        ("", "Authorization header cannot be empty"),
        ("Bearer", SCHEME),
        ("Digest x", SCHEME),
        ("Bearer \xe4", "Authorization header is not valid UTF-8"),
    ],
)
@asynchronous
async def test_direct_a_header_of_no_use_is_anonymous_but_not_for_administration(
    header: str | None, text: str
) -> None:
    async with direct(answering(500)) as (service, server):
        raw = None if header is None else header.encode("latin-1").decode("latin-1")
        assert (await _ask(service, raw, admin=False)).status == 200
        _check(
            await _ask(service, raw, admin=False, event_type="members"),
            401,
            LOGIN,
            challenges=["Bearer", "Basic"],
        )
        _check(await _ask(service, raw, admin=True), 401, text, challenges=["Bearer", "Basic"])
        assert not server.asked


@pytest.mark.parametrize(
    ("behaviour", "status", "message"),
    [
        (answering(401), 401, INVALID),
        (answering(403), 403, "Token validation was denied"),
        (answering(500), 503, UNAVAILABLE),
        (answering(200, b"no token"), 503, UNAVAILABLE),
        (sending(b""), 503, UNAVAILABLE),
        (hanging(), 503, UNAVAILABLE),
        (answering(body={"token": shared_token(claims(exp=5))}), 401, INVALID),
        (
            answering(body={"token": by_hand(claims(exp=ENDS, sub=None, username=None))}),
            401,
            "Token is missing required user claims",
        ),
    ],
)
@asynchronous
async def test_direct_what_is_wrong_with_credentials_is_told_even_where_none_are_needed(
    behaviour: Behaviour, status: int, message: str
) -> None:
    async with direct(behaviour, timeout_ms=300) as (service, _):
        for admin in (False, True):
            _check(
                await _ask(service, "Basic YTpi", admin=admin),
                status,
                message,
                challenges=["Bearer", "Basic"],
            )
        # Who shows nothing goes on, and so does whoever asks for a schema.
        assert (await _ask(service, None, admin=False)).status == 200
        schema = await service.ask("GET", "/api/v1/schema", headers={"authorization": "Basic YTpi"})
        assert schema.status == 200


@asynchronous
async def test_direct_a_known_user_goes_on_and_administrates_only_with_the_role() -> None:
    async with direct(answering(body={"token": READER})) as (service, server):
        assert (await _ask(service, "Basic YTpi", admin=False, event_type="members")).status == 200
        _check(
            await _ask(service, "Basic YTpi", admin=True),
            403,
            "User does not have required administrative role",
            challenges=[],
        )
        server.behaviour = answering(body={"token": OPERATOR})
        assert (await _ask(service, "Basic YTpi", admin=True)).status == 200


# --- trusted proxy ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("header", ["", "Bearer", "Basic YTpi", "Bearer a b", "Bearer \xe4"])
@asynchronous
async def test_proxy_a_header_of_no_use_has_one_text(header: str) -> None:
    async with guarded() as service:
        assert (await _ask(service, header, admin=False)).status == 200
        _check(await _ask(service, header, admin=True), 401, NOT_BEARER, challenges=["Bearer"])
        _check(await _ask(service, None, admin=True), 401, REQUIRED, challenges=["Bearer"])
        _check(await _ask(service, "Bearer a.b.c", admin=False), 401, INVALID, challenges=["Bearer"])
        assert (await _ask(service, f"Bearer {OPERATOR}", admin=True)).status == 200


# --- getting around it -----------------------------------------------------------------------------------


def _request(method: str, path: str, headers: Sequence[str], body: bytes = b"") -> bytes:
    lines = [
        f"{method} {path} HTTP/1.1",
        "host: x",
        "connection: close",
        f"content-length: {len(body)}",
        *headers,
    ]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def _status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


@pytest.mark.parametrize(
    "headers",
    [
        [f"authorization: Bearer {OPERATOR}", "authorization: Bearer x"],
        ["authorization: Bearer x", f"authorization: Bearer {OPERATOR}"],
        [f"authorization: Bearer {OPERATOR}", f"Authorization: Bearer {OPERATOR}"],
        [f"authorization: Bearer {OPERATOR}", "AUTHORIZATION:"],
        [f"authorization: Bearer {OPERATOR}, Bearer {OPERATOR}"],
        [f"x-authorization: Bearer {OPERATOR}"],
        [f"proxy-authorization: Bearer {OPERATOR}"],
        [f"cookie: authorization=Bearer {OPERATOR}"],
    ],
)
@asynchronous
async def test_nobody_administrates_by_two_headers_or_by_another_one(headers: list[str]) -> None:
    """Somebody in front of us may have checked the one header, and we would believe the other."""
    async with guarded() as service:
        assert _status(await service.send_bytes(_request("DELETE", ADMIN, headers))) == 401
        body = json.dumps(notification("members")).encode()
        answer = await service.send_bytes(_request("POST", "/api/v1/notification", headers, body))
        assert _status(answer) == 401


@pytest.mark.parametrize(
    "path",
    [
        ADMIN,
        f"{ADMIN}?token={OPERATOR}",
        f"{ADMIN}?access_token={OPERATOR}",
        f"{ADMIN}/",
        "/api/v1/admin//wipe/all",
        "//api/v1/admin/wipe/all",
        "/api//v1/admin/wipe/all",
        "/api/v1//admin/wipe/all",
        "/API/V1/admin/wipe/all",
        "/api/v1/schema/../admin/wipe/all",
        "/api/v1/schema/%2e%2e/admin/wipe/all",
        "/api/v1/schema%2f..%2fadmin/wipe/all",
        "/api/v1/./admin/wipe/all",
        "/static/../api/v1/admin/wipe/all",
        "/api/v1/%61dmin/wipe/all",
        "/%61pi/v1/admin/wipe/all",
        "/api/v1%2fadmin/wipe/all",
        "/api/v1/admin/wipe/all%00",
        "/api/v1/admin/wipe/all;x",
        f"{ONE}/free@1",
        f"{ONE}/free@1/",
        f"{ONE}//free@1",
        f"{ONE}/%66ree%401",
        "http://x/api/v1/admin/wipe/all",
        f"http://u:{OPERATOR}@x/api/v1/admin/wipe/all",
    ],
)
@asynchronous
async def test_no_spelling_of_a_path_leads_to_administration(path: str) -> None:
    async with guarded() as service:
        assert (await service.notify(notification("free"))).status == 200
        for method in ("DELETE", "POST", "GET", "HEAD", "OPTIONS", "delete"):
            status = _status(await service.send_bytes(_request(method, path, [])))
            assert status in (400, 401, 404, 405)
        # Nothing was wiped or deleted: the notification is still there to be deleted by who may.
        headers = {"authorization": f"Bearer {OPERATOR}"}
        assert (await service.ask("DELETE", f"{ONE}/free@1", headers=headers)).status == 200


@pytest.mark.parametrize("size", [10_000, 17_000, 60_000, 2_000_000])
@asynchronous
async def test_a_very_long_header_is_refused_and_the_service_goes_on(size: int) -> None:
    async with guarded() as service:
        request = _request("DELETE", ADMIN, [f"authorization: Bearer {'a' * size}.b.c"])
        # The connection may be cut before all of it was sent, and then there is nothing to read.
        with suppress(ConnectionResetError, BrokenPipeError):
            assert _status(await service.send_bytes(request)) in (400, 401, 431)
        assert (await _ask(service, f"Bearer {READER}", admin=False, event_type="members")).status == 200


@asynchronous
async def test_an_auth_service_that_hangs_holds_up_nobody_else() -> None:
    async with direct(hanging(), timeout_ms=500) as (service, server):
        waiting = [asyncio.create_task(_ask(service, "Basic YTpi", admin=False)) for _ in range(40)]
        await server.wait_asked(40)
        assert (await _ask(service, None, admin=False)).status == 200
        assert {answered.status for answered in await asyncio.gather(*waiting)} == {503}


@asynchronous
async def test_what_was_recognised_is_counted() -> None:
    """And who showed nothing that could be looked at is not, unless it was for administration."""
    async with running_http_server(answering(body={"token": READER})) as server:
        port = await _free_port()
        configuration = {
            "auth": AUTH | {"mode": "direct", "auth_o_tron_url": server.url},
            "notification_schema": EVENT_TYPES,
            "metrics": {"enabled": True, "port": port},
        }
        async with running_service(configuration) as service:
            await _ask(service, None, admin=False)
            await _ask(service, "Digest x", admin=False)
            await _ask(service, "Basic YTpi", admin=False)
            await _ask(service, "Basic YTpi", admin=True)
            await _ask(service, None, admin=True)
            server.behaviour = answering(500)
            await _ask(service, "Basic YTpi", admin=False)
            shown = await service.client.get(f"http://127.0.0.1:{port}/metrics")
    counted = {
        line.partition("{")[2].replace('mode="direct",outcome=', "").replace('"', "").replace("}", "")
        for line in shown.text.splitlines()
        if line.startswith('aviso_auth_requests_total{mode="direct"')
    }
    assert counted == {"success 1.0", "forbidden 1.0", "unauthorized 1.0", "service_unavailable 1.0"}
    assert shown.text.count('aviso_auth_requests_total{mode="trusted_proxy"') == 4


async def _free_port() -> int:
    listening = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port: int = listening.sockets[0].getsockname()[1]
    listening.close()
    await listening.wait_closed()
    return port
