"""How watches end: with the token of their caller, at their age, and with the log that they follow."""

from __future__ import annotations

import json
import time
from typing import Final

import pytest

from support.event_logs import ask_broker, asynchronous
from support.services import running_service
from support.sse import WATCH, Way, streaming
from support.tokens import SECRET, by_hand
from support.watching import configured, jetstream, kinds, numbers, of_storms, publish, storm


def lives(*numbers: int) -> list[str]:
    """Return what live events of these numbers are."""
    return [f"live-notification storms@{number}" for number in numbers]


GUARDED: Final = {
    "enabled": True,
    "mode": "trusted_proxy",
    "jwt_secret": SECRET,
    "admin_roles": {"main": ["operator"]},
}


def bearer(*, lasts: float) -> dict[str, str]:
    """Return the header of somebody whose token lasts so many seconds."""
    claims = {"sub": "ann", "realm": "main", "exp": int(time.time() + lasts)}
    return {"Authorization": f"Bearer {by_hand(claims)}"}


@asynchronous
async def test_a_watch_ends_with_the_token_of_its_caller() -> None:
    """Its first frame tells when, and the reason is that of its longest duration, so that clients come again."""
    async with running_service(configured(auth=GUARDED)) as service:
        headers = bearer(lasts=2)
        async with streaming(service.port, WATCH, of_storms(), headers=headers) as stream:
            first = await stream.next()
            assert first.data["connection_will_close_in_seconds"] <= 2
            (closing,) = await stream.rest()
        assert closing.data["reason"] == "max_duration_reached"
        async with streaming(service.port, WATCH, of_storms(), headers=bearer(lasts=7200)) as stream:
            assert (await stream.next()).data["connection_will_close_in_seconds"] == 3600


@asynchronous
async def test_a_token_that_is_taken_by_leeway_has_what_is_left_of_that() -> None:
    """A client comes again at once with the token it has: ended at once, it would do so until the leeway is over."""
    async with (
        running_service(configured(auth=GUARDED)) as service,
        streaming(service.port, WATCH, of_storms(), headers=bearer(lasts=-20)) as stream,
    ):
        assert 30 <= (await stream.next()).data["connection_will_close_in_seconds"] <= 40


@asynchronous
async def test_watches_that_open_together_do_not_end_together() -> None:
    """Each lasts up to a tenth less than the longest, and says how long."""
    async with running_service(configured(streams={"lifetime_jitter_percent": 10})) as service:
        told = set()
        for _ in range(20):
            async with streaming(service.port, WATCH, of_storms()) as stream:
                told.add((await stream.next()).data["connection_will_close_in_seconds"])
    assert len(told) > 5
    assert min(told) >= 3240
    assert max(told) <= 3600


@pytest.mark.parametrize("way", Way)
def test_a_log_that_begins_anew_ends_its_watches(way: Way, broker: str) -> None:
    """With a word that makes clients resume: what they were sent has other numbers now."""

    @asynchronous
    async def over() -> None:
        async with (
            running_service(configured(jetstream(broker))) as service,
            streaming(service.port, WATCH, of_storms(), way=way) as stream,
        ):
            await stream.next()
            await publish(service, numbers(1))
            assert kinds(await stream.take(1)) == lives(1)
            deleted = await ask_broker(broker, "STREAM.DELETE.CYCLONES")
            assert deleted["success"], json.dumps(deleted)
            await service.notify(storm(1))
            assert kinds(await stream.rest())[-1] == "connection-closing end_of_stream"

    over()
