"""Direct mode against a real server on this machine that stands for the auth service: contract 10.1 and 10.2."""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from aviso_core.errors import AccessUnavailable, Forbidden, Unauthorized
from support.access import Counted, known, opened, outcome
from support.event_logs import asynchronous
from support.http_server import (
    BROKEN,
    Behaviour,
    HttpServer,
    answering,
    hanging,
    running_http_server,
    sending,
    waiting_for,
)
from support.registries import ManualClock
from support.tokens import NOW, bearer, by_hand, claims, shared_token

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from aviso_http.access.base import Access

INVALID = (Unauthorized, "Invalid or expired token")
DENIED = (Forbidden, "Token validation was denied")
DOWN = (AccessUnavailable, "Authentication service temporarily unavailable")
NOT_BUILT = (AccessUnavailable, "Authentication service is not configured correctly")
TOKEN = shared_token()
BASIC = b"Basic YTpi"


@asynccontextmanager
async def asking(
    behaviour: Behaviour, counted: Counted | None = None, *, path: str = "", **auth: Any
) -> AsyncIterator[tuple[HttpServer, Access]]:
    """Open access in front of an auth service that behaves like this."""
    async with (
        running_http_server(behaviour) as server,
        opened(counted, mode="direct", auth_o_tron_url=server.url + path, **auth) as access,
    ):
        yield server, access


# --- what is asked ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("header", [b"Bearer opaque", b"bearer  a b", b"Basic YTpi", b" BASIC YTpi== "])
@pytest.mark.parametrize(("path", "target"), [("", "/authenticate"), ("/base/", "/base/authenticate")])
@asynchronous
async def test_the_service_is_shown_the_header_as_it_came(header: bytes, path: str, target: str) -> None:
    async with asking(answering(body={"token": TOKEN}), path=path) as (server, access):
        assert access.challenges == (b"Bearer", b"Basic")
        assert (await known(access, header)).name == "ann"
    (asked,) = server.asked
    assert (asked.method, asked.target, asked.body) == ("GET", target, b"")
    assert asked.headers["authorization"] == header.decode().strip()
    assert "cookie" not in asked.headers


@pytest.mark.parametrize(
    ("header", "text"),
    [
        (None, "Authorization header is required"),
        (b"", "Authorization header cannot be empty"),
        (b"Digest x", "Authorization header must use Bearer or Basic scheme"),
        (b"Bearer", "Authorization header must use Bearer or Basic scheme"),
        (b"Basic \t ", "Authorization header must use Bearer or Basic scheme"),
        (b"Bearer \xff", "Authorization header is not valid UTF-8"),
    ],
)
@asynchronous
async def test_a_header_of_no_use_is_shown_to_nobody(header: bytes | None, text: str) -> None:
    counted = Counted()
    async with asking(answering(body={"token": TOKEN}), counted) as (server, access):
        assert await access.identify(header) is None
        assert await outcome(access, header, admin=True) == (Unauthorized, text)
    assert not server.asked
    assert counted == ["unauthorized"]


# --- where the token is in the answer --------------------------------------------------------------------


@pytest.mark.parametrize(
    "behaviour",
    [
        answering(Authorization=f"Bearer {TOKEN}"),
        answering(authorization=f"bEARER   {TOKEN} "),
        answering(201, authorization=f"Bearer {TOKEN}"),
        answering(body={"token": TOKEN}),
        answering(body={"jwt": TOKEN}),
        answering(body={"access_token": f" {TOKEN}\n"}),
        answering(body={"token": None, "jwt": None, "access_token": TOKEN, "expires": 5}),
        answering(body={"token": TOKEN, "jwt": "x", "access_token": "x"}),
        answering(body=TOKEN),
        answering(body=f"\n{TOKEN} ".encode()),
        answering(body=f'" {TOKEN} "'.encode()),
        answering(body={"token": TOKEN}, authorization="Basic YTpi"),
        answering(body={"token": TOKEN}, authorization="Bearer opaque"),
        answering(body={"token": by_hand(claims(), secret="x")}, authorization=f"Bearer {TOKEN}"),
        answering(body=TOKEN, content_type="text/plain"),
        sending(f"HTTP/1.1 200 OK\r\n\r\n{TOKEN}".encode()),
    ],
)
@asynchronous
async def test_the_token_is_found_where_the_contract_says(behaviour: Behaviour) -> None:
    async with asking(behaviour) as (_, access):
        assert (await known(access, BASIC)).name == "ann"


