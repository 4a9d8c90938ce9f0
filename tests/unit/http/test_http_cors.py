"""Which pages of other origins may call."""

from __future__ import annotations

import pytest

from aviso_core.settings.model import Cors
from aviso_http.cors import CrossOrigin

PORTAL = b"https://portal.example"
OTHER = b"https://other.example"


def asking(origin: bytes) -> list[tuple[bytes, bytes]]:
    """Return the headers of a browser's question beforehand."""
    return [
        (b"origin", origin),
        (b"access-control-request-method", b"POST"),
        (b"access-control-request-headers", b"authorization"),
    ]


def test_nothing_is_said_unless_an_origin_is_configured() -> None:
    """The contract stays as it is."""
    rule = CrossOrigin(Cors())
    assert rule.is_off
    assert rule.lines(PORTAL) == []
    assert rule.preflight("OPTIONS", asking(PORTAL), b"POST") is None


@pytest.mark.parametrize("origins", [(PORTAL.decode(),), ("*",)])
def test_a_configured_origin_may(origins: tuple[str, ...]) -> None:
    """Its question is answered with the methods of the path."""
    answer = CrossOrigin(Cors(allowed_origins=origins)).preflight("OPTIONS", asking(PORTAL), b"POST")
    assert answer is not None
    headers = dict(answer.headers)
    assert answer.status == 204
    assert headers[b"access-control-allow-methods"] == b"POST"
    assert headers[b"access-control-allow-headers"] == b"authorization"
    assert headers[b"access-control-allow-origin"] in (PORTAL, b"*")


def test_another_origin_may_not() -> None:
    """Not when it asks, and not when it does not ask."""
    rule = CrossOrigin(Cors(allowed_origins=(PORTAL.decode(),)))
    assert rule.preflight("OPTIONS", asking(OTHER), b"POST") is None
    assert b"access-control-allow-origin" not in dict(rule.lines(OTHER))


@pytest.mark.parametrize("origins", [(PORTAL.decode(),), ("*",)])
@pytest.mark.parametrize("origin", [PORTAL, OTHER, None])
def test_a_cache_keeps_the_answers_to_different_origins_apart(
    origins: tuple[str, ...], origin: bytes | None
) -> None:
    """Also what was answered to nobody's page, which would not be allowed to read it."""
    assert dict(CrossOrigin(Cors(allowed_origins=origins)).lines(origin))[b"vary"] == b"Origin"


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_only_a_question_beforehand_is_one(method: str) -> None:
    """A request with an origin goes its way."""
    assert CrossOrigin(Cors(allowed_origins=("*",))).preflight(method, asking(PORTAL), b"POST") is None


def test_credentials_come_only_from_a_named_origin() -> None:
    """A browser takes no wildcard together with them, and neither do caches mix up origins."""
    rule = CrossOrigin(Cors(allowed_origins=("*",), allow_credentials=True))
    headers = dict(rule.lines(PORTAL))
    assert headers[b"access-control-allow-origin"] == PORTAL
    assert headers[b"access-control-allow-credentials"] == b"true"
    assert headers[b"vary"] == b"Origin"
