"""What the reference answered to the same requests, in the same order, over real HTTP.

`exchanges/` holds what was recorded (`support/recordings.py` and `support/recorded_streams.py` say how to read it).
Where we differ on purpose, the tables here say in what and why.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from support.event_logs import asynchronous
from support.nats import running_server
from support.recorded_streams import Instead, Numbering, stream_faults
from support.recordings import GUARDED, OPEN, Row, faults, on_jetstream, rows, send
from support.services import running_service

if TYPE_CHECKING:
    from collections.abc import Mapping

EXCHANGES: Final = Path(__file__).parent / "exchanges"
# Pages and documents are our own; that they are there is all that was recorded of them.
LEFT_OUT: Final = ("get /", "get /swagger-ui/", "get /api-docs/openapi.json")

NOT_FOUND: Final = {"success": False, "message": "Notification not found", "request_id": "<uuid>"}

# As the reference ran.
STREAMED: Final[dict[str, Any]] = {
    "application": {"base_url": "http://localhost:8000"},
    "watch_endpoint": {
        "sse_heartbeat_interval_sec": 1,
        "connection_max_duration_sec": 4,
        "replay_batch_size": 4,
        "max_historical_notifications": 10,
    },
    "streams": {"lifetime_jitter_percent": 0},
}
_LIMITED: Final = "replay-control notification_replay_limit_reached"
_COMPLETED: Final = "replay-control replay_completed"
_CLOSED: Final = "connection-closing end_of_stream"
_BY_TYPE: Final = "D14: each event type has numbers of its own"

IN_MEMORY: Final[Mapping[str, Instead]] = {
    **{
        name: Instead(_BY_TYPE, numbers)
        for name, numbers in (
            ('replay with {"from_id": "4"}', range(4, 14)),
            ('replay with {"from_id": "1", "to_id": "3"}', (1, 2, 3)),
            ('replay with {"from_id": "2", "to_id": "2"}', (2,)),
            ("replay with point", (1, 2)),
            ("watch from an id near the end, then a live event", ()),
            ("replay after the delete", (2, 3)),
            ("replay runs", (1, 2, 3, *range(5, 12))),
        )
    },
    'replay with {"from_id": "1", "to_date": "2999-01-01T00:00:00Z"}': Instead(
        _BY_TYPE, first={"end_sequence": 40}
    ),
    'replay with {"from_id": "1", "to_id": "99999"}': Instead(_BY_TYPE, first={"end_sequence": 40}),
}
BY_BROKER: Final[Mapping[str, Instead]] = {
    'replay with {"from_id": "4"}': Instead("D31: 13 was refused there", (*range(4, 11), 12, 13, 14)),
    **{
        f'replay with {{"from_id": "1", {end}}}': Instead(
            "D31: two more are stored", first={"end_sequence": 40}
        )
        for end in ('"to_date": "2999-01-01T00:00:00Z"', '"to_id": "99999"')
    },
    "replay runs": Instead(
        "D34: one less is stored", (2, 3, *range(6, 11), 12, 13, 14), last=(_COMPLETED, _CLOSED)
    ),
    'watch with {"from_date": "2999-01-01T00:00:00Z"}': Instead("D22: after everything", last=(_COMPLETED,)),
    'replay with {"from_date": "2999-01-01T00:00:00Z"}': Instead(
        "D22: after everything", last=(_COMPLETED, _CLOSED)
    ),
}


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
    "method GET /api/v1/watch": wrong_method("POST"),
    "method GET /api/v1/replay": wrong_method("POST"),
    "method DELETE /api/v1/watch": wrong_method("POST"),
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
    instead: Mapping[str, Instead] | None = None,
) -> int:
    """Send every request of a file to one server, and compare every answer; return how many there were."""
    differences, instead = differences or {}, instead or {}
    exchanged = rows(EXCHANGES / name)
    names = {row["name"] for row in exchanged}
    assert not {*differences, *instead} - names, "differences of exchanges that were not recorded"
    found = []
    numbering = Numbering(is_counted_together=backend == "memory")
    async with running_service(configuration) as service:
        for row in exchanged:
            expected = expected_of(row, backend, differences)
            if "stream" in expected:
                stream = expected["stream"]
                faulty = await stream_faults(service, row, stream, numbering, instead.get(row["name"]))
            else:
                answered = await send(service, row)
                numbering.note_row(row, row.get(f"on_{backend}") or row["answer"], answered.status)
                faulty = faults(answered, expected, is_left_out=row["name"] in LEFT_OUT)
            found += [f"{row['name']}: {fault}" for fault in faulty]
    assert not found, "\n".join(found)
    return len(exchanged)


@asynchronous
async def test_what_anybody_may_do_is_answered_as_recorded() -> None:
    """The log in memory."""
    assert await replay("open.jsonl", STREAMED | OPEN, differences=EVERYWHERE, instead=IN_MEMORY) == 286


def test_what_anybody_may_do_is_answered_as_recorded_on_jetstream(tmp_path: Path) -> None:
    """The log on a broker: the same, but for what the reference made of a missing sequence and of spaces."""

    @asynchronous
    async def over(url: str) -> None:
        differences = EVERYWHERE | ON_JETSTREAM
        configuration = on_jetstream(STREAMED | OPEN, url)
        count = await replay(
            "open.jsonl", configuration, backend="jetstream", differences=differences, instead=BY_BROKER
        )
        assert count == 286

    with running_server(tmp_path) as server:
        over(server.url)


@asynchronous
async def test_who_may_do_what_is_answered_as_recorded() -> None:
    """Twenty kinds of tokens, and none, at three event types and the administration."""
    assert await replay("auth.jsonl", STREAMED | GUARDED) == 169


@asynchronous
async def test_without_event_types_everything_is_taken_as_recorded() -> None:
    """And the list of schemas says that there are none."""
    assert await replay("no-schema.jsonl", STREAMED) == 5
