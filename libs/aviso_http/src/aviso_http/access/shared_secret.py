"""Tokens that are signed with the secret which we share with the auth service (HS256, and nothing else).

The algorithm is ours to choose and not the token's: its header may only agree. Without a secret nothing is believed,
because a signature by an empty key is one that anybody can make.
"""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Final

from aviso_http.access.claims import user_of_shared_secret
from aviso_http.access.token import InvalidToken

if TYPE_CHECKING:
    from aviso_core.plain.secret import Secret
    from aviso_http.access.token import Token
    from aviso_http.access.user import User

ALGORITHM: Final = "HS256"


class SharedSecret:
    """The secret, and what is believed for being signed with it."""

    def __init__(self, secret: Secret) -> None:
        self._secret = secret

    def user_of(self, token: Token, *, now: int) -> User:
        """Return the user that the token names, or raise `InvalidToken` or `Unauthorized`."""
        if not self._secret:
            raise InvalidToken("is signed by nobody whose tokens are believed here")
        if token.algorithm != ALGORITHM:
            raise InvalidToken(f"is not signed with {ALGORITHM}")
        key = self._secret.reveal().encode("utf-8", "surrogateescape")
        if not hmac.compare_digest(hmac.digest(key, token.signed, "sha256"), token.signature):
            raise InvalidToken("has a signature that is not ours")
        return user_of_shared_secret(token.claims, now=now)
