"""What a token says, once its signature holds: types, times, and the user.

Two kinds of tokens are read here. Those of the shared secret follow the contract: `exp` is required, `aud`, `nbf` and
`iss` are not checked, and every claim that is used or known has its type or the token is invalid. Those of an issuer
are made for many services, so they must name this one (`aud`), and say since when they hold if they say so at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeGuard

from aviso_core.errors import Unauthorized
from aviso_http.access.token import InvalidToken
from aviso_http.access.user import User

if TYPE_CHECKING:
    from collections.abc import Mapping

LEEWAY_SECONDS: Final = 60
_LARGEST: Final = 2**64 - 1
_MISSING: Final = "Token is missing required user claims"


def user_of_shared_secret(claims: Mapping[str, object], *, now: int) -> User:
    """Return the user of a token that was signed with the shared secret."""
    expires_at = _expiry(claims, now)
    if claims.get("iat") is not None and not _is_date(claims["iat"]):
        raise InvalidToken("has an iat that is no date")
    _optional_text(claims, "iss")
    realm = _optional_text(claims, "realm")
    username, subject = _optional_text(claims, "username"), _optional_text(claims, "sub")
    roles = _roles(claims.get("roles", []))
    attributes = claims.get("attributes", {})
    if not _is_text_map(attributes):
        raise InvalidToken("has attributes that are not a map of texts")
    name = username or subject
    if not name:
        raise Unauthorized(_MISSING)
    return User(name=name, realm=realm, roles=roles, attributes=attributes, expires_at=expires_at)


def check_registered(claims: Mapping[str, object], *, issuer: str, audience: str, now: int) -> int:
    """Check whose token it is, for whom, and when; return when it ends."""
    if claims.get("iss") != issuer:
        raise InvalidToken("is of another issuer")
    audiences = claims.get("aud")
    if audiences != audience and not (_is_text_list(audiences) and audience in audiences):
        raise InvalidToken("is for another audience")
    for name in ("nbf", "iat"):
        if name in claims and not _is_date(claims[name]):
            raise InvalidToken(f"has an {name} that is no date")
    begins_at = claims.get("nbf", 0)
    assert isinstance(begins_at, int), "seen to be a date"
    if begins_at > now + LEEWAY_SECONDS:
        raise InvalidToken("does not hold yet")
    return _expiry(claims, now)


def user_of_issuer(
    claims: Mapping[str, object],
    *,
    expires_at: int,
    realm: str,
    realm_claim: str,
    roles_claim: str,
    username_claim: str,
) -> User:
    """Return the user that an issuer's token names. An empty `realm` is read from the token's `realm_claim`."""
    name = _claim(claims, username_claim)
    if name is not None and not isinstance(name, str):
        raise InvalidToken("has a name that is not text")
    if not name:
        raise Unauthorized(_MISSING)
    own_realm: object = realm or _claim(claims, realm_claim)
    if own_realm is not None and not isinstance(own_realm, str):
        raise InvalidToken("has a realm that is not text")
    roles = _claim(claims, roles_claim)
    return User(
        name=name,
        realm=own_realm,
        roles=() if roles is None else _roles(roles),
        expires_at=expires_at,
    )


def _claim(claims: Mapping[str, object], path: str) -> object:
    """Return a claim by its name, which may itself have dots in it, or by the path that the dots make."""
    if path in claims:
        return claims[path]
    value: object = claims
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _expiry(claims: Mapping[str, object], now: int) -> int:
    expires_at = claims.get("exp")
    if not _is_date(expires_at):
        raise InvalidToken("has no exp that is a date")
    if expires_at < now - LEEWAY_SECONDS:
        raise InvalidToken("is expired")
    return expires_at


def _is_date(value: object) -> TypeGuard[int]:
    """Tell whether the value is a number of seconds; to Python a truth value is a number too."""
    return type(value) is int and 0 <= value <= _LARGEST


def _optional_text(claims: Mapping[str, object], name: str) -> str | None:
    value = claims.get(name)
    if value is not None and not isinstance(value, str):
        raise InvalidToken(f"has a {name} that is not text")
    return value


def _roles(value: object) -> tuple[str, ...]:
    if not _is_text_list(value):
        raise InvalidToken("has roles that are not a list of texts")
    return tuple(value)


def _is_text_list(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_text_map(value: object) -> TypeGuard[dict[str, str]]:
    return isinstance(value, dict) and all(isinstance(item, str) for item in value.values())
