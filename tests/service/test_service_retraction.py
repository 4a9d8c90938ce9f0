"""`DELETE /api/v1/notification` over real HTTP, with a log in memory and on a broker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from support.event_logs import asynchronous
from support.nats import running_server
from support.recordings import GUARDED, token
from support.services import IN_MEMORY
from support.stored import running_with_log, told

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from support.services import Answered, Service

PATH: Final = "/api/v1/notification"
STORMS: Final[dict[str, Any]] = {
    "topic": {"base": "cyclones", "key_order": ["basin", "number"]},
    "identifier": {
        "basin": {"type": "StringHandler", "required": True},
        "number": {"type": "IntHandler", "required": False},
        "polygon": {"type": "PolygonHandler", "required": False},
    },
    "payload": {"required": True},
}
CONFIGURATION: Final[dict[str, Any]] = {"notification_schema": {"storms": STORMS}}
RING: Final = "(10,20,10,30,20,30,20,20,10,20)"
KEY: Final = {"basin": "atlantic", "number": 7}
ANNOUNCED: Final = {
    "event_type": "storms",
    "identifier": {**KEY, "polygon": RING},
    "payload": {"name": "x"},
}
TAKEN_BACK: Final = {"event_type": "storms", "identifier": KEY}


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[str]:
    """Run a broker for one test: one that has removed streams may bring their entries back under the same names."""
    with running_server(tmp_path / "broker") as server:
        yield server.url


@pytest.fixture(params=["memory", "jetstream"])
def backend(request: pytest.FixtureRequest) -> Mapping[str, Any]:
    """Return the settings of an empty log."""
    if request.param == "memory":
        return IN_MEMORY
    url = request.getfixturevalue("broker")
    return {"kind": "jetstream", "jetstream": {"nats_url": url, "storage_type": "memory"}}


def keeping_all(backend: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration under which a log keeps every entry of a topic."""
    policy = {} if backend["kind"] == "in_memory" else {"storage_policy": {"allow_duplicates": True}}
    return {"notification_schema": {"storms": {**STORMS, **policy}}}


async def retract(
    service: Service, body: object = TAKEN_BACK, *, headers: Mapping[str, str] | None = None
) -> Answered:
    """Take something back."""
    return await service.ask("DELETE", PATH, body, headers=headers)


# --- what is stored --------------------------------------------------------------------------------------


@asynchronous
async def test_a_retraction_is_stored_behind_what_it_takes_back(backend: Mapping[str, Any]) -> None:
    """An entry of the same topic that says so, without a payload, and answered as a notification is."""
    async with running_with_log(keeping_all(backend), backend) as stored:
        assert (await stored.service.notify(ANNOUNCED)).status == 200
        answer = await retract(stored.service)
        announced, taken_back = await stored.events("storms")
    assert answer.status == 200
    assert list(answer.json) == ["status", "request_id", "processed_at"]
    assert answer.json["status"] == "success"
    assert answer.json["request_id"] == answer.headers["x-request-id"]
    assert (announced.operation, taken_back.operation) == ("", "delete")
    assert taken_back.subject == announced.subject == "cyclones.atlantic.7"
    assert taken_back.payload == b"null"
    assert taken_back.geometry is None


@asynchronous
async def test_what_was_never_announced_can_be_taken_back(backend: Mapping[str, Any]) -> None:
    """Each time it is asked: the log says what was asked for, and its readers know what there was."""
    async with running_with_log(keeping_all(backend), backend) as stored:
        assert [(await retract(stored.service)).status for _ in range(2)] == [200, 200]
        assert [event.operation for event in await stored.events("storms")] == ["delete", "delete"]


@asynchronous
async def test_a_retraction_replaces_what_it_takes_back(backend: Mapping[str, Any]) -> None:
    """Where the stream keeps one entry of each topic."""
    if backend["kind"] == "in_memory":
        backend = {"kind": "in_memory", "in_memory": {"max_history_per_topic": 1}}
    async with running_with_log(CONFIGURATION, backend) as stored:
        await stored.service.notify(ANNOUNCED)
        await retract(stored.service)
        assert [(event.sequence, event.operation) for event in await stored.events("storms")] == [
            (2, "delete")
        ]


