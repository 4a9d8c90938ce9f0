"""Files and environment become settings: which are read, who wins, and how it fails."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING

import pytest

from aviso_core.errors import SettingsError
from aviso_core.plain.secret import Secret
from aviso_core.settings.loader import load, merge

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from aviso_core.settings.model import Settings

WORKING = "configuration/config.yaml"
SYSTEM = "/etc/aviso_server/config.yaml"
HOME = "/home/ann/.aviso_server/config.yaml"
SECRET = "correct-horse"
ENVIRON = {"HOME": "/home/ann"}

MINIMAL = "{application: {host: localhost, port: 8000}, notification_backend: {kind: in_memory}}"


def _files(contents: dict[str, str | bytes | Exception]) -> Callable[[Path], bytes]:
    def read(path: Path) -> bytes:
        content = contents.get(str(path), FileNotFoundError(2, "No such file or directory"))
        if isinstance(content, Exception):
            raise content
        return content if isinstance(content, bytes) else content.encode()

    return read


def _load(text: str = MINIMAL, **environ: str) -> Settings:
    return load(environ, read_file=_files({WORKING: text}))


def _told(contents: dict[str, str | bytes | Exception], **environ: str) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        load(environ, read_file=_files(contents))
    return [str(fault) for fault in caught.value.faults]


# --- which files -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("present", "winner"),
    [
        ([WORKING], WORKING),
        ([SYSTEM], SYSTEM),
        ([HOME], HOME),
        ([WORKING, SYSTEM], SYSTEM),
        ([WORKING, HOME], HOME),
        ([SYSTEM, HOME], HOME),
        ([WORKING, SYSTEM, HOME], HOME),
    ],
)
def test_of_the_three_files_the_later_one_wins(present: list[str], winner: str) -> None:
    text = "{application: {host: '%s', port: 1}, notification_backend: {kind: in_memory}}"
    settings = load(ENVIRON, read_file=_files({path: text % path for path in present}))
    assert settings.application.host == winner


@pytest.mark.parametrize("environ", [{}, {"HOME": ""}])
def test_without_a_home_there_are_two_files(environ: dict[str, str]) -> None:
    read: list[str] = []

    def read_file(path: Path) -> bytes:
        read.append(str(path))
        return MINIMAL.encode()

    load(environ, read_file=read_file)
    assert read == [WORKING, SYSTEM]


@pytest.mark.parametrize("value", ["/srv/aviso.yaml", "  /srv/aviso.yaml\n"])
@pytest.mark.parametrize("name", ["AVISOSERVER_CONFIG_FILE", "avisoserver_config_file"])
def test_a_named_file_replaces_the_three(name: str, value: str) -> None:
    files = _files({WORKING: "not: [yaml", "/srv/aviso.yaml": MINIMAL})
    assert load({name: value, **ENVIRON}, read_file=files).application.port == 8000


def test_a_named_file_may_be_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a reader passed in, real files are read."""
    (tmp_path / "mine.yaml").write_text(MINIMAL)
    monkeypatch.chdir(tmp_path)
    assert load({"AVISOSERVER_CONFIG_FILE": "mine.yaml"}).application.host == "localhost"


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("", "AVISOSERVER_CONFIG_FILE: is set but empty"),
        (" \t", "AVISOSERVER_CONFIG_FILE: is set but empty"),
        ("/srv/none.yaml", "AVISOSERVER_CONFIG_FILE: names a file that is not there: /srv/none.yaml"),
    ],
)
def test_a_named_file_must_be_there(value: str, told: str) -> None:
    (fault,) = _told({WORKING: MINIMAL}, AVISOSERVER_CONFIG_FILE=value)
    assert fault.startswith(told)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (".", "cannot be read: Is a directory"),
        ("none.yaml", "names a file that is not there"),
        ("circle.yaml", "names a file that is not there"),
        ("a\0b.yaml", "cannot be read: embedded null byte"),
    ],
)
def test_a_named_path_that_is_no_file_is_at_fault(name: str, told: str, tmp_path: Path) -> None:
    """Here with real files: one that leads to itself cannot be looked up, as in a folder that is closed to us."""
    (tmp_path / "circle.yaml").symlink_to("circle.yaml")
    with pytest.raises(SettingsError, match=told):
        load({"AVISOSERVER_CONFIG_FILE": f"{tmp_path}/{name}"})


def test_a_home_that_cannot_be_looked_into_has_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Containers without privileges often have the superuser's home."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "home").symlink_to("home")
    (tmp_path / "configuration").mkdir()
    (tmp_path / "configuration/config.yaml").write_text(MINIMAL)
    assert load({"HOME": str(tmp_path / "home")}).application.port == 8000


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (PermissionError(13, "Permission denied"), "Permission denied"),
        (IsADirectoryError(21, "Is a directory"), "Is a directory"),
        (OSError("the disk is on fire"), "the disk is on fire"),
        (ValueError("embedded null byte"), "embedded null byte"),
    ],
)
def test_a_file_that_is_there_must_be_readable(error: Exception, reason: str) -> None:
    """Skipping it would start the process with half of its configuration."""
    (told,) = _told({WORKING: MINIMAL, SYSTEM: error})
    assert told.startswith(f"{SYSTEM}: cannot be read: {reason}")


