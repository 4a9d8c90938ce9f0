"""The way to the broker: who we are, how we know the server, and what is said when it does not work."""

from __future__ import annotations

import asyncio
import errno
import re
import time
import traceback
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pytest

from aviso_core.broker.connection import Connection, ConnectionOptions, open_connection
from aviso_core.errors import Unavailable
from aviso_core.eventlog.base import Appended, AppendFailed
from aviso_core.plain.secret import Secret
from support.event_logs import (
    asynchronous,
    fill,
    numbered,
    open_owning_log,
    options,
    read_all,
    record,
    sequences,
    take,
)
from support.identities import make_certificates, make_key, make_signed_user
from support.nats import Server, open_link, running_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine, Iterator
    from pathlib import Path

    from aviso_core.eventlog.jetstream.log import JetStreamLog
    from support.identities import Certificates

T = TypeVar("T")

SECRET: Final = "tops3cret"
NOWHERE: Final = "nats://127.0.0.1:1"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("nats")) as server:
        yield server


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("certificates"))


async def asked(connection_options: ConnectionOptions) -> bytes:
    """Connect, ask the broker for anything, and return its answer."""
    async with open_connection(connection_options) as connection:
        return await connection.ask("INFO")


def start(work: Coroutine[Any, Any, T]) -> asyncio.Future[T]:
    """Have something done alongside."""
    return asyncio.ensure_future(work)


async def refusal(url: str, **wanted: Any) -> str:
    """Return what is said when nothing comes of one attempt to connect; no secret may be part of it."""
    with pytest.raises(Unavailable) as caught:
        await asked(options(url, **{"connect_attempts": 1, **wanted}))
    whole = "".join(traceback.format_exception(caught.value)) + repr(wanted)
    assert SECRET not in whole
    assert url.rpartition("@")[2].rpartition("/")[2] in str(caught.value)
    return str(caught.value)


# --- who we are ------------------------------------------------------------------------------------------


@asynchronous
async def test_a_token_lets_in(tmp_path: Path) -> None:
    """Ours, and no other; in the options or in the address."""
    with running_server(tmp_path, settings=[f'authorization {{ token: "{SECRET}" }}']) as server:
        await asked(options(server.url, token=Secret(SECRET)))
        await asked(options(server.url.replace("//", f"//{SECRET}@")))
        assert "authorization violation" in (await refusal(server.url, token=Secret(f"{SECRET}x"))).lower()
        assert "authorization violation" in (await refusal(server.url)).lower()
        assert "authorization" in (await refusal(server.url.replace("//", f"//{SECRET}x@"))).lower()


@asynchronous
async def test_a_user_and_a_password_let_in(tmp_path: Path) -> None:
    """In the options or in the address, whatever characters the password has."""
    settings = [f'authorization {{ user: "me", password: "{SECRET}@/:" }}']
    with running_server(tmp_path, settings=settings) as server:
        await asked(options(server.url, user="me", password=Secret(f"{SECRET}@/:")))
        for user, password in (("me", SECRET), ("you", f"{SECRET}@/:")):
            told = await refusal(server.url, user=user, password=Secret(password))
            assert "authorization violation" in told.lower()
        told = await refusal(server.url.replace("//", f"//me:{SECRET}@"))
        assert "[REDACTED]" in told


@asynchronous
async def test_a_key_lets_in(tmp_path: Path) -> None:
    """The server knows its public half."""
    ours, other = make_key(), make_key()
    file = tmp_path / "user.seed"
    settings = [f"authorization {{ users: [{{ nkey: {ours.public} }}] }}"]
    with running_server(tmp_path / "server", settings=settings) as server:
        file.write_text(f"{ours.seed}\n", encoding="utf-8")
        await asked(options(server.url, nkey_seed_file=str(file)))
        file.write_text(other.seed, encoding="utf-8")
        assert "authorization" in (await refusal(server.url, nkey_seed_file=str(file))).lower()
        file.write_text(SECRET, encoding="utf-8")
        assert "invalid seed" in await refusal(server.url, nkey_seed_file=str(file))


@asynchronous
async def test_a_credentials_file_lets_in(tmp_path: Path) -> None:
    """A token that an account has signed, and the user's own key."""
    user = make_signed_user()
    file = tmp_path / "user.creds"
    with running_server(tmp_path / "server", settings=user.settings) as server:
        file.write_text(user.credentials, encoding="utf-8")
        await asked(options(server.url, credentials_file=str(file)))
        file.write_text(make_signed_user().credentials, encoding="utf-8")
        assert "authorization" in (await refusal(server.url, credentials_file=str(file))).lower()


