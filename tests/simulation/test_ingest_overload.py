"""More comes than a service may hold: it says so, holds no more than it may, and takes everything in the end."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from support.event_logs import asynchronous
from support.lines import ask, post
from support.log_story import stored
from support.nats import open_link, running_server
from support.observed import on_broker, serving
from support.producers import SINGLE, check, publishing
from support.stored import running_with_log, told

if TYPE_CHECKING:
    import pytest

KIBI: Final = 1024
MEBI: Final = 1024 * KIBI
# A fifth of what comes at once: everything else waits in its connection, or is told to come again.
IN_FLIGHT: Final = 8 * MEBI
PRODUCERS: Final = 40
LARGE: Final = 1000 * KIBI
SIZE: Final = 100
# What a service holds of a request beside its body: records, what was made of them, and the log's own copy.
MOST_GROWN: Final = 4 * IN_FLIGHT


def peak_bytes(process_id: int) -> int:
    """Return the most memory that a process ever held."""
    lines = Path(f"/proc/{process_id}/status").read_text().splitlines()
    return next(int(line.split()[1]) * KIBI for line in lines if line.startswith("VmHWM"))


def crowded(url: str, *, most_bytes: int) -> dict[str, Any]:
    """Return the configuration of a service that holds little."""
    return {**on_broker(url), "ingest": {"max_bytes_in_flight": most_bytes, "max_waiting_seconds": 1}}


@asynchronous
async def test_everything_is_stored_though_much_more_comes_than_there_is_room_for(tmp_path: Path) -> None:
    """Clients that come again when they were told to, with the same ids, are all served; nothing is there twice."""
    with running_server(tmp_path / "broker") as broker:
        async with (
            open_link(broker) as link,
            serving(tmp_path, crowded(link.url, most_bytes=IN_FLIGHT)) as program,
        ):
            before = peak_bytes(program.process.pid)
            async with publishing(
                [program.port],
                singles=0,
                batches=PRODUCERS,
                batch_size=SIZE,
                padding=LARGE // SIZE,
                is_patient=True,
            ) as became:
                link.pause()
                # What is in flight stays there, so that the others wait for too long.
                await became.wait_until(lambda: became.statuses.get(503, 0) >= PRODUCERS // 2)
                link.mend()
                await became.wait_more(PRODUCERS * SIZE)
            grown = peak_bytes(program.process.pid) - before
        truth = await stored(broker.url)
    check(became, {place: payload.replace(b" ", b"") for place, payload in truth.items()}, also=())
    assert became.statuses.keys() == {200, 503}
    assert grown < MOST_GROWN


@asynchronous
async def test_single_notifications_are_told_to_come_again(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """That is counted and logged as a failure of ours, and of no event type: nothing of it was looked at."""
    one = {"event_type": "mars", "identifier": {"producer": "a"}, "payload": "a:0"}
    counted = "aviso_notifications_total"
    with running_server(tmp_path / "broker") as broker:
        async with open_link(broker) as link:
            configuration = crowded(link.url, most_bytes=100)
            backend = configuration["notification_backend"]
            async with running_with_log(configuration, backend) as service:
                port = service.service.port
                assert (await ask(port, post(SINGLE, one))).status == 200
                link.pause()
                holding = asyncio.ensure_future(ask(port, post(SINGLE, one)))
                refused = await asyncio.gather(*(ask(port, post(SINGLE, one)) for _ in range(5)))
                assert [(answer.status, answer.json["code"]) for answer in refused] == [
                    (503, "OVERLOADED")
                ] * 5
                assert {int(answer.headers["retry-after"]) for answer in refused} == {1}
                # The client keeps its connection, and comes again over it.
                assert not any(answer.closes for answer in refused)
                assert service.count(counted, event_type="unknown", status="error") == 5
                link.mend()
                assert (await holding).status == 200
                assert (await ask(port, post(SINGLE, one))).status == 200
                assert service.count(counted, event_type="mars", status="success") == 3
                assert service.count(counted, event_type="unknown", status="error") == 5
        assert len(await stored(broker.url)) == 3
    failures = told(capfd.readouterr().out, "api.request.")
    assert [(record["event.name"], record["level"]) for record in failures] == [
        ("api.request.processing.failed", "WARN")
    ] * 5
    for record in failures:
        assert record["request_id"] in {answer.json["request_id"] for answer in refused}
