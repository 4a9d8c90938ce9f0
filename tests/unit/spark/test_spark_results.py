"""What became of records: answers in full and in short, those that are none, and several put together."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pytest

from pyspark_aviso.records import post_counted
from pyspark_aviso.results import NoAnswer, Posted, Result, read_posted
from pyspark_aviso.transport import Client
from support.http_faults import Changed, Refusal
from support.spark_service import EVENT_TYPE, NAMES, lines, stored_names

if TYPE_CHECKING:
    from support.http_faults import FaultProxy, Request
    from support.services import Program

ACCEPTED: Final = {"index": 0, "status": "accepted"}
DUPLICATE: Final = {"index": 1, "status": "duplicate"}
REJECTED: Final = {"index": 2, "status": "rejected", "message": "no"}


def answer(*results: dict[str, Any], **sums: int) -> bytes:
    """Return the body of an answer."""
    return json.dumps({"results": results, **sums}).encode()


def test_an_answer_in_full_has_a_result_for_each() -> None:
    """Its sums are those of its results."""
    posted = read_posted(answer(ACCEPTED, DUPLICATE, REJECTED), 3, attempts=2, is_short=False)

    assert (posted.accepted, posted.duplicate) == (1, 1)
    assert [(one.index, one.status, one.attempts) for one in posted.results] == [
        (0, "accepted", 2),
        (1, "duplicate", 2),
        (2, "rejected", 2),
    ]


@pytest.mark.parametrize(
    "body",
    [answer(REJECTED, accepted=1, duplicate=1, rejected=1), answer(ACCEPTED, DUPLICATE, REJECTED)],
    ids=["short", "of a service that knows only full ones"],
)
def test_a_short_answer_has_results_of_what_is_not_stored(body: bytes) -> None:
    """However the service answers."""
    posted = read_posted(body, 3, attempts=1, is_short=True)

    assert posted == Posted(1, 1, [Result(index=2, status="rejected", message="no")])


@pytest.mark.parametrize(
    ("body", "is_short"),
    [
        (b"", True),
        (b"[]", True),
        (b'{"accepted":3}', True),
        (answer(accepted=2), True),
        (answer(accepted=4), True),
        (answer(accepted=-1, duplicate=4), True),
        (answer(accepted=3, rejected=1), True),
        (answer(accepted=3, failed=1), True),
        (answer(REJECTED, accepted=3, rejected=1), True),
        (answer(REJECTED, accepted=2), True),
        (answer(REJECTED, accepted=2, failed=1), True),
        (answer(ACCEPTED, accepted=2), True),
        (answer(REJECTED | {"index": 3}, accepted=2, rejected=1), True),
        (answer(REJECTED | {"index": -1}, accepted=2, rejected=1), True),
        (answer(REJECTED, REJECTED, accepted=1, rejected=2), True),
        (answer(REJECTED, REJECTED | {"index": 0}, accepted=1, rejected=2), True),
        (answer(REJECTED, accepted=2), False),
        (answer(accepted=3), False),
        (answer(ACCEPTED, REJECTED, DUPLICATE), False),
    ],
)
def test_what_does_not_answer_for_every_record_once_is_no_answer(body: bytes, is_short: bool) -> None:
    """A sum that is right by chance must not hide it."""
    with pytest.raises(NoAnswer, match="answer"):
        read_posted(body, 3, attempts=1, is_short=is_short)


def test_rows_are_counted_with_what_the_service_refuses(avisod: Program) -> None:
    """The service is asked for a short answer, and gives it."""
    body = lines("short-counted", NAMES[:3])
    client = Client(avisod.url)

    first = post_counted(client, EVENT_TYPE, body, 3)
    again = post_counted(client, EVENT_TYPE, body + b"{}\n", 4)

    assert first == Posted(3, 0, [])
    assert (again.accepted, again.duplicate) == (0, 3)
    assert [(one.index, one.status) for one in again.results] == [(3, "rejected")]


def test_of_a_short_answer_too_only_what_failed_is_posted_again(proxy: FaultProxy, avisod: Program) -> None:
    """The sums of both answers are put together."""

    def fail_two(body: bytes) -> bytes:
        failed = [{"index": place, "status": "failed", "message": "no"} for place in (1, 3)]
        assert json.loads(body)["results"] == []
        return answer(*failed, accepted=len(NAMES) - 2, failed=2)

    proxy.faults = [Changed(fail_two)]

    posted = post_counted(
        Client(proxy.url, compression="none"), EVENT_TYPE, lines("short-again", NAMES), len(NAMES)
    )

    assert posted == Posted(len(NAMES) - 2, 2, [])
    rows = lines("short-again", NAMES).splitlines(keepends=True)
    assert proxy.posts[1].body == rows[1] + rows[3]
    assert sorted(stored_names(avisod.url, **{"class": "short-again"})) == sorted(NAMES)


def test_places_are_those_of_the_whole_body_also_where_it_is_posted_in_halves(proxy: FaultProxy) -> None:
    """What is too large alone is found among all."""

    def judge(request: Request) -> Refusal | None:
        return Refusal(413, {}, b'{"message":"too much"}') if b'"short-halves-n7"' in request.body else None

    proxy.judge = judge

    posted = post_counted(
        Client(proxy.url, compression="none"), EVENT_TYPE, lines("short-halves", NAMES), len(NAMES)
    )

    assert (posted.accepted, posted.duplicate) == (len(NAMES) - 1, 0)
    assert [(one.index, one.status, one.id) for one in posted.results] == [(7, "rejected", "short-halves-n7")]
