"""Whether the process is on its way out, as a part that everything long-lived is handed.

Once it has begun it never ends: not ready any more, every answer asks its client to connect elsewhere, streams close
with a reason. What is done when is the server's affair.
"""

from __future__ import annotations

import asyncio


class Draining:
    """Begun once, by whoever is told to stop."""

    def __init__(self) -> None:
        self._begun = asyncio.Event()

    @property
    def has_begun(self) -> bool:
        """Whether the process is on its way out."""
        return self._begun.is_set()

    def begin(self) -> None:
        """Begin; beginning twice is beginning once."""
        self._begun.set()

    async def wait(self) -> None:
        """Wait until it begins."""
        await self._begun.wait()
