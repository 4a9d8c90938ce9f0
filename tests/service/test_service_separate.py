"""The services as processes of their own, with the same settings over one broker, and how each starts and ends."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final

import httpx
import pytest

from support.nats import running_server
from support.services import HOST, running_program, write_configuration
from support.wire import Wire, request

if TYPE_CHECKING:
    from pathlib import Path

    from support.services import Program

EVENT_TYPES: Final[dict[str, Any]] = {
    "runs": {
        "topic": {"base": "runs", "key_order": ["class"]},
        "identifier": {"class": {"type": "StringHandler", "required": True}},
    }
}
BODY: Final = b'{"event_type":"runs","identifier":{"class":"od"}}'
NOTIFICATION: Final = "/api/v1/notification"
OF_INGEST: Final = {
    NOTIFICATION: "POST",
    "/api/v1/notifications": "POST",
    "/api/v1/events": "POST",
    "/api/v1/admin/wipe/all": "DELETE",
    "/api/v1/admin/wipe/stream": "DELETE",
    "/api/v1/admin/notification/runs@1": "DELETE",
}
OF_SCHEMA: Final = {
    "/": "GET",
    "/api/v1/schema": "GET",
    "/api/v1/schema/runs": "GET",
    "/api-docs/openapi.json": "GET",
    "/swagger-ui/": "GET",
}
SERVICES: Final = ("aviso_ingest", "aviso_schema", "aviso_all_in_one")


def arguments(module: str) -> tuple[str, ...]:
    """Return what has to be said to make a module serve."""
    return ("serve",) if module == "aviso_all_in_one" else ()


def stop(program: Program) -> int:
    """Ask a process to end, as an orchestrator does, and return its exit code."""
    program.process.send_signal(signal.SIGTERM)
    return program.process.wait(timeout=10)


def test_two_services_share_settings_and_a_broker(tmp_path: Path) -> None:
    """Each has its own routes and knows nothing of the other's; both are ready, and both end in good order."""
    with running_server(tmp_path / "broker") as broker:
        backend = {"kind": "jetstream", "jetstream": {"nats_url": broker.url, "reconnect_delay_ms": 100}}
        file = write_configuration(
            tmp_path, {"notification_schema": EVENT_TYPES, "notification_backend": backend}
        )
        environ = {"AVISOSERVER_CONFIG_FILE": str(file)}
        with (
            running_program(tmp_path, "aviso_ingest", environ=environ) as ingest,
            running_program(tmp_path, "aviso_schema", environ=environ) as schema,
        ):
            for program in (ingest, schema):
                assert httpx.get(f"{program.url}/health").json() == {"status": "ok"}
                assert httpx.get(f"{program.url}/ready").json() == {
                    "status": "ready",
                    "backend_connected": True,
                }
            assert httpx.post(f"{ingest.url}{NOTIFICATION}", content=BODY).status_code == 200
            assert httpx.get(f"{schema.url}/api/v1/schema").json()["event_types"] == ["runs"]
            assert not faults(ingest, OF_INGEST, OF_SCHEMA)
            assert not faults(schema, OF_SCHEMA, OF_INGEST)

            broker.kill()
            for program in (ingest, schema):
                wait_status(program, "/ready", 503)
                assert httpx.get(f"{program.url}/health").status_code == 200
            broker.start()
            wait_status(ingest, "/ready", 200)
            assert httpx.post(f"{ingest.url}{NOTIFICATION}", content=BODY).status_code == 200
            deleted = httpx.delete(f"{ingest.url}/api/v1/admin/notification/runs@2")
            assert deleted.status_code == 200, deleted.text
            assert [stop(program) for program in (ingest, schema)] == [0, 0]


def faults(program: Program, own: dict[str, str], others: dict[str, str]) -> list[str]:
    """Return which paths a service has and should not have, or the other way round."""
    known = [
        path for path, method in own.items() if httpx.request(method, program.url + path).status_code == 405
    ]
    unknown = [path for path in own if httpx.request("PATCH", program.url + path).status_code != 405]
    foreign = [
        path
        for path, method in others.items()
        if httpx.request(method, program.url + path).status_code != 404
    ]
    return known + unknown + foreign