@asynchronous
async def test_undeclared_event_types_can_be_taken_back(backend: Mapping[str, Any]) -> None:
    """Where they are taken at all."""
    async with running_with_log({"notification_schema": {}}, backend) as stored:
        answer = await retract(stored.service, {"event_type": "any", "identifier": {"b": 2, "a": "x y"}})
        assert answer.status == 200
        assert [entry.subject for entry in await stored.log.latest("any")] == ["any.x%20y.2"]


# --- repetitions -----------------------------------------------------------------------------------------


@asynchronous
async def test_a_repeated_retraction_is_stored_once(backend: Mapping[str, Any]) -> None:
    """By the key that its caller gave it, and answered as the first was."""
    headers = {"Idempotency-Key": "one"}
    async with running_with_log(keeping_all(backend), backend) as stored:
        statuses = [(await retract(stored.service, headers=headers)).status for _ in range(3)]
        assert statuses == [200, 200, 200]
        assert await stored.sequences("cyclones") == [1]


@asynchronous
async def test_a_retraction_is_no_repetition_of_its_notification(backend: Mapping[str, Any]) -> None:
    """Though both have the key of the thing itself."""
    headers = {"Idempotency-Key": "storm 7"}
    async with running_with_log(keeping_all(backend), backend) as stored:
        for _ in range(2):
            assert (await stored.service.notify(ANNOUNCED, headers=headers)).status == 200
            assert (await retract(stored.service, headers=headers)).status == 200
        assert [event.operation for event in await stored.events("storms")] == ["", "delete"]


# --- refusals --------------------------------------------------------------------------------------------


def body(**members: object) -> dict[str, object]:
    """Return a body with these members in place of the usual ones."""
    return TAKEN_BACK | members


@pytest.mark.parametrize(
    ("sent", "code", "message"),
    [
        (
            body(extra=1),
            "UNKNOWN_FIELD",
            "Request contains unknown fields: Unknown field 'extra' in request.",
        ),
        (body(identifier=[]), "INVALID_REQUEST_SHAPE", "Request deserialization failed: "),
        ({"event_type": "storms"}, "INVALID_REQUEST_SHAPE", "Request deserialization failed: "),
        (body(event_type="nothing", to_id="1"), "UNKNOWN_EVENT_TYPE", "unknown event type 'nothing'"),
        (
            body(to_id="1", identifier={"point": 1}),
            "INVALID_NOTIFICATION_REQUEST",
            "to_id and to_date are only supported for the replay endpoint, not /notification",
        ),
        (
            body(identifier={"point": "1,2"}),
            "INVALID_NOTIFICATION_REQUEST",
            "identifier.point is only supported for watch/replay endpoints, not /notification",
        ),
        (
            body(identifier={"basin": "atlantic"}, payload=1),
            "INVALID_NOTIFICATION_REQUEST",
            "Required field 'number' missing for retract operation",
        ),
        (
            body(identifier={**KEY, "number": {"gte": 1}}),
            "INVALID_NOTIFICATION_REQUEST",
            "Field 'number' constraint object is not supported for retract operation",
        ),
        (
            body(payload={}),
            "INVALID_NOTIFICATION_REQUEST",
            "Payload is not supported for retract operation",
        ),
    ],
)
@asynchronous
async def test_what_cannot_be_taken_back_is_refused(sent: object, code: str, message: str) -> None:
    """With the answers of a notification, its checks in their order, and nothing is stored."""
    async with running_with_log(CONFIGURATION, IN_MEMORY) as stored:
        answer = await retract(stored.service, sent)
        assert await stored.sequences("cyclones") == []
        label = "storms" if "nothing" not in message and code.endswith("NOTIFICATION_REQUEST") else "unknown"
        status = "rejected" if code == "UNKNOWN_EVENT_TYPE" else "error"
        assert stored.count("aviso_notifications_total", event_type=label, status=status) == 1
    assert answer.status == 400
    assert answer.json["code"] == code
    assert answer.json["message"].startswith(message)
    assert answer.json["request_id"] == answer.headers["x-request-id"]


