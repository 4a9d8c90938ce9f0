"""Whatever is sent to be known by, nobody is known who should not be, and nothing fails but in our own way."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from aviso_core.errors import AccessRefused
from aviso_core.plain.secret import Secret
from aviso_http.access.header import Credentials, Unusable, read_bearer, read_direct
from aviso_http.access.public_keys import UnfitKey, read_key_set
from aviso_http.access.shared_secret import SharedSecret
from aviso_http.access.token import InvalidToken, read_token
from support.access import opened, outcome
from support.tokens import NOW, SECRET, bearer, by_hand, claims, shared_token

PROPER = shared_token()
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
_CLAIMS = st.dictionaries(
    st.sampled_from(
        ["sub", "username", "realm", "roles", "attributes", "exp", "iat", "iss", "nbf", "aud", "x"]
    ),
    _JSON | st.sampled_from([NOW, NOW + 1, "ann", ["reader"], {"a": "b"}]),
)


@st.composite
def mutations(draw: st.DrawFn) -> str:
    """Return the proper token with a few characters changed, put in, left out or moved."""
    letters = list(PROPER)
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(letters) - 1))
        match draw(st.integers(0, 3)):
            case 0:
                letters[place] = draw(st.characters())
            case 1:
                letters.insert(place, draw(st.sampled_from(".=-_Aa0+/ \n\0é")))
            case 2 if len(letters) > 1:
                del letters[place]
            case _:
                other = draw(st.integers(0, len(letters) - 1))
                letters[place], letters[other] = letters[other], letters[place]
    return "".join(letters)


def _user_of(text: str) -> object:
    try:
        return SharedSecret(Secret(SECRET)).user_of(read_token(text), now=NOW)
    except (InvalidToken, AccessRefused):
        return None


@given(mutations())
def test_no_change_to_a_token_is_believed(text: str) -> None:
    assert text == PROPER or _user_of(text) is None


@given(st.text() | st.binary().map(lambda data: data.decode("latin-1")))
def test_no_text_is_believed(text: str) -> None:
    assert _user_of(text) is None


@given(_CLAIMS)
def test_whatever_is_signed_ends_in_a_user_or_in_a_refusal(content: dict[str, object]) -> None:
    token = by_hand(json.dumps(content, allow_nan=True).encode())
    user = _user_of(token)
    if user is not None:
        assert isinstance(content["exp"], int)
        assert content["exp"] >= NOW - 60
        assert content.get("username") or content.get("sub")


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_any_bytes_for_a_header_and_claims_are_refused_in_our_own_way(header: bytes, payload: bytes) -> None:
    for token in (by_hand(payload), by_hand(claims(), header=header), by_hand(payload, header=header)):
        _user_of(token)


@given(st.binary(max_size=100))
def test_any_header_is_read(header: bytes) -> None:
    for read in (read_direct, read_bearer):
        assert isinstance(read(header), Credentials | Unusable)
        assert isinstance(read(b"Bearer " + header), Credentials | Unusable)


@given(st.lists(st.binary(max_size=60) | mutations().map(lambda text: bearer(text)), max_size=5))
def test_any_header_is_answered(headers: list[bytes]) -> None:
    async def ask() -> None:
        async with opened() as access:
            for header in headers:
                found = await outcome(access, header)
                assert found is None or isinstance(found, tuple) or header == bearer(PROPER)
                assert isinstance(await outcome(access, header, admin=True), tuple)

    asyncio.run(ask())


_KEYS = st.dictionaries(
    st.sampled_from(["kty", "crv", "n", "e", "x", "y", "kid", "use", "alg", "key_ops", "d", "k"]),
    _JSON
    | st.sampled_from(["RSA", "EC", "OKP", "oct", "P-256", "Ed25519", "AQAB", "A" * 43, "A" * 342, "sig"]),
)


@given(
    st.binary(max_size=100)
    | st.lists(_KEYS | _JSON, max_size=3).map(lambda keys: json.dumps({"keys": keys}).encode())
)
def test_any_key_set_is_read_or_refused(document: bytes) -> None:
    with suppress(UnfitKey):
        assert read_key_set(document).keys
