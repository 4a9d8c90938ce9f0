"""Requests to a service that is not always there, or says odd things: told at once, or repeated, and an end to it."""

from __future__ import annotations

import asyncio
import gzip
import pickle
import socket
import time
from typing import TYPE_CHECKING

import pytest

from pyspark_aviso.credentials import Credentials
from pyspark_aviso.options import OptionError
from pyspark_aviso.records import post_records
from pyspark_aviso.transport import Client, Refused, TransportError
from support.http_faults import Refusal
from support.http_server import running_http_server
from support.nats import free_ports
from support.spark_service import EVENT_TYPE, NAMES, lines

if TYPE_CHECKING:
    from pathlib import Path

    from support.http_faults import FaultProxy
    from support.http_server import Asked
    from support.services import Program


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 422])
def test_a_refusal_that_would_come_again_is_not_repeated(proxy: FaultProxy, status: int) -> None:
    """It is told at once, with what the service says."""
    proxy.faults = [Refusal(status, {}, b'{"message":"not like this"}')]

    with pytest.raises(Refused, match=f"{status}: not like this") as refusal:
        post_records(Client(proxy.url), EVENT_TYPE, lines("refused", ["a"]), 1)

    assert len(proxy.posts) == 1
    assert refusal.value.status == status
    # Tasks send their errors to the driver.
    assert str(pickle.loads(pickle.dumps(refusal.value))) == str(refusal.value)  # noqa: S301 (our own)


def test_where_an_answer_sends_us_is_told_and_not_followed(proxy: FaultProxy) -> None:
    """The token is for the service alone."""
    proxy.faults = [Refusal(301, {"Location": "https://elsewhere/"})]

    with pytest.raises(Refused, match=r"301: it is at 'https://elsewhere/'.*'url'"):
        post_records(Client(proxy.url), EVENT_TYPE, lines("moved", ["a"]), 1)


@pytest.mark.parametrize("status", [200, 503])
def test_an_answer_that_trickles_is_given_up_at_the_deadline(status: int) -> None:
    """There is always a piece before the wait for it is too long."""

    async def trickle(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 %d X\r\ncontent-length: 100000\r\n\r\n" % status)
        while True:
            writer.write(b" ")
            await writer.drain()
            await asyncio.sleep(0.02)

    async def post() -> float:
        async with running_http_server(trickle) as server:
            begin = time.monotonic()
            with pytest.raises(TransportError, match="deadlineSeconds"):
                await asyncio.to_thread(
                    post_records, Client(server.url, deadline_seconds=0.5), EVENT_TYPE, b"{}\n", 1
                )
            return time.monotonic() - begin

    assert asyncio.run(post()) < 5


def test_it_gives_up_at_the_deadline_with_the_last_reason(proxy: FaultProxy) -> None:
    """Not after so many attempts, and not for ever."""
    proxy.faults = [Refusal(503, {}, b'{"message":"too much to do"}')] * 1000
    begin = time.monotonic()

    with pytest.raises(
        TransportError, match=r"'deadlineSeconds' \(0.5 s\); the last one: 503: too much to do"
    ):
        post_records(Client(proxy.url, deadline_seconds=0.5), EVENT_TYPE, lines("late", ["a"]), 1)

    assert time.monotonic() - begin < 5
    assert len(proxy.posts) > 1


def test_what_the_service_asks_to_wait_is_waited_or_given_up_at_once(proxy: FaultProxy) -> None:
    """A wait past the deadline is no wait."""
    proxy.faults = [Refusal(503, {"Retry-After": "1000"})]
    begin = time.monotonic()

    with pytest.raises(TransportError, match="503"):
        post_records(Client(proxy.url, deadline_seconds=20), EVENT_TYPE, lines("long", ["a"]), 1)

    assert time.monotonic() - begin < 5


def test_nobody_there_is_an_error_that_names_the_address() -> None:
    """After the deadline, as somebody may be starting it."""
    url = f"http://127.0.0.1:{free_ports(1)[0]}"

    with pytest.raises(TransportError, match=url):
        post_records(Client(url, deadline_seconds=0.3), EVENT_TYPE, b"{}\n", 1)


def test_a_service_that_never_answers_is_given_up_at_the_deadline() -> None:
    """Not only after the longest silence: what is on its way for longer may be forgotten by its id."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        begin = time.monotonic()

        with pytest.raises(TransportError, match="timed out"):
            post_records(Client(url, deadline_seconds=0.5), EVENT_TYPE, b"{}\n", 1)

    assert time.monotonic() - begin < 20


def test_bodies_are_zstd_and_gzip_where_that_is_not_taken(proxy: FaultProxy) -> None:
    """It is learnt once per client."""
    client = Client(proxy.url)
    proxy.faults = [None, Refusal(415)]
    for group in ("first", "second", "third"):
        post_records(client, EVENT_TYPE, lines(group, NAMES), len(NAMES))

    encodings = [post.headers.get("Content-Encoding") for post in proxy.posts]

    assert encodings == ["zstd", "zstd", "gzip", "gzip"]
    assert gzip.decompress(proxy.posts[-1].body) == lines("third", NAMES)


def test_the_token_is_sent_and_a_pickled_client_looks_for_it_anew(proxy: FaultProxy, tmp_path: Path) -> None:
    """A client travels without what it knows."""
    file = tmp_path / "token"
    file.write_text("abc")
    client: Client = pickle.loads(pickle.dumps(Client(proxy.url, Credentials(str(file)))))  # noqa: S301 (our own)

    assert client.get_json("/api/v1/schema")["status"] == "success"
    assert proxy.requests[0].headers["Authorization"] == "Bearer abc"
    assert b"abc" not in pickle.dumps(client)


def test_files_that_are_not_there_are_told_with_their_options(proxy: FaultProxy, tmp_path: Path) -> None:
    """At once: a deadline changes nothing about them."""
    nowhere = str(tmp_path / "nowhere")
    with pytest.raises(OptionError, match=r"nowhere' cannot be read .*option 'tokenFile'"):
        Client(proxy.url, Credentials(nowhere)).get_json("/api/v1/schema")
    with pytest.raises(OptionError, match="nowhere', which option 'caFile' names"):
        Client(proxy.url, ca_file=nowhere).get_json("/api/v1/schema")


def test_a_stream_is_given_as_it_comes_and_can_be_ended(avisod: Program) -> None:
    """The first frame of an endless answer is there before there is a second."""
    post_records(Client(avisod.url), EVENT_TYPE, lines("stream", ["a"]), 1)
    stream = Client(avisod.url).stream("/api/v1/positions/stream", None, "text/event-stream")

    assert EVENT_TYPE.encode() in next(stream)
    stream.close()


def test_a_stream_that_is_refused_says_why(avisod: Program) -> None:
    """Before anything is read of it."""
    with pytest.raises(Refused, match="unknown event type"):
        next(
            Client(avisod.url).stream(
                "/api/v1/replay", b'{"event_type":"none","identifier":{}}', "application/x-ndjson"
            )
        )


# --- the rules of repeating ------------------------------------------------------------------------------
