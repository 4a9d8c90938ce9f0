"""Variables of the environment are found by name, and only those that set one value are taken."""

from __future__ import annotations

import pytest

from aviso_core.settings.environment import lookup, overrides
from aviso_core.settings.model import Settings


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("AVISOSERVER_NOTIFICATION_BACKEND__KIND", ["notification_backend", "kind"]),
        ("AVISOSERVER_WATCH_ENDPOINT__REPLAY_BATCH_SIZE", ["watch_endpoint", "replay_batch_size"]),
        ("avisoserver_application__host", ["application", "host"]),
        ("AvisoServer_Application__Port", ["application", "port"]),
        ("AVISOSERVER_NOTIFICATION_SCHEMA_STRICT", ["notification_schema_strict"]),
        ("AVISOSERVER_LOGGING__OTLP__ENDPOINT", ["logging", "otlp", "endpoint"]),
        (
            "AVISOSERVER_NOTIFICATION_BACKEND__JETSTREAM__TOKEN",
            ["notification_backend", "jetstream", "token"],
        ),
        ("AVISOSERVER_ECPDS__PASSWORD", ["ecpds", "password"]),
        ("AVISOSERVER_REGISTRY__KIND", ["registry", "kind"]),
        ("AVISOSERVER_REGISTRY__FOLDER", ["registry", "folder"]),
    ],
)
@pytest.mark.parametrize("value", ["some text", ""])
def test_a_name_is_the_path_of_a_key(name: str, keys: list[str], value: str) -> None:
    """An empty value is a value."""
    expected: object = value
    for key in reversed(keys):
        expected = {key: expected}
    assert overrides(Settings, {name: value}) == (expected, [])


@pytest.mark.parametrize(
    "name",
    [
        "PATH",
        "AVISOSERVER",
        "AVISOSERVER_",
        "AVISOSERVERAPPLICATION__HOST",
        "XAVISOSERVER_APPLICATION__HOST",
        "AVISOSERVER__APPLICATION__HOST",
        "AVISOSERVER_APPLICATION_HOST",
        "AVISOSERVER_APPLICATION__HOSTNAME",
        "AVISOSERVER_LOGGING__FORMAT",
        "AVISOSERVER_CONFIG_FILE",
        "AVISOSERVER_PORT",
        "AVISOSERVER_SERVICE_HOST",
        "AVISOSERVER_AUTH_PORT_8080_TCP_ADDR",
        "AVISOSERVER_REGISTRY_SERVICE_HOST",
    ],
)
def test_a_name_that_leads_nowhere_is_ignored(name: str) -> None:
    """Among them those that a cluster makes for a service of our name."""
    assert overrides(Settings, {name: "tcp://10.0.0.1:8000"}) == ({}, [])


@pytest.mark.parametrize(
    ("name", "path", "told"),
    [
        ("AVISOSERVER_AUTH", "auth", "is not one value"),
        ("AVISOSERVER_ECPDS", "ecpds", "is not one value"),
        ("AVISOSERVER_REGISTRY", "registry", "is not one value"),
        ("AVISOSERVER_AUTH__ADMIN_ROLES", "auth.admin_roles", "is not one value"),
        ("AVISOSERVER_AUTH__ADMIN_ROLES__MAIN", "auth.admin_roles", "is not one value"),
        ("AVISOSERVER_ECPDS__SERVERS", "ecpds.servers", "is not one value"),
        ("AVISOSERVER_NOTIFICATION_SCHEMA", "notification_schema", "is not one value"),
        ("AVISOSERVER_NOTIFICATION_SCHEMA__MARS__ENDPOINT", "notification_schema", "is not one value"),
        (
            "AVISOSERVER_APPLICATION__CORS__ALLOWED_ORIGINS",
            "application.cors.allowed_origins",
            "is not one value",
        ),
        ("AVISOSERVER_AUTH__JWT_SECRETT", "auth.jwt_secrett", "is not a known setting"),
        ("AVISOSERVER_ECPDS__USER", "ecpds.user", "is not a known setting"),
        ("AVISOSERVER_AUTH__MODE__X", "auth.mode", "has nothing below it"),
        ("AVISOSERVER_REGISTRY__FOLDER__PATH", "registry.folder", "has nothing below it"),
        ("AVISOSERVER_LOGGING__LEVEL__X", "logging.level", "has nothing below it"),
    ],
)
def test_a_name_that_cannot_be_meant_is_at_fault(name: str, path: str, told: str) -> None:
    values, (fault,) = overrides(Settings, {name: "correct-horse"})
    assert values == {}
    assert fault.path == path
    assert told in fault.message
    assert f"environment variable {name}" in fault.message
    assert fault.remedy
    assert "correct-horse" not in str(fault)


def test_a_list_is_sent_to_the_file() -> None:
    _, (fault,) = overrides(Settings, {"AVISOSERVER_ECPDS__SERVERS": "https://a"})
    assert fault.remedy == "write it in the configuration file"


def test_a_misspelt_name_is_told_what_was_meant() -> None:
    _, (fault,) = overrides(Settings, {"AVISOSERVER_AUTH__JWT_SECRETT": "x"})
    assert fault.remedy == "did you mean 'jwt_secret'?"


def test_every_fault_is_told_in_the_order_of_the_names() -> None:
    environ = {"AVISOSERVER_ECPDS__B": "", "AVISOSERVER_AUTH__A": "", "AVISOSERVER_ECPDS__A": ""}
    _, faults = overrides(Settings, environ)
    assert [fault.path for fault in faults] == ["auth.a", "ecpds.a", "ecpds.b"]


def test_of_two_spellings_the_upper_case_one_wins() -> None:
    spellings = (
        "avisoserver_application__host",
        "AVISOSERVER_APPLICATION__HOST",
        "Avisoserver_Application__Host",
    )
    environ = {spelling: spelling for spelling in spellings}
    assert overrides(Settings, environ)[0] == {"application": {"host": spellings[1]}}
    assert lookup(environ, "AVISOSERVER_APPLICATION__HOST") == spellings[1]


@pytest.mark.parametrize("name", ["AVISOSERVER_CONFIG_FILE", "avisoserver_config_file"])
def test_a_single_variable_is_found_in_any_case(name: str) -> None:
    assert lookup({"HOME": "/root", name: ""}, "AVISOSERVER_CONFIG_FILE") == ""
    assert lookup({"HOME": "/root"}, "AVISOSERVER_CONFIG_FILE") is None
