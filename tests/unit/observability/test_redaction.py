"""What is taken out of texts and attributes before anybody may read them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aviso_core.plain.secret import REDACTED, Secret
from aviso_http.records.redaction import clean_text, is_sensitive, may_hide, redact_attributes

HIDDEN = "horse-battery-staple"


@pytest.mark.parametrize(
    ("key", "sensitive"),
    [
        ("password", True),
        ("DB_PASSWORD", True),
        ("client_secret", True),
        ("secrets", True),
        ("accessToken", True),
        ("Authorization", True),
        ("proxy-authorization", True),
        ("x_api_key", True),
        ("set-cookie", True),
        ("topic", False),
        ("event_type", False),
        ("auth_realm", False),
        ("key", False),
        ("", False),
    ],
)
def test_a_key_is_judged_by_the_words_in_it(key: str, sensitive: bool) -> None:
    assert is_sensitive(key) is sensitive


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("notification stored", "notification stored"),
        ("at 12:30, n=5", "at 12:30, n=5"),
        ("see https://docs.example/a?b=c", "see https://docs.example/a?b=c"),
        (f"nats://ann:{HIDDEN}@broker:4222 is down", f"nats://{REDACTED}@broker:4222 is down"),
        (f"https://{HIDDEN}@host", f"https://{REDACTED}@host"),
        (f"a://x@y b://u:{HIDDEN}@z", f"a://{REDACTED}@y b://{REDACTED}@z"),
        (f"a://u:{HIDDEN}@y,b://u:{HIDDEN}@z", f"a://{REDACTED}@z"),
        ("http://[broken", "http://[broken"),
        ("mail ann@example.org: https://x", "mail ann@example.org: https://x"),
        (f"sent Bearer {HIDDEN} on", f"sent Bearer {REDACTED} on"),
        (f"BEARER\t{HIDDEN}", f"BEARER {REDACTED}"),
        (f"bearer: {HIDDEN}", f"bearer {REDACTED}"),
        (f"Authorization: Basic {HIDDEN}", f"Authorization: {REDACTED}"),
        (f"[(b'Authorization', b'Basic {HIDDEN}')]", f"[(b'Authorization', b'{REDACTED}')]"),
        (f"GET /x?access_token={HIDDEN}&a=b", f"GET /x?access_token={REDACTED}&a=b"),
        (f"password = '{HIDDEN} {HIDDEN}' rest", f"password = {REDACTED} rest"),
        (f"{{'password': '{HIDDEN}', 'user': 'ann'}}", f"{{'password': {REDACTED}, 'user': 'ann'}}"),
        (f'{{"api_key":"{HIDDEN}"}}', f'{{"api_key":{REDACTED}}}'),
        (f"Cookie: sid={HIDDEN}; x={HIDDEN}\nHost: x", f"Cookie: {REDACTED}\nHost: x"),
        (f"Set-Cookie: {HIDDEN}; Path=/", f"Set-Cookie: {REDACTED}"),
        (f"[(b'cookie', b'a={HIDDEN}; {HIDDEN}')]", f"[(b'cookie', b'{REDACTED}')]"),
        (f'{{"cookie": "a; {HIDDEN}"}}', f'{{"cookie": {REDACTED}}}'),
        ("auth.jwt_secret: is empty (write a value)", "auth.jwt_secret: is empty (write a value)"),
        ("half a character: \ud800", "half a character: ?"),
        ("red: \x9b31m, gone: \x7f, turned: \u202e", "red: \\u009b31m, gone: \\u007f, turned: \\u202e"),
        ("a line\u2028and\x85another", "a line\\u2028and\\u0085another"),
    ],
)
def test_a_text_is_cleaned(text: str, clean: str) -> None:
    assert clean_text(text) == clean
    assert may_hide(text) or clean == text


@pytest.mark.parametrize(
    ("value", "shown", "found"),
    [
        ({"password": HIDDEN}, {"password": REDACTED}, True),
        ({"password": None}, {"password": None}, True),
        ({"token_count": 5}, {"token_count": REDACTED}, True),
        ({"a": {"b": [{"secret": [HIDDEN]}]}}, {"a": {"b": [{"secret": REDACTED}]}}, True),
        ({"a": Secret(HIDDEN)}, {"a": REDACTED}, True),
        ({"a": f"x://u:{HIDDEN}@h".encode()}, {"a": f"x://{REDACTED}@h"}, True),
        ({"a": b"\xff"}, {"a": "\ufffd"}, False),
        ({f"x://u:{HIDDEN}@h": 1}, {f"x://{REDACTED}@h": 1}, True),
        ({"a": Path("/etc/x")}, {"a": "/etc/x"}, False),
        (
            {"a": 2**64, "b": -(2**63), "c": 0.5, "d": True},
            {"a": str(2**64), "b": -(2**63), "c": 0.5, "d": True},
            False,
        ),
        ({1: {2: 3}}, {"1": {"2": 3}}, False),
    ],
)
def test_attributes_become_plain_values_without_secrets(
    value: dict[str, object], shown: dict[str, object], found: bool
) -> None:
    assert redact_attributes(value) == (shown, found)


def test_nesting_without_end_ends() -> None:
    """A value that contains itself is cut, and nothing below the cut is shown."""
    value: dict[str, object] = {}
    value["again"] = value
    plain, _ = redact_attributes(value)
    assert "…" in str(plain)


_secret = st.text("abcdefghijklmnopqrstuvwxyz0123456789", min_size=1).map(lambda text: f"{HIDDEN}{text}")
_words = st.text(st.characters(blacklist_characters="\"'"), max_size=20)
_hiding = st.one_of(
    st.builds(lambda a, s, b: f"{a} nats://{s}@{b}", _words, _secret, _words),
    st.builds(lambda a, s, b: f"{a} https://u:{s}@h/{b}", _words, _secret, _words),
    st.builds(
        lambda word, gap, s: f"{word}{gap}{s}",
        st.sampled_from(["Bearer", "bearer", "BEARER"]),
        st.sampled_from([" ", "  ", "\t", "\n", ": ", "=", "\u00a0"]),
        _secret,
    ),
    st.builds(lambda s: f"Authorization: Basic {s}", _secret),
    st.builds(lambda s: f"?token={s}&x=1", _secret),
    st.builds(lambda s: f"Cookie: a=b; {s}", _secret),
)
_sensitive_keys = st.builds(
    lambda a, word, b: f"{a}{word}{b}",
    _words,
    st.sampled_from(["password", "SECRET", "Token", "authorization", "api_key", "Cookie"]),
    _words,
)
_harmless = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), _words, st.binary(max_size=8))
_leaf = st.one_of(_harmless, _hiding, _hiding.map(str.encode), _secret.map(Secret))
_nested = st.recursive(
    _leaf,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(_words, inner, max_size=3),
        st.dictionaries(_sensitive_keys, st.one_of(_secret, st.lists(_secret)), max_size=2),
    ),
    max_leaves=10,
)


@given(st.dictionaries(_words, _nested, max_size=4))
def test_no_secret_survives(attributes: dict[str, Any]) -> None:
    """Wherever it stands, and what is left can be written as JSON."""
    plain, found = redact_attributes(attributes)
    line = msgspec.json.encode(plain).decode()
    assert HIDDEN not in line
    assert found or HIDDEN not in str(attributes)


@given(st.text())
def test_a_text_that_is_not_looked_at_would_not_have_changed(text: str) -> None:
    if not may_hide(text):
        assert clean_text(text) == text


@given(st.text())
def test_cleaning_twice_is_cleaning_once(text: str) -> None:
    once = clean_text(text)
    assert clean_text(once) == once


@pytest.mark.parametrize(
    "piece",
    [
        "://",
        "a://b:",
        "@",
        "bearer ",
        "bearer:",
        "token",
        "token=",
        "token='",
        'password":"',
        "authorization: ",
        "cookie: ",
        "cookie:",
        "\u202e",
    ],
)
def test_no_text_takes_long(piece: str) -> None:
    """Texts come from users: four times as long may take about four times as long, not sixteen times."""

    def seconds(length: int) -> float:
        text = piece * (length // len(piece))
        began = time.process_time()
        clean_text(text)
        return time.process_time() - began

    best = min(seconds(200_000) for _ in range(3))
    assert best < 1.0
