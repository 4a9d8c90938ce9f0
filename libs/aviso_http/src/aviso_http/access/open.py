"""From settings to access: the one place that knows which parts there are.

Everything that has to be kept (connections, keys that are read anew) lives as long as the block. What is configured
wrongly is refused here only where the settings alone could not tell; a key set that cannot be read yet is no reason not
to start, because until it can be nobody passes by it.
"""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Final

from aviso_core.clock import SystemClock
from aviso_core.errors import SettingsError
from aviso_core.settings.refusals import auth_faults
from aviso_core.settings.stream_refusals import ECPDS
from aviso_http.access import roles
from aviso_http.access.ecpds.plugin import open_ecpds
from aviso_http.access.plugins import ReadPlugins

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from aviso_core.clock import Clock
    from aviso_core.schema.model import Auth as SchemaAuth
    from aviso_core.settings.model import Settings
    from aviso_http.access.base import Access
    from aviso_http.access.decision import Decision
    from aviso_http.access.ecpds.plugin import CountEcpds
    from aviso_http.access.guarded import CountOutcome
    from aviso_http.access.key_sources import LoadKeys
    from aviso_http.access.user import User


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
    # Here, because what verifies signatures takes megabytes that a service without authentication has better use for.
    from aviso_http.access.open_guarded import open_guarded

    async with AsyncExitStack() as parts:
        yield await open_guarded(settings.auth, parts, count, clock or SystemClock(), cluster_keys)


@asynccontextmanager
async def open_read_plugins(
    settings: Settings, *, access: Access, count: CountEcpds, clock: Clock | None = None
) -> AsyncIterator[ReadPlugins]:
    """Open what an event type may ask of its readers besides roles."""
    async with open_ecpds(
        settings.ecpds, is_administrator=access.is_administrator, count=count, clock=clock or SystemClock()
    ) as ecpds:
        yield ReadPlugins({ECPDS: ecpds})
