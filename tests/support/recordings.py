"""What the reference was recorded to answer: the configurations it ran with, and its answers as rows.

A file holds one exchange on each line, in the order in which they were sent to one fresh server. A row is a request
and the facts of its answer: status, challenge, members or text. What is the same everywhere is left out: a stored
notification is answered with its three members, every answer has a request id of its own, `=` for `details` is that
they are the message, and behind the colon of a parser's message stand its own words. Where a stream was answered, the
row holds that instead (`support/recorded_streams.py`).
"""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from support.tokens import by_hand

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from support.services import Answered, Service

Row: TypeAlias = dict[str, Any]

SECRET: Final = "shared-secret-of-the-recording"
UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
SECOND: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_INSTANT: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|\+00:00)")
PARSERS_WORDS: Final = (
    "JSON parsing failed: ",
    "Request deserialization failed: ",
    "Json deserialize error: ",
)

# --- configurations --------------------------------------------------------------------------------------

OPEN: Final[dict[str, Any]] = {
    "application": {"base_url": "http://localhost:8000"},
    "notification_schema": {
        "storms": {
            "topic": {"base": "storms", "key_order": ["basin", "season", "category", "wind"]},
            "identifier": {
                "basin": {
                    "type": "EnumHandler",
                    "values": ["atlantic", "pacific", "indian"],
                    "required": True,
                    "description": "Ocean basin.",
                },
                "season": {"type": "StringHandler", "max_length": 6, "required": False},
                "category": {"type": "IntHandler", "range": [0, 5], "required": False},
                "wind": {"type": "FloatHandler", "range": [0.0, 150.0], "required": False},
                "polygon": {"type": "PolygonHandler", "required": False},
            },
            "payload": {"required": False},
        },
        "runs": {
            "topic": {"base": "runs", "key_order": ["class", "expver", "date", "time", "step"]},
            "identifier": {
                "class": {"type": "StringHandler", "max_length": 2, "required": True},
                "expver": {"type": "ExpverHandler", "default": "0001", "required": False},
                "date": {"type": "DateHandler", "canonical_format": "%Y-%m-%d", "required": False},
                "time": {"type": "TimeHandler", "required": False},
                "step": {"type": "IntHandler", "range": [0, 100_000], "required": False},
            },
            "payload": {"required": True},
        },
        "buoys": {
            "topic": {"base": "buoys", "key_order": ["net"]},
            "identifier": {
                "net": {"type": "StringHandler", "required": True},
                "point_cloud": {"type": "PointCloudHandler", "required": True},
            },
            "payload": {"required": False},
        },
    },
}


def _keyed(base: str, **more: object) -> dict[str, object]:
    """Return an event type with one key."""
    return {
        "topic": {"base": base, "key_order": ["k"]},
        "identifier": {"k": {"type": "StringHandler", "required": True}},
        "payload": {"required": False},
        **more,
    }


GUARDED: Final[dict[str, Any]] = {
    "auth": {
        "enabled": True,
        "mode": "trusted_proxy",
        "jwt_secret": SECRET,
        "admin_roles": {"main": ["operator"]},
    },
    "notification_schema": {
        "free": _keyed("free"),
        "members": _keyed("members", auth={"required": True}),
        "desk": _keyed(
            "desk",
            auth={
                "required": True,
                "read_roles": {"main": ["reader"], "other": ["*"]},
                "write_roles": {"main": ["writer"]},
            },
        ),
    },
}


def on_jetstream(configuration: Mapping[str, Any], url: str) -> dict[str, Any]:
    """Return the configuration with its log on a broker."""
    backend = {"kind": "jetstream", "jetstream": {"nats_url": url, "storage_type": "memory"}}
    return {**configuration, "notification_backend": backend}


# --- tokens ----------------------------------------------------------------------------------------------