@pytest.mark.parametrize("content", ["", SECRET, "-----BEGIN NATS USER JWT-----\n"])
@asynchronous
async def test_a_file_without_credentials_is_told(content: str, server: Server, tmp_path: Path) -> None:
    """The library would look for them beyond the end of the file, for ever."""
    file = tmp_path / "user.creds"
    file.write_text(content, encoding="utf-8")
    assert f"no credentials in '{file}'" in await refusal(server.url, credentials_file=str(file))


@pytest.mark.parametrize(
    "option", ["credentials_file", "nkey_seed_file", "tls_ca_file", "tls_certificate_file"]
)
@asynchronous
async def test_a_missing_file_is_named(option: str, server: Server, tmp_path: Path) -> None:
    """With the reason that the system gives."""
    told = await refusal(server.url, **{option: str(tmp_path / "missing.file")})
    assert re.search("missing.file.*No such file|No such file.*missing.file", told)


@asynchronous
async def test_credentials_that_become_unusable_are_tried_again(tmp_path: Path) -> None:
    """A file is replaced while we run: at a bad moment there is nothing in it."""
    user = make_signed_user()
    file = tmp_path / "user.creds"
    file.write_text(user.credentials, encoding="utf-8")
    with running_server(tmp_path / "server", settings=user.settings) as server:
        async with (
            open_link(server) as link,
            open_connection(options(link.url, credentials_file=str(file))) as connection,
        ):
            file.write_text("", encoding="utf-8")
            async with told_of_loss(connection):
                link.cut()
            async with told_of_return(connection):
                link.mend()
                # The second attempt shows that the first one failed.
                await link.wait_connections(link.connections + 2)
                file.write_text(user.credentials, encoding="utf-8")
            assert await connection.ask("INFO")


@asynccontextmanager
async def told_of_loss(connection: Connection) -> AsyncIterator[None]:
    """Wait, at the end of the block, until the connection has noticed that it is lost."""
    lost = asyncio.Event()
    connection.on_lost.append(lost.set)
    yield
    await lost.wait()


@asynccontextmanager
async def told_of_return(connection: Connection) -> AsyncIterator[None]:
    """Wait, at the end of the block, until the connection is back."""
    back = asyncio.Event()
    connection.on_back.append(back.set)
    yield
    await back.wait()


# --- who the server is -----------------------------------------------------------------------------------


@asynchronous
async def test_a_server_is_trusted_by_its_authority(certificates: Certificates, tmp_path: Path) -> None:
    """Ours when it is named; those of the system do not know it."""
    with running_server(tmp_path, settings=certificates.settings()) as server:
        trusted = {"tls_ca_file": str(certificates.authority)}
        await asked(options(server.url, **trusted))
        await asked(options(server.url.replace("nats:", "tls:"), **trusted))
        for url in (server.url, server.url.replace("nats:", "tls:")):
            assert "certificate verify failed" in await refusal(url)


@asynchronous
async def test_a_server_may_ask_for_our_certificate(certificates: Certificates, tmp_path: Path) -> None:
    """And closes the door to those who have none."""
    with running_server(tmp_path, settings=certificates.settings(asks_clients=True)) as server:
        trusted = {"tls_ca_file": str(certificates.authority)}
        own = {"tls_certificate_file": str(certificates.client), "tls_key_file": str(certificates.client_key)}
        await asked(options(server.url, **trusted, **own))
        assert await refusal(server.url, **trusted)


@asynchronous
async def test_a_certificate_of_another_host_is_refused(certificates: Certificates, tmp_path: Path) -> None:
    """It says which addresses it is for."""
    with running_server(tmp_path, settings=certificates.settings()) as server:
        url = server.url.replace("127.0.0.1", "localhost")
        assert "mismatch" in await refusal(url, tls_ca_file=str(certificates.authority))


