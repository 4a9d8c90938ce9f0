"""The objects as they were last seen, by `namespace/name`.

They come from two sides: one by one as they change, and all at once now and then. What is seen later may be older, so
the newer resource version stands.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from aviso_core.registry.base import Owner
    from aviso_operator.options import Watched
    from aviso_operator.resources import Resource


class Objects:
    """What is known of the objects in the watched namespaces."""

    def __init__(self, watched: Watched) -> None:
        self.watched = watched
        self._by_key: dict[str, Resource] = {}
        self._gone: dict[str, Resource] = {}
        self._loaded = asyncio.Event()

    def __iter__(self) -> Iterator[Resource]:
        """Iterate over those that there are."""
        return iter(tuple(self._by_key.values()))

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._by_key)

    def get(self, key: str) -> Resource | None:
        """Return an object, or None where there is none."""
        return self._by_key.get(key)

    def see(self, resource: Resource) -> bool:
        """Take in an object as it was seen; tell whether it is news to us."""
        known = self._by_key.get(resource.key)
        version = _version(resource)
        if known is not None and version <= _version(known):
            return False
        gone = self._gone.get(resource.key)
        if known is None and gone is not None and version <= _version(gone):
            return False
        self._gone.pop(resource.key, None)
        self._by_key[resource.key] = resource
        return True

    def see_gone(self, resource: Resource) -> bool:
        """Take in that an object was deleted; tell whether we knew it."""
        known = self._by_key.get(resource.key)
        if known is not None and _version(known) > _version(resource):
            return False
        gone = self._gone.get(resource.key)
        if gone is None or _version(gone) < _version(resource):
            self._gone[resource.key] = resource
        return self._by_key.pop(resource.key, None) is not None

    def see_all(self, resources: Iterable[Resource], *, at: str, namespace: str | None) -> set[str]:
        """Take in all there is, of a namespace or everywhere, at a resource version; return which are no more."""
        listed = {resource.key: resource for resource in resources}
        gone = {
            key
            for key, known in self._by_key.items()
            if key not in listed and namespace in (None, known.namespace) and _version(known) <= _number(at)
        }
        for key in gone:
            self._gone[key] = self._by_key.pop(key)
        for resource in listed.values():
            self.see(resource)
        return gone

    def be_loaded(self) -> None:
        """Take note that everything was seen once."""
        self._loaded.set()

    def gone(self, key: str) -> Resource | None:
        """Return an object that is no more as it was at last, if nobody has forgotten it yet."""
        return self._gone.get(key)

    def forget(self, key: str) -> None:
        """Forget an object that is no more."""
        self._gone.pop(key, None)

    @property
    def is_loaded(self) -> bool:
        """Whether everything has been seen once."""
        return self._loaded.is_set()

    async def wait_loaded(self) -> None:
        """Wait until everything has been seen once."""
        await self._loaded.wait()

    def is_alive(self, owner: Owner) -> bool:
        """Tell whether an owner is there. Of one that is not ours to watch nobody can say that it is gone."""
        return not self.watched.has(owner.namespace) or str(owner) in self._by_key


def _version(resource: Resource) -> int:
    return _number(resource.resource_version)


def _number(version: str) -> int:
    return int(version) if version.isdigit() else 0
