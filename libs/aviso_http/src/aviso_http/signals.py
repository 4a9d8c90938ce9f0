"""Being told to stop: SIGTERM and SIGINT as an event, for as long as a block runs.

The first one asks, and everything ends in good order. Whoever sends a second one is in a hurry: the process then ends
as it would without us.
"""

from __future__ import annotations

import asyncio
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_ASKING: Final = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def told_to_stop() -> Iterator[asyncio.Event]:
    """Give an event that is set by the first signal."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def ask() -> None:
        stop.set()
        for number in _ASKING:
            loop.remove_signal_handler(number)

    for number in _ASKING:
        loop.add_signal_handler(number, ask)
    try:
        yield stop
    finally:
        for number in _ASKING:
            loop.remove_signal_handler(number)
