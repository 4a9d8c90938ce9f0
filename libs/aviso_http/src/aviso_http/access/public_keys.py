"""Public keys of a published key set (JWKS), and what each of them may verify.

A key decides by its own kind which one algorithm it verifies. The token's header only has to agree, so no token can
have a public key taken for a shared secret, or an RSA key for another use. A key that is not fit is left out, and the
others go on: key sets hold keys for many purposes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256

from aviso_http.access.token import InvalidToken, decode_base64url, read_object

ALGORITHMS: Final = frozenset({"RS256", "ES256", "EdDSA"})

# A set holds a few keys; far more are a mistake, or work for whoever verifies.
_MOST_KEYS: Final = 100
_RSA_BITS: Final = range(2048, 8193)
_RSA_EXPONENTS: Final = range(65_537, 2**32, 2)
_COORDINATE_BYTES: Final = 32

# The points of the curve that have a small order, without their sign bit: a signature by such a key can be made up.
_SMALL_ORDER: Final = frozenset(
    bytes.fromhex(point)
    for point in (
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    )
)

# Tells whether a signature over the signed bytes is the key's.
Verify: TypeAlias = Callable[[bytes, bytes], bool]


class UnfitKey(Exception):
    """A key or a key set that nothing can be verified by; the message says why."""


class PublicKey(NamedTuple):
    """A key, and the one algorithm it is for."""

    key_id: str | None
    algorithm: str
    verify: Verify


class KeySet(NamedTuple):
    """The keys that are fit, and why others are not."""

    keys: tuple[PublicKey, ...]
    left_out: tuple[str, ...]

    def candidates(self, algorithm: str, key_id: str | None) -> tuple[PublicKey, ...]:
        """Return the keys that a token may be signed with; a token that names none may be by any."""
        return tuple(key for key in self.keys if key.algorithm == algorithm and key_id in (None, key.key_id))


def read_key_set(document: bytes) -> KeySet:
    """Return the keys of a key set, or raise `UnfitKey` if there is none to verify by."""
    try:
        listed = read_object(document).get("keys")
    except InvalidToken as error:
        raise UnfitKey(f"the key set {error}") from error
    if not isinstance(listed, list) or len(listed) > _MOST_KEYS:
        raise UnfitKey(f"the key set is not a list of up to {_MOST_KEYS} keys")
    keys, left_out = [], []
    for index, described in enumerate(listed):
        try:
            keys.append(read_key(described))
        except UnfitKey as error:
            left_out.append(f"key {index} {error}")
    if not keys:
        raise UnfitKey("; ".join(["the key set has no key that can be used", *left_out]))
    return KeySet(tuple(keys), tuple(left_out))


def read_key(described: object) -> PublicKey:
    """Return one key, or raise `UnfitKey`."""
    if not isinstance(described, dict):
        raise UnfitKey("is not an object")
    key_id = described.get("kid")
    if key_id is not None and not isinstance(key_id, str):
        raise UnfitKey("has an id that is not text")
    if "d" in described:
        raise UnfitKey("is a private key, and everybody has it now")
    operations = described.get("key_ops", ["verify"])
    if described.get("use", "sig") != "sig" or not (isinstance(operations, list) and "verify" in operations):
        raise UnfitKey("is not for signatures")
    algorithm, verify = _by_kind(described)
    if described.get("alg", algorithm) != algorithm:
        raise UnfitKey(f"is for another algorithm than {algorithm}")
    return PublicKey(key_id=key_id, algorithm=algorithm, verify=verify)


def _by_kind(described: dict[str, object]) -> tuple[str, Verify]:
    match described.get("kty"), described.get("crv"):
        case "RSA", None:
            return "RS256", _rsa(described)
        case "EC", "P-256":
            return "ES256", _elliptic(described)
        case "OKP", "Ed25519":
            return "EdDSA", _edwards(described)
    raise UnfitKey("is of a kind that is not taken here")


def _rsa(described: dict[str, object]) -> Verify:
    modulus = int.from_bytes(_bytes(described, "n"), "big")
    exponent = int.from_bytes(_bytes(described, "e"), "big")
    if modulus.bit_length() not in _RSA_BITS:
        raise UnfitKey(f"has {modulus.bit_length()} bits, not {_RSA_BITS[0]} to {_RSA_BITS[-1]}")
    if exponent not in _RSA_EXPONENTS:
        raise UnfitKey("has a weak exponent")
    if modulus % 2 == 0:
        # The library takes it, and anybody can take it apart.
        raise UnfitKey("is no RSA key")
    try:
        key = rsa.RSAPublicNumbers(exponent, modulus).public_key()
    except ValueError as error:
        raise UnfitKey("is no RSA key") from error
    return _verifying(lambda signed, signature: key.verify(signature, signed, padding.PKCS1v15(), SHA256()))


def _elliptic(described: dict[str, object]) -> Verify:
    x, y = _coordinate(described, "x"), _coordinate(described, "y")
    numbers = ec.EllipticCurvePublicNumbers(
        int.from_bytes(x, "big"), int.from_bytes(y, "big"), ec.SECP256R1()
    )
    try:
        key = numbers.public_key()
    except ValueError as error:
        raise UnfitKey("is not on its curve") from error
    algorithm = ec.ECDSA(SHA256())

    def verify(signed: bytes, signature: bytes) -> None:
        if len(signature) != 2 * _COORDINATE_BYTES:
            raise InvalidSignature
        r, s = signature[:_COORDINATE_BYTES], signature[_COORDINATE_BYTES:]
        der = encode_dss_signature(int.from_bytes(r, "big"), int.from_bytes(s, "big"))
        key.verify(der, signed, algorithm)

    return _verifying(verify)


def _edwards(described: dict[str, object]) -> Verify:
    point = _coordinate(described, "x")
    if point[:-1] + bytes([point[-1] & 0x7F]) in _SMALL_ORDER:
        raise UnfitKey("is a point of small order")
    key = ed25519.Ed25519PublicKey.from_public_bytes(point)
    return _verifying(lambda signed, signature: key.verify(signature, signed))


def _verifying(check: Callable[[bytes, bytes], None]) -> Verify:
    def verify(signed: bytes, signature: bytes) -> bool:
        try:
            check(signed, signature)
        except InvalidSignature:
            return False
        return True

    return verify


def _coordinate(described: dict[str, object], name: str) -> bytes:
    content = _bytes(described, name)
    if len(content) != _COORDINATE_BYTES:
        raise UnfitKey(f"has a {name} of another length than {_COORDINATE_BYTES} bytes")
    return content


def _bytes(described: dict[str, object], name: str) -> bytes:
    text = described.get(name)
    if not isinstance(text, str) or not text.isascii():
        raise UnfitKey(f"has no {name}")
    try:
        return decode_base64url(text.encode("ascii"))
    except InvalidToken as error:
        raise UnfitKey(f"has a {name} that {error}") from error