@asynchronous
async def test_nothing_secret_is_sent_where_tls_was_asked_for_and_is_not_offered(
    certificates: Certificates, server: Server
) -> None:
    """The server, or whoever stands in its place, sees neither password nor name."""
    async with open_link(server) as link:
        for asks in (
            {"url": link.url.replace("nats:", "tls:")},
            {"url": link.url, "tls_ca_file": str(certificates.authority)},
        ):
            assert "offers none" in await refusal(**asks, user="me", password=Secret(SECRET))
        assert b"CONNECT" not in link.said
        await asked(options(link.url))
        assert b"CONNECT" in link.said


# --- what is said when it does not work ------------------------------------------------------------------


@asynchronous
async def test_a_refused_connection_names_server_and_reason() -> None:
    """In one message, without credentials of the address."""
    told = await refusal(NOWHERE.replace("//", f"//me:{SECRET}@"))
    assert told.startswith("NATS at nats://[REDACTED]@127.0.0.1:1: cannot connect: ")
    assert f"[Errno {errno.ECONNREFUSED}]" in told


@asynchronous
async def test_an_attempt_is_over_when_every_server_has_failed() -> None:
    """Patience is for those that do not answer; a refusal is one at once."""
    began = time.monotonic()
    await refusal(NOWHERE, connect_seconds=60.0)
    assert time.monotonic() - began < 5


@asynchronous
async def test_a_server_that_does_not_answer_is_given_up_in_time(server: Server) -> None:
    """It takes the connection, and says nothing."""
    async with open_link(server) as link:
        link.pause()
        assert "does not answer" in await refusal(link.url, connect_seconds=0.2)
        assert link.connections == 1


@asynchronous
async def test_there_are_as_many_attempts_as_configured(server: Server) -> None:
    """And the last one counts."""
    async with open_link(server) as link:
        link.cut()
        await refusal(link.url, connect_attempts=3, reconnect_delay_seconds=0.01)
        assert link.connections == 3


@asynchronous
async def test_another_server_of_the_list_is_taken(server: Server) -> None:
    """Where the first does not answer; all are named when none does."""
    await asked(options(NOWHERE, server.url, connect_attempts=1))
    with pytest.raises(Unavailable, match=r"127\.0\.0\.1:1, nats://127\.0\.0\.1:2"):
        await asked(options(NOWHERE, "nats://127.0.0.1:2", connect_attempts=1))


@pytest.mark.parametrize("address", ["nats://", "nats://host:port", "ws://a, nats://b", "http://"])
@asynchronous
async def test_an_address_that_is_none_is_told(address: str) -> None:
    """Whatever the library makes of it."""
    with pytest.raises(Unavailable, match="cannot connect"):
        await asked(options(*address.split(", "), connect_attempts=1, connect_seconds=0.2))


@asynchronous
async def test_without_jetstream_the_server_says_so(tmp_path: Path) -> None:
    """The connection is fine; what is asked for is not there."""
    with running_server(tmp_path, settings=["authorization { users: [{ user: a, password: b }] }"]) as server:
        server.reload(["accounts { PLAIN { users: [{ user: a, password: b }] } }"])
        with pytest.raises(Unavailable, match=r"JetStream|nobody answers"):
            await asked(options(server.url, user="a", password=Secret("b")))


@asynchronous
async def test_a_question_without_permission_says_so(tmp_path: Path) -> None:
    """The server does not answer it, and tells why on the side."""
    settings = [
        'authorization { users: [{ user: a, password: b, permissions: { publish: { deny: "$JS.API.>" } } }] }'
    ]
    with (
        running_server(tmp_path, settings=settings) as server,
        pytest.raises(Unavailable, match="permissions violation for publish"),
    ):
        await asked(options(server.url, user="a", password=Secret("b"), request_seconds=0.3))


# --- a connection that breaks ----------------------------------------------------------------------------


@asynchronous
async def test_a_question_is_asked_again_after_a_reconnect(server: Server) -> None:
    """Whoever waits for an answer gets one, though the first was lost."""
    async with open_link(server) as link, open_connection(options(link.url)) as connection:
        link.lose_answers()
        asking = asyncio.ensure_future(connection.ask("INFO"))
        await asyncio.sleep(0)
        link.cut()
        link.mend()
        assert await asking


@asynchronous
async def test_a_question_without_a_connection_waits_for_it(server: Server) -> None:
    """For a while: it may be back in a moment."""
    async with open_link(server) as link, open_connection(options(link.url)) as connection:
        async with told_of_loss(connection):
            link.cut()
        assert not connection.is_connected
        asking = asyncio.ensure_future(connection.ask("INFO"))
        await asyncio.sleep(0)
        link.mend()
        assert await asking


