"""Public keys of a key set: which are fit, and what each of them verifies."""

from __future__ import annotations

import json
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from aviso_http.access.public_keys import UnfitKey, read_key, read_key_set
from support.tokens import KeyPair, base64url, edwards_pair, elliptic_pair, key_set, rsa_pair

PAIRS = {"RS256": rsa_pair(), "ES256": elliptic_pair(), "EdDSA": edwards_pair()}
MESSAGE = b"header.claims"


def _signature(pair: KeyPair) -> bytes:
    """Return the signature that somebody else's library makes."""
    token = pair.sign({"a": "b"})
    signed, _, signature = token.rpartition(".")
    assert read_key(pair.published).verify(signed.encode(), _decoded(signature))
    return _decoded(signature)


def _decoded(text: str) -> bytes:
    import base64

    return base64.urlsafe_b64decode(text + "===")


@pytest.mark.parametrize("algorithm", PAIRS)
def test_a_key_verifies_by_its_own_algorithm(algorithm: str) -> None:
    key = read_key(PAIRS[algorithm].published)
    assert (key.algorithm, key.key_id) == (algorithm, PAIRS[algorithm].published["kid"])
    signature = _signature(PAIRS[algorithm])
    assert not key.verify(MESSAGE, signature)


@pytest.mark.parametrize("algorithm", PAIRS)
def test_a_signature_of_another_length_or_key_is_none(algorithm: str) -> None:
    key = read_key(PAIRS[algorithm].published)
    for other in PAIRS.values():
        assert not key.verify(MESSAGE, _signature(other))
    for signature in (b"", b"\0", b"\0" * 32, b"\0" * 63, b"\0" * 64, b"\0" * 65, b"\0" * 256, b"\xff" * 64):
        assert not key.verify(MESSAGE, signature)


def _changed(algorithm: str, **changes: Any) -> dict[str, Any]:
    described = PAIRS[algorithm].published | changes
    return {name: value for name, value in described.items() if value is not None}


def _weak_rsa(bits: int) -> dict[str, Any]:
    return rsa_pair(bits=bits).published


