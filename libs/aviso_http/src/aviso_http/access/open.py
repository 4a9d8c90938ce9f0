"""From settings to access: the one place that knows which parts there are.

Everything that has to be kept (connections, keys that are read anew) lives as long as the block. What is configured
wrongly is refused here only where the settings alone could not tell; a key set that cannot be read yet is no reason not
to start, because until it can be nobody passes by it.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Final

from aviso_core.alongside import alongside
from aviso_core.clock import SystemClock
from aviso_core.errors import Fault, SettingsError, Unavailable
from aviso_core.settings.refusals import auth_faults
from aviso_core.settings.stream_refusals import ECPDS
from aviso_http.access import asking, auth_service, key_sources, roles
from aviso_http.access.ecpds.plugin import open_ecpds
from aviso_http.access.guarded import GuardedAccess
from aviso_http.access.issued import IdentityProvider
from aviso_http.access.key_ring import KeyRing
from aviso_http.access.plugins import ReadPlugins
from aviso_http.access.reply import Unanswered
from aviso_http.access.service_account import ServiceAccounts
from aviso_http.access.shared_secret import SharedSecret
from aviso_http.access.token_review import TokenReview

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from aviso_core.clock import Clock
    from aviso_core.schema.model import Auth as SchemaAuth
    from aviso_core.settings.model import Auth, Issuer, Kubernetes, Settings
    from aviso_http.access.base import Access
    from aviso_http.access.decision import Decision
    from aviso_http.access.ecpds.plugin import CountEcpds
    from aviso_http.access.guarded import CountOutcome
    from aviso_http.access.issued import TrustedIssuer
    from aviso_http.access.key_sources import LoadKeys
    from aviso_http.access.user import User

_LARGEST_REVIEW: Final = 262_144


class OpenAccess:
    """Access with authentication off: nobody is asked, and what somebody sends to be known by is not looked at."""

    is_open: Final = True
    challenges = (b"Bearer",)

    async def identify(self, authorization: bytes | None) -> User | None:
        """Return nobody in particular."""
        return None

    async def identify_administrator(self, authorization: bytes | None) -> User | None:
        """Return nobody in particular, who may administer."""
        return None

    def is_administrator(self, user: User | None) -> bool:
        """Return that anybody administers."""
        return True

    def may_read(self, auth: SchemaAuth | None, user: User | None) -> Decision:
        """Decide whether a caller may watch and replay."""
        return roles.without_users(auth)

    def may_write(self, auth: SchemaAuth | None, user: User | None) -> Decision:
        """Decide whether a caller may publish."""
        return roles.without_users(auth)


@asynccontextmanager
async def open_access(
    settings: Settings,
    *,
    count: CountOutcome,
    clock: Clock | None = None,
    cluster_keys: LoadKeys | None = None,
) -> AsyncIterator[Access]:
    """Open access as it is configured. `cluster_keys` is where the cluster's keys are published, if anywhere."""
    if not settings.auth.enabled:
        yield OpenAccess()
        return
    faults = list(auth_faults(settings.auth))
    if faults:
        raise SettingsError(faults)
    async with AsyncExitStack() as parts:
        yield await _open_guarded(settings.auth, parts, count, clock or SystemClock(), cluster_keys)


@asynccontextmanager
async def open_read_plugins(
    settings: Settings, *, access: Access, count: CountEcpds, clock: Clock | None = None
) -> AsyncIterator[ReadPlugins]:
    """Open what an event type may ask of its readers besides roles."""
    async with open_ecpds(
        settings.ecpds, is_administrator=access.is_administrator, count=count, clock=clock or SystemClock()
    ) as ecpds:
        yield ReadPlugins({ECPDS: ecpds})


async def _open_guarded(
    auth: Auth, parts: AsyncExitStack, count: CountOutcome, clock: Clock, cluster_keys: LoadKeys | None
) -> GuardedAccess:
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
