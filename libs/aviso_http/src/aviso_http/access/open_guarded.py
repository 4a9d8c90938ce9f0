"""Access with authentication on: who vouches for callers, by the settings.

Connections and keys that are read anew live as long as the parts that they are opened in.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from aviso_core.alongside import alongside
from aviso_core.errors import Fault, SettingsError, Unavailable
from aviso_http.access import asking, auth_service, key_sources
from aviso_http.access.guarded import GuardedAccess
from aviso_http.access.issued import IdentityProvider
from aviso_http.access.key_ring import KeyRing
from aviso_http.access.reply import Unanswered
from aviso_http.access.service_account import ServiceAccounts
from aviso_http.access.shared_secret import SharedSecret
from aviso_http.access.token_review import TokenReview

if TYPE_CHECKING:
    from contextlib import AsyncExitStack

    from aviso_core.clock import Clock
    from aviso_core.settings.model import Auth, Issuer, Kubernetes
    from aviso_http.access.guarded import CountOutcome
    from aviso_http.access.issued import TrustedIssuer
    from aviso_http.access.key_sources import LoadKeys

_LARGEST_REVIEW: Final = 262_144


async def open_guarded(
    auth: Auth, parts: AsyncExitStack, count: CountOutcome, clock: Clock, cluster_keys: LoadKeys | None
) -> GuardedAccess:
    """Open access as it is configured; faults that only show now are raised as `SettingsError`."""
    opening = _Opening(auth, parts, clock)
    issuers: list[TrustedIssuer] = [
        await opening.provider(issuer, path=f"auth.issuers[{index}]")
        for index, issuer in enumerate(auth.issuers)
    ]
    if auth.kubernetes.enabled:
        issuers.append(await opening.service_accounts(auth.kubernetes, cluster_keys))
    service = None
    if auth.mode == "direct":
        asker = await parts.enter_async_context(
            asking.open_asker(seconds=opening.deadline_seconds, largest_reply=auth_service.LARGEST_REPLY)
        )
        service = auth_service.AuthService(asker, auth.auth_o_tron_url)
    return GuardedAccess(
        administrators=auth.admin_roles,
        secret=SharedSecret(auth.jwt_secret),
        service=service,
        service_cache_seconds=auth.direct_cache_seconds,
        issuers=issuers,
        deadline_seconds=opening.deadline_seconds,
        clock=clock,
        count=count,
    )


class _Opening:
    """What the parts of one access are made with."""

    def __init__(self, auth: Auth, parts: AsyncExitStack, clock: Clock) -> None:
        self._auth = auth
        self._parts = parts
        self._clock = clock
        self.deadline_seconds = auth.timeout_ms / 1000

    async def provider(self, issuer: Issuer, *, path: str) -> IdentityProvider:
        """Open an issuer of the configuration."""
        load = await self._configured_keys(issuer, path)
        assert load is not None, "the settings name a URL or a file"
        keys = await self._ring(load, name=issuer.issuer, issuer=issuer.issuer)
        return IdentityProvider(issuer, keys, remember_seconds=self._auth.jwks_refresh_seconds)

    async def service_accounts(
        self, kubernetes: Kubernetes, cluster_keys: LoadKeys | None
    ) -> ServiceAccounts:
        """Open the cluster as an issuer."""
        load = await self._configured_keys(kubernetes, "auth.kubernetes") or cluster_keys
        review, remember_seconds = None, float(self._auth.jwks_refresh_seconds)
        if kubernetes.review.bearer_file:
            asker = await self._asker(
                kubernetes.review.ca_file, _LARGEST_REVIEW, "auth.kubernetes.review.ca_file"
            )
            review = TokenReview(asker, kubernetes.review)
            remember_seconds = min(remember_seconds, kubernetes.review.cache_seconds)
        if load is None and (review is None or not kubernetes.issuer):
            raise SettingsError([_nothing_to_verify_by(review)])
        keys = None if load is None else await self._ring(load, name="kubernetes", issuer=kubernetes.issuer)
        return ServiceAccounts(kubernetes, keys=keys, review=review, remember_seconds=remember_seconds)

    async def _configured_keys(self, block: Issuer | Kubernetes, path: str) -> LoadKeys | None:
        if block.jwks_file:
            return key_sources.from_file(block.jwks_file)
        if block.jwks_url:
            asker = await self._asker(block.ca_file, key_sources.LARGEST_KEY_SET, f"{path}.ca_file")
            return key_sources.from_url(asker, block.jwks_url)
        return None

    async def _asker(self, ca_file: str, largest_reply: int, path: str) -> asking.Asker:
        opened = asking.open_asker(
            seconds=self.deadline_seconds, largest_reply=largest_reply, ca_file=ca_file
        )
        try:
            return await self._parts.enter_async_context(opened)
        except OSError as error:
            fault = Fault(
                path=path,
                message=f"names a file without certificates: {ca_file}",
                remedy="name a file with the authority's certificate",
            )
            raise SettingsError([fault]) from error

    async def _ring(self, load: LoadKeys, *, name: str, issuer: str) -> KeyRing:
        async def load_in_time() -> key_sources.PublishedKeys:
            try:
                async with asyncio.timeout(self.deadline_seconds):
                    return await load()
            except TimeoutError as error:
                raise Unanswered("did not answer in time") from error
            except Unavailable as error:
                raise Unanswered(str(error)) from error

        ring = KeyRing(load_in_time, name=name, issuer=issuer, clock=self._clock)
        work = ring.keep_fresh(every_seconds=self._auth.jwks_refresh_seconds)
        await self._parts.enter_async_context(alongside(work))
        return ring


def _nothing_to_verify_by(review: TokenReview | None) -> Fault:
    if review is not None:
        remedy = "write the cluster's issuer, or where its key set is"
        message = "is needed where the cluster is asked and its keys are not known"
        return Fault(path="auth.kubernetes.issuer", message=message, remedy=remedy)
    remedy = "set jwks_url or jwks_file, use a registry that publishes the cluster's keys, or set review.bearer_file"
    return Fault(path="auth.kubernetes", message="has no key set to verify tokens by", remedy=remedy)
