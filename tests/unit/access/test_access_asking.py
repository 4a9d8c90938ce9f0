"""Asking other services: what is taken for an answer, and that nothing of ours goes where it should not."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
import uvloop

from aviso_http.access.asking import Asker, open_asker
from aviso_http.access.reply import Reply, ReplyReader, Unanswered
from support.certificates import authority, write_certificate
from support.event_logs import DEADLINE_SECONDS, asynchronous
from support.http_server import BROKEN, Asked, answering, running_http_server, sending

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path


# They answer in good order, and what they say is for whoever asked to judge.
PROPER = ("redirects", "redirects for good", "fails", "is overloaded", "does not know the path")


def _read(data: bytes, *, step: int, largest: int = 1000, ends: bool = True) -> ReplyReader:
    reader = ReplyReader(largest)
    for first in range(0, len(data), step):
        reader.feed(data[first : first + step])
    if ends:
        reader.end()
    return reader


@pytest.mark.parametrize("step", [1, 2, 7, 10_000])
@pytest.mark.parametrize(
    ("data", "body", "goes_on"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", b"abc", True),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", b"", True),
        (b"HTTP/1.1 204 No\r\n\r\n", b"", True),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1;x=y\r\nc\r\n0\r\n\r\n",
            b"abc",
            True,
        ),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc", b"abc", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nabc", b"abc", False),
        (b"HTTP/1.1 200 OK\r\n\r\nabc", b"abc", False),
        (b"HTTP/1.1 200 OK\r\n\r\n", b"", False),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", b"abc", True),
        (
            b"HTTP/1.1 103 Hints\r\nx: y\r\n\r\nHTTP/1.1 103 Hints\r\n\r\n"
            b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
            b"abc",
            True,
        ),
    ],
)
def test_an_answer_is_read_however_it_comes(data: bytes, body: bytes, goes_on: bool, step: int) -> None:
    reader = _read(data, step=step)
    assert reader.reply is not None
    assert reader.reply.body == body
    assert reader.reply.header("x") is None
    assert reader.may_go_on == goes_on


@pytest.mark.parametrize("step", [1, 7, 10_000])
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
    ],
)
def test_half_an_answer_is_none(data: bytes, step: int) -> None:
    assert _read(data, step=step).reply is None


@pytest.mark.parametrize("step", [1, 7, 100_000])
@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-x\r\n\r\n",
        b"\x16\x03\x01\x02\x00",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n" + b"x" * 1001,
        b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 1001,
        b"HTTP/1.1 200 OK\r\nx: " + b"y" * 70_000,
        b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 20_000,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1;" + b"x" * 90_000 + b"\r\na\r\n",
        b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    ],
)
def test_what_is_no_answer_within_bounds_is_refused(data: bytes, step: int) -> None:
    with pytest.raises(Unanswered):
        _read(data, step=step, ends=False)


def test_more_than_one_answer_ends_the_connection() -> None:
    """The second could otherwise be taken for the answer to somebody else's question."""
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na"
    with pytest.raises(Unanswered, match="twice"):
        _read(answer * 2, step=10_000)
    apart = _read(answer, step=10_000)
    apart.feed(answer)
    assert not apart.may_go_on


def test_an_answer_does_not_print() -> None:
    assert "correct" not in repr(Reply(200, (("authorization", "correct-horse"),), b"correct-horse"))


# --- over connections ------------------------------------------------------------------------------------


@asynccontextmanager
async def asker(seconds: float = 5, ca_file: str = "") -> AsyncIterator[Asker]:
    async with open_asker(seconds=seconds, largest_reply=1000, connect_seconds=2, ca_file=ca_file) as opened:
        yield opened


@asynchronous
async def test_a_question_is_sent_as_it_is_meant() -> None:
    async with running_http_server(answering()) as server, asker() as client:
        await client.ask("GET", f"{server.url}/a/b?c=d%20e", headers={"authorization": "Bearer x"})
        await client.ask("POST", f"http://u:p@127.0.0.1:{server.port}", headers={"x": "y"}, content=b"{}")
    first, second = server.asked
    assert (first.method, first.target, first.body) == ("GET", "/a/b?c=d%20e", b"")
    assert first.headers == {
        "host": f"127.0.0.1:{server.port}",
        "user-agent": "aviso",
        "accept-encoding": "identity",
        "authorization": "Bearer x",
    }
    assert (second.method, second.target, second.body) == ("POST", "/", b"{}")
    assert "authorization" not in second.headers
    assert second.headers["host"] == f"127.0.0.1:{server.port}"


