"""Tokens of others whose public keys we know: of an identity provider, or of the cluster we run in.

Such a token is believed when one of the issuer's keys has signed it, it is the issuer's, for us, and holds now. Who the
user is follows from the claims in a way that differs: see `claims` and `service_account`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from aviso_http.access.claims import LEEWAY_SECONDS, check_registered, user_of_issuer
from aviso_http.access.token import InvalidToken

if TYPE_CHECKING:
    from aviso_core.settings.model import Issuer
    from aviso_http.access.key_ring import KeyRing
    from aviso_http.access.token import Token
    from aviso_http.access.user import User


class Verified(NamedTuple):
    """A user, and until when (Unix seconds) that may be believed without looking again."""

    user: User
    until: float


class TrustedIssuer(Protocol):
    """Somebody whose tokens are believed."""

    @property
    def issuer(self) -> str | None:
        """What its tokens say in `iss`; None as long as that is not known."""
        ...

    async def learn(self) -> None:
        """Find out whose tokens these are, if that is not known yet."""
        ...

    async def verify(self, text: str, token: Token, *, now: int) -> Verified:
        """Return the token's user, or raise `InvalidToken` or `AccessRefused`."""
        ...


class IdentityProvider:
    """An issuer of the configuration. What was verified is looked at again after `remember_seconds`."""

    def __init__(self, settings: Issuer, keys: KeyRing, *, remember_seconds: float) -> None:
        self._settings = settings
        self._keys = keys
        self._remember_seconds = remember_seconds

    @property
    def issuer(self) -> str | None:
        """What its tokens say."""
        return self._settings.issuer

    async def learn(self) -> None:
        """Do nothing: the configuration knows."""

    async def verify(self, text: str, token: Token, *, now: int) -> Verified:
        """Return the token's user."""
        settings = self._settings
        # What costs nothing comes first: a token that is not for us makes nobody fetch keys.
        expires_at = check_registered(
            token.claims, issuer=settings.issuer, audience=settings.audience, now=now
        )
        await check_signature(token, self._keys)
        user = user_of_issuer(
            token.claims,
            expires_at=expires_at,
            realm=settings.realm,
            realm_claim=settings.realm_claim,
            roles_claim=settings.roles_claim,
            username_claim=settings.username_claim,
        )
        return verified(user, now=now, seconds=self._remember_seconds)


def verified(user: User, *, now: int, seconds: float) -> Verified:
    """Return that a user is believed for some seconds, and not beyond the end of the credential."""
    until = now + seconds
    if user.expires_at is not None:
        until = min(until, user.expires_at + LEEWAY_SECONDS)
    return Verified(user, until)


async def check_signature(token: Token, keys: KeyRing) -> None:
    """Raise `InvalidToken` unless one of the keys has signed the token."""
    candidates = await keys.candidates(token.algorithm, token.key_id)
    if any(key.verify(token.signed, token.signature) for key in candidates):
        return
    if candidates and token.key_id is None and await keys.look_again():
        # It names no key, so a new one would not have been missed.
        candidates = await keys.candidates(token.algorithm, None)
        if any(key.verify(token.signed, token.signature) for key in candidates):
            return
    raise InvalidToken("has a signature that is none of the issuer's")
