"""Reading the `Authorization` header, without judging what it holds.

Three outcomes: there is none, it is unusable (and the text says why, for the paths that want to know), or there are
credentials. Two headers are unusable: which of them somebody else looked at, nobody can tell.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from aviso_core.plain.secret import Secret

if TYPE_CHECKING:
    from collections.abc import Iterable

_NAME: Final = b"authorization"
_PRINTABLE: Final = re.compile(rb"[\t\x20-\x7e]*")
_BEARER: Final = "bearer"
_BASIC: Final = "basic"

_WRONG_SCHEME: Final = "Authorization header must use Bearer or Basic scheme"
_NOT_BEARER: Final = "Authorization header must use Bearer token"


class Credentials(NamedTuple):
    """What the caller proves itself by. It never prints."""

    value: Secret
    """The whole header, as an auth service is asked about it."""

    bearer: str | None
    """The token, if it may be one."""

    def __repr__(self) -> str:
        """Show nothing."""
        return "Credentials()"


class Unusable(NamedTuple):
    """A header that holds no credentials."""

    message: str


def authorization_of(headers: Iterable[tuple[bytes, bytes]]) -> bytes | None:
    """Return the header's value, or None; several are joined as HTTP joins them, and nothing reads that."""
    values = [value for name, value in headers if name == _NAME]
    return b", ".join(values) if values else None


def read_direct(header: bytes) -> Credentials | Unusable:
    """Return the credentials that an auth service can be asked about."""
    value = _printable(header)
    if value is None:
        return Unusable("Authorization header is not valid UTF-8")
    if not value:
        return Unusable("Authorization header cannot be empty")
    scheme, blank, credentials = value.partition(" ")
    if not blank or scheme.lower() not in (_BEARER, _BASIC):
        return Unusable(_WRONG_SCHEME)
    credentials = credentials.strip()
    if not credentials:
        return Unusable("Authorization header credentials cannot be empty")
    if "," in credentials:
        # No credentials of either scheme have one: these are two headers in one line.
        return Unusable(_WRONG_SCHEME)
    return Credentials(Secret(value), credentials if scheme.lower() == _BEARER else None)


def read_bearer(header: bytes) -> Credentials | Unusable:
    """Return the token of a proxy that has authenticated the caller."""
    value = _printable(header)
    words = (value or "").split()
    if value is None or len(words) != 2 or words[0].lower() != _BEARER or "," in words[1]:
        return Unusable(_NOT_BEARER)
    return Credentials(Secret(value), words[1])


def _printable(header: bytes) -> str | None:
    return header.decode("ascii").strip() if _PRINTABLE.fullmatch(header) else None
