"""The auth service goes wrong while many publish: nobody gets in, nothing piles up, and it is over when it is over."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from support.event_logs import asynchronous
from support.http_server import BROKEN, Behaviour, answering, hanging, running_http_server, waiting_for
from support.observed import EVENT_TYPES, in_memory, looking, serving
from support.producers import publishing
from support.recordings import SECRET, token
from support.tokens import by_hand

if TYPE_CHECKING:
    from support.producers import Told

TIMEOUT_SECONDS: Final = 0.5
PRODUCERS: Final = 24
# Of a machine that does other things too.
MARGIN_SECONDS: Final = 1.0


def guarded(url: str) -> dict[str, Any]:
    """Return a configuration in which the auth service is asked for every request."""
    mars = {**EVENT_TYPES["mars"], "auth": {"required": True, "write_roles": {"main": ["writer"]}}}
    del mars["storage_policy"]
    return {
        **in_memory(),
        "notification_schema": {"mars": mars},
        "auth": {
            "enabled": True,
            "mode": "direct",
            "auth_o_tron_url": url,
            "jwt_secret": SECRET,
            "admin_roles": {"main": ["operator"]},
            "timeout_ms": int(TIMEOUT_SECONDS * 1000),
        },
    }


def good() -> Behaviour:
    """Answer as the auth service does."""
    return answering(authorization=f"Bearer {token('writer')}")


def signed_by_somebody_else() -> Behaviour:
    """Answer with a token that says everything it should, and whose signature is not the shared secret's."""
    now = int(time.time())
    claims = {
        "sub": "ann",
        "username": "ann",
        "realm": "main",
        "roles": ["writer"],
        "iat": now,
        "exp": now + 60,
    }
    return answering(authorization=f"Bearer {by_hand(claims, secret='another secret')}")


FAULTS: Final[dict[str, tuple[Behaviour, int]]] = {
    "hangs": (hanging(), 503),
    "fails": (BROKEN["fails"], 503),
    "closes at once": (BROKEN["closes at once"], 503),
    "is not HTTP": (BROKEN["is not HTTP"], 503),
    "answers without a token": (answering(), 503),
    "answers with a token of somebody else": (signed_by_somebody_else(), 401),
}


async def refusals(told: Told, count: int, status: int = 503) -> None:
    """Wait until so many more requests were refused."""
    wanted = told.statuses.get(status, 0) + count
    await told.wait_until(lambda: told.statuses.get(status, 0) >= wanted)


def open_connections(process_id: int, port: int) -> int:
    """Return how many connections to a port of this machine are open, as those see them who opened them."""
    lines = Path(f"/proc/{process_id}/net/tcp").read_text().splitlines()[1:]
    columns = (line.split() for line in lines)
    return sum(remote.endswith(f":{port:04X}") and state == "01" for _, _, remote, state, *_ in columns)


@pytest.mark.parametrize("fault", FAULTS)
@asynchronous
async def test_nobody_gets_in_while_the_auth_service_is_of_no_use(fault: str, tmp_path: Path) -> None:
    """Each is told within the time that the auth service has, however many come; then everything is as it was."""
    async with (
        running_http_server(good()) as auth_service,
        serving(tmp_path, guarded(auth_service.url)) as program,
        publishing(
            [program.port],
            singles=PRODUCERS - 4,
            batches=4,
            is_patient=True,
            headers={"Authorization": "Basic YTpi"},
        ) as told,
        looking(program.port, "/ready") as looks,
    ):
        await told.wait_more(300)
        assert told.statuses.keys() == {200}
        auth_service.behaviour, status = FAULTS[fault]
        # Those that were let in before may still be answered.
        await refusals(told, PRODUCERS, status)
        let_in, told.slowest_seconds = told.statuses[200], 0.0
        await refusals(told, 3 * PRODUCERS, status)
        assert told.statuses.keys() == {200, status}
        assert told.statuses[200] == let_in
        assert told.slowest_seconds < TIMEOUT_SECONDS + MARGIN_SECONDS
        auth_service.behaviour = good()
        began = time.monotonic()
        await told.wait_more(300)
        assert time.monotonic() - began < TIMEOUT_SECONDS + 2 * MARGIN_SECONDS
        # Who cannot ask the auth service can do everything else.
        assert looks.statuses == [200]
    assert not told.unanswered


@asynchronous
async def test_requests_do_not_pile_up_at_a_slow_auth_service(tmp_path: Path) -> None:
    """It is asked by as many as there are clients, and not also for those who were told that it takes too long."""
    gate = asyncio.Event()
    async with (
        running_http_server(good()) as auth_service,
        serving(tmp_path, guarded(auth_service.url)) as program,
        publishing(
            [program.port], singles=PRODUCERS, is_patient=True, headers={"Authorization": "Basic YTpi"}
        ) as told,
    ):
        await told.wait_more(300)
        auth_service.behaviour = waiting_for(gate, good())
        while told.statuses.get(503, 0) < 4 * PRODUCERS:
            await refusals(told, 1)
            assert open_connections(program.process.pid, auth_service.port) <= PRODUCERS
        gate.set()
        await told.wait_more(300)
    assert told.slowest_seconds < TIMEOUT_SECONDS + MARGIN_SECONDS