@asynchronous
async def test_a_complaint_of_the_server_does_not_end_everything(server: Server) -> None:
    """The library would close for good; a server that closes connections in order to be rid of some says just that."""
    async with open_link(server) as link, open_connection(options(link.url)) as connection:
        async with told_of_return(connection):
            link.inject(b"-ERR 'Maximum Connections Exceeded'\r\n")
        assert await connection.ask("INFO")


@pytest.mark.parametrize("said", [b"SSH-2.0-other\r\n", b"INFO {}\r\n", b"INFO \xff{\r\n", b"x" * 100_000])
@asynchronous
async def test_something_else_that_answers_for_a_while_does_not_end_everything(
    said: bytes, server: Server
) -> None:
    """Another program had the address, and then the broker has it again."""
    async with open_link(server) as link, open_connection(options(link.url)) as connection:
        link.babble(said)
        await link.wait_connections(link.connections + 2)
        async with told_of_return(connection):
            link.mend()
        assert await connection.ask("INFO")


@asynchronous
async def test_a_user_who_is_removed_and_comes_back_is_let_in_again(tmp_path: Path) -> None:
    """Credentials are replaced while we run: the server drops us, and knows us a little later."""
    known = ["authorization { users: [{ user: a, password: b }, { user: c, password: d }] }"]
    with running_server(tmp_path, settings=known) as server:
        async with open_connection(options(server.url, user="a", password=Secret("b"))) as connection:
            async with told_of_loss(connection):
                await asyncio.to_thread(
                    server.reload, ["authorization { users: [{ user: c, password: d }] }"]
                )
            async with told_of_return(connection):
                await asyncio.to_thread(server.reload, known)
            assert await connection.ask("INFO")


@asynchronous
async def test_a_connection_that_has_gone_silent_is_replaced(server: Server) -> None:
    """Also one that has not taken what it was sent: nobody waits until a dead peer has."""
    async with open_link(server) as link, open_owning_log(link.url) as log:
        await log.append("mars", record())
        async with told_of_return(log._connection):
            link.pause()
            stuck = start(fill(log, [record(payload=b"x" * 200_000) for _ in range(100)]))
            await asyncio.sleep(0)
            link.abandon()
            link.mend()
            async with told_of_loss(log._connection):
                pass
        assert len(await stuck) == 100
        assert log.is_healthy
        await log.wipe("mars")


@asynchronous
async def test_a_question_is_answered_in_time_though_much_waits_to_be_sent(server: Server) -> None:
    """The deadline holds, and so does a cancellation."""
    async with open_link(server) as link, open_owning_log(link.url) as log:
        await log.append("mars", record())
        link.pause()
        stuck = start(fill(log, [record(payload=b"x" * 200_000) for _ in range(100)]))
        await asyncio.sleep(0)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await log.bounds("mars")
        stuck.cancel()
        link.mend()
        assert (await log.bounds("mars")).last >= 1
        await log.wipe("mars")


@asynchronous
async def test_closing_does_not_wait_for_a_dead_peer(server: Server) -> None:
    """Nor does it leave a task or a socket behind."""
    async with open_link(server) as link:
        async with open_owning_log(link.url) as log:
            await log.append("mars", record())
            link.pause()
            stuck = start(log.append_all("mars", [record(payload=b"x" * 200_000)] * 100))
            await asyncio.sleep(0)
            began = time.monotonic()
        assert time.monotonic() - began < 5
        assert all(isinstance(result, AppendFailed) for result in await stuck)


@asynchronous
async def test_attempts_to_reconnect_may_be_limited(server: Server) -> None:
    """Then it is over: tails end and say so, appends fail, and the log is not healthy."""
    async with open_link(server) as link, open_owning_log(link.url, reconnect_attempts=1) as log:
        await log.append("mars", record())
        bounds = await log.bounds("mars")
        async with log.tail("mars", after=bounds.last - 1, epoch=bounds.epoch) as tail:
            assert sequences(await take(tail, 1)) == [bounds.last]
            link.lose_answers()
            appending = start(log.append("mars", record()))
            link.cut()
            with pytest.raises(Unavailable, match=r"closed|not connected"):
                await take(tail, 1)
        assert not log.is_healthy
        with pytest.raises(AppendFailed):
            await appending
        with pytest.raises(Unavailable):
            await log.append("mars", record())