def test_a_file_below_something_that_is_no_folder_is_absent() -> None:
    files = _files({WORKING: MINIMAL, SYSTEM: NotADirectoryError(20, "Not a directory")})
    assert load({}, read_file=files).application.port == 8000


def test_the_faults_of_all_files_are_told_together() -> None:
    told = _told({WORKING: "a: [", SYSTEM: b"\xff", HOME: "- 1"}, **ENVIRON)
    assert [fault.split(",")[0].split(": ")[0] for fault in told] == [WORKING, SYSTEM, HOME]


# --- who wins --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layers", "merged"),
    [
        ([], {}),
        ([{"a": 1}], {"a": 1}),
        ([{"a": 1}, {"a": 2}], {"a": 2}),
        ([{"a": 1}, {"b": 2}], {"a": 1, "b": 2}),
        ([{"a": {"x": 1, "y": 1}}, {"a": {"y": 2, "z": 2}}], {"a": {"x": 1, "y": 2, "z": 2}}),
        ([{"a": {"b": {"c": 1, "d": 1}}}, {"a": {"b": {"d": 2}}}], {"a": {"b": {"c": 1, "d": 2}}}),
        ([{"a": [1, 2]}, {"a": [3]}], {"a": [3]}),
        ([{"a": {"x": 1}}, {"a": 5}], {"a": 5}),
        ([{"a": 5}, {"a": {"x": 1}}], {"a": {"x": 1}}),
        ([{"a": {"x": 1}}, {"a": None}], {"a": None}),
        ([{"a": {"x": 1}}, {"a": {}}, {"a": {"y": 2}}], {"a": {"x": 1, "y": 2}}),
    ],
)
def test_blocks_are_merged_key_by_key(layers: list[dict[str, object]], merged: dict[str, object]) -> None:
    assert merge(layers) == merged


def test_merging_leaves_what_it_merges_alone() -> None:
    first: dict[str, object] = {"a": {"x": 1}}
    second: dict[str, object] = {"a": {"x": 2}}
    merge([first, second])
    assert (first, second) == ({"a": {"x": 1}}, {"a": {"x": 2}})


def test_the_environment_wins_over_every_file() -> None:
    settings = load(
        {"AVISOSERVER_APPLICATION__PORT": "9001", **ENVIRON},
        read_file=_files({WORKING: MINIMAL, HOME: MINIMAL}),
    )
    assert settings.application.port == 9001
    assert settings.application.host == "localhost"


def test_the_environment_alone_is_enough() -> None:
    settings = load(
        {
            "AVISOSERVER_APPLICATION__HOST": "0.0.0.0",  # noqa: S104  # nothing listens in this test
            "AVISOSERVER_APPLICATION__PORT": "0",
            "AVISOSERVER_NOTIFICATION_BACKEND__KIND": "jetstream",
            "AVISOSERVER_AUTH__ENABLED": "Yes",
            "AVISOSERVER_AUTH__JWT_SECRET": "correct-horse",
            "AVISOSERVER_METRICS__PORT": "9000",
            "AVISOSERVER_REGISTRY__KIND": "jetstream",
            "AVISOSERVER_NOTIFICATION_SCHEMA_STRICT": "off",
        },
        read_file=_files({}),
    )
    assert settings.application.port == 0
    assert settings.auth.enabled
    assert settings.auth.jwt_secret == Secret("correct-horse")
    assert settings.metrics.port == 9000
    assert settings.registry.kind == "jetstream"
    assert settings.notification_schema_strict is False


def test_an_empty_variable_counts_as_set() -> None:
    text = "{application: {host: h, port: 1, base_url: 'http://x'}, notification_backend: {kind: in_memory}}"
    assert _load(text, AVISOSERVER_APPLICATION__BASE_URL="").application.base_url == ""
    (told,) = _told({WORKING: MINIMAL}, AVISOSERVER_APPLICATION__PORT="")
    assert told == "application.port: '' is not a whole number (write digits only)"