@pytest.mark.parametrize(
    "url",
    ["", "x", "ftp://a/", "http:///x", "http://a b/", "http://a/\r\nx: y", "http://ä/", "http://a:99999/"],
)
@asynchronous
async def test_an_address_of_no_use_is_asked_for_nothing(url: str) -> None:
    async with asker() as client:
        with pytest.raises(Unanswered) as caught:
            await client.ask("GET", url, headers={})
        assert not url or url not in str(caught.value)


@pytest.mark.parametrize("value", ["", "a\r\nx: y", "a\nb", "a\0b", "ä", " a", "a ", "\ud800"])
@asynchronous
async def test_a_header_that_would_be_two_is_not_sent(value: str) -> None:
    async with running_http_server(answering()) as server, asker() as client:
        with pytest.raises(Unanswered):
            await client.ask("GET", server.url, headers={"authorization": value})
    assert not server.asked


@asynchronous
async def test_a_connection_that_was_dropped_while_idle_costs_nobody_an_answer() -> None:
    """The server may close just as we ask again; nobody has read the question then, and it is asked anew."""
    dropped = 0

    async def answer_once(asked: Asked, writer: asyncio.StreamWriter) -> None:
        nonlocal dropped
        if len(server.asked) % 2 == 0 and dropped < len(server.asked) // 2:
            dropped += 1
            server.asked.pop()
            writer.close()
            return
        await answering()(asked, writer)

    async with running_http_server(answer_once) as server, asker() as client:
        for _ in range(6):
            assert (await client.ask("GET", server.url, headers={})).status == 200
    assert dropped


@asynchronous
async def test_a_server_that_only_drops_is_asked_once() -> None:
    async with running_http_server(sending(b"")) as server, asker() as client:
        with pytest.raises(Unanswered, match="without an answer"):
            await client.ask("GET", server.url, headers={})
    assert len(server.asked) == 1


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_it_is_the_same_on_the_loop_that_services_run_on(
    new_loop: Callable[[], asyncio.AbstractEventLoop], tmp_path: Path
) -> None:
    """Its connections are of other classes, and end in other ways."""
    signer, served, trusted = authority(), tmp_path / "served.pem", tmp_path / "trusted.pem"
    write_certificate(served, signer, "127.0.0.1")
    trusted.write_bytes(signer.pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(served)

    async def ask() -> None:
        async with (
            running_http_server(answering(body=b"ok"), tls=context) as server,
            asker(0.3, str(trusted)) as client,
            asker(0.3) as stranger,
        ):
            for _ in range(3):
                assert (await client.ask("GET", server.url, headers={})).body == b"ok"
            assert server.connections == 1
            with pytest.raises(Unanswered):
                await stranger.ask("GET", server.url, headers={})
            for name in BROKEN.keys() - set(PROPER):
                server.behaviour = BROKEN[name]
                with pytest.raises(Unanswered):
                    await client.ask("GET", server.url, headers={})
            server.behaviour = answering(body=b"ok")
            assert (await client.ask("GET", server.url, headers={})).body == b"ok"

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(asyncio.wait_for(ask(), DEADLINE_SECONDS))


@asynchronous
async def test_a_certificate_must_be_signed_by_the_authority(tmp_path: Path) -> None:
    ours, theirs = authority(), authority()
    served, trusted, untrusted = (tmp_path / name for name in ("served.pem", "ours.pem", "theirs.pem"))
    write_certificate(served, ours, "127.0.0.1")
    trusted.write_bytes(ours.pem)
    untrusted.write_bytes(theirs.pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(served)
    async with running_http_server(answering(body=b"ok"), tls=context) as server:
        async with asker(ca_file=str(trusted)) as client:
            assert (await client.ask("GET", server.url, headers={})).body == b"ok"
            with pytest.raises(Unanswered):
                await client.ask("GET", server.url.replace("127.0.0.1", "localhost"), headers={})
        for ca_file in (str(untrusted), ""):
            async with asker(ca_file=ca_file) as client:
                with pytest.raises(Unanswered):
                    await client.ask("GET", server.url, headers={})
