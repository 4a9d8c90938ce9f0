"""Who may talk to a broker: keys, signed credentials and certificates, made anew for each test that needs them."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import nkeys  # type: ignore[import-untyped] # it brings none

if TYPE_CHECKING:
    from pathlib import Path

_LONG_AGO: Final = 1_700_000_000
_UNLIMITED: Final = -1


class Key(NamedTuple):
    """A pair of keys of the broker's kind."""

    seed: str
    public: str


def make_key(prefix: int = nkeys.PREFIX_BYTE_USER) -> Key:
    """Return a new pair; the prefix says what it is for."""
    seed = nkeys.encode_seed(os.urandom(32), prefix)
    return Key(seed.decode(), nkeys.from_seed(bytearray(seed)).public_key.decode())


class SignedUser(NamedTuple):
    """A user of an account of an operator: what the server has to know, and the user's file."""

    settings: list[str]
    credentials: str


def make_signed_user() -> SignedUser:
    """Return a user who is recognised by signatures alone."""
    operator, user = make_key(nkeys.PREFIX_BYTE_OPERATOR), make_key()
    account, system = (make_key(nkeys.PREFIX_BYTE_ACCOUNT) for _ in range(2))
    limits = dict.fromkeys(
        ("subs", "data", "payload", "imports", "exports", "conn", "leaf", "mem_storage", "disk_storage",
         "streams", "consumer"),
        _UNLIMITED,
    )  # fmt: skip
    account_claims = {"type": "account", "version": 2, "limits": limits | {"wildcards": True}}
    user_claims = {
        "type": "user",
        "version": 2,
        "subs": _UNLIMITED,
        "data": _UNLIMITED,
        "payload": _UNLIMITED,
    }
    system_claims = account_claims | {"limits": limits | {"mem_storage": 0, "disk_storage": 0}}
    signed = {
        account.public: _sign(operator, account.public, account_claims),
        system.public: _sign(operator, system.public, system_claims),
    }
    return SignedUser(
        settings=[
            f"operator: {_sign(operator, operator.public, {'type': 'operator', 'version': 2})}",
            "resolver: MEMORY",
            f"resolver_preload: {{ {', '.join(f'{public}: {token}' for public, token in signed.items())} }}",
            f"system_account: {system.public}",
        ],
        credentials=_credentials(_sign(account, user.public, user_claims), user.seed),
    )


def _credentials(token: str, seed: str) -> str:
    return (
        f"-----BEGIN NATS USER JWT-----\n{token}\n------END NATS USER JWT------\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
    )


def _sign(issuer: Key, subject: str, claims: dict[str, Any]) -> str:
    head = {"typ": "JWT", "alg": "ed25519-nkey"}
    body = {
        "jti": "x",
        "iat": _LONG_AGO,
        "iss": issuer.public,
        "name": "test",
        "sub": subject,
        "nats": claims,
    }
    signed = f"{_encoded(json.dumps(head).encode())}.{_encoded(json.dumps(body).encode())}"
    signature = nkeys.from_seed(bytearray(issuer.seed.encode())).sign(signed.encode())
    return f"{signed}.{_encoded(signature)}"


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


# --- certificates ----------------------------------------------------------------------------------------


class Certificates(NamedTuple):
    """An authority of our own, a server of the loopback and a client that it has signed."""

    authority: Path
    server: Path
    server_key: Path
    client: Path
    client_key: Path

    def settings(self, *, asks_clients: bool = False) -> list[str]:
        """Return the server's configuration."""
        asks = f'ca_file: "{self.authority}", verify: true' if asks_clients else ""
        return [f'tls {{ cert_file: "{self.server}", key_file: "{self.server_key}", timeout: 5, {asks} }}']


def make_certificates(folder: Path) -> Certificates:
    """Make them with the openssl program of this machine."""
    folder.mkdir(parents=True, exist_ok=True)
    authority, authority_key = folder / "ca.pem", folder / "ca.key"
    _openssl(
        *_new_key(authority_key), "-x509", "-out", authority, "-subj", "/CN=tests",
        "-addext", "keyUsage=critical,keyCertSign", "-days", "2",
    )  # fmt: skip
    made = []
    for name in ("server", "client"):
        key, request, certificate = (folder / f"{name}.{kind}" for kind in ("key", "csr", "pem"))
        _openssl(
            *_new_key(key), "-out", request, "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1"
        )
        _openssl(
            "x509", "-req", "-in", request, "-CA", authority, "-CAkey", authority_key, "-CAcreateserial",
            "-copy_extensions", "copy", "-out", certificate, "-days", "2",
        )  # fmt: skip
        made += [certificate, key]
    return Certificates(authority, *made)


def _new_key(key: Path) -> tuple[str | Path, ...]:
    return (
        "req",
        "-new",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-keyout",
        key,
    )


def _openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)