# --- variables of others ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("configured", "environ", "token"),
    [
        ("", {}, None),
        ("", {"NATS_TOKEN": "outer"}, Secret("outer")),
        ("", {"NATS_TOKEN": ""}, None),
        ("token: inner", {}, Secret("inner")),
        ("token: inner", {"NATS_TOKEN": "outer"}, Secret("inner")),
        ("token: ", {"NATS_TOKEN": "outer"}, Secret("outer")),
        ("token: ''", {"NATS_TOKEN": "outer"}, Secret("")),
        (
            "token: inner",
            {"NATS_TOKEN": "outer", "AVISOSERVER_NOTIFICATION_BACKEND__JETSTREAM__TOKEN": "own"},
            Secret("own"),
        ),
    ],
)
def test_the_token_falls_back_to_that_of_the_broker(
    configured: str, environ: dict[str, str], token: Secret | None
) -> None:
    jetstream = f"{{notification_backend: {{jetstream: {{{configured}}}}}}}"
    settings = load(environ, read_file=_files({WORKING: MINIMAL, SYSTEM: jetstream}))
    assert settings.notification_backend.jetstream.token == token


@pytest.mark.parametrize(
    ("logging", "rust_log", "level"),
    [
        ("", "", "info"),
        ("", "debug", "debug"),
        ("{}", "", "info"),
        ("{level: warn, format: json}", "", "warn"),
        ("{level: warn}", "trace", "trace"),
        ("{level: warn}", "info,aviso_server=debug", "info"),
        ("{level: warn}", "aviso_server=debug", "warn"),
        ("{level: loud}", "", "info"),
        ("{format: pretty}", "", "info"),
    ],
)
def test_the_log_level_is_the_effective_one(logging: str, rust_log: str, level: str) -> None:
    text = f"{{application: {{host: h, port: 1}}, notification_backend: {{kind: in_memory}}, logging: {logging}}}"
    assert _load(text, RUST_LOG=rust_log).logging.level == level


# --- how it fails ----------------------------------------------------------------------------------------


def test_every_fault_of_names_and_values_is_told_at_once() -> None:
    told = _told(
        {
            WORKING: "{application: {port: many}, auth: {enabled: perhaps, jwt_sercet: x}}",
            SYSTEM: "{ecpds: {servers: 'https://a', partial_outage_policy: lax}}",
        },
        AVISOSERVER_AUTH__ADMIN_ROLES="main",
        AVISOSERVER_METRICS__PORT="70000",
    )
    assert [fault.split(": ")[0] for fault in told] == [
        "auth.admin_roles",
        "application.host",
        "application.port",
        "notification_backend.kind",
        "auth.enabled",
        "auth.jwt_sercet",
        "metrics.port",
        "ecpds.servers",
        "ecpds.partial_outage_policy",
    ]


@pytest.mark.parametrize(
    ("text", "ignored"),
    [
        ("surprise: 1", True),
        ("application: {host: h, port: 1, surprise: 1}", True),
        ("logging: {surprise: 1}", True),
        ("notification_backend: {kind: in_memory, jetstream: {enable_auto_reconnect: maybe}}", True),
        ("watch_endpoint: {surprise: 1}", True),
        ("registry: {surprise: 1}", True),
        ("auth: {surprise: 1}", False),
        ("ecpds: {surprise: 1}", False),
    ],
)
def test_unknown_keys_are_refused_only_where_they_would_be_dangerous(text: str, ignored: bool) -> None:
    files: dict[str, str | bytes | Exception] = {WORKING: MINIMAL, SYSTEM: f"{{{text}}}"}
    if ignored:
        load({}, read_file=_files(files))
    else:
        (told,) = _told(files)
        assert "surprise: is not a known setting" in told


@pytest.mark.parametrize(
    ("text", "schema"),
    [
        ("", None),
        ("notification_schema: ", None),
        ("notification_schema: {}", {}),
        ("notification_schema: {mars: {topic: {base: mars}}}", {"mars": {"topic": {"base": "mars"}}}),
    ],
)
def test_an_absent_schema_is_not_an_empty_one(text: str, schema: object) -> None:
    settings = load({}, read_file=_files({WORKING: MINIMAL, SYSTEM: f"{{{text}}}"}))
    assert settings.notification_schema == schema


@pytest.mark.parametrize(
    "content",
    [
        "auth: {jwt_secret: [correct-horse]}",
        "auth: {jwt_secret: {correct-horse: correct-horse}}",
        "auth: {jwt_secret: *correct-horse}",
        "auth: {jwt_secret: !correct-horse}",
        "auth:\n  jwt_secret: correct-horse: again\n",
        "auth:\n  jwt_secret: 'correct-horse\n",
        "ecpds: {password: [correct-horse]}",
        "notification_backend: {jetstream: {token: [correct-horse]}}",
        "notification_backend: {jetstream: {nats_url: [nats://correct-horse@host]}}",
        "notification_backend: {kind: jetstream, jetstream: {token: correct-horse, timeout_seconds: soon}}",
    ],
)
def test_no_failure_shows_a_secret(content: str) -> None:
    environ = {"AVISOSERVER_AUTH__JWT_SECRET__X": SECRET}
    with pytest.raises(SettingsError) as caught:
        load(environ, read_file=_files({WORKING: content}))
    shown = "".join(traceback.format_exception(caught.value))
    assert SECRET not in shown + repr(caught.value) + repr(caught.value.__context__)
