"""Whoever is asking, once that is known. How it was found out does not matter any more, and nothing secret is left."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class User(msgspec.Struct, frozen=True, kw_only=True):
    """An authenticated caller."""

    name: str
    """The name, which is unique within the realm."""

    realm: str | None = None
    """Who vouches for the name; without a realm no list of roles ever matches."""

    roles: tuple[str, ...] = ()
    """What the realm says that the user is."""

    attributes: Mapping[str, str] = {}
    """What else the realm says. Nothing here is decided by it."""

    expires_at: int | None = None
    """When the credential ends, in Unix seconds, as the credential says it: without any leeway."""
