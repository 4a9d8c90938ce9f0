"""Posting to a real service over a network that is not always good: nothing lost, nothing twice, and an end to it."""

from __future__ import annotations

import asyncio
import gzip
import json
import pickle
import socket
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyspark_aviso.credentials import Credentials
from pyspark_aviso.retrying import Attempts, retry_after_seconds
from pyspark_aviso.transport import Client, Refused, TransportError
from support.http_faults import Changed, LostAnswer, Refusal
from support.http_server import running_http_server
from support.nats import free_ports
from support.spark_service import EVENT_TYPE, NAMES, lines, stored_names

if TYPE_CHECKING:
    from pathlib import Path

    from support.http_faults import FaultProxy, Request
    from support.http_server import Asked
    from support.services import Program


def test_every_record_is_answered_for_in_its_place(avisod: Program) -> None:
    """Also those that are refused, with the field at fault."""
    body = lines("places", ["a"]) + lines("places", ["b"], colour=1) + lines("places", ["a", "c"])

    results = Client(avisod.url).post_records(EVENT_TYPE, body, 4)

    assert [result.status for result in results] == ["accepted", "rejected", "duplicate", "accepted"]
    assert results[2].sequence == results[0].sequence
    assert results[1].field == "colour"
    assert [result.index for result in results] == [0, 1, 2, 3]


def test_a_storm_of_refusals_and_lost_answers_loses_and_repeats_nothing(
    proxy: FaultProxy, avisod: Program
) -> None:
    """What was stored before its answer was lost is known again by its id."""
    proxy.faults = [
        Refusal(503),
        Refusal(429, {"Retry-After": "0"}),
        LostAnswer(),
        Refusal(408),
        LostAnswer(),
        None,
    ]
    client = Client(proxy.url)

    results = client.post_records(EVENT_TYPE, lines("storm", NAMES), len(NAMES))

    assert sorted(stored_names(avisod.url, **{"class": "storm"})) == sorted(NAMES)
    assert {(result.status, result.attempts) for result in results} == {("duplicate", 6)}
    assert (client.requests, client.repeated) == (6, 5)


def test_records_that_failed_on_the_services_side_are_repeated_alone(
    proxy: FaultProxy, avisod: Program
) -> None:
    """The others were answered for."""

    def fail_every_second(body: bytes) -> bytes:
        answer = json.loads(body)
        for result in answer["results"][::2]:
            result |= {"status": "failed", "code": "STORAGE_UNAVAILABLE", "message": "no"}
        return json.dumps(answer).encode()

    proxy.faults = [Changed(fail_every_second)]

    results = Client(proxy.url, compression="none").post_records(EVENT_TYPE, lines("half", NAMES), len(NAMES))

    assert [result.index for result in results] == list(range(len(NAMES)))
    assert [result.status for result in results] == ["duplicate", "accepted"] * (len(NAMES) // 2)
    assert proxy.posts[1].body == b"".join(lines("half", NAMES).splitlines(keepends=True)[::2])
    assert sorted(stored_names(avisod.url, **{"class": "half"})) == sorted(NAMES)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 422])
def test_a_refusal_that_would_come_again_is_not_repeated(proxy: FaultProxy, status: int) -> None:
    """It is told at once, with what the service says."""
    proxy.faults = [Refusal(status, {}, b'{"message":"not like this"}')]

    with pytest.raises(Refused, match=f"{status}: not like this") as refusal:
        Client(proxy.url).post_records(EVENT_TYPE, lines("refused", ["a"]), 1)

    assert len(proxy.posts) == 1
    assert refusal.value.status == status
    # Tasks send their errors to the driver.
    assert str(pickle.loads(pickle.dumps(refusal.value))) == str(refusal.value)  # noqa: S301 (our own)


def test_a_body_that_is_too_large_is_posted_in_halves_until_one_record_alone_is_rejected(
    proxy: FaultProxy, avisod: Program
) -> None:
    """The others are stored, and each is answered for in its place."""

    def judge(request: Request) -> Refusal | None:
        return Refusal(413, {}, b'{"message":"too much"}') if b'"large-n7"' in request.body else None

    proxy.judge = judge
    client = Client(proxy.url, compression="none")

    results = client.post_records(EVENT_TYPE, lines("large", NAMES), len(NAMES))

    assert [result.index for result in results] == list(range(len(NAMES)))
    assert [result.index for result in results if result.status != "accepted"] == [7]
    assert (results[7].status, results[7].id, results[7].event_type) == ("rejected", "large-n7", EVENT_TYPE)
    assert "larger than the service takes" in str(results[7].message)
    assert "too much" in str(results[7].message)
    assert sorted(stored_names(avisod.url, **{"class": "large"})) == sorted({*NAMES} - {"n7"})


def test_where_an_answer_sends_us_is_told_and_not_followed(proxy: FaultProxy) -> None:
    """The token is for the service alone."""
    proxy.faults = [Refusal(301, {"Location": "https://elsewhere/"})]

    with pytest.raises(Refused, match=r"301: it is at 'https://elsewhere/'.*'url'"):
        Client(proxy.url).post_records(EVENT_TYPE, lines("moved", ["a"]), 1)


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
                    Client(server.url, deadline_seconds=0.5).post_records, EVENT_TYPE, b"{}\n", 1
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
        Client(proxy.url, deadline_seconds=0.5).post_records(EVENT_TYPE, lines("late", ["a"]), 1)

    assert time.monotonic() - begin < 5
    assert len(proxy.posts) > 1


