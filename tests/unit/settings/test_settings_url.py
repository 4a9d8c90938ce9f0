"""Addresses are taken apart as far as the rules about them ask."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aviso_core.settings.url import Url, parse_url


def _url(
    scheme: str,
    host: str,
    path: str = "",
    *,
    credentials: bool = False,
    query: bool = False,
    fragment: bool = False,
) -> Url:
    return Url(
        scheme=scheme,
        host=host,
        path=path,
        has_credentials=credentials,
        has_query=query,
        has_fragment=fragment,
    )


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("http://localhost", _url("http", "localhost")),
        ("HTTPS://Host.Example:443/A", _url("https", "host.example", "/A")),
        ("http://[::1]:80/", _url("http", "[::1]", "/")),
        ("http://ann:pass@host", _url("http", "host", credentials=True)),
        ("http://ann@host", _url("http", "host", credentials=True)),
        ("http://a:b@c@host", _url("http", "host", credentials=True)),
        ("http://@host", _url("http", "host")),
        ("http://host/a//b", _url("http", "host", "/a//b")),
        ("http://host?", _url("http", "host", query=True)),
        ("http://host/p?q=1#f", _url("http", "host", "/p", query=True, fragment=True)),
        ("http://host#", _url("http", "host", fragment=True)),
        ("http://bücher.example/", _url("http", "bücher.example", "/")),
        ("localhost:8000", _url("localhost", "", "8000")),
        ("urn:aviso:one", _url("urn", "", "aviso:one")),
        ("file:///srv", _url("file", "", "/srv")),
    ],
)
def test_an_address_is_taken_apart(text: str, parts: Url) -> None:
    assert parse_url(text) == parts


@pytest.mark.parametrize(
    "text",
    [
        "",
        "host",
        "/path",
        "//host",
        "127.0.0.1:8000",
        "http:",
        "http://",
        "http:///path",
        "http://:80",
        "http:host",
        "http://ann@",
        "http://host:65536",
        "http://host:port",
        "http://host:1:2",
        "http://[::1",
        "http://[::g]",
        "http://[1]",
        "http://ho%st",
        " http://host",
        "http://host ",
        "http://host/a b",
        "http://ho\tst",
        "http://host\n",
        "http://host\\path",
        "foo://a:b:c",
        "1http://host",
    ],
)
def test_what_would_need_mending_is_no_address(text: str) -> None:
    assert parse_url(text) is None


@pytest.mark.parametrize(
    ("text", "loopback"),
    [
        ("http://localhost:1", True),
        ("http://127.0.0.1", True),
        ("http://[::1]", True),
        ("http://LOCALHOST", True),
        ("http://127.0.0.2", False),
        ("http://localhost.example", False),
        ("http://0.0.0.0", False),
    ],
)
def test_loopback_is_three_names(text: str, loopback: bool) -> None:
    url = parse_url(text)
    assert url is not None
    assert url.is_loopback is loopback


@given(st.text() | st.text(alphabet="htps:/@[]?#.%1 a").map("http:".__add__))
def test_any_text_is_an_address_or_not(text: str) -> None:
    url = parse_url(text)
    assert url is None or url.host == url.host.lower()
