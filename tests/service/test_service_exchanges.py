"""What the reference answered to the same requests, in the same order, over real HTTP.

`exchanges/` holds what was recorded (`support/recordings.py` says how to read it). Where we differ on purpose, the
table here says in what and why.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from support.event_logs import asynchronous
from support.nats import running_server
from support.recordings import GUARDED, OPEN, Row, faults, on_jetstream, rows, send
from support.services import running_service

if TYPE_CHECKING:
    from collections.abc import Mapping

EXCHANGES: Final = Path(__file__).parent / "exchanges"
# Pages and documents are our own; that they are there is all that was recorded of them.
LEFT_OUT: Final = ("get /", "get /swagger-ui/", "get /api-docs/openapi.json")

NOT_FOUND: Final = {"success": False, "message": "Notification not found", "request_id": "<uuid>"}


class Difference(NamedTuple):
    """What we answer instead: parts of the answer, and members of its body, of which None is left out."""

    because: str
    answer: Mapping[str, Any]
    members: Mapping[str, object] = {}


def wrong_method(allow: str) -> Difference:
    """Return the difference of a path that is known, and a method that it does not have."""
    return Difference("D29: 405 with Allow", {"status": 405, "allow": allow})


def refused_by_name(message: str) -> Difference:
    """Return the difference of a refusal that is the caller's fault and names the first field at fault."""
    return Difference(
        "D4, D30: the caller's fault, and the first name in sorted order",
        {"status": 400},
        {
            "code": "INVALID_NOTIFICATION_REQUEST",
            "error": "Invalid Notification Request",
            "message": message,
        },
    )


EVERYWHERE: Final = {
    "method GET /api/v1/notification": wrong_method("DELETE, POST"),
    "method PUT /api/v1/notification": wrong_method("DELETE, POST"),
    "method OPTIONS /api/v1/notification": wrong_method("DELETE, POST"),
    "method DELETE /api/v1/notification": Difference(
        "extensions §5: it takes a notification back",
        {"status": 400, "media_type": "application/json"},
        {
            "code": "INVALID_JSON",
            "details": "=",
            "error": "Invalid Notification Request",
            "message": "JSON parsing failed: ",
            "request_id": "<uuid>",
        },
    ),
    "method POST /health": wrong_method("GET, HEAD"),
    "method POST /api/v1/schema": wrong_method("GET, HEAD"),
    "method HEAD /health": Difference(
        "D29: answered as GET, without its body",
        {"status": 200, "text": "", "media_type": "application/json"},
    ),
    "get /api/v1/schema": Difference(
        "D30: names are sorted", {}, {"event_types": ["buoys", "runs", "storms"]}
    ),
    "get /api/v1/schema/nothing": Difference(
        "D30: names are sorted", {}, {"available_types": ["buoys", "runs", "storms"]}
    ),
    "unknown key": refused_by_name("Unknown field 'colour' provided for notify operation"),
    "unknown key and missing key": refused_by_name("Unknown field 'colour' provided for notify operation"),
    "two unknown keys": refused_by_name("Unknown field 'alpha' provided for notify operation"),
    "identifier key in capitals": refused_by_name("Unknown field 'Wind' provided for notify operation"),
    "identifier empty": refused_by_name("Required field 'basin' missing for notify operation"),
    "body with duplicate member": refused_by_name("Required field 'class' missing for notify operation"),
    'notify date = "25-01-01"': Difference(
        "D34: a year has four digits",
        {"status": 400},
        {
            "code": "INVALID_NOTIFICATION_REQUEST",
            "error": "Invalid Notification Request",
            "message": "Failed to parse date value for field 'date'",
            "details": "Field 'date' contains invalid date '25-01-01'."
            " Expected: YYYY-MM-DD, YYYYMMDD, or YYYY-DDD",
            "request_id": "<uuid>",
        },
    ),
}
ON_JETSTREAM: Final = {
    **{
        name: Difference("D24: not found is 404", {"status": 404}, {**NOT_FOUND, "notification_id": identity})
        for name, identity in (
            ("admin delete one", "storms@1"),
            ("admin delete it again", "storms@1"),
            ("admin delete storms@99999", "storms@99999"),
        )
    },
    **{
        f'notify season = "{value}"': Difference("D31: spaces are encoded", {"status": 200, "members": None})
        for value in ("a b", " ")
    },
}


def expected_of(row: Row, backend: str, differences: Mapping[str, Difference]) -> Row:
    """Return the answer that we give to a recorded request."""
    answer: Row = row.get(f"on_{backend}") or row["answer"]
    difference = differences.get(row["name"])
    if difference is None:
        return answer
    expected = {**answer, **difference.answer}
    if difference.members:
        expected["members"] = {**answer.get("members", {}), **difference.members}
    return {key: value for key, value in expected.items() if value is not None}


async def replay(
    name: str,
    configuration: Mapping[str, Any],
    *,
    backend: str = "memory",
    differences: Mapping[str, Difference] | None = None,
) -> int:
    """Send every request of a file to one server, and compare every answer; return how many there were."""
    differences = differences or {}
    exchanged = [row for row in rows(EXCHANGES / name) if row.get("of") != "gateway"]
    names = {row["name"] for row in exchanged}
    assert not set(differences) - names, "differences of exchanges that were not recorded"
    found = []
    async with running_service(configuration) as service:
        for row in exchanged:
            expected = expected_of(row, backend, differences)
            answered = await send(service, row)
            is_left_out = row["name"] in LEFT_OUT
            found += [
                f"{row['name']}: {fault}" for fault in faults(answered, expected, is_left_out=is_left_out)
            ]
    assert not found, "\n".join(found)
    return len(exchanged)


@asynchronous
async def test_what_anybody_may_do_is_answered_as_recorded() -> None:
    """The log in memory."""
    assert await replay("open.jsonl", OPEN, differences=EVERYWHERE) == 184


def test_what_anybody_may_do_is_answered_as_recorded_on_jetstream(tmp_path: Path) -> None:
    """The log on a broker: the same, but for what the reference made of a missing sequence and of spaces."""

    @asynchronous
    async def over(url: str) -> None:
        differences = EVERYWHERE | ON_JETSTREAM
        configuration = on_jetstream(OPEN, url)
        assert await replay("open.jsonl", configuration, backend="jetstream", differences=differences) == 184

    with running_server(tmp_path) as server:
        over(server.url)


@asynchronous
async def test_who_may_do_what_is_answered_as_recorded() -> None:
    """Twenty kinds of tokens, and none, at three event types and the administration."""
    assert await replay("auth.jsonl", GUARDED) == 107


@asynchronous
async def test_without_event_types_everything_is_taken_as_recorded() -> None:
    """And the list of schemas says that there are none."""
    assert await replay("no-schema.jsonl", {}) == 2
