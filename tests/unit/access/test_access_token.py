"""Taking a token apart: there is one way to write it, and everything else is refused."""

from __future__ import annotations

import json

import pytest

from aviso_http.access.token import InvalidToken, decode_base64url, looks_like_token, read_token
from support.tokens import base64url, by_hand, claims, shared_token

TOKEN = shared_token()
HEADER, PAYLOAD, SIGNATURE = TOKEN.split(".")


def test_a_proper_token_comes_apart() -> None:
    token = read_token(TOKEN)
    assert (token.algorithm, token.key_id, token.claims) == ("HS256", None, claims())
    assert token.signed == f"{HEADER}.{PAYLOAD}".encode()
    assert len(token.signature) == 32


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "..",
        "a.b",
        f"{HEADER}.{PAYLOAD}",
        f"{HEADER}.{PAYLOAD}.",
        f"{TOKEN}.",
        f".{TOKEN}",
        f"{TOKEN}.{SIGNATURE}",
        f"{HEADER}..{SIGNATURE}",
        f"{TOKEN}=",
        f"{TOKEN}==",
        f"{HEADER}=.{PAYLOAD}.{SIGNATURE}",
        f" {TOKEN}",
        f"{TOKEN} ",
        f"{TOKEN}\n",
        f"{TOKEN}\x00",
        TOKEN.replace(".", "．"),
        TOKEN.replace(".", "%2E"),
        f"{HEADER}.{PAYLOAD}.{SIGNATURE[:-1]}ſ",
        f"{HEADER}.{PAYLOAD}.{SIGNATURE[:-1]}+",
        f"{HEADER}.{PAYLOAD}.{SIGNATURE[:-1]}/",
        f"{HEADER}.{PAYLOAD}.A",
        f"{HEADER}.{PAYLOAD}.AAAAA",
        "a" * 20_000,
        f"{HEADER}.{'A' * 20_000}.{SIGNATURE}",
    ],
)
def test_what_is_not_three_proper_segments_is_refused(text: str) -> None:
    with pytest.raises(InvalidToken):
        read_token(text)


def test_a_segment_has_one_spelling() -> None:
    """The last character of a signature has bits to spare; a token that differs only in them is another token."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    spellings = [f"{HEADER}.{PAYLOAD}.{SIGNATURE[:-1]}{letter}" for letter in alphabet]
    fit = []
    for spelling in spellings:
        try:
            read_token(spelling)
            fit.append(spelling)
        except InvalidToken:
            pass
    assert len(fit) == 16
    assert TOKEN in fit


@pytest.mark.parametrize(("segment", "content"), [(b"", b""), (b"-_8", b"\xfb\xff"), (b"YWJj", b"abc")])
def test_base64url_is_read(segment: bytes, content: bytes) -> None:
    assert decode_base64url(segment) == content


@pytest.mark.parametrize(
    "header",
    [
        {},
        {"alg": None},
        {"alg": 5},
        {"alg": ["HS256"]},
        {"alg": "HS256", "kid": 5},
        {"alg": "HS256", "kid": ["a"]},
        {"alg": "HS256", "crit": ["b64"], "b64": False},
        {"alg": "HS256", "crit": []},
        [],
        "HS256",
        None.__class__.__name__,
        b"",
        b"{",
        b"null",
        b'{"alg":"HS256"}x',
        b'{"alg":"HS256","alg":"none"}',
        b'\xef\xbb\xbf{"alg":"HS256"}',
        b'{"alg":"HS\xff"}',
        b'{"alg":"HS256","x":"\\ud800"}',
        b'{"alg":"HS256","x":NaN}',
        b'{"alg":"HS256","x":Infinity}',
        b"[" * 5000,
        b'{"alg":"HS256","x":' + b"[" * 200 + b"]" * 200 + b"}",
        b'{"alg":"HS256","x":' + b"9" * 5000 + b"}",
        {"alg": "HS256"} | {str(number): "x" * 2000 for number in range(10)},
    ],
)
def test_a_header_that_is_not_strict_is_refused(header: object) -> None:
    with pytest.raises(InvalidToken):
        read_token(by_hand(claims(), header=header))


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"null",
        b"[]",
        b'"x"',
        b"5",
        b'{"sub":"ann"',
        b"{'sub':'ann'}",
        b'{"sub":"ann","sub":"ann"}',
        b'{"exp":1,"e\\u0078p":2}',
        b'{"attributes":{"a":"1","a":"2"}}',
        b'{"sub":"\\ud83d"}',
        b'{"sub":"\xed\xa0\x80"}',
        b'{"exp":1e}',
        b'{"exp":01}',
        b'{"exp":0x10}',
        b'{"exp":-}',
        b'{"exp":' + b"1" * 41 + b"}",
        b'{"a":' * 200 + b"1" + b"}" * 200,
        b'{"sub":"ann"}\x00',
        b'{"sub":"a\x00b"}',
        b'{"sub":"a\nb"}',
    ],
)
def test_claims_that_are_not_strict_are_refused(payload: bytes) -> None:
    with pytest.raises(InvalidToken):
        read_token(by_hand(payload))


def test_a_refusal_quotes_nothing_of_the_token() -> None:
    for text in (
        f"{TOKEN}!",
        by_hand(b'{"correct-horse":'),
        by_hand(claims(), header={"alg": "x", "kid": 5}),
    ):
        with pytest.raises(InvalidToken) as caught:
            read_token(text)
        assert "correct-horse" not in str(caught.value)
        assert text[:20] not in str(caught.value)
        assert caught.value.__cause__ is None or "correct-horse" not in str(caught.value.__cause__)


def test_a_token_does_not_print() -> None:
    token = read_token(by_hand({"sub": "correct-horse"}))
    assert "correct-horse" not in f"{token} {token!r} {[token]}"


@pytest.mark.parametrize(
    ("text", "alike"),
    [("a.b.c", True), ("a.b", False), ("a.b.c.d", False), ("a.b+.c", False), ("a.b.c\n", False)],
)
def test_the_outer_form_is_recognised(text: str, alike: bool) -> None:
    assert looks_like_token(text) == alike


def test_text_beyond_ascii_is_read_as_what_it_is() -> None:
    written = json.dumps({"sub": "ßñ😀"}, ensure_ascii=False).encode()
    assert read_token(by_hand(written)).claims == {"sub": "ßñ😀"}
    assert read_token(by_hand(b'{"sub":"\\ud83d\\ude00"}')).claims == {"sub": "😀"}
    assert base64url(written)
