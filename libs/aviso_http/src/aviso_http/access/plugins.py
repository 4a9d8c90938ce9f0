"""What a schema may ask of a reader beyond roles: plugins, by the name that `auth.plugins` gives.

They run when a stream is opened, after the request was checked, so they see canonical values; publishing never asks
them. A name that nobody answers to fails shut.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from aviso_core.errors import AccessMisconfigured, Unauthorized
from aviso_http.records.log import Log

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aviso_core.schema.model import Auth
    from aviso_http.access.user import User

MISCONFIGURED: Final = "Server configuration error"

log = Log("aviso_http.access")


class ReadPlugin(Protocol):
    """Somebody who is asked before a stream opens."""

    async def check(self, user: User, identifier: Mapping[str, str]) -> None:
        """Return if the user may read what the identifier selects; else raise `AccessRefused`."""
        ...


class ReadPlugins:
    """The plugins that there are."""

    def __init__(self, plugins: Mapping[str, ReadPlugin]) -> None:
        self._plugins = plugins

    async def check(self, auth: Auth | None, user: User | None, identifier: Mapping[str, str]) -> None:
        """Ask every plugin that the event type names, or raise what the first one says that refuses.

        `identifier` has the canonical values that the request asks for, one for each field that it names.
        """
        for name in (auth.plugins or ()) if auth else ():
            if user is None:
                raise Unauthorized("Authentication is required for this stream")
            plugin = self._plugins.get(name)
            if plugin is None:
                log.error(
                    "auth.plugin.missing", "an event type names a plugin that there is not", plugin=name
                )
                raise AccessMisconfigured(MISCONFIGURED)
            await plugin.check(user, identifier)
