"""Whatever files and environment hold, loading ends in settings or in `SettingsError`, and judging does not fail."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from aviso_core.errors import SettingsError
from aviso_core.settings.dump import dump
from aviso_core.settings.loader import load
from aviso_core.settings.model import Settings
from aviso_core.startup import startup_faults

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "correct-horse-battery-staple"


def _paths(kind: type[msgspec.Struct]) -> list[tuple[str, ...]]:
    """Return the path of every block and key of a Struct type."""
    paths: list[tuple[str, ...]] = []
    for field in msgspec.structs.fields(kind):
        paths.append((field.name,))
        described = msgspec.inspect.type_info(field.type)
        if isinstance(described, msgspec.inspect.StructType):
            paths += [(field.name, *below) for below in _paths(described.cls)]
    return paths


_PATHS = _paths(Settings) + [("ecpds", key) for key in ("servers", "password", "match_key", "max_entries")]
_WORDS = st.sampled_from(
    [
        *("", " ", "true", "off", "0", "8000", "-1", "1.5", "9" * 30, "info", "jetstream", "in_memory"),
        *(
            "http://localhost",
            "https://a:b@c",
            "7d",
            "0s",
            "workqueue",
            "direct",
            "x y",
            "*",
            "!",
            "&a",
            "\0",
        ),
    ]
)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _WORDS | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_WORDS | st.text(), inner, max_size=3),
    max_leaves=8,
)
_ASSIGNMENTS = st.lists(st.tuples(st.sampled_from(_PATHS), _VALUES), max_size=8)
_MINIMAL = [
    (("application",), {"host": "localhost", "port": 8000}),
    (("notification_backend",), {"kind": "jetstream"}),
]


def _nested(assignments: list[tuple[tuple[str, ...], object]]) -> dict[str, object]:
    """Return the mapping in which each path has its value, as far as earlier values leave room for it."""
    whole: dict[str, object] = {}
    for path, value in [*_MINIMAL, *assignments]:
        block = whole
        for key in path[:-1]:
            inner = block.setdefault(key, {})
            if not isinstance(inner, dict):
                break
            block = inner
        else:
            block[path[-1]] = value
    return whole


_NAMES = st.sampled_from(_PATHS).map(lambda path: "AVISOSERVER_" + "__".join(path).upper()) | st.sampled_from(
    [
        "AVISOSERVER_CONFIG_FILE",
        "avisoserver_config_file",
        "HOME",
        "RUST_LOG",
        "NATS_TOKEN",
        "AVISOSERVER_AUTH__X",
    ]
)
_ANY_CASE = st.tuples(_NAMES, st.booleans()).map(lambda drawn: drawn[0].lower() if drawn[1] else drawn[0])
_ENVIRON_TEXT = st.text(
    st.characters(codec="utf-8") | st.characters(min_codepoint=0xDC80, max_codepoint=0xDCFF)
)
_ENVIRON = st.dictionaries(
    _ANY_CASE | _ENVIRON_TEXT.map("AVISOSERVER_".__add__), _WORDS | _ENVIRON_TEXT, max_size=6
)
_YAMLISH = st.text(alphabet="application:hostauk \n\t-[]{}&*!|>'\"%@`#?,<~0159.")
_ERRORS = st.sampled_from(
    [FileNotFoundError(2, "none"), PermissionError(13, "no"), OSError("what"), ValueError("nul")]
)
_WRITTEN = _ASSIGNMENTS.map(lambda assignments: yaml.safe_dump(_nested(assignments)).encode())
_CONTENT = _ERRORS | st.binary() | _YAMLISH.map(str.encode) | _WRITTEN
_GOOD_ENVIRON = {
    "AVISOSERVER_APPLICATION__HOST": "localhost",
    "AVISOSERVER_APPLICATION__PORT": "8000",
    "AVISOSERVER_NOTIFICATION_BACKEND__KIND": "in_memory",
}


def _attempt(environ: dict[str, str], content: bytes | Exception) -> Settings | SettingsError:
    def read_file(path: Path) -> bytes:
        if isinstance(content, Exception):
            raise content
        return content

    try:
        return load(environ, read_file=read_file)
    except SettingsError as error:
        return error


def _check(outcome: Settings | SettingsError) -> None:
    if isinstance(outcome, SettingsError):
        assert all(fault.path and fault.message and fault.remedy for fault in outcome.faults)
    else:
        startup_faults(outcome, streams=[], schema_faults=[])
        dump(outcome)


@given(_ENVIRON, _CONTENT)
def test_loading_ends_in_one_of_two_ways(environ: dict[str, str], content: bytes | Exception) -> None:
    _check(_attempt(environ, content))


@given(_ENVIRON)
def test_with_a_good_file_too(environ: dict[str, str]) -> None:
    _check(_attempt(environ, yaml.safe_dump(_nested([])).encode()))


@given(_WRITTEN)
def test_and_with_a_good_environment(content: bytes) -> None:
    _check(_attempt(_GOOD_ENVIRON, content))


_SECRETS = [
    ("auth", "jwt_secret"),
    ("ecpds", "password"),
    ("notification_backend", "jetstream", "token"),
]
_AROUND = st.sampled_from([SECRET, [SECRET], {SECRET: 1}, {"x": SECRET}, [[SECRET]], [{"y": SECRET}]])


@given(st.lists(st.tuples(st.sampled_from(_SECRETS), _AROUND), min_size=1), _ASSIGNMENTS)
def test_no_secret_is_ever_shown(
    secrets: list[tuple[tuple[str, ...], object]], assignments: list[tuple[tuple[str, ...], object]]
) -> None:
    """Whether it fails or not, and whatever shape the secret has been given by mistake."""
    outcome = _attempt({"NATS_TOKEN": SECRET}, yaml.safe_dump(_nested([*assignments, *secrets])).encode())
    assert SECRET not in _everything_shown(outcome)


@pytest.mark.parametrize("value", [SECRET, f" {SECRET}", f"{SECRET}\n"])
def test_a_refused_secret_is_not_shown(value: str) -> None:
    """Here it is the rules about values that look at it."""
    auth = {"AVISOSERVER_AUTH__ENABLED": "true", "AVISOSERVER_AUTH__JWT_SECRET": value}
    outcome = _attempt(_GOOD_ENVIRON | auth, b"")
    assert isinstance(outcome, Settings)
    assert SECRET not in _everything_shown(outcome)


def _everything_shown(outcome: Settings | SettingsError) -> str:
    if isinstance(outcome, SettingsError):
        return f"{outcome!r} {''.join(traceback.format_exception(outcome))}"
    faults = startup_faults(outcome, streams=[], schema_faults=[])
    return f"{outcome} {outcome!r} {dump(outcome)} {faults} {[str(fault) for fault in faults]}"
