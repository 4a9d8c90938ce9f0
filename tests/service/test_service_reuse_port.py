"""Several processes of one service on one port: the kernel spreads connections, and each may come and go."""

from __future__ import annotations

import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

import pytest
import urllib3

from aviso_core.errors import SettingsError
from aviso_http.server import listen
from support.deployment import until
from support.nats import free_ports, running_server
from support.observed import on_broker
from support.services import HOST, running_avisod
from support.spark_service import stored_events

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.services import Program

# As many as the kernel is asked to spread: that one of two gets none of them happens once in 2**59 times.
_CONNECTIONS: Final = 60
_CLIENTS: Final = 8


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[list[Program]]:
    """Run two services on one port, over one broker."""
    application = {"host": HOST, "port": free_ports(1)[0], "reuse_port": True}
    with running_server(tmp_path / "nats") as broker, ExitStack() as running:
        configuration = {**on_broker(broker.url), "application": application}
        folders = [tmp_path / "first", tmp_path / "second"]
        for folder in folders:
            folder.mkdir()
        yield [running.enter_context(running_avisod(folder, configuration)) for folder in folders]


def test_processes_on_one_port_are_one_service(processes: list[Program]) -> None:
    """Each takes a part of what is published, everything is in one history, and the other goes on when one ends."""
    first, second = processes
    assert first.port == second.port
    for number in range(_CONNECTIONS):
        assert _publish(first.url, number) == 200
    second.process.terminate()
    assert second.process.wait(timeout=30) == 0
    for number in range(_CONNECTIONS, _CONNECTIONS + 10):
        assert _publish(first.url, number) == 200
    stored = stored_events(first.url, "mars", producer="p")
    assert [event["data"]["payload"]["number"] for event in stored] == list(range(_CONNECTIONS + 10))

    first.process.terminate()
    assert first.process.wait(timeout=30) == 0
    # What they have said is read behind them.
    stored_by = until(
        lambda: _whole([_stored_by(program) for program in processes]), seconds=30, what="all told"
    )
    assert min(stored_by) > 0


def test_nobody_notices_that_a_process_stops(processes: list[Program]) -> None:
    """What comes over new connections while it stops is answered, and not with advice to go elsewhere."""
    first, second = processes
    url, over = first.url, threading.Event()
    # Nobody says anything over these: they alone are what the stop takes its time for.
    with ExitStack() as idle, ThreadPoolExecutor(_CLIENTS) as pool:
        for _ in range(_CONNECTIONS):
            idle.enter_context(socket.create_connection((HOST, first.port)))
        asking = [pool.submit(_ask_until, over, url) for _ in range(_CLIENTS)]
        try:
            second.process.terminate()
            assert second.process.wait(timeout=30) == 0
        finally:
            over.set()
    said = [status for one in asking for status in one.result()]
    assert len(said) > _CLIENTS
    assert set(said) == {200}


def test_a_port_is_shared_only_by_those_that_say_so(processes: list[Program], tmp_path: Path) -> None:
    """Anybody else is told that it is taken."""
    folder = tmp_path / "third"
    folder.mkdir()
    configuration = {"application": {"host": HOST, "port": processes[0].port}}
    with pytest.raises(AssertionError, match="cannot listen on"), running_avisod(folder, configuration):
        pass


def test_who_would_share_a_port_that_is_not_shared_is_told_why_not(tmp_path: Path) -> None:
    with (
        socket.create_server((HOST, 0)) as other,
        pytest.raises(
            SettingsError, match="shared only by processes of one user of which each sets application"
        ),
    ):
        listen(HOST, other.getsockname()[1], reuse_port=True)


def test_processes_without_a_common_history_do_not_share_a_port(tmp_path: Path) -> None:
    """Each would answer from a history of its own."""
    application = {"host": HOST, "port": free_ports(1)[0], "reuse_port": True}
    refused = pytest.raises(AssertionError, match="needs a log that the processes share")
    with refused, running_avisod(tmp_path, {"application": application}):
        pass


def _publish(url: str, number: int) -> int:
    """Publish over a connection of its own."""
    body = {"event_type": "mars", "identifier": {"producer": "p"}, "payload": {"number": number}}
    answer = urllib3.request(
        "POST", f"{url}/api/v1/notification", json=body, headers={"Connection": "close"}, retries=False
    )
    return answer.status


def _ask_until(over: threading.Event, url: str) -> list[int]:
    """Publish again and again, each time over a connection of its own, and return what was answered."""
    said = []
    while not over.is_set():
        said.append(_publish(url, 0))
    return said


def _stored_by(program: Program) -> int:
    """Return how many notifications a process says it has stored."""
    return program.output.read_bytes().count(b'"api.notification.processed"')


def _whole(stored_by: list[int]) -> list[int] | None:
    return stored_by if sum(stored_by) == _CONNECTIONS + 10 else None
