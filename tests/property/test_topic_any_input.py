"""Tokens under any text: what is written is read back, and nothing that would harm a subject is ever written."""

from __future__ import annotations

import unicodedata
from typing import Final
from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aviso_core.errors import MalformedTopic
from aviso_core.topic.codec import decode_subject, decode_token, display_subject, encode_subject, encode_token
from aviso_core.topic.pattern import coarse_pattern

values: Final = st.one_of(
    st.text(st.characters(codec="utf-8")), st.text(st.sampled_from("a.*>% \t\n\x00\x7f\x85\xa0\u2028ü0"))
)
bases: Final = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,5}", fullmatch=True)


@given(values)
def test_a_token_is_read_back(text: str) -> None:
    assert decode_token(encode_token(text)) == text


@given(values)
def test_a_token_holds_nothing_that_a_subject_cannot(text: str) -> None:
    """Decision D31: no separator, no wildcard, no white space, no control character."""
    token = encode_token(text)
    assert not set(token) & set(".*>")
    assert not any(character.isspace() or unicodedata.category(character) == "Cc" for character in token)


@given(values)
def test_a_token_escapes_nothing_else(text: str) -> None:
    """Only those characters and `%` are written in another way, each as its UTF-8 bytes in capital digits."""
    expected = "".join(
        "".join(f"%{byte:02X}" for byte in character.encode())
        if character in ".*>%" or character.isspace() or unicodedata.category(character) == "Cc"
        else character
        for character in text
    )
    assert encode_token(text) == expected


@given(st.one_of(values, st.text(st.sampled_from("%2EeAaGgüC3Bb"), max_size=8)))
def test_a_token_is_read_strictly_or_not_at_all(token: str) -> None:
    """Every `%` begins an escape, and the bytes are UTF-8: then it means what any reader of escapes makes of it."""
    parts = token.split("%")[1:]
    well_formed = all(
        len(part) >= 2 and all(c in "0123456789abcdefABCDEF" for c in part[:2]) for part in parts
    )
    try:
        expected = unquote_to_bytes(token).decode() if well_formed else None
    except UnicodeDecodeError:
        expected = None
    if expected is None:
        with pytest.raises(MalformedTopic):
            decode_token(token)
        assert display_subject(f"base.{token}") == f"base.{token}"
    else:
        assert decode_token(token) == expected


@given(bases, st.lists(values, max_size=4))
def test_a_subject_is_read_back(base: str, texts: list[str]) -> None:
    assert decode_subject(encode_subject(base, texts)) == (base, *texts)


@given(bases, st.lists(st.tuples(values.filter(bool), st.booleans()), max_size=4))
def test_a_pattern_covers_the_subjects_that_a_request_may_select(
    base: str, places: list[tuple[str, bool]]
) -> None:
    """Whatever stands where the request leaves a place open."""
    subject = encode_subject(base, [text for text, _ in places])
    pattern = coarse_pattern(base, [text if is_fixed else None for text, is_fixed in places])
    assert pattern.endswith(".>")
    assert subject == base or subject.startswith(pattern[:-1])
    assert all(pattern.split("."))
