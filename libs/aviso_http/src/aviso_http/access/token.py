"""A signed token (JWS, compact form) taken apart, strictly, and not believed yet.

Whoever checks a signature checks it over exactly these bytes, so there must be one way to read them: base64url without
padding and in its canonical spelling, JSON objects without repeated members, integers that fit, text that is text. A
token that needs mending is no token. What the header offers to be verified by (`jwk`, `jku`, `x5c`) is never
looked at, and an extension that must be understood (`crit`) never is.
"""

from __future__ import annotations

import binascii
import json
import re
from typing import Final, NamedTuple, NoReturn

from aviso_core.json_text import NotJson, check_nesting

LARGEST_TOKEN: Final = 16_384

_SEGMENT: Final = "[A-Za-z0-9_-]+"
_TOKEN: Final = re.compile(rf"{_SEGMENT}\.{_SEGMENT}\.{_SEGMENT}", re.ASCII)
_STANDARD: Final = bytes.maketrans(b"-_", b"+/")
_URL_SAFE: Final = bytes.maketrans(b"+/", b"-_")
# No date and no counter is longer, and Python takes quadratic time for the really long ones.
_LONGEST_NUMBER: Final = 40


class InvalidToken(Exception):
    """The token must not be believed. The reason is for the log and holds nothing of the token."""


class Token(NamedTuple):
    """The parts of a token."""

    algorithm: str
    key_id: str | None
    claims: dict[str, object]
    signed: bytes
    signature: bytes

    @property
    def issuer(self) -> str | None:
        """Whose token it says to be."""
        issuer = self.claims.get("iss")
        return issuer if isinstance(issuer, str) else None

    def __repr__(self) -> str:
        """Show nothing that somebody could send."""
        return f"Token(algorithm={self.algorithm!r})"


def looks_like_token(text: str) -> bool:
    """Tell whether the text has the outer form of a token."""
    return _TOKEN.fullmatch(text) is not None


def read_token(text: str) -> Token:
    """Return the parts of a token, or raise `InvalidToken`."""
    if len(text) > LARGEST_TOKEN:
        raise InvalidToken("is too long")
    if not looks_like_token(text):
        raise InvalidToken("is not three segments of base64url")
    signed, _, signature = text.encode("ascii").rpartition(b".")
    header, _, claims = signed.partition(b".")
    algorithm, key_id = _read_header(read_object(decode_base64url(header)))
    return Token(
        algorithm=algorithm,
        key_id=key_id,
        claims=read_object(decode_base64url(claims)),
        signed=signed,
        signature=decode_base64url(signature),
    )


def _read_header(header: dict[str, object]) -> tuple[str, str | None]:
    algorithm, key_id = header.get("alg"), header.get("kid")
    if not isinstance(algorithm, str):
        raise InvalidToken("names no algorithm")
    if key_id is not None and not isinstance(key_id, str):
        raise InvalidToken("has a key id that is not text")
    if "crit" in header:
        raise InvalidToken("has extensions that must be understood")
    return algorithm, key_id


def decode_base64url(segment: bytes) -> bytes:
    """Return the bytes that a segment spells, if it is the one spelling of them."""
    standard = segment.translate(_STANDARD)
    try:
        content = binascii.a2b_base64(standard + b"=" * (-len(standard) % 4), strict_mode=True)
    except binascii.Error as error:
        raise InvalidToken("is not base64url") from error
    if binascii.b2a_base64(content, newline=False).rstrip(b"=").translate(_URL_SAFE) != segment:
        raise InvalidToken("is not canonical base64url")
    return content


def read_object(data: bytes) -> dict[str, object]:
    """Return a JSON object in which no member, at any depth, stands twice."""
    try:
        check_nesting(data)
        value = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_object,
            parse_int=_integer,
            parse_constant=_no_constant,
        )
        if b"\\u" in data:
            # Writing it out is what notices half a surrogate pair.
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except (NotJson, ValueError) as error:
        # The parser's own text quotes what it read.
        raise InvalidToken("is not strict JSON") from _without_content(error)
    if not isinstance(value, dict):
        raise InvalidToken("is not a JSON object")
    return value


def _without_content(error: ValueError) -> Exception | None:
    return error if isinstance(error, NotJson) else None


def _object(members: list[tuple[str, object]]) -> dict[str, object]:
    content = dict(members)
    if len(content) != len(members):
        raise NotJson("has a member twice")
    return content


def _integer(digits: str) -> int:
    if len(digits) > _LONGEST_NUMBER:
        raise NotJson("has a number that is too long")
    return int(digits)


def _no_constant(_: str) -> NoReturn:
    raise NotJson("has a number that is none")