def _number(value: int) -> str:
    return base64url(value.to_bytes((value.bit_length() + 7) // 8, "big"))


@pytest.mark.parametrize(
    ("described", "reason"),
    [
        (None, "not an object"),
        ([], "not an object"),
        ({}, "of a kind"),
        ({"kty": "oct", "k": "c2VjcmV0"}, "of a kind"),
        ({"kty": "oct", "k": "c2VjcmV0", "alg": "HS256"}, "of a kind"),
        (_changed("RS256", kty="EC"), "of a kind"),
        (_changed("RS256", kty=["RSA"]), "of a kind"),
        (_changed("RS256", crv="P-256"), "of a kind"),
        (_changed("ES256", crv="P-384"), "of a kind"),
        (_changed("ES256", crv="secp256k1"), "of a kind"),
        (_changed("EdDSA", crv="X25519"), "of a kind"),
        (_changed("EdDSA", crv="Ed448"), "of a kind"),
        (_changed("RS256", kid=5), "id"),
        (_changed("RS256", d="AQAB"), "private"),
        (_changed("RS256", use="enc"), "not for signatures"),
        (_changed("RS256", use=None, key_ops=["encrypt"]), "not for signatures"),
        (_changed("RS256", key_ops="verify"), "not for signatures"),
        (_changed("RS256", alg="HS256"), "another algorithm"),
        (_changed("RS256", alg="PS256"), "another algorithm"),
        (_changed("RS256", alg="RS512"), "another algorithm"),
        (_changed("ES256", alg="RS256"), "another algorithm"),
        (_changed("RS256", n=None), "no n"),
        (_changed("RS256", n=5), "no n"),
        (_changed("RS256", n="ü"), "no n"),
        (_changed("RS256", n="AQAB="), "base64url"),
        (_changed("RS256", n="AQAB"), "bits"),
        (_changed("RS256", n=_number(2**9000)), "bits"),
        (_changed("RS256", e=_number(1)), "exponent"),
        (_changed("RS256", e=_number(3)), "exponent"),
        (_changed("RS256", e=_number(65_538)), "exponent"),
        (_changed("RS256", e=_number(2**40 + 1)), "exponent"),
        (_changed("RS256", n=_number(2**2048 - 2)), "RSA"),
        (_weak_rsa(1024), "bits"),
        (_changed("ES256", x=base64url(b"\1" * 32)), "curve"),
        (_changed("ES256", x=base64url(b"\0" * 32), y=base64url(b"\0" * 32)), "curve"),
        (_changed("ES256", x=base64url(b"\xff" * 32)), "curve"),
        (_changed("ES256", x=base64url(b"\1" * 31)), "length"),
        (_changed("ES256", y=base64url(b"\1" * 33)), "length"),
        (_changed("EdDSA", x=base64url(b"\1" * 31)), "length"),
    ],
)
def test_a_key_that_is_not_fit_is_left_out(described: object, reason: str) -> None:
    with pytest.raises(UnfitKey, match=reason):
        read_key(described)
    good = PAIRS["RS256"].published
    read = read_key_set(json.dumps({"keys": [described, good]}).encode())
    assert [key.key_id for key in read.keys] == [good["kid"]]
    assert len(read.left_out) == 1
    assert read.left_out[0].startswith("key 0 ")


# --- points of small order, by the arithmetic of the curve itself ------------------------------------------

P = 2**255 - 19
D = -121665 * pow(121666, P - 2, P) % P


def _with_x(y: int) -> tuple[int, int]:
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    assert (x * x - square) % P == 0, "not on the curve"
    return x, y % P


def _twice(point: tuple[int, int]) -> tuple[int, int]:
    x, y = point
    cross = D * x * x * y * y
    return (
        2 * x * y * pow(1 + cross, P - 2, P) % P,
        (y * y + x * x) * pow(1 - cross, P - 2, P) % P,
    )


SMALL = [
    0,
    1,
    P - 1,
    P,
    P + 1,
    int.from_bytes(
        bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"), "little"
    ),
    int.from_bytes(
        bytes.fromhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"), "little"
    ),
]


@pytest.mark.parametrize("y", SMALL)
@pytest.mark.parametrize("sign", [0, 1 << 255])
def test_a_point_of_small_order_is_no_key(y: int, sign: int) -> None:
    """Eight times such a point is the neutral one, so a signature by it can be made up by anybody."""
    assert _twice(_twice(_twice(_with_x(y)))) == (0, 1)
    with pytest.raises(UnfitKey, match="small order"):
        read_key(_changed("EdDSA", x=base64url((y | sign).to_bytes(32, "little"))))


# --- sets ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b'{"keys":null}',
        b'{"keys":{}}',
        b'{"keys":[]}',
        b'{"keys":[{}]}',
        b'{"keys":[],"keys":[]}',
        b'{"keys":[' + b"{}," * 200 + b"{}]}",
        b"[" * 10_000,
        b"<html>",
        b"\xff",
    ],
)
def test_a_set_without_a_fit_key_is_none(document: bytes) -> None:
    with pytest.raises(UnfitKey):
        read_key_set(document)


def test_a_token_finds_its_keys_by_algorithm_and_id() -> None:
    keys = read_key_set(json.dumps(key_set(*PAIRS.values(), rsa_pair("other"))).encode())
    found = {
        (algorithm, kid): [key.key_id for key in keys.candidates(algorithm, kid)]
        for algorithm in ("RS256", "ES256", "HS256", "none", "rs256")
        for kid in ("rsa", "ec", "x", None)
    }
    assert {pair: ids for pair, ids in found.items() if ids} == {
        ("RS256", "rsa"): ["rsa"],
        ("RS256", None): ["rsa", "other"],
        ("ES256", "ec"): ["ec"],
        ("ES256", None): ["ec"],
    }


def test_a_key_without_an_id_is_not_found_by_one() -> None:
    nameless = {name: value for name, value in PAIRS["ES256"].published.items() if name != "kid"}
    keys = read_key_set(json.dumps({"keys": [nameless]}).encode())
    assert not keys.candidates("ES256", "ec")
    assert len(keys.candidates("ES256", None)) == 1


def test_the_keys_of_the_tests_are_what_they_say() -> None:
    assert isinstance(PAIRS["RS256"].private, rsa.RSAPrivateKey)
    assert isinstance(PAIRS["ES256"].private, ec.EllipticCurvePrivateKey)