@asynchronous
async def test_a_tail_ends_with_its_log(server: Server) -> None:
    """Whoever still reads is told."""
    async with open_owning_log(server.url) as log:
        await log.append("mars", record())
        bounds = await log.bounds("mars")
        tail = log.tail("mars", after=bounds.last, epoch=bounds.epoch)
        waiting = asyncio.ensure_future(take(await tail.__aenter__(), 1))
        await asyncio.sleep(0)
    with pytest.raises(Unavailable):
        await waiting
    await tail.__aexit__(None, None, None)


@pytest.mark.parametrize("size", [1, 200_000])
@asynchronous
async def test_appends_end_with_their_log(size: int, server: Server) -> None:
    """Those on their way, those that wait for room, and those that come too late: nobody waits for ever."""

    async def append_for_ever(log: JetStreamLog) -> None:
        while True:
            await log.append("mars", record(payload=b"x" * size))

    async with open_owning_log(server.url) as log:
        await log.append("mars", record())
        appending = [start(append_for_ever(log)) for _ in range(300)]
        await asyncio.sleep(0.05)
    done, pending = await asyncio.wait(appending, timeout=5)
    assert not pending
    assert {type(one.exception()) for one in done} <= {AppendFailed, Unavailable}


@asynchronous
async def test_an_append_that_nobody_acknowledges_fails_in_time(server: Server) -> None:
    """The message names server and reason, and that it may be tried again."""
    async with open_link(server) as link, open_owning_log(link.url, append_seconds=0.5) as log:
        await log.append("mars", record())
        link.lose_answers()
        with pytest.raises(AppendFailed, match=f"NATS at {link.url}: no acknowledgement in time") as failed:
            await log.append("mars", record())
        assert failed.value.may_retry
        link.mend()
        last = (await log.bounds("mars")).last
        assert await log.append("mars", record()) == Appended(last + 1)


@asynchronous
async def test_all_who_need_a_stream_are_told_together_that_there_is_no_broker(server: Server) -> None:
    """They do not wait in a row for each other's deadlines."""
    async with open_link(server) as link, open_owning_log(link.url, request_seconds=0.3) as log:
        link.cut()
        began = time.monotonic()
        results = await asyncio.gather(
            *(log.append("new", record("new.a")) for _ in range(200)), return_exceptions=True
        )
        assert all(isinstance(result, Unavailable) for result in results)
        assert time.monotonic() - began < 3


@asynchronous
async def test_a_known_stream_takes_appends_while_the_connection_is_away(server: Server) -> None:
    """For as long as an append may take, which is longer than a question may: an election is waited for."""
    async with open_link(server) as link, open_owning_log(link.url, request_seconds=0.2) as log:
        last = (await log.append("mars", record())).sequence
        async with told_of_loss(log._connection):
            link.cut()
        appending = start(log.append("mars", record()))
        with pytest.raises(Unavailable):
            await log.bounds("mars")
        link.mend()
        assert await appending == Appended(last + 1)


@asynchronous
async def test_what_a_caller_raises_comes_out_as_it_is(server: Server) -> None:
    """A log is held open by a block; errors within it are not wrapped."""

    async def fail() -> None:
        async with open_owning_log(server.url) as log:
            await fill(log, numbered(1))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()


@asynchronous
@pytest.mark.parametrize(("user", "heard"), [("gateway", "_INBOX.gateway.>"), ("no token", "_INBOX.>")])
async def test_a_user_is_answered_where_no_other_listens(tmp_path: Path, user: str, heard: str) -> None:
    """A broker may let each user hear its own answers alone, where its name can stand in a subject."""
    may = f'{{ publish: ">", subscribe: "{heard}" }}'
    settings = [f'authorization {{ users: [{{ user: "{user}", password: b, permissions: {may} }}] }}']
    with running_server(tmp_path, settings=settings) as server:
        async with open_owning_log(server.url, user=user, password=Secret("b")) as log:
            await fill(log, numbered(3))
            assert len(await read_all(log)) == 3


def test_options_show_no_secrets() -> None:
    """They are logged at startup."""
    shown = repr(
        ConnectionOptions(
            token=Secret(SECRET), password=Secret(SECRET), servers=(f"nats://me:{SECRET}@host:4222",)
        )
    )
    assert SECRET not in shown