@asynchronous
async def test_bodies_and_keys_are_bounded() -> None:
    """As those of notifications are."""
    async with running_with_log(CONFIGURATION, IN_MEMORY) as stored:
        too_large = await stored.service.ask("DELETE", PATH, content=b" " * 262_145)
        empty = await stored.service.ask("DELETE", PATH)
        long_key = await retract(stored.service, headers={"Idempotency-Key": "x" * 129})
        assert await stored.sequences("cyclones") == []
    assert (too_large.status, too_large.body) == (413, b"payload reached size limit")
    assert (empty.status, empty.json["code"]) == (400, "INVALID_JSON")
    assert (long_key.status, long_key.json["code"]) == (400, "INVALID_NOTIFICATION_REQUEST")


# --- who may ---------------------------------------------------------------------------------------------

ALLOWED: Final = {
    None: ["free"],
    "garbage": [],
    "expired": [],
    "reader": ["free"],
    "writer": ["free", "desk"],
    "operator": ["free", "members", "desk"],
    "no realm": ["free"],
}


@pytest.mark.parametrize("caller", ALLOWED)
@asynchronous
async def test_who_may_write_may_take_back(caller: str | None) -> None:
    """And nobody else: each caller is answered on both methods alike, and what is stored names them."""
    headers = {} if caller is None else {"Authorization": f"Bearer {token(caller)}"}
    async with running_with_log(GUARDED, IN_MEMORY) as stored:
        for name in ("free", "members", "desk"):
            sent = {"event_type": name, "identifier": {"k": "v"}}
            notified = await stored.service.notify(sent, headers=headers)
            answer = await retract(stored.service, sent, headers=headers)
            is_allowed = name in ALLOWED[caller]
            assert (answer.status == 200) is is_allowed
            assert (answer.status, said(answer)) == (notified.status, said(notified))
            assert answer.headers.get_list("www-authenticate") == notified.headers.get_list(
                "www-authenticate"
            )
            actor = "" if caller is None else "ann"
            events = await stored.events(name)
            assert [(event.operation, event.actor) for event in events] == (
                [("", actor), ("delete", actor)] if is_allowed else []
            )


def said(answer: Answered) -> dict[str, object]:
    """Return what an answer says, without what is another each time."""
    return {name: value for name, value in answer.json.items() if name not in ("request_id", "processed_at")}


# --- what is told ----------------------------------------------------------------------------------------


@asynchronous
async def test_a_retraction_is_counted_and_told(capfd: pytest.CaptureFixture[str]) -> None:
    """As a notification of its event type, under a name of its own."""
    async with running_with_log(CONFIGURATION, IN_MEMORY) as stored:
        await retract(stored.service)
        await retract(stored.service, body(identifier={}))
        assert stored.count("aviso_notifications_total", event_type="storms", status="success") == 1
        assert stored.count("aviso_notifications_total", event_type="storms", status="error") == 1
        assert stored.count("aviso_backend_operations_total", operation="publish", outcome="ok") == 1
        assert stored.count("aviso_http_requests_total", route=PATH, method="DELETE", status_code="200") == 1
    processed, refused = told(capfd.readouterr().out, "api.")
    assert (
        processed.items()
        >= {
            "event.name": "api.retraction.processed",
            "level": "INFO",
            "event_type": "storms",
            "topic": "cyclones.atlantic.7",
            "sequence": 1,
            "param_count": 2,
            "payload_kind": "null",
            "spatial_enabled": False,
            "username": "anonymous",
            "auth_realm": "none",
        }.items()
    )
    assert (
        refused.items()
        >= {
            "event.name": "api.request.validation.failed",
            "level": "WARN",
            "event_type": "storms",
        }.items()
    )
