"""From settings to an open registry, by those who start processes."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import pytest
from msgspec.structs import replace

from aviso_core.clock import SystemClock
from aviso_core.errors import Unavailable
from aviso_core.registry.open import open_registry
from aviso_core.settings.model import Application, JetStream, NotificationBackend, Registry, Settings
from aviso_core.startup import configured_catalog
from support.event_logs import asynchronous

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from aviso_core.registry.follower import Follower

BUOYS: Final[dict[str, Any]] = {
    "topic": {"base": "buoys", "key_order": ["net"]},
    "identifier": {"net": {"type": "StringHandler", "required": True}},
}
NOTHING_DECLARED: Final = Settings(
    application=Application(host="127.0.0.1", port=8000),
    notification_backend=NotificationBackend(kind="in_memory"),
)


@asynccontextmanager
async def following(settings: Settings) -> AsyncIterator[Follower]:
    """Follow as a process does that was started with these settings."""
    async with (
        open_registry(settings, configured=configured_catalog(settings), clock=SystemClock()) as opened,
        opened.registry.follow(lambda _: None, strict=settings.notification_schema_strict) as follower,
    ):
        yield follower


@pytest.mark.parametrize(
    ("declared", "strict"),
    [(None, None), ({}, None), ({"buoys": BUOYS}, None), ({"buoys": BUOYS}, False), (None, True)],
)
def test_a_plain_configuration_is_served_as_it_stands(
    declared: dict[str, Any] | None, strict: bool | None
) -> None:
    """An existing server's file says nothing of a registry: what is followed is what it configures."""
    settings = replace(NOTHING_DECLARED, notification_schema=declared, notification_schema_strict=strict)
    configured = configured_catalog(settings)

    async def main() -> None:
        async with following(settings) as follower:
            assert follower.is_loaded
            assert follower.refused == {}
            served = follower.catalog
            assert list(served.event_types) == list(configured.event_types)
            assert (served.strict, served.is_configured) == (configured.strict, configured.is_configured)

    asyncio.run(main())


@asynchronous
async def test_a_configuration_may_use_names_that_nobody_could_publish() -> None:
    """Its event types stay in the process."""
    settings = replace(NOTHING_DECLARED, notification_schema={"buoys at sea.v2": BUOYS})
    async with following(settings) as follower:
        assert follower.catalog.event_types["buoys at sea.v2"].base == "buoys"


def test_a_folder_is_followed_beside_the_configuration(tmp_path: Path) -> None:
    """An empty one too: that it is named configures it."""
    settings = replace(NOTHING_DECLARED, registry=Registry(kind="folder", folder=str(tmp_path)))

    async def main() -> None:
        async with following(settings) as follower:
            assert follower.is_loaded
            assert (follower.catalog.strict, follower.catalog.is_configured) == (False, True)
        async with following(replace(settings, notification_schema={"buoys": BUOYS})) as follower:
            assert list(follower.catalog.event_types) == ["buoys"]

    asyncio.run(main())


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    """By the one who starts the process: there is nothing to serve meanwhile."""
    registry = Registry(kind="folder", folder=str(tmp_path / "nowhere"))

    async def main() -> None:
        async with following(replace(NOTHING_DECLARED, registry=registry)):
            pass

    with pytest.raises(Unavailable, match=r"nowhere cannot be read: No such file"):
        asyncio.run(main())


def test_a_broker_that_is_not_there_is_told() -> None:
    """It is the log's, reached as the log reaches it."""
    jetstream = JetStream(nats_url="nats://127.0.0.1:1", retry_attempts=1)
    settings = replace(
        NOTHING_DECLARED,
        notification_backend=NotificationBackend(kind="jetstream", jetstream=jetstream),
        registry=Registry(kind="jetstream"),
    )

    async def main() -> None:
        async with following(settings):
            pass

    with pytest.raises(Unavailable, match=r"NATS at nats://127\.0\.0\.1:1: cannot connect"):
        asyncio.run(main())
