"""Patterns of fields, said to others."""

from __future__ import annotations

import jsonschema_rs
import pytest
import re2
from hypothesis import assume, given
from hypothesis import strategies as st

from aviso_schema.describe.pattern import portable


@pytest.mark.parametrize(
    ("pattern", "told", "example"),
    [
        ("^[a-z]{2}[0-9]{4}$", "^[a-z]{2}[0-9]{4}$", "aa0000"),
        (r"^\d+$", "^[0-9]+$", "0"),
        (r"^\w\s\S\D$", r"^[0-9A-Za-z_][\t\n\f\r ][^\t\n\f\r ][^0-9]$", "a aa"),
        ("^a.c$", r"^a[^\n]c$", "aac"),
        ("^(od|rd)$", "^(?:od|rd)$", "od"),
        ("^(?:x)(?P<name>y)(?<other>z)$", "^(?:x)(?:y)(?:z)$", "xyz"),
        (r"a\-b\@c\.d\/e", r"a-b@c\.d\/e", "a-b@c.d/e"),
        (r"[\]\-\w.]+", r"[\]\-0-9A-Za-z_.]+", "]"),
        ("[]a]", r"[\]a]", "]"),
        ("[a-]", r"[a\-]", "a"),
        ("[^a-z]", "[^a-z]", "0"),
        (r"[^\w.]", "[^0-9A-Za-z_.]", "-"),
        ("ab?c*d+?", "ab?c*d+?", "acd"),
        ("x{2,3}y{2,}", "x{2,3}y{2,}", "xxyy"),
        (r"\t", "\t", "\t"),
        ("é", "é", "é"),
        ("", "", ""),
    ],
)
def test_a_pattern_is_told_with_a_text_that_it_matches(pattern: str, told: str, example: str) -> None:
    """What ECMA-262 spells otherwise is spelled so."""
    made = portable(pattern)
    assert made is not None
    assert (made.pattern, made.example) == (told, example)
    assert re2.search(pattern, example)
    assert jsonschema_rs.validator_for({"pattern": told}).is_valid(example)


@pytest.mark.parametrize(
    "pattern",
    [
        "(?i)abc", r"\Aabc\z", r"\pL", r"\bword", "[[:alpha:]]", r"\Qa.b\E", r"\x41", "a{,2}", "a{", "]", "}",
        "(", "(?=a)", r"(a)\1", "[", "[z-a]", "*", "a**", "^*", "\\", "(" * 60 + ")" * 60, r"[\D]",
    ],
)  # fmt: skip
def test_what_only_re2_knows_is_not_told(pattern: str) -> None:
    """A reader of the description would take it for something else, or stumble."""
    assert portable(pattern) is None


_pieces = st.sampled_from(
    ("a", "B", "0", "-", ".", r"\d", r"\w", r"\s", r"\.", "[a-c]", "[^a]", r"[\w-]", "^", "$", "|", "(", "(?:", ")",
     "*", "+", "?", "{2}", "{1,2}", r"\-", "é", "\t", "/", "]", "{")
)  # fmt: skip


@given(st.lists(_pieces, max_size=8).map("".join), st.text("aBc0-. \t\n\r_é/]{", max_size=6))
def test_what_is_told_takes_what_the_field_takes(pattern: str, text: str) -> None:
    """And nothing else, as far as texts of these characters go."""
    made = portable(pattern)
    assume(made is not None)
    assert made is not None
    try:
        found = re2.compile(pattern).search(text)
    except re2.error:
        return
    assert jsonschema_rs.validator_for({"pattern": made.pattern}).is_valid(text) == bool(found)