def test_what_the_service_asks_to_wait_is_waited_or_given_up_at_once(proxy: FaultProxy) -> None:
    """A wait past the deadline is no wait."""
    proxy.faults = [Refusal(503, {"Retry-After": "1000"})]
    begin = time.monotonic()

    with pytest.raises(TransportError, match="503"):
        Client(proxy.url, deadline_seconds=20).post_records(EVENT_TYPE, lines("long", ["a"]), 1)

    assert time.monotonic() - begin < 5


def test_nobody_there_is_an_error_that_names_the_address() -> None:
    """After the deadline, as somebody may be starting it."""
    url = f"http://127.0.0.1:{free_ports(1)[0]}"

    with pytest.raises(TransportError, match=url):
        Client(url, deadline_seconds=0.3).post_records(EVENT_TYPE, b"{}\n", 1)


def test_a_service_that_never_answers_is_given_up_at_the_deadline() -> None:
    """Not only after the longest silence: what is on its way for longer may be forgotten by its id."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        begin = time.monotonic()

        with pytest.raises(TransportError, match="timed out"):
            Client(url, deadline_seconds=0.5).post_records(EVENT_TYPE, b"{}\n", 1)

    assert time.monotonic() - begin < 20


def test_bodies_are_zstd_and_gzip_where_that_is_not_taken(proxy: FaultProxy) -> None:
    """It is learnt once per client."""
    client = Client(proxy.url)
    proxy.faults = [None, Refusal(415)]
    for group in ("first", "second", "third"):
        client.post_records(EVENT_TYPE, lines(group, NAMES), len(NAMES))

    encodings = [post.headers.get("Content-Encoding") for post in proxy.posts]

    assert encodings == ["zstd", "zstd", "gzip", "gzip"]
    assert gzip.decompress(proxy.posts[-1].body) == lines("third", NAMES)


@pytest.mark.parametrize(
    "body", [b"", b"[]", b'{"results":[]}', b'{"results":[{"index":1,"status":"accepted"}]}']
)
def test_an_answer_that_does_not_answer_for_every_record_is_an_error(proxy: FaultProxy, body: bytes) -> None:
    """A count that is right by chance must not hide it."""
    proxy.faults = [Changed(lambda _: body)]

    with pytest.raises(TransportError, match="posting 1 notifications of type granules"):
        Client(proxy.url).post_records(EVENT_TYPE, lines("odd", ["a"]), 1)


def test_the_token_is_sent_and_a_pickled_client_looks_for_it_anew(proxy: FaultProxy, tmp_path: Path) -> None:
    """A client travels without what it knows."""
    file = tmp_path / "token"
    file.write_text("abc")
    client: Client = pickle.loads(pickle.dumps(Client(proxy.url, Credentials(str(file)))))  # noqa: S301 (our own)

    assert client.get_json("/api/v1/schema")["status"] == "success"
    assert proxy.requests[0].headers["Authorization"] == "Bearer abc"
    assert b"abc" not in pickle.dumps(client)


def test_a_stream_is_given_as_it_comes_and_can_be_ended(avisod: Program) -> None:
    """The first frame of an endless answer is there before there is a second."""
    Client(avisod.url).post_records(EVENT_TYPE, lines("stream", ["a"]), 1)
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


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, 0),
        ("3", 3),
        ("99999", 300),
        ("Thu, 01 Jan 1970 00:01:40 GMT", 60),
        ("Thu, 01 Jan 1970 00:00:10 GMT", 0),
        ("soon", 0),
        ("-1", 0),
        ("1 Jan 10000 00:00:00 GMT", 0),
        ("Mon, 32 Foo 2030 99:99:99", 0),
    ],
)
def test_retry_after_is_read_as_seconds_or_as_a_date(value: str | None, seconds: float) -> None:
    """And believed up to a bound; what cannot be read asks for nothing."""
    assert retry_after_seconds(value, now=40) == seconds


_digits = st.text("0123456789", max_size=30)


@given(
    st.text(max_size=40)
    | st.builds("{} Jan {} {}:{}:{} {}".format, _digits, _digits, _digits, _digits, _digits, _digits)
)
def test_no_retry_after_is_an_error(value: str) -> None:
    """Whatever proxies write."""
    assert 0 <= retry_after_seconds(value, now=40) <= 300


def test_pauses_double_up_to_a_bound_with_full_jitter_and_end_before_the_deadline() -> None:
    """Whoever was sent away together does not come back together."""
    now, waited = 0.0, list[float]()

    def wait(seconds: float) -> None:
        nonlocal now
        now += seconds
        waited.append(seconds)

    attempts = Attempts(60, clock=lambda: now, wait=wait, jitter=lambda: 1.0)
    while attempts.pause():
        pass

    assert waited[:8] == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10]
    assert sum(waited) < 60
    assert attempts.made == len(waited) + 1
    assert Attempts(60, clock=lambda: now, wait=wait, jitter=lambda: 0.0).pause(5.0)
    assert waited[-1] == 5.0
