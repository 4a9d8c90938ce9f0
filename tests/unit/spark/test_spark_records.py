"""Records posted to a real service over a network that is not always good: nothing lost, and nothing twice."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from pyspark_aviso.records import post_records
from pyspark_aviso.transport import Client, TransportError
from support.http_faults import Changed, LostAnswer, Refusal
from support.spark_service import EVENT_TYPE, NAMES, lines, stored_names

if TYPE_CHECKING:
    from support.http_faults import FaultProxy, Request
    from support.services import Program


def test_every_record_is_answered_for_in_its_place(avisod: Program) -> None:
    """Also those that are refused, with the field at fault."""
    body = lines("places", ["a"]) + lines("places", ["b"], colour=1) + lines("places", ["a", "c"])

    results = post_records(Client(avisod.url), EVENT_TYPE, body, 4)

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

    results = post_records(client, EVENT_TYPE, lines("storm", NAMES), len(NAMES))

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

    results = post_records(
        Client(proxy.url, compression="none"), EVENT_TYPE, lines("half", NAMES), len(NAMES)
    )

    assert [result.index for result in results] == list(range(len(NAMES)))
    assert [result.status for result in results] == ["duplicate", "accepted"] * (len(NAMES) // 2)
    assert proxy.posts[1].body == b"".join(lines("half", NAMES).splitlines(keepends=True)[::2])
    assert sorted(stored_names(avisod.url, **{"class": "half"})) == sorted(NAMES)


def test_a_body_that_is_too_large_is_posted_in_halves_until_one_record_alone_is_rejected(
    proxy: FaultProxy, avisod: Program
) -> None:
    """The others are stored, and each is answered for in its place."""

    def judge(request: Request) -> Refusal | None:
        return Refusal(413, {}, b'{"message":"too much"}') if b'"large-n7"' in request.body else None

    proxy.judge = judge
    client = Client(proxy.url, compression="none")

    results = post_records(client, EVENT_TYPE, lines("large", NAMES), len(NAMES))

    assert [result.index for result in results] == list(range(len(NAMES)))
    assert [result.index for result in results if result.status != "accepted"] == [7]
    assert (results[7].status, results[7].id, results[7].event_type) == ("rejected", "large-n7", EVENT_TYPE)
    assert "larger than the service takes" in str(results[7].message)
    assert "too much" in str(results[7].message)
    assert sorted(stored_names(avisod.url, **{"class": "large"})) == sorted({*NAMES} - {"n7"})


@pytest.mark.parametrize(
    "bad", [b'{"id":"odd", ', b'{"id":"odd","payload":' + b"[" * 200 + b"]" * 200 + b"}"]
)
def test_records_that_are_no_json_are_rejected_also_where_they_are_all_that_is_posted(
    avisod: Program, bad: bytes
) -> None:
    """The service refuses such a body as a whole, and only the records in it are to blame."""
    client = Client(avisod.url)
    for count in (1, 3):
        results = post_records(client, EVENT_TYPE, (bad + b"\n") * count, count)
        assert [(result.index, result.status) for result in results] == [
            (n, "rejected") for n in range(count)
        ]
        assert all(str(result.message).startswith("JSON parsing failed") for result in results)
    good = lines("beside no json", [str(len(bad))])
    results = post_records(client, EVENT_TYPE, bad + b"\n" + good, 2)
    assert [result.status for result in results] == ["rejected", "accepted"]


def test_a_request_that_is_refused_by_somebody_else_is_no_matter_of_its_records(proxy: FaultProxy) -> None:
    """Every row would be told to be bad where only the address is."""
    proxy.faults = [Refusal(400, {}, b"<html>The plain HTTP request was sent to HTTPS port</html>")]
    with pytest.raises(TransportError, match="HTTPS port"):
        post_records(Client(proxy.url), EVENT_TYPE, lines("elsewhere", ["a"]), 1)
    assert len(proxy.posts) == 1


@pytest.mark.parametrize(
    "body", [b"", b"[]", b'{"results":[]}', b'{"results":[{"index":1,"status":"accepted"}]}']
)
def test_an_answer_that_does_not_answer_for_every_record_is_an_error(proxy: FaultProxy, body: bytes) -> None:
    """A count that is right by chance must not hide it."""
    proxy.faults = [Changed(lambda _: body)]

    with pytest.raises(TransportError, match="posting 1 notifications of type granules"):
        post_records(Client(proxy.url), EVENT_TYPE, lines("odd", ["a"]), 1)
