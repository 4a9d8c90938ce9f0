"""`POST /api/v1/notification` and what every answer has, over real HTTP."""

from __future__ import annotations

import re
from typing import Any, Final

import pytest

from support.event_logs import asynchronous
from support.services import running_service

CONFIGURATION: Final[dict[str, Any]] = {
    "notification_schema": {
        "runs": {
            "topic": {"base": "runs", "key_order": ["class", "step"]},
            "identifier": {
                "class": {"type": "StringHandler", "max_length": 2, "required": True},
                "step": {"type": "IntHandler", "range": [0, 240], "required": False},
            },
            "payload": {"required": True},
        }
    }
}
GOOD: Final = {"event_type": "runs", "identifier": {"class": "od", "step": 6}, "payload": {"n": 1}}
UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


@asynchronous
async def test_a_notification_is_acknowledged() -> None:
    """With its three members in their order, and the id of the request in body and header."""
    async with running_service(CONFIGURATION) as service:
        answer = await service.notify(GOOD)
    assert answer.status == 200
    assert list(answer.json) == ["status", "request_id", "processed_at"]
    assert answer.json["status"] == "success"
    assert answer.headers["x-request-id"] == answer.json["request_id"]
    assert UUID.fullmatch(answer.json["request_id"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", answer.json["processed_at"])
    assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/health", 200),
        ("GET", "/ready", 200),
        ("GET", "/nowhere", 404),
        ("GET", "/health/", 404),
        ("POST", "/api/v1/notification/", 404),
        ("GET", "/api/v1/notification", 405),
        ("OPTIONS", "/api/v1/notification", 405),
        ("HEAD", "/health", 200),
        ("GET", "/api/v1/schema", 200),
        ("GET", "/api/v1/schema/nothing", 404),
    ],
)
@asynchronous
async def test_every_answer_has_an_id_of_its_own(method: str, path: str, status: int) -> None:
    """The one that a client sends is not taken."""
    async with running_service(CONFIGURATION) as service:
        answer = await service.ask(method, path, headers={"X-Request-ID": "mine"})
    assert answer.status == status
    assert UUID.fullmatch(answer.headers["x-request-id"])
    if status in (404, 405) and "schema" not in path:
        assert answer.body == b""
    if status == 405:
        assert "POST" in answer.headers["allow"]
