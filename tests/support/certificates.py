"""Certificates for servers on this machine, by an authority that is made up for a test."""

from __future__ import annotations

import datetime
import ipaddress
from typing import TYPE_CHECKING, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

if TYPE_CHECKING:
    from pathlib import Path


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])


class Authority(NamedTuple):
    """Somebody who signs certificates."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @property
    def pem(self) -> bytes:
        """What those who trust it have."""
        return self.certificate.public_bytes(Encoding.PEM)


def authority() -> Authority:
    """Return a new authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    builder = _builder(key.public_key(), "authority").add_extension(
        x509.BasicConstraints(ca=True, path_length=None), critical=True
    )
    builder = builder.add_extension(_usage(signs_certificates=True), critical=True)
    builder = builder.add_extension(
        x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False
    )
    return Authority(key, builder.sign(key, SHA256()))


def write_certificate(path: Path, signer: Authority, address: str) -> None:
    """Write a certificate for an address, and its key, as a server reads both."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))])
    signer_id = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.key.public_key())
    builder = _builder(key.public_key(), address).add_extension(name, critical=False)
    builder = builder.add_extension(signer_id, critical=False)
    certificate = builder.add_extension(_usage(signs_certificates=False), critical=True).sign(
        signer.key, SHA256()
    )
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path.write_bytes(certificate.public_bytes(Encoding.PEM) + private)


def _builder(key: ec.EllipticCurvePublicKey, subject: str) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(_name(subject))
        .issuer_name(_name("authority"))
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
