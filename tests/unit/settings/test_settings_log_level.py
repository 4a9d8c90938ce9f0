"""One of five levels holds, whatever is configured."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aviso_core.settings.log_level import LEVELS, effective_level


@pytest.mark.parametrize(
    ("configured", "rust_log", "level"),
    [
        ("trace", "", "trace"),
        ("debug", "", "debug"),
        ("info", "", "info"),
        ("warn", "", "warn"),
        ("error", "", "error"),
        ("WARN", "", "warn"),
        ("verbose", "", "info"),
        ("", "", "info"),
        ("warn", "debug", "debug"),
        ("warn", "DEBUG", "debug"),
        ("warn", " error ", "error"),
        ("warn", "info,aviso_server=debug", "info"),
        ("warn", "aviso_server=debug,trace", "trace"),
        ("warn", "aviso_server=debug", "warn"),
        ("warn", "no level", "warn"),
        ("verbose", ",,", "info"),
    ],
)
def test_the_environment_wins_where_it_names_a_level(configured: str, rust_log: str, level: str) -> None:
    assert effective_level(configured, rust_log) == level


@given(st.text(), st.text())
def test_the_outcome_is_a_level(configured: str, rust_log: str) -> None:
    assert effective_level(configured, rust_log) in LEVELS
