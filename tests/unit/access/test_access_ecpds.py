"""The ECPDS plugin against real servers on this machine that stand for ECPDS: contract 10.4."""

from __future__ import annotations

import asyncio
import base64
import logging
import ssl
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from aviso_core.errors import (
    AccessMisconfigured,
    AccessRefused,
    AccessUnavailable,
    Forbidden,
    Unauthorized,
)
from aviso_core.schema.model import Auth
from aviso_http.access.ecpds.destinations import OUTCOMES
from aviso_http.access.open import open_access, open_read_plugins
from aviso_http.access.user import User
from aviso_http.metrics.access import EcpdsMetrics
from support.access import settings
from support.certificates import authority, write_certificate
from support.event_logs import asynchronous
from support.http_server import (
    BROKEN,
    Asked,
    Behaviour,
    HttpServer,
    answering,
    hanging,
    running_http_server,
    waiting_for,
)
from support.registries import ManualClock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from aviso_http.access.plugins import ReadPlugins

PASSWORD = "correct-horse"
ANN, BOB = User(name="ann", realm="main"), User(name="bob", realm="main")
OPERATOR = User(name="root", realm="main", roles=("operator",))
BLOCK = Auth(required=True, plugins=("ecpds",))
DOWN = (AccessUnavailable, "ECPDS service is inaccessible")
MISSING = (Forbidden, "Required field 'destination' not found in request identifiers")
UNSET = (AccessMisconfigured, "Server configuration error")


def no_access(user: User, destination: str) -> tuple[type[AccessRefused], str]:
    """Return what somebody is told who may not read a destination."""
    return Forbidden, f"User '{user.name}' does not have access to destination '{destination}'"


def listing(*names: str, **changes: Any) -> dict[str, Any]:
    """Return a server's answer that grants these destinations."""
    return {
        "destinationList": [{"name": name, "active": True} for name in names],
        "success": "yes",
    } | changes


GRANTS, NOTHING = answering(body=listing("D1")), answering(body=listing())


class Reading(NamedTuple):
    """Readers who are asked about, and what is counted of that."""

    plugins: ReadPlugins
    metrics: EcpdsMetrics
    clock: ManualClock

    async def of(self, user: User | None, destination: str | None, auth: Auth | None = BLOCK) -> object:
        """Return None where the user may read, or the class and the text of the refusal."""
        identifier = {"step": "1"} | ({} if destination is None else {"destination": destination})
        try:
            await self.plugins.check(auth, user, identifier)
        except AccessRefused as refusal:
            return type(refusal), refusal.message
        return None

    def counted(self) -> dict[str, int]:
        """Return every series that is not zero, by the end of its name and its label."""
        return {
            " ".join([family.name.removeprefix("aviso_ecpds_"), *labels]): series.value
            for family in self.metrics.families()
            for labels, series in family.series.items()
            if not hasattr(series, "bounds") and series.value
        }


@asynccontextmanager
async def reading(
    addresses: list[str], *, metrics: EcpdsMetrics | None = None, **changes: Any
) -> AsyncIterator[Reading]:
    """Open the plugin with these servers."""
    block = {
        "username": "service",
        "password": PASSWORD,
        "servers": addresses,
        "match_key": "destination",
        "request_timeout_seconds": 1,
        "connect_timeout_seconds": 1,
    } | changes
    configured, clock, counting = settings(ecpds=block), ManualClock(), metrics or EcpdsMetrics()
    async with (
        open_access(configured, count=lambda _: None, clock=clock) as access,
        open_read_plugins(configured, access=access, count=counting, clock=clock) as plugins,
    ):
        yield Reading(plugins, counting, clock)


@asynccontextmanager
async def asking(*behaviours: Behaviour, **changes: Any) -> AsyncIterator[tuple[list[HttpServer], Reading]]:
    """Open the plugin in front of servers that behave like this."""
    async with AsyncExitStack() as parts:
        servers = [await parts.enter_async_context(running_http_server(each)) for each in behaviours]
        opened = await parts.enter_async_context(reading([each.url for each in servers], **changes))
        yield servers, opened


