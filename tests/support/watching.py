"""What the tests of streams watch: three event types, and notifications of them that differ by a number."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, Final

from support.services import IN_MEMORY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from support.services import Service
    from support.sse import Frame
    from support.stored import Stored

EVENT_TYPES: Final[dict[str, Any]] = {
    # The base is not the name, so that what is shown by mistake is seen.
    "storms": {
        "topic": {"base": "cyclones", "key_order": ["basin", "number"]},
        "identifier": {
            "basin": {"type": "StringHandler", "required": False},
            "number": {"type": "IntHandler", "required": False},
            "polygon": {"type": "PolygonHandler", "required": False},
        },
        "payload": {"required": False},
    },
    "buoys": {
        "topic": {"base": "buoys", "key_order": ["net"]},
        "identifier": {
            "net": {"type": "StringHandler", "required": False},
            "point_cloud": {"type": "PointCloudHandler", "required": False},
        },
    },
    "few": {
        "topic": {"base": "few", "key_order": ["n"]},
        "identifier": {"n": {"type": "IntHandler", "required": False}},
        "max_historical_notifications": 3,
    },
}
SQUARE: Final = "(10,20,10,30,20,30,20,20,10,20)"
CONFIGURATION: Final[dict[str, Any]] = {
    "notification_schema": EVENT_TYPES,
    "watch_endpoint": {"sse_heartbeat_interval_sec": 1},
    "streams": {"lifetime_jitter_percent": 0},
    "logging": {"level": "warn"},
}


# So seldom that nothing is noticed because of them.
QUIET: Final = {"sse_heartbeat_interval_sec": 600}
PATIENCE_SECONDS: Final = 10.0


def configured(backend: Mapping[str, Any] = IN_MEMORY, **blocks: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration with a log, and with more keys in some of its blocks."""
    whole = {**CONFIGURATION, "notification_backend": backend}
    if backend["kind"] == "jetstream":
        # So that it keeps all entries of a topic, as the log in memory does.
        kept = {"storage_policy": {"allow_duplicates": True}}
        whole["notification_schema"] = {name: {**declared, **kept} for name, declared in EVENT_TYPES.items()}
    for name, block in blocks.items():
        whole[name] = {**whole.get(name, {}), **block}
    return whole


def jetstream(url: str) -> dict[str, Any]:
    """Return the settings of a log on a broker, which is not missed for long when it is away."""
    connection = {"nats_url": url, "storage_type": "memory", "reconnect_delay_ms": 50, "timeout_seconds": 5}
    return {"kind": "jetstream", "jetstream": connection}


def storm(number: int, *, basin: str = "atlantic", payload: object = None) -> dict[str, Any]:
    """Return a notification."""
    identifier = {"basin": basin, "number": number, "polygon": SQUARE}
    return {"event_type": "storms", "identifier": identifier, "payload": payload}


def of_storms(**more: object) -> dict[str, Any]:
    """Return a request for a stream of all storms, unless it says otherwise."""
    return {"event_type": "storms", "identifier": {}, **more}


async def publish(service: Service, notifications: Iterable[Mapping[str, Any]]) -> None:
    """Publish, one after the other; all must be taken."""
    for notification in notifications:
        answer = await service.notify(notification)
        assert answer.status == 200, answer.body


def numbers(count: int, *, begin: int = 1) -> list[dict[str, Any]]:
    """Return so many notifications, whose numbers are their sequences where nothing was there before."""
    return [storm(number) for number in range(begin, begin + count)]


def kinds(frames: Iterable[Frame]) -> list[str]:
    """Return what frames are."""
    return [frame.kind for frame in frames]


async def until(is_so: Callable[[], bool], what: str) -> None:
    """Wait until something is so that nobody tells."""
    latest = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < latest, what
        await asyncio.sleep(0.01)


def active(stored: Stored) -> float:
    """Return how many streams are open."""
    return stored.count("aviso_sse_connections_active")


async def opened(stored: Stored, count: int) -> None:
    """Wait until so many streams are open."""
    await until(lambda: active(stored) == count, f"{active(stored)} streams are open, not {count}")
