"""Files are read as YAML 1.2, within bounds, and what is wrong with them has a line."""

from __future__ import annotations

import math

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from aviso_core.plain.yaml_mapping import (
    FASTEST_PARSER,
    MAX_DEPTH,
    MAX_EXPANDED_SIZE,
    read_mapping,
    resolve,
)

PARSERS = [FASTEST_PARSER, yaml.SafeLoader]


def _value(text: str) -> object:
    mapping, fault = read_mapping(f"key: {text}".encode(), name="config.yaml")
    assert fault is None
    return mapping["key"]


def _fault(content: bytes) -> str:
    mapping, fault = read_mapping(content, name="config.yaml")
    assert mapping == {}
    assert fault is not None
    return str(fault)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("plain", "plain"),
        ("", None),
        ("~", None),
        ("null", None),
        ("true", True),
        ("FALSE", False),
        ("no", "no"),
        ("on", "on"),
        ("y", "y"),
        ("0", 0),
        ("8000", 8000),
        ("-1", -1),
        ("010", "010"),
        ("+5", "+5"),
        ("0x1F", "0x1F"),
        ("0o17", "0o17"),
        ("1_000", "1_000"),
        ("1:30", "1:30"),
        ("99999999999999999999999999", "99999999999999999999999999"),
        ("1.5", 1.5),
        (".5", 0.5),
        ("5.", 5.0),
        ("1e3", 1000.0),
        ("-1.5E-3", -0.0015),
        (".inf", math.inf),
        ("-.INF", -math.inf),
        ("2026-03-04", "2026-03-04"),
        ("2026-99-99", "2026-99-99"),
        ("'5'", "5"),
        ('"true"', "true"),
        ("|\n  5\n", "5\n"),
        ("!!str 5", "5"),
        ("! 5", "5"),
        ("!!int 5", 5),
        ("!!bool true", True),
        ("!!map {a: 1}", {"a": 1}),
        ("[a, 1, [no]]", ["a", 1, ["no"]]),
        ("{no: 1, 1: 2, ~: 3}", {"no": 1, "1": 2, "~": 3}),
    ],
)
def test_a_value_is_read_as_yaml_1_2(text: str, value: object) -> None:
    read = _value(text)
    assert read == value
    assert type(read) is type(value)


def test_not_a_number_is_read() -> None:
    assert math.isnan(resolve(".nan"))  # type: ignore[arg-type]  # the type of the answer depends on the text


@given(st.integers(min_value=-(10**19), max_value=10**20 - 1))
def test_whole_numbers_survive(number: int) -> None:
    assert resolve(str(number)) == number


@given(st.from_regex(r"[+-]?[0-9]{1,25}", fullmatch=True))
def test_digits_that_are_not_the_usual_spelling_stay_as_they_are(digits: str) -> None:
    """A password of digits must not lose its zeros."""
    assert str(resolve(digits)) == digits


@pytest.mark.parametrize("content", [b"", b"\n\n", b"# only a comment\n", b"---\n", b"~", b"{}"])
def test_a_file_without_settings_is_an_empty_mapping(content: bytes) -> None:
    assert read_mapping(content, name="config.yaml") == ({}, None)


def test_a_byte_order_mark_is_no_part_of_the_first_key() -> None:
    assert read_mapping(b"\xef\xbb\xbfkey: 1", name="config.yaml") == ({"key": 1}, None)


def test_of_a_repeated_key_the_last_value_holds() -> None:
    assert read_mapping(b"key: 1\nkey: 2\n", name="config.yaml") == ({"key": 2}, None)


def test_aliases_stand_for_what_they_name() -> None:
    mapping, _ = read_mapping(b"one: &it [1, 2]\ntwo: *it\n&key three: *key\n", name="config.yaml")
    assert mapping == {"one": [1, 2], "two": [1, 2], "three": "three"}


