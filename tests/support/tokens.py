"""Tokens, keys and key sets for tests: proper ones by a library of others, improper ones by hand."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

if TYPE_CHECKING:
    from collections.abc import Mapping

SECRET: Final = "shared-secret-of-the-tests, which is long enough"

# The clock that is moved by hand begins here.
NOW: Final = 1000


def base64url(data: bytes) -> str:
    """Return the spelling of bytes in a token."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def claims(**changes: object) -> dict[str, object]:
    """Return what a proper token says; a change to None leaves a claim out."""
    proper: dict[str, object] = {
        "sub": "ann",
        "username": "ann",
        "realm": "main",
        "roles": ["reader"],
        "iat": NOW,
        "exp": NOW + 3600,
    }
    return {name: value for name, value in (proper | changes).items() if value is not None}


def shared_token(content: Mapping[str, object] | None = None, *, secret: str = SECRET) -> str:
    """Return a token that is signed with the shared secret."""
    return jwt.encode(dict(claims() if content is None else content), secret, algorithm="HS256")


def by_hand(
    payload: bytes | object,
    *,
    header: bytes | object = None,
    secret: str | bytes = SECRET,
    digest: str = "sha256",
) -> str:
    """Return a token of any header and claims, with a proper signature over whatever they are."""
    parts = ({"alg": "HS256", "typ": "JWT"} if header is None else header, payload)
    written = [part if isinstance(part, bytes) else json.dumps(part).encode() for part in parts]
    signed = ".".join(map(base64url, written))
    key = secret if isinstance(secret, bytes) else secret.encode()
    return f"{signed}.{base64url(hmac.new(key, signed.encode(), getattr(hashlib, digest)).digest())}"


def bearer(token: str) -> bytes:
    """Return the header that carries a token."""
    return f"Bearer {token}".encode(errors="surrogatepass")


# --- keys of issuers -------------------------------------------------------------------------------------


class KeyPair(NamedTuple):
    """A private key, and how its public half is published."""

    algorithm: str
    private: Any
    published: dict[str, Any]

    def sign(self, content: Mapping[str, object], *, kid: str | None = "", **header: object) -> str:
        """Return a token; without another `kid` it names this key, and with None it names none."""
        key_id = self.published.get("kid") if kid == "" else kid
        named = header if key_id is None else {"kid": key_id, **header}
        return jwt.encode(dict(content), self.private, algorithm=self.algorithm, headers=named)


def rsa_pair(kid: str = "rsa", bits: int = 2048) -> KeyPair:
    """Return a new RSA key."""
    private = rsa.generate_private_key(65_537, bits)
    return KeyPair("RS256", private, _published(private, jwt.algorithms.RSAAlgorithm, kid))


def elliptic_pair(kid: str = "ec") -> KeyPair:
    """Return a new key on P-256."""
    private = ec.generate_private_key(ec.SECP256R1())
    return KeyPair("ES256", private, _published(private, jwt.algorithms.ECAlgorithm, kid))


def edwards_pair(kid: str = "ed") -> KeyPair:
    """Return a new Ed25519 key."""
    private = ed25519.Ed25519PrivateKey.generate()
    return KeyPair("EdDSA", private, _published(private, jwt.algorithms.OKPAlgorithm, kid))


def _published(private: Any, algorithm: Any, kid: str) -> dict[str, Any]:
    described: dict[str, Any] = algorithm.to_jwk(private.public_key(), as_dict=True)
    described.pop("key_ops", None)
    return {**described, "kid": kid, "use": "sig"}


def key_set(*pairs: KeyPair) -> dict[str, Any]:
    """Return the key set that is published."""
    return {"keys": [pair.published for pair in pairs]}