@pytest.mark.parametrize(
    "behaviour",
    [
        answering(),
        answering(204),
        answering(body=b"ok"),
        answering(body={}),
        answering(body=[TOKEN]),
        answering(body={"token": 5}),
        answering(body={"token": ""}),
        answering(body={"token": "opaque"}),
        answering(body={"token": "a.b"}),
        answering(body={"token": "a.b.c.d"}),
        answering(body={"token": "a..c"}),
        answering(body={"token": "a.b=.c"}),
        answering(body={"id": TOKEN}),
        answering(body={"token": {"token": TOKEN}}),
        answering(body=b'{"token":'),
        answering(body=b"[" * 30_000),
        answering(body=b"1" * 30_000),
        answering(body=b"\xff\xfe"),
        answering(body=f"{TOKEN} {TOKEN}".encode()),
        answering(authorization="Bearer"),
        answering(authorization=f"Bearer {TOKEN} x"),
        answering(authorization=f"Basic {TOKEN}"),
        answering(set_cookie=f"token={TOKEN}"),
    ],
)
@asynchronous
async def test_an_answer_without_a_token_is_no_answer(behaviour: Behaviour) -> None:
    counted = Counted()
    async with asking(behaviour, counted) as (_, access):
        assert await outcome(access, BASIC) == DOWN
    assert counted == ["service_unavailable"]


@pytest.mark.parametrize(
    ("token", "refusal"),
    [
        (shared_token(secret="not the secret that is shared here"), INVALID),
        (shared_token(claims(exp=NOW - 61)), INVALID),
        (by_hand(claims(), header={"alg": "none"}), INVALID),
        ("a.b.c", INVALID),
        (by_hand(claims(roles="reader")), INVALID),
        (by_hand(claims(sub=None, username=None)), (Unauthorized, "Token is missing required user claims")),
    ],
)
@asynchronous
async def test_the_token_in_the_answer_is_verified_like_any_other(
    token: str, refusal: tuple[type[Exception], str]
) -> None:
    counted = Counted()
    async with asking(answering(body={"token": token}), counted) as (_, access):
        assert await outcome(access, BASIC) == refusal
        assert await outcome(access, BASIC, admin=True) == refusal
    assert counted == ["unauthorized"] * 2


# --- what the service says, and how it fails --------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "refusal"),
    [
        (401, INVALID),
        (403, DENIED),
        *(
            (status, DOWN)
            for status in (300, 301, 302, 307, 400, 402, 404, 407, 418, 429, 500, 502, 503, 599)
        ),
    ],
)
@asynchronous
async def test_a_status_of_the_service_becomes_one_of_ours(
    status: int, refusal: tuple[type[Exception], str]
) -> None:
    """A token beside a refusal is not looked at."""
    counted = Counted()
    async with asking(answering(status, {"token": TOKEN}, authorization=f"Bearer {TOKEN}"), counted) as (
        _,
        access,
    ):
        assert await outcome(access, BASIC) == refusal
        assert await outcome(access, BASIC, admin=True) == refusal
    assert counted[0] == counted[1]


@pytest.mark.parametrize("name", BROKEN)
@asynchronous
async def test_a_broken_service_lets_nobody_in_and_keeps_nobody_waiting(name: str) -> None:
    counted = Counted()
    loop = asyncio.get_running_loop()
    async with asking(BROKEN[name], counted, timeout_ms=200) as (server, access):
        began = loop.time()
        assert await outcome(access, BASIC) == DOWN
        assert loop.time() - began < 2
        server.behaviour = answering(body={"token": TOKEN})
        assert (await known(access, BASIC)).name == "ann"
    assert counted == ["service_unavailable", "success"]


@asynchronous
async def test_a_service_that_is_not_there_is_unavailable() -> None:
    async with opened(mode="direct", auth_o_tron_url="http://127.0.0.1:1") as access:
        assert await outcome(access, BASIC) == DOWN
        assert await access.identify(None) is None


@pytest.mark.parametrize(
    "url", ["auth:8080", "ftp://auth", "http://", "/authenticate", "http://a?x=1", "http://a#x"]
)
@asynchronous
async def test_an_address_of_no_use_is_told_apart_from_a_service_that_is_down(url: str) -> None:
    async with opened(mode="direct", auth_o_tron_url=url) as access:
        assert await outcome(access, BASIC) == NOT_BUILT