@pytest.mark.parametrize(
    ("merging", "merged"),
    [
        ("{<<: *a, y: 9}", {"x": 1, "y": 9}),
        ("{y: 9, <<: *a}", {"x": 1, "y": 9}),
        ("{<<: [*a, *b]}", {"x": 1, "y": 2, "z": 4}),
        ("{<<: [*b, *a]}", {"x": 3, "y": 2, "z": 4}),
        ("{<<: *b, <<: *a}", {"x": 1, "y": 2, "z": 4}),
        ("{'<<': *a}", {"<<": {"x": 1, "y": 2}}),
    ],
)
def test_the_merge_key_brings_what_is_not_there(merging: str, merged: object) -> None:
    content = f"a: &a {{x: 1, y: 2}}\nb: &b {{x: 3, z: 4}}\nc: {merging}\n"
    mapping, fault = read_mapping(content.encode(), name="config.yaml")
    assert fault is None
    assert mapping["c"] == merged


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"a: 1\nb: c: d\n", "config.yaml, line 2: is not YAML: mapping values are not allowed"),
        (b"a: 1\n\tb: 2\n", "config.yaml, line 2: is not YAML: "),
        (b"a: [1, 2\nb: 3\n", "config.yaml, line 2: is not YAML: did not find expected ',' or ']'"),
        (b"a: 'open\n", "config.yaml, line 2: is not YAML: "),
        (b"a: 1\nb: \xff\n", "config.yaml, line 2: is not UTF-8 text"),
        ("ä: 1\n".encode("latin-1"), "config.yaml, line 1: is not UTF-8 text"),
        ("a: 1\n".encode("utf-16"), "config.yaml, line 1: is not UTF-8 text"),
        ("ä: 1\nb: \x07\n".encode(), "config.yaml, line 2: has a character that YAML forbids"),
        (b"- a\n- b\n", "config.yaml: is not a mapping"),
        (b"just text\n", "config.yaml: is not a mapping"),
        (b"5\n", "config.yaml: is not a mapping"),
        (b"a: 1\n---\nb: 2\n", "config.yaml, line 2: begins a second document"),
        (b"a: 1\n? [1]\n: 2\n", "config.yaml, line 2: has a key that is not plain text"),
        (b"a: &a x\n? *a\n: 2\n", "config.yaml, line 2: has a key that is not plain text"),
        (b"a: 1\nb: *c\n", "config.yaml, line 2: has an alias to nothing that is complete there"),
        (b"a: &a [1, *a]\n", "config.yaml, line 1: has an alias to nothing that is complete there"),
        (b"a: 1\nb: !env HOME\n", "config.yaml, line 2: has a tag that is not taken"),
        (b"a: !!python/object:os.system {}\n", "config.yaml, line 1: has a tag that is not taken"),
        (b"a: !!int five\n", "config.yaml, line 1: has a tag that is not taken"),
        (b"a: !!set [1]\n", "config.yaml, line 1: has a tag that is not taken"),
        (b"a: {<<: 1}\n", "config.yaml, line 1: merges (<<) what is not a mapping"),
    ],
)
def test_what_is_wrong_has_its_line(content: bytes, told: str) -> None:
    assert _fault(content).startswith(told)


@pytest.mark.parametrize(
    "line", ["*hunter2", "!hunter2", "!hunter2!x y", "%hunter2", "@hunter2", "&hunter2 *hunter2", "'hunter2"]
)
@pytest.mark.parametrize("parser", PARSERS)
def test_no_message_repeats_an_unquoted_password(line: str, parser: type) -> None:
    """PyYAML's own parser quotes the file in its messages, libyaml does not."""
    _, fault = read_mapping(f"password: {line}\n".encode(), name="config.yaml", parser=parser)
    assert "hunter2" not in str(fault)
    assert str(fault).startswith("config.yaml, line ")


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ("{a: ", "}")])
def test_nesting_has_a_bound(opening: str, closing: str) -> None:
    deep = MAX_DEPTH - 1
    assert _value(opening * deep + "x" + closing * deep)
    deep += 1
    assert "nests deeper" in _fault(f"key: {opening * deep}x{closing * deep}".encode())
    assert "nests deeper" in _fault(f"key: {opening * 100_000}".encode())


def test_nesting_through_aliases_has_the_same_bound() -> None:
    """Each line nests one level deeper than the one before, without nesting in the text."""
    lines = ["a0: &a0 [x]", *(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, MAX_DEPTH + 2))]
    assert "nests deeper" in _fault("\n".join(lines).encode())


@pytest.mark.parametrize("again", ["[{0}, {0}]", "{{x: {0}, y: {0}}}", "{{<<: [{0}, {0}]}}"])
def test_an_alias_bomb_is_refused_before_it_is_expanded(again: str) -> None:
    first = "a0: &a0 {k: some text}"
    lines = [first, *(f"a{n}: &a{n} {again.format(f'*a{n - 1}')}" for n in range(1, 40))]
    assert f"is larger than {MAX_EXPANDED_SIZE} characters" in _fault("\n".join(lines).encode())


_PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.text(), _PLAIN, max_size=4), st.booleans())
def test_what_a_yaml_library_writes_is_read_back(mapping: dict[str, object], flow: bool) -> None:
    """In quotes and with tags, because the library means YAML 1.1 where it writes without."""
    written = yaml.safe_dump(mapping, default_style='"', default_flow_style=flow).encode()
    read, fault = read_mapping(written, name="config.yaml")
    assert fault is None
    assert read == mapping


@pytest.mark.parametrize("parser", PARSERS)
@given(content=st.binary() | st.text(alphabet="ab:-[]{}&*!|>'\"%@`#?,<~\\u8 \n\t0").map(str.encode))
def test_any_bytes_are_a_mapping_or_a_fault(content: bytes, parser: type) -> None:
    mapping, fault = read_mapping(content, name="config.yaml", parser=parser)
    assert fault is None or mapping == {}