# --- what is asked ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("ann", "/ecpds/v1/destination/list?id=ann"),
        ("a/b c&id=root#x", "/ecpds/v1/destination/list?id=a%2Fb%20c%26id%3Droot%23x"),
        ("../ü", "/ecpds/v1/destination/list?id=..%2F%C3%BC"),
        ("a\r\nx: y", "/ecpds/v1/destination/list?id=a%0D%0Ax%3A%20y"),
        ("system:serviceaccount:a:b", "/ecpds/v1/destination/list?id=system%3Aserviceaccount%3Aa%3Ab"),
    ],
)
@asynchronous
async def test_a_server_is_asked_about_the_user_with_the_services_own_account(name: str, target: str) -> None:
    async with asking(answering(body=listing("D1"))) as ((server,), readers):
        assert await readers.of(User(name=name), "D1") is None
    (asked,) = server.asked
    assert (asked.method, asked.target, asked.body) == ("GET", target, b"")
    account = base64.b64encode(f"service:{PASSWORD}".encode()).decode()
    assert asked.headers["authorization"] == f"Basic {account}"


@asynchronous
async def test_the_path_of_a_server_comes_before_ours() -> None:
    async with running_http_server(GRANTS) as server, reading([f"{server.url}/base/"]) as readers:
        assert await readers.of(ANN, "D1") is None
    assert server.asked[0].target == "/base/ecpds/v1/destination/list?id=ann"


@asynchronous
async def test_an_administrator_is_not_asked_about() -> None:
    async with asking(answering(500)) as ((server,), readers):
        assert await readers.of(OPERATOR, "D1") is None
        assert await readers.of(OPERATOR, None) is None
        assert not server.asked
        assert readers.counted() == {"access_decisions_total admin_bypass": 2}


@asynchronous
async def test_a_request_that_names_no_destination_is_refused_before_anybody_is_asked() -> None:
    async with asking(answering(body=listing("D1"))) as ((server,), readers):
        assert await readers.of(ANN, None) == MISSING
        assert not server.asked
        assert readers.counted() == {"access_decisions_total deny_match_key_missing": 1}


@asynchronous
async def test_only_event_types_that_name_the_plugin_ask_it() -> None:
    async with asking(answering(500)) as ((server,), readers):
        for auth in (None, Auth(required=False), Auth(required=True), Auth(required=True, plugins=())):
            for user in (None, ANN):
                assert await readers.of(user, "D1", auth) is None
        assert not server.asked
        assert not readers.counted()


@asynchronous
async def test_nobody_in_particular_passes_no_plugin() -> None:
    async with asking(answering(body=listing("D1"))) as ((server,), readers):
        assert await readers.of(None, "D1") == (
            Unauthorized,
            "Authentication is required for this stream",
        )
        assert not server.asked


@pytest.mark.parametrize("plugins", [("other",), ("",), ("ECPDS",), ("ecpds", "other")])
@asynchronous
async def test_a_plugin_that_there_is_not_lets_nobody_pass(plugins: tuple[str, ...]) -> None:
    async with asking(answering(body=listing("D1"))) as (_, readers):
        assert await readers.of(ANN, "D1", Auth(required=True, plugins=plugins)) == UNSET


# --- what the answer means -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "may"),
    [
        (listing("D1"), True),
        (listing("D0", "D1", "D2"), True),
        (listing(), False),
        (listing("d1", "D1 ", " D1", "D", "D11"), False),
        (listing(destinationList=[{"name": "D1", "active": False}]), False),
        (listing(destinationList=[{"name": "D1", "active": "true"}]), False),
        (listing(destinationList=[{"name": "D1", "active": 1}]), False),
        (listing(destinationList=[{"name": "D1"}]), False),
        (listing(destinationList=[{"active": True}]), False),
        (listing(destinationList=[{"name": ["D1"], "active": True}]), False),
        (listing(destinationList=["D1", None, 5, ["D1"], {"name": "D1", "active": True}]), True),
        (listing("D1", unknown={"a": [1, 2]}), True),
    ],
)
@asynchronous
async def test_active_records_are_what_a_server_grants(body: dict[str, Any], may: bool) -> None:
    async with asking(answering(body=body)) as (_, readers):
        assert await readers.of(ANN, "D1") == (None if may else no_access(ANN, "D1"))
        counted = readers.counted()
        assert counted["fetch_total success"] == 1
        assert counted[f"access_decisions_total {'allow' if may else 'deny_destination'}"] == 1


