"""The keys that a cluster signs the tokens of its service accounts with, for every service of the installation.

Whoever owns the registry copies them there from the cluster, so a service verifies such tokens without a way to the
cluster's own interface and without a right to use it. There is one document, and the last one written holds.

Where no cluster declares anything, in memory and in a folder, nobody publishes keys either.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

import msgspec

from aviso_core.errors import AvisoError


class ClusterKeys(msgspec.Struct, frozen=True, kw_only=True):
    """A key set as the cluster publishes it, and what its tokens say that they are of."""

    issuer: str
    jwks: bytes


class KeysRefused(AvisoError):
    """What is to be published is no key set of anybody; what was published before stays."""

    code = "KEYS_REFUSED"


# Returns what is published, or None where nothing is yet; raises `Unavailable`.
ReadClusterKeys: TypeAlias = Callable[[], Awaitable[ClusterKeys | None]]


class _KeySet(msgspec.Struct, frozen=True):
    keys: list[dict[str, object]]


def check_cluster_keys(keys: ClusterKeys) -> None:
    """Refuse what no service could use: a page of some proxy, for example, that was taken for the cluster's answer."""
    if not keys.issuer:
        raise KeysRefused("the cluster's keys have no issuer")
    try:
        msgspec.json.decode(keys.jwks, type=_KeySet)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise KeysRefused(f"what is taken for the cluster's key set is none: {error}") from error
