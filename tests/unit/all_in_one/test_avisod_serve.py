"""`avisod serve` up to the service: what flags, files and environment make of each other, and how it fails."""

from __future__ import annotations

import asyncio
import io
from typing import TYPE_CHECKING, Any

import pytest

from aviso_all_in_one.__main__ import perform
from aviso_all_in_one.command.arguments import parse
from aviso_all_in_one.command.serve import settings_for
from aviso_all_in_one.command.wanted import Serve
from aviso_all_in_one.sample import SAMPLES_FOLDER
from aviso_core.errors import Fault, SettingsError, Unavailable
from aviso_core.startup import startup_faults

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from aviso_core.settings.model import Settings

CONFIGURATION = """
application: {host: 0.0.0.0, port: 80}
notification_backend: {kind: jetstream, jetstream: {nats_url: "nats://broker:4222", timeout_seconds: 7}}
logging: {level: warn}
"""


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that lies about on this machine is read."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.yaml").write_text(CONFIGURATION)


def _settings(*flags: str, **environ: str) -> Settings:
    wanted = parse(["serve", *flags])
    assert isinstance(wanted, Serve)
    return settings_for(wanted, environ)


def _value(settings: Settings, path: str) -> object:
    value: Any = settings
    for name in path.split("."):
        value = getattr(value, name)
    return value


# --- settings ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("application.host", "127.0.0.1"),
        ("application.port", 8000),
        ("notification_backend.kind", "in_memory"),
        ("notification_backend.in_memory.history_per_topic", 10_000),
        ("metrics.enabled", False),
        ("registry.kind", "memory"),
        ("notification_schema", None),
    ],
)
def test_without_any_file_it_can_be_tried_out(path: str, value: object) -> None:
    settings = _settings()
    assert _value(settings, path) == value
    assert not startup_faults(settings, streams=[], schema_faults=[])


@pytest.mark.parametrize(
    ("flags", "path", "value"),
    [
        ((), "application.host", "0.0.0.0"),  # noqa: S104 (compared with, not listened on)
        ((), "notification_backend.jetstream.nats_url", "nats://broker:4222"),
        (("--host", "::1"), "application.host", "::1"),
        (("--port", "0"), "application.port", 0),
        (("--log", "memory"), "notification_backend.kind", "in_memory"),
        (("--log", "memory"), "notification_backend.in_memory.history_per_topic", 1),
        (
            ("--log", "nats://a:1,nats://b:1"),
            "notification_backend.jetstream.nats_url",
            "nats://a:1,nats://b:1",
        ),
        (("--log", "tls://a:1"), "notification_backend.jetstream.timeout_seconds", 7),
        (("--metrics-port", "9100"), "metrics.enabled", True),
        (("--metrics-port", "9100"), "metrics.port", 9100),
        (("--log-level", "DEBUG"), "logging.level", "debug"),
        (("--schemas", "mine"), "registry.kind", "folder"),
        (("--schemas", "mine"), "registry.folder", "mine"),
        (("--samples",), "registry.folder", str(SAMPLES_FOLDER)),
    ],
)
def test_a_flag_wins_over_the_file(flags: tuple[str, ...], path: str, value: object) -> None:
    """And touches nothing else: what the file says beside it stays."""
    assert _value(_settings("--config", "config.yaml", *flags), path) == value


@pytest.mark.parametrize(
    ("flags", "environ", "path", "value"),
    [
        ((), {"AVISOSERVER_APPLICATION__PORT": "1"}, "application.port", 1),
        (("--port", "2"), {"AVISOSERVER_APPLICATION__PORT": "1"}, "application.port", 2),
        ((), {"RUST_LOG": "trace"}, "logging.level", "trace"),
        (("--log-level", "error"), {"RUST_LOG": "trace"}, "logging.level", "error"),
        (("--log-level", "error"), {"AVISOSERVER_LOGGING__LEVEL": "trace"}, "logging.level", "error"),
        ((), {"AVISOSERVER_CONFIG_FILE": "config.yaml"}, "application.port", 80),
        (("--config", "config.yaml"), {"AVISOSERVER_CONFIG_FILE": "nowhere"}, "application.port", 80),
        (("--schemas", "mine"), {"AVISOSERVER_REGISTRY__FOLDER": "other"}, "registry.folder", "mine"),
    ],
)
def test_a_flag_wins_over_the_environment(
    flags: tuple[str, ...], environ: dict[str, str], path: str, value: object
) -> None:
    assert _value(_settings(*flags, **environ), path) == value


