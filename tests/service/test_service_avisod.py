"""`avisod` as a process: exit codes, streams, and no traceback for what a user did."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.request import urlopen

import pytest

from aviso_all_in_one.sample import SAMPLES_FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterator

SCRIPT: Final = Path(sys.executable).with_name("avisod")
SAMPLE: Final = SAMPLES_FOLDER / "weather-alert.yaml"


def _avisod(*arguments: str, cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(SCRIPT), *arguments],
        check=False,
        capture_output=True,
        encoding="utf-8",
        cwd=cwd,
        env={"PATH": "/usr/bin:/bin", **environ},
        timeout=60,
    )


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("version",), 0),
        (("--help",), 0),
        (("check", str(SAMPLE)), 0),
        (("check", "bad.yaml"), 1),
        (("check", "none.yaml"), 2),
        (("check",), 2),
        (("schema", "diff", str(SAMPLE), str(SAMPLE)), 0),
        (("schema", "diff", str(SAMPLES_FOLDER), str(SAMPLE)), 1),
        (("schema", "diff", str(SAMPLE), "bad.yaml"), 2),
        ((), 2),
        (("sevre",), 2),
    ],
)
def test_the_exit_code_says_how_it_went(arguments: tuple[str, ...], code: int, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("x: [")
    ran = _avisod(*arguments, cwd=tmp_path)
    assert ran.returncode == code
    assert bool(ran.stderr) is (code == 2)
    assert "Traceback" not in ran.stderr


def test_it_can_be_run_as_a_module_too(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "aviso_all_in_one", "version"]
    ran = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path)
    assert ran.stdout == _avisod("version", cwd=tmp_path).stdout
    assert ran.stdout.startswith("avisod ")


def test_a_terminal_of_few_characters_is_enough(tmp_path: Path) -> None:
    ran = _avisod("serve", "--help", cwd=tmp_path, PYTHONIOENCODING="ascii")
    assert ran.returncode == 0
    assert "nats://\\u2026" in ran.stdout


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    """As of `avisod check … | head -1`."""
    (tmp_path / "schemas").mkdir()
    for number in range(300):
        (tmp_path / "schemas" / f"{number}.yaml").write_text("x: [")
    with subprocess.Popen(
        [str(SCRIPT), "check", *["schemas"] * 10],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 141


def test_what_does_not_serve_starts_no_framework(tmp_path: Path) -> None:
    """A check of a file should take as long as reading it."""
    script = (
        "import sys; from aviso_all_in_one.__main__ import main; main(['check', sys.argv[1]]);"
        "print(sorted({'litestar', 'uvicorn', 'uvloop', 'nats', 'prometheus_client'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", script, str(SAMPLE)]
    ran = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path)
    assert ran.stdout.splitlines()[-1] == "[]"


# --- the real service -------------------------------------------------------------------------------------


@contextmanager
def _serving(*flags: str, cwd: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run the service until it has greeted, on a free port; give the process and the greeting."""
    with subprocess.Popen(
        [str(SCRIPT), "serve", "--port", "0", *flags],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env={"PATH": "/usr/bin:/bin"},
    ) as process:
        try:
            assert process.stderr is not None
            lines: list[str] = []
            while "Ctrl-C" not in "".join(lines[-1:]):
                lines.append(process.stderr.readline())
                assert lines[-1], "".join(lines)
            yield process, "".join(lines)
        finally:
            process.kill()


def test_the_links_of_the_greeting_lead_somewhere(tmp_path: Path) -> None:
    """As soon as they are shown."""
    with _serving("--samples", cwd=tmp_path) as (process, greeting):
        links = re.findall(r"^  [a-z ]+? +(http\S+)$", greeting, re.MULTILINE)
        assert len(links) == 4
        for link in links:
            with urlopen(link, timeout=10) as answer:  # noqa: S310 (our own service)
                assert answer.status == 200
        assert process.poll() is None


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_the_service_in_good_order(number: signal.Signals, tmp_path: Path) -> None:
    with _serving("--samples", cwd=tmp_path) as (process, _):
        process.send_signal(number)
        assert process.wait(60) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_a_service_that_waits_for_its_broker(number: signal.Signals, tmp_path: Path) -> None:
    """One that takes connections and says nothing is waited for far longer than anybody at a keyboard would."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(60)
        broker = f"nats://127.0.0.1:{silent.getsockname()[1]}"
        process = subprocess.Popen(
            [str(SCRIPT), "serve", "--port", "0", "--log", broker],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
        )
        with process:
            connection, _ = silent.accept()
            with connection:
                process.send_signal(number)
                assert process.wait(15) == 0


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("--schemas", "none"), "none"),
        (("--host", "no such host"), "application.host"),
        (("--metrics-port", "0"), "metrics.port"),
        (("--log", "nats://127.0.0.1:1", "--config", "impatient.yaml"), "127.0.0.1:1"),
    ],
)
def test_what_keeps_the_service_from_running_is_told(
    flags: tuple[str, ...], told: str, tmp_path: Path
) -> None:
    (tmp_path / "impatient.yaml").write_text(
        "{application: {host: 127.0.0.1, port: 0}, notification_backend: {kind: jetstream,"
        " jetstream: {timeout_seconds: 1, retry_attempts: 1, reconnect_delay_ms: 1}}}"
    )
    ran = _avisod("serve", "--port", "0", *flags, cwd=tmp_path)
    assert ran.returncode == 1
    assert ran.stderr.startswith("avisod: ")
    assert told in ran.stderr
    assert "Traceback" not in ran.stdout + ran.stderr


def test_a_port_that_is_taken_is_told(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        ran = _avisod("serve", "--port", str(port), cwd=tmp_path)
    assert ran.returncode == 1
    assert f"cannot listen on 127.0.0.1 port {port}: Address already in use" in ran.stderr
