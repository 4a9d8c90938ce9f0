"""Tokens and their escaping, row by row as in contract section 4.2."""

from __future__ import annotations

from typing import Final

import pytest

from aviso_core.errors import MalformedTopic
from aviso_core.topic.codec import decode_subject, decode_token, display_subject, encode_subject, encode_token

ENCODED: Final = [
    # the contract's own examples
    ("1.45", "1%2E45"),
    ("1*34", "1%2A34"),
    ("1>0", "1%3E0"),
    ("1%25", "1%2525"),
    # each of the four, alone and together
    (".", "%2E"),
    ("*", "%2A"),
    (">", "%3E"),
    ("%", "%25"),
    (".*>%", "%2E%2A%3E%25"),
    ("%2E", "%252E"),
    # everything visible passes
    ("north", "north"),
    ("a/b", "a/b"),
    ("a-b_c:d;e", "a-b_c:d;e"),
    ("$SYS", "$SYS"),
    ("{}[]()\"'\\", "{}[]()\"'\\"),
    ("ü", "ü"),
    ("日本", "日本"),
    ("🌍", "🌍"),
    ("e\u0301", "e\u0301"),
    # D31: white space and control characters, one %HH for each byte
    ("a b", "a%20b"),
    (" ", "%20"),
    ("\t", "%09"),
    ("\n", "%0A"),
    ("\r\n", "%0D%0A"),
    ("\x0b\x0c", "%0B%0C"),
    ("\x00", "%00"),
    ("\x1b", "%1B"),
    ("\x1f", "%1F"),
    ("\x7f", "%7F"),
    ("\x80", "%C2%80"),
    ("\x85", "%C2%85"),
    ("\x9f", "%C2%9F"),
    ("\xa0", "%C2%A0"),
    ("\u1680", "%E1%9A%80"),
    ("\u2000\u200a", "%E2%80%80%E2%80%8A"),
    ("\u2028", "%E2%80%A8"),
    ("\u2029", "%E2%80%A9"),
    ("\u202f", "%E2%80%AF"),
    ("\u205f", "%E2%81%9F"),
    ("\u3000", "%E3%80%80"),
    ("\u200b", "\u200b"),  # no White_Space
    ("\ufeff", "\ufeff"),
    ("a. b", "a%2E%20b"),
]


@pytest.mark.parametrize(("text", "token"), ENCODED, ids=ascii)
def test_a_text_is_written_as_a_token_and_read_back(text: str, token: str) -> None:
    assert encode_token(text) == token
    assert decode_token(token) == text


DECODED: Final = [
    ("%2e", "."),  # either case
    ("%2A%2a", "**"),
    ("%41", "A"),  # any %HH
    ("%C3%BC", "ü"),
    ("%c3%bC", "ü"),
    ("ü%20ü", "ü ü"),
    ("%F0%9F%8C%8D", "🌍"),
    ("%252E", "%2E"),  # once, not twice
    ("", ""),
]


@pytest.mark.parametrize(("token", "text"), DECODED)
def test_a_token_of_another_writer_is_read(token: str, text: str) -> None:
    assert decode_token(token) == text


MALFORMED: Final = [
    "%", "a%", "%2", "%2G", "%G2", "%%", "%-1", "% 2", "a%2Eb%", "%C3", "%FF", "%C3%28", "%ED%A0%80", "%C3ü",
]  # fmt: skip


@pytest.mark.parametrize("token", MALFORMED)
def test_a_malformed_token_is_an_error_and_never_passed_through(token: str) -> None:
    with pytest.raises(MalformedTopic):
        decode_token(token)
    with pytest.raises(MalformedTopic):
        decode_subject(f"base.fine.{token}")


SUBJECTS: Final = [
    # base, values, subject, what people are shown
    ("storms", [], "storms", "storms"),
    ("storms", ["atlantic"], "storms.atlantic", "storms.atlantic"),
    ("storms", ["atlantic", "3"], "storms.atlantic.3", "storms.atlantic.3"),
    ("storms", ["20.5", "3"], "storms.20%2E5.3", "storms.20.5.3"),  # ambiguous by design
    ("storms", ["a", "b."], "storms.a.b%2E", "storms.a.b."),
    ("storms", ["*", ">"], "storms.%2A.%3E", "storms.*.>"),
    ("storms", ["a b"], "storms.a%20b", "storms.a b"),
    ("storms", ["100%"], "storms.100%25", "storms.100%"),
    ("storms", ["ü"], "storms.ü", "storms.ü"),
]


@pytest.mark.parametrize(("base", "values", "subject", "shown"), SUBJECTS, ids=repr)
def test_a_subject_is_its_base_and_its_tokens(base: str, values: list[str], subject: str, shown: str) -> None:
    assert encode_subject(base, values) == subject
    assert decode_subject(subject) == (base, *values)
    assert display_subject(subject) == shown


def test_a_subject_that_does_not_decode_is_shown_as_it_stands() -> None:
    assert display_subject("storms.%zz.a%20b") == "storms.%zz.a%20b"