# --- arguments that are refused ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("--port", "65536"), "'65536' is not a port; write a number from 0 to 65535"),
        (("--port", "-1"), "'-1' is not a port"),
        (("--port", "http"), "'http' is not a port"),
        (("--port", "٣"), "is not a port"),
        (("--metrics-port", ""), "'' is not a port"),
        (("--host", " "), "is empty; write an address such as 127.0.0.1"),
        (("--log", "kafka://u:correct-horse@h"), "write memory, or the broker's address"),
        (("--log-level", "loud"), "invalid choice"),
        (("--samples", "--schemas", "x"), "not allowed with argument"),
        (("--prot", "1"), "unrecognized arguments"),
        (("stray",), "unrecognized arguments"),
    ],
)
def test_arguments_that_are_not_understood_are_refused(
    flags: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        parse(["serve", *flags])
    err = capsys.readouterr().err
    assert caught.value.code == 2
    assert told in err
    assert "correct-horse" not in err


# --- running ----------------------------------------------------------------------------------------------


class _Service:
    """Says that it is ready, and ends as it is told to."""

    def __init__(self, outcome: BaseException | None = None, port: int = 8123) -> None:
        self.settings: Settings | None = None
        self.loop = ""
        self._outcome = outcome
        self._port = port

    async def __call__(self, settings: Settings, *, on_ready: Callable[[int], None]) -> None:
        self.settings = settings
        self.loop = type(asyncio.get_running_loop()).__module__
        if self._outcome is not None:
            raise self._outcome
        on_ready(self._port)


def _run(service: _Service, *flags: str) -> tuple[int, str]:
    out, err = io.StringIO(), io.StringIO()
    code = perform(parse(["serve", *flags]), environ={}, out=out, err=err, service=service)
    assert not out.getvalue()
    return code, err.getvalue()


def test_it_runs_until_the_service_ends() -> None:
    """On the fast loop, with the settings that flags made."""
    service = _Service()
    assert _run(service, "--port", "0") == (0, "")
    assert service.settings is not None
    assert service.settings.application.port == 0
    assert service.loop == "uvloop"


def test_with_samples_it_greets_with_the_port_that_is_listened_on() -> None:
    code, said = _run(_Service(port=8123), "--samples", "--port", "0")
    assert code == 0
    assert "http://127.0.0.1:8123/api/v1/watch" in said


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("flags", "has_commands"),
    [((), True), (("--schemas", "mine"), False), (("--config", "strict.yaml"), False)],
)
def test_at_a_terminal_it_greets_with_commands_that_would_be_accepted(
    flags: tuple[str, ...], has_commands: bool, tmp_path: Path
) -> None:
    (tmp_path / "strict.yaml").write_text(CONFIGURATION + "notification_schema_strict: true\n")
    terminal = _Terminal()
    perform(parse(["serve", *flags]), environ={}, out=io.StringIO(), err=terminal, service=_Service())
    assert "avisod is ready" in terminal.getvalue()
    assert ("curl" in terminal.getvalue()) is has_commands


FAULTS = SettingsError(
    [
        Fault(
            path="application.port", message="cannot listen on ::1 port 80: refused", remedy="choose another"
        ),
        Fault(path="auth.admin_roles", message="is\nempty"),
    ]
)


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        (
            FAULTS,
            "avisod: application.port: cannot listen on ::1 port 80: refused (choose another)\n"
            "avisod: auth.admin_roles: is\\nempty\n",
        ),
        (Unavailable("the broker cannot be reached"), "avisod: the broker cannot be reached\n"),
        (ExceptionGroup("", [Unavailable("one"), Unavailable("two")]), "avisod: one\navisod: two\n"),
    ],
)
def test_what_keeps_it_from_running_is_told_without_a_traceback(outcome: Exception, told: str) -> None:
    assert _run(_Service(outcome)) == (1, told)


@pytest.mark.parametrize(
    "outcome", [ZeroDivisionError(), ExceptionGroup("", [Unavailable("x"), ZeroDivisionError()])]
)
def test_a_bug_keeps_its_traceback(outcome: Exception) -> None:
    with pytest.raises(type(outcome)):
        _run(_Service(outcome))


def test_an_interrupt_is_how_somebody_at_the_keyboard_stops_it() -> None:
    assert _run(_Service(KeyboardInterrupt())) == (0, "")


def test_every_fault_of_the_settings_is_told_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("{application: {port: x}, notification_backend: {}}")
    service = _Service()
    code, told = _run(service, "--config", "bad.yaml", "--host", "h")
    assert code == 1
    assert [line.split(": ")[1] for line in told.splitlines()] == [
        "application.port",
        "notification_backend.kind",
    ]
    assert service.settings is None


def test_a_named_file_that_is_not_there_is_told_by_its_name() -> None:
    assert _run(_Service(), "--config", "none.yaml") == (
        1,
        "avisod: none.yaml: is not there (correct the path)\n",
    )