@asynchronous
async def test_another_member_of_a_record_may_be_the_destination() -> None:
    records = [{"name": "D1", "id": "7", "active": True}, {"id": 8, "active": True}]
    async with asking(answering(body=listing(destinationList=records)), target_field="id") as (_, readers):
        assert await readers.of(ANN, "7") is None
        assert await readers.of(ANN, "D1") == no_access(ANN, "D1")
        assert await readers.of(ANN, "8") == no_access(ANN, "8")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"ok",
        b"null",
        b"[]",
        b"\xff",
        b"[" * 100_000,
        b'{"destinationList":[',
        [listing("D1")],
        listing("D1", success="no"),
        listing("D1", success="YES"),
        listing("D1", success=True),
        listing("D1", success=None),
        {"destinationList": [{"name": "D1", "active": True}]},
        {"success": "yes"},
        listing(destinationList=None),
        listing(destinationList={"name": "D1", "active": True}),
        listing(destinationList="D1"),
    ],
)
@asynchronous
async def test_an_answer_that_is_none_lets_nobody_pass(body: object) -> None:
    async with asking(answering(body=body)) as (_, readers):
        assert await readers.of(ANN, "D1") == DOWN
        assert readers.counted() == {
            "access_decisions_total unavailable": 1,
            "cache_misses_total": 1,
            "fetch_total invalid_response": 1,
        }


STATUSES = {
    **dict.fromkeys((401,), "http_401"),
    **dict.fromkeys((403,), "http_403"),
    **dict.fromkeys((400, 404, 407, 429, 499), "http_4xx"),
    **dict.fromkeys((500, 502, 503, 599), "http_5xx"),
    **dict.fromkeys((201, 204, 206, 300, 301, 302, 304, 307, 308, 600, 999), "invalid_response"),
}


@pytest.mark.parametrize(("status", "outcome"), STATUSES.items())
@asynchronous
async def test_a_status_other_than_200_is_a_failure_of_its_kind(status: int, outcome: str) -> None:
    """Destinations beside it are not looked at."""
    # These two have no body.
    body = b"" if status in (204, 304) else listing("D1")
    async with asking(answering(status, body)) as (_, readers):
        assert await readers.of(ANN, "D1") == DOWN
        assert readers.counted()[f"fetch_total {outcome}"] == 1


def test_every_way_to_end_has_a_series_from_the_start() -> None:
    names = {
        family.name: {labels[0] for labels in family.series if labels} for family in EcpdsMetrics().families()
    }
    assert names["aviso_ecpds_fetch_total"] == set(OUTCOMES)
    assert names["aviso_ecpds_access_decisions_total"] == {
        *("allow", "deny_destination", "deny_match_key_missing", "unavailable", "admin_bypass", "error")
    }


# --- servers that fail -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BROKEN)
@asynchronous
async def test_a_broken_server_lets_nobody_pass_and_keeps_nobody_waiting(name: str) -> None:
    loop = asyncio.get_running_loop()
    async with asking(BROKEN[name]) as ((server,), readers):
        began = loop.time()
        assert await readers.of(ANN, "D1") == DOWN
        assert loop.time() - began < 3
        server.behaviour = answering(body=listing("D1"))
        # A failure is not remembered.
        assert await readers.of(ANN, "D1") is None


@asynchronous
async def test_a_server_that_is_not_there_is_unreachable() -> None:
    async with reading(["http://127.0.0.1:1"]) as readers:
        assert await readers.of(ANN, "D1") == DOWN
        assert readers.counted()["fetch_total unreachable"] == 1


@pytest.mark.parametrize(
    ("behaviours", "outcome"),
    [
        ([answering(401), answering(403), answering(404), answering(body=b"x"), answering(500)], "http_401"),
        ([answering(500), answering(body=b"x"), answering(404), answering(403)], "http_403"),
        ([BROKEN["closes at once"], answering(500), answering(body=b"x"), answering(404)], "http_4xx"),
        ([answering(503), answering(body=b"x"), BROKEN["closes at once"]], "invalid_response"),
        ([BROKEN["closes at once"], answering(503)], "http_5xx"),
        ([BROKEN["closes at once"], BROKEN["is not HTTP"]], "unreachable"),
    ],
)
@pytest.mark.parametrize("policy", ["strict", "any_success"])
@asynchronous
async def test_where_all_fail_the_worst_is_told(
    behaviours: list[Behaviour], outcome: str, policy: str
) -> None:
    async with asking(*behaviours, partial_outage_policy=policy) as (_, readers):
        assert await readers.of(ANN, "D1") == DOWN
        fetched = {name for name in readers.counted() if name.startswith("fetch_total")}
        assert fetched == {f"fetch_total {outcome}"}