def wait_status(program: Program, path: str, status: int) -> None:
    """Wait until a path is answered so: what a service finds out by itself, it tells nobody who does not ask."""
    latest = time.monotonic() + 10
    while (answered := httpx.get(program.url + path).status_code) != status:
        assert time.monotonic() < latest, f"{path} is answered {answered}, not {status}"
        time.sleep(0.02)


# --- the end ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "number"),
    [*((module, signal.SIGTERM) for module in SERVICES), ("aviso_ingest", signal.SIGINT)],
)
def test_a_service_ends_in_good_order_when_it_is_told_to(
    tmp_path: Path, module: str, number: signal.Signals
) -> None:
    """Idle connections and half requests do not hold it; the exit code is 0, and the log says why it ended."""
    file = write_configuration(tmp_path, {"notification_schema": EVENT_TYPES})
    environ = {"AVISOSERVER_CONFIG_FILE": str(file)}
    with (
        running_program(tmp_path, module, *arguments(module), environ=environ) as program,
        Wire(program.port) as idle,
        Wire(program.port) as half,
    ):
        idle.send(request("GET", "/health"))
        assert idle.response().status == 200
        half.send(b"GET /hea")
        program.process.send_signal(number)
        assert program.process.wait(timeout=10) == 0
    assert "startup.server.stopping" in program.output.read_text()


def test_what_was_sent_before_the_end_is_answered(tmp_path: Path) -> None:
    """A body that comes to its end while the service stops is stored, and the client is told to go elsewhere."""
    file = write_configuration(tmp_path, {"notification_schema": EVENT_TYPES})
    environ = {"AVISOSERVER_CONFIG_FILE": str(file)}
    with running_program(tmp_path, "aviso_ingest", environ=environ) as program, Wire(program.port) as late:
        late.send(request("POST", NOTIFICATION, "Expect: 100-continue", f"Content-Length: {len(BODY)}"))
        # Only now it is certain that the service has the request.
        assert late.response().status == 100
        program.process.send_signal(signal.SIGTERM)
        wait_status(program, "/ready", 503)
        late.send(BODY)
        answer = late.response()
        assert answer.status == 200
        assert answer.closes
        assert program.process.wait(timeout=10) == 0


# --- the beginning ---------------------------------------------------------------------------------------


def ended(module: str, folder: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a service that cannot start."""
    return subprocess.run(
        [sys.executable, "-m", module, *arguments(module)],
        capture_output=True,
        text=True,
        timeout=20,
        cwd=folder,
        env={"HOME": str(folder), **environ},
    )


@pytest.mark.parametrize("module", SERVICES)
def test_a_service_that_cannot_start_says_why_in_a_line(tmp_path: Path, module: str) -> None:
    """A port that is taken, and settings that are wrong: the exit code is 1, and there is no traceback."""
    file = write_configuration(tmp_path, {"notification_schema": EVENT_TYPES})
    with closing(socket.socket()) as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = ended(module, tmp_path, AVISOSERVER_CONFIG_FILE=str(file), AVISOSERVER_APPLICATION__PORT=port)
    assert done.returncode == 1
    assert f"cannot listen on {HOST} port {port}" in done.stderr
    assert "Traceback" not in done.stderr + done.stdout

    name = "avisod" if module == "aviso_all_in_one" else module
    done = ended(
        module,
        tmp_path,
        AVISOSERVER_CONFIG_FILE=str(file),
        AVISOSERVER_NOTIFICATION_BACKEND__KIND="paper",
        AVISOSERVER_WATCH_ENDPOINT__REPLAY_BATCH_SIZE="0",
    )
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert all(line.startswith(f"{name}: ") for line in lines), lines
    assert any("Unknown notification_backend kind: paper" in line for line in lines)
    assert "Traceback" not in done.stderr + done.stdout


@pytest.mark.parametrize("module", SERVICES[:2])
def test_a_service_of_its_own_has_help_and_no_arguments(tmp_path: Path, module: str) -> None:
    """What it is configured by is told to whoever asks, and to whoever tries arguments."""
    for given, code in (("--help", 0), ("serve", 2)):
        done = subprocess.run(
            [sys.executable, "-m", module, given], capture_output=True, text=True, timeout=20, cwd=tmp_path
        )
        assert done.returncode == code
        assert f"python -m {module}" in done.stdout + done.stderr
        assert "AVISOSERVER_CONFIG_FILE" in done.stdout + done.stderr
