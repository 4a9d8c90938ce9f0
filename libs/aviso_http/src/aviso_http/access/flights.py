"""Work that several callers want at once and that is done once.

The first caller does it, within its own request; the others wait for what it finds. There is no task to own: if the
first is cancelled, the next one in line does the work. The work ends in a value, also where it fails, because an
exception that many tasks raise belongs to none of them.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable

T = TypeVar("T")


class _Abandoned:
    """What those who wait find if nobody finished the work."""


_ABANDONED: Final = _Abandoned()


class Flights(Generic[T]):
    """Work under way, by what it is about."""

    def __init__(self) -> None:
        self._under_way: dict[Hashable, asyncio.Future[T | _Abandoned]] = {}

    def under_way(self, about: Hashable) -> bool:
        """Tell whether somebody does this work now."""
        return about in self._under_way

    async def join(self, about: Hashable, work: Callable[[], Awaitable[T]]) -> T:
        """Return what the work finds, which may have been begun by somebody else."""
        while True:
            flight = self._under_way.get(about)
            if flight is None:
                return await self._lead(about, work)
            found = await asyncio.shield(flight)
            if not isinstance(found, _Abandoned):
                return found

    async def _lead(self, about: Hashable, work: Callable[[], Awaitable[T]]) -> T:
        flight: asyncio.Future[T | _Abandoned] = asyncio.get_running_loop().create_future()
        self._under_way[about] = flight
        found: T | _Abandoned = _ABANDONED
        try:
            found = await work()
            return found
        finally:
            del self._under_way[about]
            flight.set_result(found)