@pytest.mark.parametrize("failing", [answering(401), answering(500), BROKEN["closes at once"], hanging()])
@pytest.mark.parametrize("is_first", [True, False])
@asynchronous
async def test_a_partial_outage_is_one_only_where_the_policy_is_strict(
    failing: Behaviour, is_first: bool
) -> None:
    behaviours = [failing, GRANTS] if is_first else [GRANTS, failing]
    async with asking(*behaviours) as (_, readers):
        assert await readers.of(ANN, "D1") == DOWN
    async with asking(*behaviours, partial_outage_policy="any_success") as (_, readers):
        assert await readers.of(ANN, "D1") is None
        assert await readers.of(ANN, "D2") == no_access(ANN, "D2")
        assert readers.counted()["fetch_total success"] == 1


@asynchronous
async def test_what_any_server_grants_is_granted() -> None:
    behaviours = [answering(body=listing("D1")), answering(body=listing("D2", "D3")), NOTHING]
    async with asking(*behaviours) as (_, readers):
        for destination in ("D1", "D2", "D3"):
            assert await readers.of(ANN, destination) is None
        assert await readers.of(ANN, "D4") == no_access(ANN, "D4")


@asynchronous
async def test_servers_are_asked_at_the_same_time() -> None:
    gate = asyncio.Event()
    slow = waiting_for(gate, GRANTS)
    async with asking(slow, slow, slow) as (servers, readers):
        check = asyncio.create_task(readers.of(ANN, "D1"))
        await asyncio.gather(*(server.wait_asked(1) for server in servers))
        gate.set()
        assert await check is None


@asynchronous
async def test_the_password_is_not_taken_along_to_another_place() -> None:
    async with running_http_server(GRANTS) as elsewhere:
        for status in (301, 302, 303, 307, 308):
            location = f"{elsewhere.url}/ecpds/v1/destination/list?id=ann"
            async with asking(answering(status, location=location)) as (_, readers):
                assert await readers.of(ANN, "D1") == DOWN
    assert not elsewhere.asked


