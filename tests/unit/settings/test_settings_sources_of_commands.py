"""What a command adds to files and environment: a named file, values without any file, flags."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from aviso_core.errors import SettingsError
from aviso_core.settings.loader import load

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

WORKING = "configuration/config.yaml"
MINIMAL = "{application: {host: localhost, port: 8000}, notification_backend: {kind: in_memory}}"
TRIAL = {
    "application": {"host": "127.0.0.1", "port": 1},
    "notification_backend": {"kind": "in_memory"},
    "metrics": {"port": 9},
}


def _files(**contents: str) -> Callable[[Path], bytes]:
    def read(path: Path) -> bytes:
        for name, content in contents.items():
            if str(path) == {"working": WORKING, "named": "named.yaml"}[name]:
                return content.encode()
        raise FileNotFoundError(2, "No such file or directory")

    return read


def test_a_named_file_replaces_all_others() -> None:
    """Also the one that the environment names, which is not even read."""
    settings = load(
        {"AVISOSERVER_CONFIG_FILE": "/not/there"},
        read_file=_files(working="not: [yaml", named=MINIMAL),
        config_file="named.yaml",
    )
    assert settings.application.port == 8000


def test_a_named_file_must_be_there() -> None:
    with pytest.raises(SettingsError) as caught:
        load({}, read_file=_files(working=MINIMAL), config_file="named.yaml")
    assert str(caught.value) == "named.yaml: is not there (correct the path)"


def test_values_for_want_of_a_file_hold_where_there_is_none() -> None:
    assert load({}, read_file=_files(), without_files=TRIAL).metrics.port == 9


def test_any_file_takes_the_place_of_those_values() -> None:
    assert load({}, read_file=_files(working=MINIMAL), without_files=TRIAL).metrics.port is None


@pytest.mark.parametrize("text", ["{application: {host: h, port: 2}}", ""])
def test_a_file_is_not_completed_by_those_values(text: str) -> None:
    """One that forgets the kind of log would else keep events in memory, and nobody had asked for that."""
    with pytest.raises(SettingsError, match=r"notification_backend\.kind"):
        load({}, read_file=_files(working=text), without_files=TRIAL)


@pytest.mark.parametrize(
    ("variable", "flag", "port"),
    [(None, None, 8000), ("2", None, 2), (None, 3, 3), ("2", 3, 3)],
)
def test_flags_win_over_the_environment_and_that_over_files(
    variable: str | None, flag: int | None, port: int
) -> None:
    environ = {} if variable is None else {"AVISOSERVER_APPLICATION__PORT": variable}
    overriding = {} if flag is None else {"application": {"port": flag}}
    settings = load(environ, read_file=_files(working=MINIMAL), overriding=overriding)
    assert (settings.application.port, settings.application.host) == (port, "localhost")


def test_the_environment_wins_over_values_for_want_of_a_file() -> None:
    environ = {"AVISOSERVER_APPLICATION__PORT": "2"}
    settings = load(environ, read_file=_files(), without_files=TRIAL)
    assert (settings.application.port, settings.metrics.port) == (2, 9)
