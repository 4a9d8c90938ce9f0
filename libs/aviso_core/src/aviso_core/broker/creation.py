"""Making a stream of the broker.

A broker says that a stream is removed before it has cleared everything away. What clears away may take the folder from
under the stream that is made next, and then the broker has no place for that one; a moment later it has.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from aviso_core.broker.connection import ApiRefusal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aviso_core.broker.connection import Connection

_NOT_MADE: Final = 10049
# The number stands for any failure; which one it was is said in words alone.
_NO_PLACE: Final = "error creating store for stream"
_ATTEMPTS: Final = 10
_PAUSE_SECONDS: Final = 0.1


async def create_stream(connection: Connection, name: str, configuration: Mapping[str, object]) -> bytes:
    """Make a stream and return the broker's answer, or raise what it refused."""
    attempt = 1
    while True:
        try:
            return await connection.ask(f"STREAM.CREATE.{name}", configuration)
        except ApiRefusal as refusal:
            if attempt == _ATTEMPTS or refusal.number != _NOT_MADE or str(refusal) != _NO_PLACE:
                raise
        attempt += 1
        await asyncio.sleep(_PAUSE_SECONDS)