@asynchronous
async def test_a_server_must_prove_who_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is believed by what the system believes, which OpenSSL lets one name in the environment."""
    ours, theirs = authority(), authority()
    served = tmp_path / "served.pem"
    write_certificate(served, ours, "127.0.0.1")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(served)
    async with running_http_server(GRANTS, tls=context) as server:
        for known, place, result in (
            (ours, "127.0.0.1", None),
            (theirs, "127.0.0.1", DOWN),
            (ours, "localhost", DOWN),
        ):
            trusted = tmp_path / "trusted.pem"
            trusted.write_bytes(known.pem)
            monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
            async with reading([server.url.replace("127.0.0.1", place)]) as readers:
                assert await readers.of(ANN, "D1") == result


# --- remembering -----------------------------------------------------------------------------------------


@asynchronous
async def test_destinations_are_remembered_for_a_while_and_for_one_user() -> None:
    async with asking(GRANTS, cache_ttl_seconds=60) as ((server,), readers):
        assert await readers.of(ANN, "D1") is None
        server.behaviour = NOTHING
        readers.clock.advance(59)
        assert await readers.of(ANN, "D1") is None
        assert await readers.of(ANN, "D2") == no_access(ANN, "D2")
        assert await readers.of(BOB, "D1") == no_access(BOB, "D1")
        assert [asked.target[-6:] for asked in server.asked] == ["id=ann", "id=bob"]
        assert readers.counted() == {
            "access_decisions_total allow": 2,
            "access_decisions_total deny_destination": 2,
            "cache_hits_total": 2,
            "cache_misses_total": 2,
            "cache_size": 2,
            "fetch_total success": 2,
        }
        readers.clock.advance(1)
        assert await readers.of(ANN, "D1") == no_access(ANN, "D1")
        assert len(server.asked) == 3


@asynchronous
async def test_a_failure_is_asked_again_and_leaves_what_is_remembered_alone() -> None:
    async with asking(answering(500)) as ((server,), readers):
        for _ in range(3):
            assert await readers.of(ANN, "D1") == DOWN
        assert len(server.asked) == 3
        assert "cache_size" not in readers.counted()
        server.behaviour = GRANTS
        assert await readers.of(ANN, "D1") is None
        server.behaviour = answering(500)
        assert await readers.of(BOB, "D1") == DOWN
        assert await readers.of(ANN, "D1") is None


@asynchronous
async def test_what_is_remembered_is_bounded() -> None:
    async with asking(GRANTS, max_entries=3) as ((server,), readers):
        for number in range(20):
            assert await readers.of(User(name=f"user{number}"), "D1") is None
            assert readers.counted()["cache_size"] <= 3
        for number in (17, 18, 19):
            assert await readers.of(User(name=f"user{number}"), "D1") is None
        assert len(server.asked) == 20
        assert await readers.of(User(name="user16"), "D1") is None
        assert len(server.asked) == 21


@asynchronous
async def test_many_readers_of_one_user_make_one_question() -> None:
    gate = asyncio.Event()
    async with asking(waiting_for(gate, GRANTS)) as ((server,), readers):
        checks = [asyncio.create_task(readers.of(ANN, "D1")) for _ in range(50)]
        checks += [asyncio.create_task(readers.of(ANN, "D2")) for _ in range(50)]
        await server.wait_asked(1)
        gate.set()
        assert await asyncio.gather(*checks) == [None] * 50 + [no_access(ANN, "D2")] * 50
        assert len(server.asked) == 1
        assert readers.counted()["fetch_total success"] == 1


@asynchronous
async def test_a_reader_who_goes_away_takes_nobody_along() -> None:
    gate = asyncio.Event()
    async with asking(waiting_for(gate, GRANTS)) as ((server,), readers):
        leaving = asyncio.create_task(readers.of(ANN, "D1"))
        await server.wait_asked(1)
        staying = [asyncio.create_task(readers.of(ANN, "D1")) for _ in range(10)]
        leaving.cancel()
        await server.wait_asked(2)
        gate.set()
        assert await asyncio.gather(*staying) == [None] * 10
        assert len(server.asked) == 2
        with pytest.raises(asyncio.CancelledError):
            await leaving


# --- ours to mend ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {"servers": []},
        {"servers": ["http://ecpds.example"]},
        {"servers": ["ecpds.example"]},
        {"username": ""},
        {"password": " padded"},
        {"match_key": ""},
        {"match_key": "a/b"},
        {"target_field": ""},
        {"cache_ttl_seconds": 0},
        {"max_entries": 0},
        {"request_timeout_seconds": 0},
    ],
)
@asynchronous
async def test_a_block_that_is_not_fit_for_use_lets_nobody_pass(changes: dict[str, Any]) -> None:
    """A manifest may come to name the plugin long after the start, where nobody has looked at the block."""
    async with reading(["https://ecpds.example"], **changes) as readers:
        assert await readers.of(ANN, "D1") == UNSET
        assert await readers.of(ANN, "D1", Auth(required=True)) is None
        assert readers.counted() == {"access_decisions_total error": 1}


@asynchronous
async def test_without_a_block_nobody_passes() -> None:
    configured, metrics = settings(), EcpdsMetrics()
    async with (
        open_access(configured, count=lambda _: None) as access,
        open_read_plugins(configured, access=access, count=metrics) as plugins,
    ):
        readers = Reading(plugins, metrics, ManualClock())
        assert await readers.of(ANN, "D1") == UNSET
        assert await readers.of(OPERATOR, "D1") == UNSET


class Miscounting(EcpdsMetrics):
    """Counts that have a bug."""

    def fetched(self, outcome: str) -> None:
        """Fail."""
        raise ZeroDivisionError


@asynchronous
async def test_a_bug_lets_nobody_pass_and_says_nothing_of_itself() -> None:
    async with asking(GRANTS, metrics=Miscounting()) as (_, readers):
        for _ in range(2):
            assert await readers.of(ANN, "D1") == (
                AccessMisconfigured,
                "ECPDS check failed unexpectedly",
            )
        assert readers.counted()["access_decisions_total error"] == 2


@asynchronous
async def test_nothing_secret_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    async def echo(asked: Asked, writer: asyncio.StreamWriter) -> None:
        await answering(401, asked.headers["authorization"].encode())(asked, writer)

    async with running_http_server(echo) as server:
        place = server.url.replace("://", f"://u:{PASSWORD}@")
        async with reading([place]) as readers:
            assert await readers.of(ANN, "D1") == DOWN
            assert PASSWORD not in repr(readers.plugins) + repr(vars(readers.plugins))
    shown = caplog.text + str([vars(record) for record in caplog.records])
    assert "http_401" in shown
    assert PASSWORD not in shown
    assert base64.b64encode(f"service:{PASSWORD}".encode()).decode() not in shown