def token(name: str) -> str:
    """Return the token that a recording names."""
    now = int(time.time())
    claims: dict[str, object] = {
        "sub": "ann",
        "username": "ann",
        "realm": "main",
        "roles": ["reader"],
        "iat": now,
        "exp": now + 3600,
    }
    match name:
        case "empty token":
            return ""
        case "garbage":
            return "garbage"
        case "wrong secret":
            return by_hand(claims, secret="another secret")
        case "alg none":
            unsigned = by_hand(claims, header={"alg": "none", "typ": "JWT"}, secret=SECRET)
            return unsigned.rpartition(".")[0] + "."
        case "HS512 header":
            return by_hand(claims, header={"alg": "HS512", "typ": "JWT"}, secret=SECRET, digest="sha512")
    changes: dict[str, dict[str, object]] = {
        "expired": {"exp": now - 3600},
        "no exp": {"exp": None},
        "no roles": {"roles": None},
        "roles empty": {"roles": []},
        "reader": {},
        "writer": {"roles": ["writer"]},
        "operator": {"roles": ["operator"]},
        "reader of another realm": {"realm": "other"},
        "reader of an unknown realm": {"realm": "unknown"},
        "no realm": {"realm": None},
        "no username": {"username": None},
        "no sub": {"sub": None},
        "role as text": {"roles": None, "role": "reader"},
        "nbf in the future": {"nbf": now + 3600},
    }
    kept = {key: value for key, value in (claims | changes[name]).items() if value is not None}
    return by_hand(kept, secret=SECRET)


# --- replaying -------------------------------------------------------------------------------------------


def rows(file: Path) -> list[Row]:
    """Return the exchanges of a file, in their order."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


async def send(service: Service, row: Row) -> Answered:
    """Send the request of a row."""
    method, path = row["request"].split(" ", 1)
    headers = dict(row.get("headers", {}))
    if "body" in row or "content_type" in row or "raw" in row:
        headers["Content-Type"] = row.get("content_type", "application/json")
    if "token" in row:
        headers["Authorization"] = f"Bearer {token(row['token'])}".rstrip()
    elif "authorization" in row:
        headers["Authorization"] = row["authorization"].replace("{writer}", token("writer"))
    content = row["raw"].encode("latin-1") if "raw" in row else None
    return await service.ask(method, path, row.get("body"), headers=headers, content=content)


def faults(answered: Answered, expected: Row, *, is_left_out: bool) -> list[str]:
    """Return in what an answer is not the expected one."""
    found = []
    if answered.status != expected["status"]:
        found.append(f"status {answered.status}, not {expected['status']}: {answered.body[:300]!r}")
    if UUID.fullmatch(answered.headers.get("x-request-id", "")) is None:
        found.append("no request id")
    if answered.headers.get_list("www-authenticate") != [
        value for value in [expected.get("challenge")] if value
    ]:
        found.append(f"challenge {answered.headers.get_list('www-authenticate')}")
    if expected.get("allow") != answered.headers.get("allow"):
        found.append(f"Allow {answered.headers.get('allow')}, not {expected.get('allow')}")
    if "members" in expected or (expected["status"] == 200 and "text" not in expected):
        found += _faults_of_members(answered, expected.get("members"))
    elif not is_left_out:
        text = expected.get("text", "")
        said = answered.body.decode()
        if not said.startswith(text) if text in PARSERS_WORDS else said != text:
            found.append(f"text {said[:200]!r}, not {text!r}")
    if "media_type" in expected:
        wanted, got = expected["media_type"], answered.headers.get("content-type", "")
        if got.partition(";")[0] != wanted.partition(";")[0]:
            found.append(f"content type {got}, not {wanted}")
    return found


def without_time(value: object) -> object:
    """Return a value as it is recorded, where every instant is written alike."""
    return _INSTANT.sub("<time>", value) if isinstance(value, str) else value


def _faults_of_members(answered: Answered, expected: Row | None) -> list[str]:
    if answered.headers.get("content-type") != "application/json":
        return [f"content type {answered.headers.get('content-type')}"]
    said = answered.json
    if "request_id" in said and said["request_id"] != answered.headers["x-request-id"]:
        return ["another request id in the body"]
    if expected is None:
        expected = {"status": "success", "request_id": "<uuid>", "processed_at": "<time>"}
    wanted = dict(expected)
    if wanted.get("details") == "=":
        wanted["details"] = wanted["message"]
    for name, pattern in (("request_id", UUID), ("processed_at", SECOND)):
        if name in wanted and pattern.fullmatch(str(said.get(name))):
            said[name] = wanted[name]
    for name in ("message", "details"):
        if "<time>" in str(wanted.get(name)):
            said[name] = without_time(said.get(name))
        if wanted.get(name) in PARSERS_WORDS and str(said.get(name, "")).startswith(wanted[name]):
            said[name] = wanted[name]
    return [] if said == wanted else [f"{said}\n        not {wanted}"]
