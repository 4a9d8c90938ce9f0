"""The plugin: a reader gets the streams of those destinations that ECPDS grants (contract 10.4).

The order is the contract's: administrators pass, the request must name a destination, and then the servers' word
decides, from the cache or fresh. Every way to end is counted and has its own text; whatever is not a yes is a no.

The servers know users by name alone, so a name counts for the same in every realm. Where several realms are believed,
the event type's `read_roles` say whose names are meant.
"""

from __future__ import annotations

import asyncio
import base64
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias

from aviso_core.errors import AccessMisconfigured, AccessUnavailable, Forbidden
from aviso_core.plain.secret import hide_credentials
from aviso_core.settings.refusals import ecpds_faults
from aviso_http.access.asking import open_asker
from aviso_http.access.ecpds.cache import CountCache, DestinationCache
from aviso_http.access.ecpds.destinations import SUCCESS, Failure, Word, list_url, merge, read_reply
from aviso_http.access.plugins import MISCONFIGURED
from aviso_http.access.reply import Unanswered
from aviso_http.records.log import Log

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from aviso_core.clock import Clock
    from aviso_core.settings.model import Ecpds
    from aviso_http.access.asking import Asker
    from aviso_http.access.plugins import ReadPlugin
    from aviso_http.access.user import User

Outcome: TypeAlias = Literal[
    "allow", "deny_destination", "deny_match_key_missing", "unavailable", "admin_bypass", "error"
]
# As many destinations as any installation has, and a bound for what a broken server sends.
_LARGEST_REPLY: Final = 8_388_608

log = Log("aviso_http.access.ecpds")


class CountEcpds(CountCache, Protocol):
    """Counts what the plugin does."""

    def decided(self, outcome: Outcome) -> None:
        """Count how a check ended."""

    def fetched(self, outcome: str) -> None:
        """Count how asking the servers about one user ended: `destinations.OUTCOMES`."""


class EcpdsPlugin:
    """Readers by the destinations that the servers grant them."""

    def __init__(
        self,
        settings: Ecpds,
        asker: Asker,
        *,
        is_administrator: Callable[[User], bool],
        count: CountEcpds,
        clock: Clock,
    ) -> None:
        self._settings = settings
        self._asker = asker
        self._is_administrator = is_administrator
        self._count = count
        account = f"{settings.username}:{settings.password.reveal()}".encode("utf-8", "surrogateescape")
        self._headers = {
            "authorization": f"Basic {base64.b64encode(account).decode('ascii')}",
            "accept": "application/json",
        }
        self._cache = DestinationCache(
            ttl_seconds=settings.cache_ttl_seconds,
            max_entries=settings.max_entries,
            clock=clock,
            count=count,
        )

    async def check(self, user: User, identifier: Mapping[str, str]) -> None:
        """Return if the servers grant the user the destination that the identifier names."""
        if self._is_administrator(user):
            self._end("admin_bypass", None)
            return
        key = self._settings.match_key
        destination = identifier.get(key)
        if destination is None:
            self._end("deny_match_key_missing", None)
            raise Forbidden(f"Required field '{key}' not found in request identifiers")
        word = await self._word_on(user.name)
        if isinstance(word, Failure):
            self._end("unavailable", destination)
            raise AccessUnavailable("ECPDS service is inaccessible")
        if destination not in word:
            self._end("deny_destination", destination)
            raise Forbidden(f"User '{user.name}' does not have access to destination '{destination}'")
        self._end("allow", destination)

    def _end(self, outcome: Outcome, destination: str | None) -> None:
        self._count.decided(outcome)
        log.debug("auth.ecpds.decided", "a reader was checked", outcome=outcome, destination=destination)

    async def _word_on(self, name: str) -> Word:
        try:
            return await self._cache.get(name, lambda: self._look_up(name))
        except Exception as error:
            # A door that breaks stays shut, and the contract has a text for it.
            self._count.decided("error")
            log.error("auth.ecpds.check.failed", "a check met a bug", error=error)
            raise AccessMisconfigured("ECPDS check failed unexpectedly") from error

    async def _look_up(self, name: str) -> Word:
        async with asyncio.TaskGroup() as servers:
            asked = [servers.create_task(self._ask(server, name)) for server in self._settings.servers]
        word = merge([task.result() for task in asked], policy=self._settings.partial_outage_policy)
        self._count.fetched(word.outcome if isinstance(word, Failure) else SUCCESS)
        return word

    async def _ask(self, server: str, name: str) -> Word:
        reason = ""
        try:
            reply = await self._asker.ask("GET", list_url(server, name), headers=self._headers)
            word = read_reply(reply, target_field=self._settings.target_field)
        except Unanswered as error:
            word, reason = Failure.UNREACHABLE, str(error)
        if isinstance(word, Failure):
            log.warning(
                "auth.ecpds.server.failed",
                "an ECPDS server is of no use",
                server=hide_credentials(server),
                outcome=word.outcome,
                reason=reason,
            )
        return word


class _Misconfigured:
    """What stands in for a plugin that cannot be built."""

    def __init__(self, count: CountEcpds) -> None:
        self._count = count

    async def check(self, user: User, identifier: Mapping[str, str]) -> None:
        """Refuse everybody."""
        self._count.decided("error")
        log.error("auth.ecpds.check.failed", "an event type asks the plugin, which is not configured")
        raise AccessMisconfigured(MISCONFIGURED)


@asynccontextmanager
async def open_ecpds(
    settings: Ecpds | None,
    *,
    is_administrator: Callable[[User], bool],
    count: CountEcpds,
    clock: Clock,
) -> AsyncIterator[ReadPlugin]:
    """Open the plugin. Without a block that is fit for use it refuses everybody."""
    if settings is None or any(ecpds_faults(settings)):
        yield _Misconfigured(count)
        return
    async with open_asker(
        seconds=settings.request_timeout_seconds,
        connect_seconds=settings.connect_timeout_seconds,
        largest_reply=_LARGEST_REPLY,
    ) as asker:
        yield EcpdsPlugin(settings, asker, is_administrator=is_administrator, count=count, clock=clock)
