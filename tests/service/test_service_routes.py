"""Which paths and methods there are, and what is said of the others (contract sections 1 and 2.5)."""

from __future__ import annotations

from typing import Any, Final

from support.event_logs import asynchronous
from support.services import running_service

CONFIGURATION: Final[dict[str, Any]] = {
    "notification_schema": {
        "notes": {
            "topic": {"base": "notes", "key_order": ["k"]},
            "identifier": {"k": {"type": "StringHandler", "required": True}},
        }
    }
}
PATHS: Final = {
    "/": "GET, HEAD",
    "/health": "GET, HEAD",
    "/ready": "GET, HEAD",
    "/api/v1/schema": "GET, HEAD",
    "/api/v1/schema/notes": "GET, HEAD",
    "/api-docs/openapi.json": "GET, HEAD",
    "/api/v1/notification": "DELETE, POST",
    "/api/v1/admin/wipe/all": "DELETE",
    "/api/v1/admin/wipe/stream": "DELETE",
    "/api/v1/admin/notification/notes@1": "DELETE",
}
METHODS: Final = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")
UNKNOWN: Final = (
    "/health/",
    "/ready/",
    "/HEALTH",
    "/api",
    "/api/v1",
    "/api/v1/",
    "/api/v2/notification",
    "/api/v1/notification/",
    "/api/v1/notification/1",
    "/api/v1/admin",
    "/api/v1/admin/wipe",
    "/metrics",
    "/favicon.ico",
)


@asynchronous
async def test_a_path_has_its_methods_and_no_others() -> None:
    """A wrong one is told which there are, with an empty body; HEAD is there where GET is."""
    found = []
    async with running_service(CONFIGURATION) as service:
        for path, allowed in PATHS.items():
            for method in METHODS:
                if method in allowed.split(", "):
                    continue
                answered = await service.ask(method, path)
                said = (answered.status, answered.headers.get("allow"), answered.body)
                if said != (405, allowed, b""):
                    found.append(f"{method} {path}: {said}")
    assert not found, "\n".join(found)


@asynchronous
async def test_a_path_that_is_not_there_is_an_empty_404() -> None:
    """Whatever the method; slashes at the end count."""
    async with running_service(CONFIGURATION) as service:
        for path in UNKNOWN:
            for method in METHODS:
                answered = await service.ask(method, path)
                assert (answered.status, answered.body) == (404, b""), f"{method} {path}"
                assert "content-type" not in answered.headers, f"{method} {path}"


@asynchronous
async def test_the_plain_answers_are_what_they_are() -> None:
    """Health and readiness to the letter, HEAD with the length of what GET says, and no header for other origins."""
    async with running_service(CONFIGURATION) as service:
        health = await service.ask("GET", "/health", headers={"Origin": "https://portal.example"})
        head = await service.ask("HEAD", "/ready")
        ready = await service.ask("GET", "/ready", headers={"Accept-Encoding": "gzip"})
    assert health.body == b'{"status":"ok"}'
    assert ready.body == b'{"status":"ready","backend_connected":true}'
    assert (head.status, head.body) == (200, b"")
    assert head.headers["content-length"] == str(len(ready.body))
    for answered in (health, head, ready):
        assert answered.headers["content-type"] == "application/json"
        assert not {name for name in answered.headers if name.startswith("access-control-")}
        assert "content-encoding" not in answered.headers
        assert "server" not in answered.headers
