"""What the schema service is put together from; whoever starts it makes these."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from aviso_core.schema.catalog import Catalog
from aviso_core.settings.model import Application


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """The parts. Both functions say what holds at the moment of the call, and a follower of the registry has both."""

    catalog: Callable[[], Catalog]
    """The event types in force."""

    revision_of: Callable[[str], int | None]
    """The revision of an event type in force; None where there is none, as for a configuration file's."""

    application: Application
    """The service's own address, the folder of its pages, the links of its home page."""

    version: str
    """The version that the home page shows."""
