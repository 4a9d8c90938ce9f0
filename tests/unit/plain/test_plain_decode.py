"""Plain values become Structs, and every mismatch is told with its path, what was found and what to write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aviso_core.plain.decode import decode
from aviso_core.plain.secret import Secret
from aviso_core.settings.model import Settings

SECRET = "correct-horse"


class Inner(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    color: Literal["red", "green"] = "red"
    needed: bool


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    flag: bool = False
    small: Annotated[int, msgspec.Meta(ge=0, le=100)] = 7
    maybe: int | None = None
    text: str = "as it was"
    secret: Secret = Secret("")
    items: tuple[str, ...] = ()
    roles: Mapping[str, tuple[str, ...]] = {}
    raw: Mapping[str, object] | None = None
    inner: Inner | None = None


def _decoded(**raw: object) -> Sample:
    value, faults = decode(Sample, raw)
    assert not faults
    assert value is not None
    return value


def _told(**raw: object) -> list[str]:
    value, faults = decode(Sample, raw)
    assert value is None
    return [str(fault) for fault in faults]


@pytest.mark.parametrize(
    ("key", "raw", "value"),
    [
        ("flag", True, True),
        ("flag", 1, True),
        ("flag", 0, False),
        *(("flag", word, True) for word in ("1", "true", "on", "yes", "TRUE", "On", "yEs")),
        *(("flag", word, False) for word in ("0", "false", "off", "no", "FALSE", "Off", "nO")),
        ("small", 0, 0),
        ("small", 100, 100),
        ("small", "42", 42),
        ("small", "+042", 42),
        ("small", 42.0, 42),
        ("maybe", -(2**63), -(2**63)),
        ("maybe", None, None),
        ("text", "", ""),
        ("text", "5", "5"),
        ("text", 5, "5"),
        ("secret", SECRET, Secret(SECRET)),
        ("secret", 5, Secret("5")),
        ("items", [], ()),
        ("items", ["a", 1], ("a", "1")),
        ("roles", {}, {}),
        ("roles", {"main": ["a", "b"]}, {"main": ("a", "b")}),
        ("raw", {}, {}),
        ("raw", {"a": {"b": [1, None]}}, {"a": {"b": [1, None]}}),
        ("inner", {"needed": True, "color": "green"}, Inner(needed=True, color="green")),
    ],
)
def test_a_value_is_taken_as_the_type_that_is_wanted(key: str, raw: object, value: object) -> None:
    assert getattr(_decoded(**{key: raw}), key) == value


def test_defaults_stand_where_nothing_is_said() -> None:
    assert _decoded() == Sample()
    assert _decoded(flag=None, small=None, text=None, items=None, roles=None, inner=None) == Sample()


def test_unknown_keys_are_ignored_where_they_are_not_refused() -> None:
    assert _decoded(new_in_a_later_release={"a": 1}) == Sample()


@pytest.mark.parametrize(
    ("key", "raw", "told"),
    [
        ("flag", "maybe", "flag: 'maybe' is neither true nor false (write true or false)"),
        ("flag", "", "flag: '' is neither true nor false (write true or false)"),
        ("flag", " true", "flag: ' true' is neither true nor false (write true or false)"),
        ("flag", 2, "flag: 2 is neither true nor false (write true or false)"),
        ("flag", 1.0, "flag: 1.0 is neither true nor false (write true or false)"),
        ("flag", [], "flag: a list is neither true nor false (write true or false)"),
        ("small", "", "small: '' is not a whole number (write digits only)"),
        ("small", "4 2", "small: '4 2' is not a whole number (write digits only)"),
        ("small", "٤٢", "small: '٤٢' is not a whole number (write digits only)"),
        ("small", "1.0", "small: '1.0' is not a whole number (write digits only)"),
        ("small", "9" * 30, f"small: '{'9' * 30}' is not a whole number (write digits only)"),
        ("small", 1.5, "small: 1.5 is not a whole number (write digits only)"),
        ("small", float("inf"), "small: inf is not a whole number (write digits only)"),
        ("small", True, "small: true is not a whole number (write digits only)"),
        ("small", {}, "small: a mapping is not a whole number (write digits only)"),
        ("small", -1, "small: -1 is too small (write a number from 0 on)"),
        ("small", "101", "small: '101' is too large (write a number up to 100)"),
        ("text", 1.5, "text: a number is not text (put the value in quotes)"),
        ("text", True, "text: a truth value is not text (put the value in quotes)"),
        ("text", ["a"], "text: a list is not text (write one value)"),
        ("items", "a", "items: text is not a list (write [a, b])"),
        ("items", {"a": 1}, "items: a mapping is not a list (write [a, b])"),
        ("items", ["a", ["b"]], "items[1]: a list is not text (write one value)"),
        ("items", ["a", None], "items[1]: nothing is not text (write one value)"),
        ("roles", ["admin"], "roles: a list is not a mapping (write 'key: value')"),
        ("roles", {"main": "a"}, "roles.main: text is not a list (write [a, b])"),
        ("roles", {"main": None}, "roles.main: nothing is not a list (write [a, b])"),
        ("roles", {"main": ["a", {}]}, "roles.main[1]: a mapping is not text (write one value)"),
        ("roles", {"a\nb": "a"}, "roles.'a\\nb': text is not a list (write [a, b])"),
        ("raw", "text", "raw: text is not a mapping (write 'key: value')"),
        ("inner", {}, "inner.needed: is required and has no value (set inner.needed)"),
        (
            "inner",
            "text",
            "inner: text is not a block of settings (write the settings of this block below it, as 'key: value')",
        ),
        (
            "inner",
            {"needed": True, "color": "blue"},
            "inner.color: 'blue' is not one of the choices (write green or red)",
        ),
        (
            "inner",
            {"needed": True, "color": "Red"},
            "inner.color: 'Red' is not one of the choices (write green or red)",
        ),
        (
            "inner",
            {"needed": True, "colour": "red"},
            "inner.colour: is not a known setting (did you mean 'color'?)",
        ),
        (
            "inner",
            {"needed": True, "xyz": "red"},
            "inner.xyz: is not a known setting (known here: color, needed)",
        ),
    ],
)
def test_a_mismatch_names_path_value_and_remedy(key: str, raw: object, told: str) -> None:
    assert _told(**{key: raw}) == [told]


def test_a_long_value_is_cut_in_the_message() -> None:
    (told,) = _told(flag="x" * 10_000)
    assert len(told) < 200


def test_a_message_is_one_line() -> None:
    (told,) = _told(flag="two\nlines\x1b[31m")
    assert told.isprintable()


@pytest.mark.parametrize("raw", [[SECRET], {SECRET: SECRET}, {"a": SECRET}, 1.5, True])
def test_a_secret_of_the_wrong_type_is_not_shown(raw: object) -> None:
    (told,) = _told(secret=raw)
    assert told.startswith("secret: ")
    assert SECRET not in told
    assert "1.5" not in told


def test_every_fault_is_told_in_the_order_of_the_fields() -> None:
    assert [
        told.split(":")[0] for told in _told(inner={"b": 1, "a": 1}, small="x", items=[[], []], flag="x")
    ] == [
        "flag",
        "small",
        "items[0]",
        "items[1]",
        "inner.needed",
        "inner.a",
        "inner.b",
    ]


def test_of_an_absent_block_the_required_keys_are_named() -> None:
    _, faults = decode(Settings, {})
    assert [fault.path for fault in faults] == [
        "application.host",
        "application.port",
        "notification_backend.kind",
    ]


_RAW = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.sampled_from(Sample.__struct_fields__), _RAW))
def test_whatever_is_there_becomes_a_value_or_faults(raw: dict[str, object]) -> None:
    value, faults = decode(Sample, raw)
    assert (value is None) == bool(faults)
    assert all(fault.path and fault.message and fault.remedy for fault in faults)


@given(st.builds(Sample, inner=st.none() | st.builds(Inner), secret=st.builds(Secret, st.text())))
def test_a_struct_comes_back_from_its_plain_values(sample: Sample) -> None:
    plain = msgspec.to_builtins(sample, enc_hook=lambda secret: secret.reveal())
    lists = {**plain, "items": list(sample.items), "roles": {k: list(v) for k, v in sample.roles.items()}}
    assert decode(Sample, lists) == (sample, [])
