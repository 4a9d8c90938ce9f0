"""Where key sets come from. Whoever has another place for them writes one more such function."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from aviso_http.access.reply import Unanswered

if TYPE_CHECKING:
    from aviso_core.registry.cluster_keys import ReadClusterKeys
    from aviso_http.access.asking import Asker

LARGEST_KEY_SET: Final = 1_048_576


class PublishedKeys(NamedTuple):
    """A key set as it was published."""

    document: bytes
    issuer: str | None = None
    """Whose keys they are, where the source says so."""


# Returns the key set as it is now, or raises `Unanswered`.
LoadKeys: TypeAlias = Callable[[], Awaitable[PublishedKeys]]


def from_file(path: str) -> LoadKeys:
    """Return how a key set is read from a file."""

    async def load() -> PublishedKeys:
        return PublishedKeys(await asyncio.to_thread(read_small, path, LARGEST_KEY_SET))

    return load


def from_url(asker: Asker, url: str) -> LoadKeys:
    """Return how a key set is fetched."""

    async def load() -> PublishedKeys:
        reply = await asker.ask("GET", url, headers={"accept": "application/json"})
        if reply.status != 200:
            raise Unanswered(f"answered with status {reply.status}")
        return PublishedKeys(reply.body)

    return load


def from_registry(read: ReadClusterKeys) -> LoadKeys:
    """Return how the cluster's keys are read where whoever owns the registry publishes them."""

    async def load() -> PublishedKeys:
        keys = await read()
        if keys is None:
            raise Unanswered("nobody has published the cluster's keys yet")
        return PublishedKeys(keys.jwks, keys.issuer)

    return load


def read_small(path: str, largest: int) -> bytes:
    """Return the bytes of a file that is no larger than it should be, or raise `Unanswered`."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(largest + 1)
    except (OSError, ValueError) as error:
        raise Unanswered(f"the file {path} cannot be read: {type(error).__name__}") from error
    if len(content) > largest:
        raise Unanswered(f"the file {path} has more than {largest} bytes")
    return content
