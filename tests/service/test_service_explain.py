"""`POST /api/v1/explain` over real HTTP, with a log in memory and on a broker: it says what delivery does."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pytest

from support.event_logs import asynchronous
from support.nats import running_server
from support.recordings import GUARDED, token
from support.services import IN_MEMORY
from support.stored import running_with_log

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from support.services import Answered, Service

PATH: Final = "/api/v1/explain"
SQUARE: Final = [[0, 0], [0, 10], [10, 10], [10, 0], [0, 0]]
CONFIGURATION: Final[dict[str, Any]] = {
    "notification_schema": {
        "storms": {
            "topic": {"base": "storms", "key_order": ["basin", "category"]},
            "identifier": {
                "basin": {"type": "EnumHandler", "values": ["atlantic", "pacific"], "required": False},
                "category": {"type": "IntHandler", "range": [0, 5], "required": False},
                "polygon": {"type": "PolygonHandler", "required": False},
            },
            "payload": {"required": False},
        }
    }
}


@pytest.fixture(params=["memory", "jetstream"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Mapping[str, Any]]:
    """Return the settings of an empty log."""
    if request.param == "memory":
        yield IN_MEMORY
        return
    with running_server(tmp_path / "broker") as server:
        yield {"kind": "jetstream", "jetstream": {"nats_url": server.url, "storage_type": "memory"}}


def storm(basin: str = "atlantic", category: int = 3, polygon: object = SQUARE) -> dict[str, Any]:
    """Return the identifier of an event."""
    return {"basin": basin, "category": category, "polygon": polygon}


async def publish(service: Service, **identifier: Any) -> None:
    """Store an event."""
    answer = await service.notify({"event_type": "storms", "identifier": storm(**identifier)})
    assert answer.status == 200, answer.body


async def explain(
    service: Service,
    identifier: Mapping[str, Any],
    event_type: str = "storms",
    who: str | None = None,
    **members: Any,
) -> Answered:
    """Ask for an explanation."""
    headers = {} if who is None else {"Authorization": f"Bearer {token(who)}"}
    body = {"event_type": event_type, "identifier": identifier, **members}
    return await service.ask("POST", PATH, body, headers=headers)


async def is_replayed(service: Service, identifier: Mapping[str, Any], sequence: int) -> bool:
    """Tell whether a replay delivers an event."""
    body = {
        "event_type": "storms",
        "identifier": identifier,
        "from_id": f"{sequence}",
        "to_id": f"{sequence}",
    }
    answer = await service.ask("POST", "/api/v1/replay", body, headers={"Accept": "application/x-ndjson"})
    assert answer.status == 200
    return bool(json.loads(answer.body.splitlines()[-1])["count"])


FILTERS: Final[list[dict[str, Any]]] = [
    {},
    {"basin": "atlantic"},
    {"basin": "Pacific"},
    {"category": "3"},
    {"category": {"gte": 4}},
    {"category": {"in": [1, 3]}},
    {"category": {"between": [0, 2]}},
    {"polygon": [[10, 10], [10, 20], [20, 20], [10, 10]]},
    {"polygon": [[11, 10], [11, 20], [20, 20], [11, 10]]},
    {"point": [5, 5]},
    {"point": [0, 5]},
    {"point": "50,50"},
    {"basin": "atlantic", "category": {"lt": 4}, "polygon": SQUARE},
]


@asynchronous
async def test_an_explanation_agrees_with_delivery(backend: Mapping[str, Any]) -> None:
    """For events of the log as for those that are only described."""
    async with running_with_log(CONFIGURATION, backend) as stored:
        service = stored.service
        events = [
            storm(),
            storm("pacific", 1),
            storm("atlantic", 5, [[50, 50], [50, 51], [51, 51], [50, 50]]),
        ]
        for event in events:
            await publish(service, **event)
        for identifier in FILTERS:
            for sequence, event in enumerate(events, 1):
                told = (await explain(service, identifier, sequence=sequence)).json["event"]
                described = (await explain(service, identifier, event={"identifier": event})).json["event"]
                assert told["delivered"] == await is_replayed(service, identifier, sequence)
                assert described["delivered"] == told["delivered"]
                assert described["clauses"] == told["clauses"]
                assert told["delivered"] == all(clause["passed"] for clause in told["clauses"])
                assert (told["sequence"], described["sequence"]) == (sequence, None)


@asynchronous
async def test_every_clause_says_what_was_wanted_and_found(backend: Mapping[str, Any]) -> None:
    """Those of space how much lies in common, or how far apart the two are."""
    async with running_with_log(CONFIGURATION, backend) as stored:
        await publish(stored.service)
        far = [[13, 14], [13, 20], [20, 20], [13, 14]]
        answer = await explain(
            stored.service, {"basin": "atlantic", "category": {"gt": 3}, "polygon": far}, sequence=1
        )
        event = answer.json["event"]
        assert answer.json["topic"] == "storms.atlantic.*"
        assert event["identifier"] == {"basin": "atlantic", "category": "3"}
        assert [(one["field"], one["operator"], one["passed"]) for one in event["clauses"]] == [
            ("basin", "equals", True),
            ("category", "gt", False),
            ("polygon", "touches", False),
        ]
        assert (event["clauses"][1]["wanted"], event["clauses"][1]["found"]) == (3, "3")
        assert event["clauses"][2]["distance_degrees"] == 5.0
        half = [[0, 0], [0, 5], [10, 5], [10, 0], [0, 0]]
        inside = (await explain(stored.service, {"polygon": half}, sequence=1)).json["event"]
        assert inside["delivered"]
        assert inside["clauses"][0]["overlap"] == 0.5


@asynchronous
async def test_the_events_of_the_last_while_are_counted(backend: Mapping[str, Any]) -> None:
    """Beside an event, or alone."""
    async with running_with_log(CONFIGURATION, backend) as stored:
        for category in (1, 2, 3, 4):
            await publish(stored.service, category=category)
        alone = (await explain(stored.service, {"category": {"gte": 3}}, dry_run="1h")).json
        counted = alone["dry_run"]
        assert alone["event"] is None
        assert (counted["complete"], counted["examined"], counted["matched"]) == (True, 4, 2)
        assert counted["matched_per_hour"] == 2.0
        assert [counted[f"{which}_sequence"] for which in ("first", "through", "last")] == [1, 4, 4]
        both = (await explain(stored.service, {"category": {"gte": 3}}, dry_run="1h", sequence=1)).json
        assert not both["event"]["delivered"]
        assert both["dry_run"]["matched"] == 2


@asynchronous
async def test_counting_may_be_asked_for_now_and_then() -> None:
    """Not all the time; explaining an event may."""
    async with running_with_log(CONFIGURATION, IN_MEMORY) as stored:
        await publish(stored.service)
        answers = [await explain(stored.service, {}, dry_run="1m") for _ in range(6)]
        assert [answer.status for answer in answers] == [200] * 5 + [429]
        assert answers[-1].json["code"] == "TOO_MANY_DRY_RUNS"
        assert 0 < int(answers[-1].headers["retry-after"]) <= 10
        assert (await explain(stored.service, {}, sequence=1)).status == 200


@pytest.mark.parametrize(
    ("members", "status", "code"),
    [
        ({"sequence": 9}, 404, "EVENT_NOT_FOUND"),
        ({}, 400, "INVALID_EXPLAIN_REQUEST"),
        ({"sequence": "1"}, 400, "INVALID_REQUEST_SHAPE"),
        ({"sequence": 1, "payload": {}}, 400, "UNKNOWN_FIELD"),
        ({"sequence": 1, "identifier": {"nope": 1}}, 400, "INVALID_EXPLAIN_REQUEST"),
        ({"sequence": 1, "identifier": {"category": {"gte": 9}}}, 400, "INVALID_EXPLAIN_REQUEST"),
        ({"event": {"identifier": {"basin": "atlantic"}}}, 400, "INVALID_EXPLAIN_REQUEST"),
        ({"event_type": "nope", "sequence": 1}, 400, "UNKNOWN_EVENT_TYPE"),
        ({"dry_run": "soon"}, 400, "INVALID_EXPLAIN_REQUEST"),
    ],
)
@asynchronous
async def test_what_cannot_be_explained_is_refused(members: dict[str, Any], status: int, code: str) -> None:
    """As watch and replay refuse, with a code of its own."""
    async with running_with_log(CONFIGURATION, IN_MEMORY) as stored:
        answer = await stored.service.ask("POST", PATH, {"event_type": "storms", "identifier": {}, **members})
        assert (answer.status, answer.json["code"]) == (status, code)
        assert answer.json["request_id"] == answer.headers["x-request-id"]


@asynchronous
async def test_bodies_that_are_no_json_are_refused() -> None:
    """And such that are too large."""
    async with running_with_log(CONFIGURATION, IN_MEMORY) as stored:
        for content, status in ((b"", 400), (b"{", 400), (b" " * 262_145, 413)):
            assert (await stored.service.ask("POST", PATH, content=content)).status == status


# --- who is asking ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("who", "passed", "rule"),
    [
        (None, False, "authenticated"),
        ("writer", False, "read_roles"),
        ("reader", True, "read_roles"),
        ("operator", True, "administrators"),
    ],
)
@asynchronous
async def test_who_may_not_read_learns_why_and_nothing_else(who: str | None, passed: bool, rule: str) -> None:
    """Neither whether there is such an event, nor how many there are."""
    async with running_with_log(GUARDED, IN_MEMORY) as stored:
        service = stored.service
        writer = {"Authorization": f"Bearer {token('writer')}"}
        await service.notify({"event_type": "desk", "identifier": {"k": "1"}}, headers=writer)
        answers = [
            await explain(service, {"k": "1"}, "desk", who, sequence=1, dry_run="1h"),
            await explain(service, {"k": "1"}, "desk", who, event={"identifier": {"k": "1"}}),
        ]
        assert [answer.status for answer in answers] == [200, 200]
        stored_one, described = (answer.json for answer in answers)
        assert (stored_one["permission"]["passed"], stored_one["permission"]["rule"]) == (passed, rule)
        assert stored_one["permission"]["reason"]
        assert described["event"]["delivered"] is passed
        assert (stored_one["event"] is not None) is passed
        assert (stored_one["dry_run"] is not None) is passed
        unknown = await explain(service, {"k": "1"}, "desk", who, sequence=77)
        assert unknown.status == (404 if passed else 200)


@asynchronous
async def test_events_that_nobody_is_shown_are_explained() -> None:
    """Event types that are not declared: their filters select, and still nothing comes."""
    async with running_with_log({}, IN_MEMORY) as stored:
        service = stored.service
        await service.notify({"event_type": "any", "identifier": {"a": 1, "b": "x"}})
        told = (await explain(service, {"a": 1, "b": "y"}, "any", sequence=1)).json["event"]
        assert [(one["operator"], one["found"], one["passed"]) for one in told["clauses"]] == [
            ("number_of_values", 2, True),
            ("equals", "1", True),
            ("equals", "x", False),
            ("can_be_shown", "Failed to determine event type from topic", False),
        ]
        assert not told["delivered"]
