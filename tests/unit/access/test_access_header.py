"""Reading the `Authorization` header."""

from __future__ import annotations

import pytest

from aviso_http.access.header import Credentials, Unusable, authorization_of, read_bearer, read_direct

SCHEME = "Authorization header must use Bearer or Basic scheme"
EMPTY = "Authorization header cannot be empty"
UTF8 = "Authorization header is not valid UTF-8"
BARE = "Authorization header credentials cannot be empty"
BEARER = "Authorization header must use Bearer token"


@pytest.mark.parametrize(
    ("header", "text"),
    [
        (b"", EMPTY),
        (b"   ", EMPTY),
        (b"Bearer", SCHEME),
        (b"Bearer ", SCHEME),
        (b"Basic", SCHEME),
        (b"Digest x", SCHEME),
        (b"token", SCHEME),
        (b"Bearerx y", SCHEME),
        (b"Bearer\tx", SCHEME),
        (b"Bearer a, Bearer b", SCHEME),
        (b"Basic YTpi, Basic YTpi", SCHEME),
        (b"\xff\xfe", UTF8),
        (b"Bearer \xc3\xbc", UTF8),
        (b"Bearer a\nb", UTF8),
        (b"Bearer a\x00", UTF8),
        (b"Bearer a\x7f", UTF8),
    ],
)
def test_a_header_of_no_use_says_why_in_direct_mode(header: bytes, text: str) -> None:
    assert read_direct(header) == Unusable(text)


def test_blanks_for_credentials_are_none() -> None:
    """A server trims headers, so this one is only seen where none did."""
    assert read_direct(b"x Bearer") == Unusable(SCHEME)
    assert read_direct(b"Basic \t") == Unusable(SCHEME)
    assert read_direct(b"Basic  \t ") == Unusable(SCHEME)


@pytest.mark.parametrize(
    ("header", "value", "token"),
    [
        (b"Bearer abc", "Bearer abc", "abc"),
        (b"  bEaReR   abc ", "bEaReR   abc", "abc"),
        (b"BEARER a b", "BEARER a b", "a b"),
        (b"Basic YTpi", "Basic YTpi", None),
        (b"basic YTpi==", "basic YTpi==", None),
    ],
)
def test_direct_mode_passes_the_header_on_as_it_came(header: bytes, value: str, token: str | None) -> None:
    read = read_direct(header)
    assert isinstance(read, Credentials)
    assert (read.value.reveal(), read.bearer) == (value, token)


@pytest.mark.parametrize("header", [b"Bearer abc", b"bearer\tabc", b"BEARER  abc "])
def test_a_proxy_brings_a_bearer_token(header: bytes) -> None:
    read = read_bearer(header)
    assert isinstance(read, Credentials)
    assert read.bearer == "abc"


@pytest.mark.parametrize(
    "header",
    [b"", b" ", b"Bearer", b"Bearer ", b"Basic YTpi", b"Bearer a b", b"a.b.c", b"Bearer a,b", b"Bearer \xff"],
)
def test_whatever_else_a_proxy_brings_has_one_text(header: bytes) -> None:
    assert read_bearer(header) == Unusable(BEARER)


def test_two_headers_are_of_no_use() -> None:
    """Whoever is in front of us may have looked at the other one."""
    headers = [(b"host", b"h"), (b"authorization", b"Bearer a"), (b"authorization", b"Bearer b")]
    joined = authorization_of(headers)
    assert joined is not None
    assert isinstance(read_bearer(joined), Unusable)
    assert isinstance(read_direct(joined), Unusable)
    assert authorization_of(headers[:2]) == b"Bearer a"
    assert authorization_of(headers[:1]) is None


def test_credentials_do_not_print() -> None:
    read = read_direct(b"Bearer correct-horse")
    assert "correct-horse" not in f"{read} {read!r} {[read]} {read!s}"
