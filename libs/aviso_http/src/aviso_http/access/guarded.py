"""Access with authentication on: which credentials are whose, and what the middleware of contract 10.2 answers.

A bearer token that says it is of a configured issuer is that issuer's to verify, whatever the mode; everything else is
for the mode: the auth service is asked (`direct`), or the token is verified with the shared secret (`trusted_proxy`).
What was verified is remembered by the digest of the whole header.

Credentials that cannot be read are nobody's on an ordinary path, so that a public event type stays public; on a path
of administrators they are refused with the reason.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from aviso_core.errors import AccessRefused, AccessUnavailable, Forbidden, Unauthorized
from aviso_http.access import roles
from aviso_http.access.auth_service import INVALID, UNAVAILABLE
from aviso_http.access.header import Credentials, Unusable, read_bearer, read_direct
from aviso_http.access.issued import Verified, verified
from aviso_http.access.public_keys import ALGORITHMS
from aviso_http.access.remembered import Remembered, digest_of
from aviso_http.access.token import InvalidToken, Token, looks_like_token, read_token
from aviso_http.records.log import Log

if TYPE_CHECKING:
    from aviso_core.clock import Clock
    from aviso_core.schema.model import Auth
    from aviso_http.access.auth_service import AuthService
    from aviso_http.access.decision import Decision
    from aviso_http.access.issued import TrustedIssuer
    from aviso_http.access.roles import RoleMap
    from aviso_http.access.shared_secret import SharedSecret
    from aviso_http.access.user import User

Outcome: TypeAlias = Literal["success", "unauthorized", "forbidden", "service_unavailable"]
CountOutcome: TypeAlias = Callable[[Outcome], None]

# Users at a time whose next request costs nothing; more than that are only verified more often.
_REMEMBERED: Final = 10_000
_FOR_EVER: Final = float("inf")

log = Log("aviso_http.access")


class GuardedAccess:
    """Callers are asked who they are. Without an auth service the mode is `trusted_proxy`."""

    is_open: Final = False

    def __init__(
        self,
        *,
        administrators: RoleMap,
        secret: SharedSecret,
        service: AuthService | None,
        service_cache_seconds: float,
        issuers: Sequence[TrustedIssuer],
        deadline_seconds: float,
        clock: Clock,
        count: CountOutcome,
    ) -> None:
        self._administrators = administrators
        self._secret = secret
        self._service = service
        self._service_cache_seconds = service_cache_seconds
        self._issuers = issuers
        self._deadline_seconds = deadline_seconds
        self._clock = clock
        self._count = count
        self._read = read_direct if service else read_bearer
        self._remembered = Remembered(entries=_REMEMBERED)
        self.challenges = (b"Bearer", b"Basic") if service else (b"Bearer",)

    # --- who is asking -----------------------------------------------------------------------------------

    async def identify(self, authorization: bytes | None) -> User | None:
        """Return the caller, None for nobody in particular, or raise `AccessRefused`."""
        if authorization is None:
            return None
        user = self._recall(authorization)
        if user is None:
            credentials = self._read(authorization)
            if isinstance(credentials, Unusable):
                return None
            try:
                user = await self._find_out(authorization, credentials)
            except AccessRefused as refusal:
                self._count(_outcome_of(refusal))
                raise
        self._count("success")
        return user

    async def identify_administrator(self, authorization: bytes | None) -> User | None:
        """Return the caller, who is an administrator, or raise `AccessRefused`."""
        try:
            user = await self._find_administrator(authorization)
        except AccessRefused as refusal:
            self._count(_outcome_of(refusal))
            raise
        self._count("success")
        return user

    async def _find_administrator(self, authorization: bytes | None) -> User:
        if authorization is None:
            raise Unauthorized("Authorization header is required")
        user = self._recall(authorization)
        if user is None:
            credentials = self._read(authorization)
            if isinstance(credentials, Unusable):
                raise Unauthorized(credentials.message)
            user = await self._find_out(authorization, credentials)
        roles.may_administer(user, self._administrators).require()
        return user

    def _recall(self, authorization: bytes) -> User | None:
        return self._remembered.get(digest_of(authorization), now=self._now())

    async def _find_out(self, authorization: bytes, credentials: Credentials) -> User:
        try:
            async with asyncio.timeout(self._deadline_seconds):
                user, until = await self._verify(credentials)
        except InvalidToken as error:
            log.debug("auth.token.refused", "a token is refused", reason=str(error))
            raise Unauthorized(INVALID) from error
        except TimeoutError as error:
            log.warning("auth.deadline.missed", "it could not be found out in time who is asking")
            raise AccessUnavailable(UNAVAILABLE) from error
        if until > self._now():
            self._remembered.put(digest_of(authorization), user, until=until)
        return user

    async def _verify(self, credentials: Credentials) -> Verified:
        text = credentials.bearer
        if text is not None and self._issuers:
            token = _token_or_none(text)
            issuer = await self._issuer_of(token) if token else None
            if token is not None and issuer is not None:
                return await issuer.verify(text, token, now=self._now())
        if self._service is not None:
            answered = await self._service.token_of(credentials.value)
            user = self._secret.user_of(read_token(answered), now=self._now())
            return verified(user, now=self._now(), seconds=self._service_cache_seconds)
        assert text is not None, "a proxy's credentials are a token"
        user = self._secret.user_of(read_token(text), now=self._now())
        return verified(user, now=self._now(), seconds=_FOR_EVER)

    async def _issuer_of(self, token: Token) -> TrustedIssuer | None:
        if token.issuer is None:
            return None
        for issuer in self._issuers:
            if issuer.issuer is None and token.algorithm in ALGORITHMS:
                await issuer.learn()
                if issuer.issuer is None:
                    # It may be this one's: nobody knows.
                    raise AccessUnavailable(UNAVAILABLE)
            if issuer.issuer == token.issuer:
                return issuer
        return None

    def _now(self) -> int:
        return self._clock.now_ns() // 1_000_000_000

    # --- what may they do --------------------------------------------------------------------------------

    def is_administrator(self, user: User | None) -> bool:
        """Tell whether the user administers."""
        return user is not None and roles.matches(self._administrators, user)

    def may_read(self, auth: Auth | None, user: User | None) -> Decision:
        """Decide whether a caller may watch and replay."""
        return roles.may_read(auth, user, self._administrators)

    def may_write(self, auth: Auth | None, user: User | None) -> Decision:
        """Decide whether a caller may publish."""
        return roles.may_write(auth, user, self._administrators)


def _token_or_none(text: str) -> Token | None:
    """Return the parts of a token; what is none may still mean something to the auth service."""
    if not looks_like_token(text):
        return None
    try:
        return read_token(text)
    except InvalidToken:
        return None


def _outcome_of(refusal: AccessRefused) -> Outcome:
    match refusal:
        case Unauthorized():
            return "unauthorized"
        case Forbidden():
            return "forbidden"
        case _:
            return "service_unavailable"
