"""Tokens of a cluster's service accounts: what a pod proves itself by, without a secret that somebody has to hand out.

The account becomes a user like this: the realm is the same for the whole cluster (`auth.kubernetes.realm`), the name is
the cluster's own (`system:serviceaccount:<namespace>:<account>`), and the roles are the namespace and
`<namespace>:<account>`. The namespace is no realm of its own, because whoever may create a namespace would otherwise
choose a realm, that of the administrators included. A colon cannot stand in either name, so the two kinds of roles
never look alike.

The keys make a token believable without asking anybody. Where the cluster can be asked (`Review`) it is asked as well,
because only the cluster knows that the pod is gone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from aviso_http.access.claims import check_registered
from aviso_http.access.issued import Verified, check_signature, verified
from aviso_http.access.token import InvalidToken
from aviso_http.access.user import User

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aviso_core.settings.model import Kubernetes
    from aviso_http.access.key_ring import KeyRing
    from aviso_http.access.token import Token
    from aviso_http.access.token_review import TokenReview

_LABEL: Final = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_SUBJECT: Final = re.compile(
    rf"system:serviceaccount:(?P<namespace>{_LABEL}):(?P<account>{_LABEL}(?:\.{_LABEL})*)", re.ASCII
)
_LONGEST_SUBJECT: Final = 400


class Account(NamedTuple):
    """A service account, and the pod that it speaks for, if the token is bound to one."""

    namespace: str
    name: str
    pod: str | None


def read_account(claims: Mapping[str, object]) -> Account:
    """Return the account of a token's claims, which say it twice and must agree."""
    subject, details = claims.get("sub"), claims.get("kubernetes.io")
    match = (
        _SUBJECT.fullmatch(subject) if isinstance(subject, str) and len(subject) < _LONGEST_SUBJECT else None
    )
    if match is None or not isinstance(details, dict):
        raise InvalidToken("is not a service account's")
    namespace, account = match["namespace"], match["account"]
    if details.get("namespace") != namespace or _name_in(details, "serviceaccount") != account:
        raise InvalidToken("names two different service accounts")
    return Account(namespace, account, _name_in(details, "pod"))


def user_of_account(account: Account, *, realm: str, expires_at: int) -> User:
    """Return the user that an account is here."""
    attributes = {"namespace": account.namespace, "service_account": account.name}
    if account.pod is not None:
        attributes["pod"] = account.pod
    return User(
        name=f"system:serviceaccount:{account.namespace}:{account.name}",
        realm=realm,
        roles=(account.namespace, f"{account.namespace}:{account.name}"),
        attributes=attributes,
        expires_at=expires_at,
    )


def _name_in(details: Mapping[str, object], kind: str) -> str | None:
    described = details.get(kind)
    name = described.get("name") if isinstance(described, dict) else None
    return name if isinstance(name, str) else None


class ServiceAccounts:
    """The cluster as an issuer. It has keys, or can be asked, or both."""

    def __init__(
        self,
        settings: Kubernetes,
        *,
        keys: KeyRing | None,
        review: TokenReview | None,
        remember_seconds: float,
    ) -> None:
        assert keys or review, "nobody could say whether a token is the cluster's"
        self._settings = settings
        self._keys = keys
        self._review = review
        self._remember_seconds = remember_seconds

    @property
    def issuer(self) -> str | None:
        """What the cluster's tokens say."""
        return self._keys.issuer if self._keys else self._settings.issuer

    async def learn(self) -> None:
        """Read the keys, which may say whose they are."""
        if self._keys is not None and self._keys.issuer is None:
            await self._keys.look_again()

    async def verify(self, text: str, token: Token, *, now: int) -> Verified:
        """Return the account that the token is of."""
        issuer, audience = self.issuer, self._settings.audience
        assert issuer, "only asked about its own tokens"
        expires_at = check_registered(token.claims, issuer=issuer, audience=audience, now=now)
        account = read_account(token.claims)
        user = user_of_account(account, realm=self._settings.realm, expires_at=expires_at)
        if self._keys is not None:
            await check_signature(token, self._keys)
        if self._review is not None:
            await self._review.check(text, username=user.name, audience=audience)
        return verified(user, now=now, seconds=self._remember_seconds)