@asynchronous
async def test_credentials_are_not_taken_along_to_another_place() -> None:
    async with running_http_server(answering(body={"token": TOKEN})) as elsewhere:
        for status in (301, 302, 303, 307, 308):
            async with asking(answering(status, location=f"{elsewhere.url}/authenticate")) as (_, access):
                assert await outcome(access, BASIC) == DOWN
    assert not elsewhere.asked


@asynchronous
async def test_a_cookie_of_one_caller_is_not_sent_for_the_next() -> None:
    behaviour = answering(body={"token": TOKEN}, set_cookie="session=anns; Path=/")
    async with asking(behaviour) as (server, access):
        await known(access, BASIC)
        await known(access, b"Basic Yjpi")
    assert [asked.headers.get("cookie") for asked in server.asked] == [None, None]


@asynchronous
async def test_many_who_hang_leave_room_for_those_who_come_later() -> None:
    """A connection that was given up is not counted as one for ever."""
    async with asking(hanging(), timeout_ms=1_000) as (server, access):
        refused = await asyncio.gather(*(outcome(access, BASIC) for _ in range(300)))
        assert set(refused) == {DOWN}
        server.behaviour = answering(body={"token": TOKEN})
        assert {(await known(access, BASIC)).name for _ in range(30)} == {"ann"}


@asynchronous
async def test_a_caller_who_goes_away_leaves_no_trace() -> None:
    gate = asyncio.Event()
    async with asking(waiting_for(gate, answering(body={"token": TOKEN}))) as (server, access):
        leaving = [asyncio.create_task(access.identify(BASIC)) for _ in range(50)]
        staying = asyncio.create_task(access.identify(BASIC))
        await server.wait_asked(51)
        for task in leaving:
            task.cancel()
        gate.set()
        user = await staying
        assert user is not None
        assert all(
            isinstance(found, asyncio.CancelledError)
            for found in await asyncio.gather(*leaving, return_exceptions=True)
        )


@asynchronous
async def test_connections_are_used_again() -> None:
    async with asking(answering(body={"token": TOKEN})) as (server, access):
        for _ in range(20):
            await known(access, BASIC)
        assert (len(server.asked), server.connections) == (20, 1)


# --- remembering -----------------------------------------------------------------------------------------


@asynchronous
async def test_the_service_is_asked_every_time() -> None:
    async with asking(answering(body={"token": TOKEN})) as (server, access):
        await known(access, BASIC)
        server.behaviour = answering(401)
        assert await outcome(access, BASIC) == INVALID


@asynchronous
async def test_where_it_is_allowed_an_answer_holds_for_a_while_but_not_a_refusal() -> None:
    clock = ManualClock()
    async with asking(answering(401), clock=clock, direct_cache_seconds=10) as (server, access):
        assert await outcome(access, BASIC) == INVALID
        server.behaviour = answering(body={"token": TOKEN})
        await known(access, BASIC)
        server.behaviour = answering(401)
        clock.advance(10)
        await known(access, BASIC)
        assert await outcome(access, b"Basic Yjpi") == INVALID
        clock.advance(1)
        assert await outcome(access, BASIC) == INVALID


@asynchronous
async def test_no_answer_holds_longer_than_the_token_in_it() -> None:
    clock = ManualClock()
    token = shared_token(claims(exp=NOW + 5))
    async with asking(answering(body={"token": token}), clock=clock, direct_cache_seconds=1000) as (
        server,
        access,
    ):
        await known(access, BASIC)
        server.behaviour = answering(500)
        clock.advance(65)
        await known(access, BASIC)
        clock.advance(1)
        assert await outcome(access, BASIC) == DOWN


@asynchronous
async def test_nothing_secret_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with asking(answering(500)) as (server, access):
        await outcome(access, b"Bearer correct-horse")
        server.behaviour = sending(
            b"HTTP/1.1 200 OK\r\nauthorization: Bearer correct-horse\r\n\r\ncorrect-horse"
        )
        await outcome(access, bearer("correct-horse"))
    assert caplog.records
    assert "correct-horse" not in caplog.text + str([vars(record) for record in caplog.records])
